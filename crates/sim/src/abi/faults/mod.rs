//! Fault plans around calls: the scope of a call, and the actions of the rules that select it.

mod hook;
mod scope;
mod subject;

pub(super) use hook::before;

//! The C boundary: entry points, and the rules that all calls follow.

pub(crate) mod annotations;
mod entry;
mod faults;
mod implemented;
mod invocation;
pub(crate) mod shims;
mod unsupported;

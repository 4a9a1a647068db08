//! The C boundary: entry points, and the rules that all calls follow.

mod entry;
mod faults;
pub(crate) mod implemented;
pub(crate) mod shims;

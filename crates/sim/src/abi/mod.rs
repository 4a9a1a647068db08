//! The C boundary: entry points, and the rules that all calls follow.

mod entry;
mod faults;
mod implemented;
pub(crate) mod shims;
mod unsupported;

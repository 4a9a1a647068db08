//! The C boundary: entry points, and the rules that all calls follow.

pub(crate) mod entry;
pub(crate) mod implemented;
pub(crate) mod shims;

//! The C boundary: entry points, their dispatch, and the rules that all functions share.

pub(crate) mod implemented;
pub(crate) mod shims;

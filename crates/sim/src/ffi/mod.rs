//! C arguments, checked on the way in and out: pointers, handles and status codes.
//!
//! An entry point's arguments become views before its body sees them: a pointer turns into [`Ptr`] or
//! [`ConstPtr`], other values stay as they are. A view refuses null with the driver's own code, and memory
//! that the kernel refuses if the machine checks pointers ([`pointer_check`]). Beyond that only the C
//! caller's promise counts: the pointer is null or good for what `cuda.h` says. It is taken once, in
//! [`Cross::cross`], so the bodies need no `unsafe`. Alignment is no part of it: the processors that the
//! driver runs on do not need it.

pub(crate) mod codes;
mod cross;
pub(crate) mod handle;
pub(crate) mod host_memory;
pub(crate) mod jit_link;
pub(crate) mod node_params;
mod plain;
mod pointer;
pub(crate) mod pointer_check;
pub(crate) mod status;

pub(crate) use self::cross::Cross;
pub(crate) use self::plain::Plain;
pub(crate) use self::pointer::{ConstPtr, Kept, Ptr};

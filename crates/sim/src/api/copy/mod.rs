//! Memory copies: linear, 2D, 3D, between peers, and in batches.
//!
//! A call names two *ends*, the source and the destination. [`access`] looks up their memory and checks
//! access to it; `queued` decides on the host's wait and enqueues one op; each other file reads the arguments
//! of one group of functions.
//!
//! ```text
//!   named as      may be                                   not found
//!   device        anything but memory of a host pool       INVALID_VALUE
//!   host, unified anything the driver knows                the program's own (pageable) memory
//! ```
//!
//! The host's wait depends on the memory at the ends, not on the memory types that the call names:
//!
//! | from → to | synchronous form | asynchronous form |
//! |---|---|---|
//! | device → device | nothing | nothing |
//! | page-locked or managed ↔ device | the copy | nothing |
//! | pageable → device | the copy | nothing: the bytes are staged at the call; a large copy is waited for |
//! | device → pageable | the copy | the copy |
//! | host → host | the copy | the copy |
//!
//! A copy of zero bytes accesses no memory, so its pointers are not checked.
//!
//! Memory of another device is copied directly with peer access, and through the host without; the result is
//! the same. Memory with access rights of its own is different: [`access::ends`] has the rule.

mod access;
mod batch;
mod block;
mod block_batch;
mod hint;
mod linear;
mod operand;
mod peer;
mod queued;

pub(crate) use access::{Memory, ResolvedOperand, filled, reaches};
pub(crate) use batch::enqueue as enqueue_batch;
pub(crate) use batch::{cuMemcpyBatchAsync, cuMemcpyBatchAsync_v2, cuMemcpyWithAttributesAsync};
pub(crate) use block::{
    copy_of_node, cuMemcpy2D_v2, cuMemcpy2DAsync_v2, cuMemcpy2DUnaligned_v2, cuMemcpy3D_v2, cuMemcpy3DAsync_v2,
    cuMemcpy3DPeer, cuMemcpy3DPeerAsync,
};
pub(crate) use block_batch::{cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync_v2, cuMemcpy3DWithAttributesAsync};
pub(crate) use linear::{
    cuMemcpy, cuMemcpyAsync, cuMemcpyDtoD_v2, cuMemcpyDtoDAsync_v2, cuMemcpyDtoH_v2, cuMemcpyDtoHAsync_v2,
    cuMemcpyHtoD_v2, cuMemcpyHtoDAsync_v2,
};
pub(crate) use peer::{cuMemcpyPeer, cuMemcpyPeerAsync};
pub(crate) use queued::Form;

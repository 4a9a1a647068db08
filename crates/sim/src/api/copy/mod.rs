//! Memory copies: linear, 2D, 3D, between peers, and in batches.
//!
//! A call names two *ends*. [`access`] finds out what each is and whether it may be touched; `queued` decides what the host
//! waits for and enqueues one op; the other files read the arguments of one group of functions.
//!
//! ```text
//!   named as      may be                                   not found
//!   device        anything but memory of a host pool       INVALID_VALUE
//!   host, unified anything the driver knows                the program's own (pageable) memory
//! ```
//!
//! What the host waits for, from what the ends turn out to be (the name that the call gave them does not matter):
//!
//! | from → to | synchronous form | asynchronous form |
//! |---|---|---|
//! | device → device | nothing | nothing |
//! | page-locked or managed ↔ device | the copy | nothing |
//! | pageable → device | the copy | nothing: the bytes are taken at the call; a large one waits for the copy |
//! | device → pageable | the copy | the copy |
//! | host → host | the copy | the copy |
//!
//! Nothing is read or written for a size of zero, so nothing is looked at either: any pointer will do.
//!
//! Memory of another device is reached directly if a context may (peer access), and through the host otherwise; the bytes
//! are the same. Pool memory and mappings are different: there a device without access is refused.

mod access;
mod batch;
mod block;
mod block_batch;
mod hint;
mod linear;
mod operand;
mod peer;
mod queued;

pub(crate) use access::{Memory, Named, find, reaches};
pub(crate) use batch::enqueue as enqueue_batch;
pub(crate) use batch::{cuMemcpyBatchAsync, cuMemcpyBatchAsync_v2, cuMemcpyWithAttributesAsync};
pub(crate) use block::{
    cuMemcpy2D_v2, cuMemcpy2DAsync_v2, cuMemcpy2DUnaligned_v2, cuMemcpy3D_v2, cuMemcpy3DAsync_v2, cuMemcpy3DPeer,
    cuMemcpy3DPeerAsync,
};
pub(crate) use block_batch::{cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync_v2, cuMemcpy3DWithAttributesAsync};
pub(crate) use linear::{
    cuMemcpy, cuMemcpyAsync, cuMemcpyDtoD_v2, cuMemcpyDtoDAsync_v2, cuMemcpyDtoH_v2, cuMemcpyDtoHAsync_v2,
    cuMemcpyHtoD_v2, cuMemcpyHtoDAsync_v2,
};
pub(crate) use peer::{cuMemcpyPeer, cuMemcpyPeerAsync};
pub(crate) use queued::Form;

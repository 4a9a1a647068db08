//! The C interface of NCCL, as far as it is used: types and a table of functions.
//!
//! For programs with a library of their own ([`Nccl::from_table`](super::Nccl::from_table)); other programs
//! do not need it.
#![expect(unsafe_code, reason = "gives symbols of a library their C types")]
#![expect(non_camel_case_types, non_snake_case, reason = "the names of the C interface")]

use std::ffi::{c_char, c_int, c_void};

use warploom_driver::sys::types::CUstream;

use crate::dynamic_library::table;

/// A communicator of NCCL's, which only NCCL looks into.
#[repr(C)]
#[derive(Debug)]
pub struct ncclComm {
    _opaque: [u8; 0],
}

/// A handle of a communicator.
pub type ncclComm_t = *mut ncclComm;

/// The status of a call; see [`NcclCode`](super::NcclCode).
pub type ncclResult_t = c_int;

/// The number of an element type.
pub type ncclDataType_t = c_int;

/// The number of a reduction.
pub type ncclRedOp_t = c_int;

/// The size of a unique id, in bytes.
pub const NCCL_UNIQUE_ID_BYTES: usize = 128;

/// The id by which ranks find each other.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ncclUniqueId {
    /// Its bytes.
    pub internal: [c_char; NCCL_UNIQUE_ID_BYTES],
}

table! {
    NcclTable {
        /// Its version.
        ncclGetVersion(version: *mut c_int) -> ncclResult_t;
        /// Makes an id.
        ncclGetUniqueId(id: *mut ncclUniqueId) -> ncclResult_t;
        /// Joins, on the current device.
        ncclCommInitRank(comm: *mut ncclComm_t, size: c_int, id: ncclUniqueId, rank: c_int) -> ncclResult_t;
        /// Waits for everything, with all ranks.
        ncclCommFinalize(comm: ncclComm_t) -> ncclResult_t;
        /// Frees a communicator.
        ncclCommDestroy(comm: ncclComm_t) -> ncclResult_t;
        /// Aborts pending operations, and frees a communicator.
        ncclCommAbort(comm: ncclComm_t) -> ncclResult_t;
        /// The error since the last call.
        ncclCommGetAsyncError(comm: ncclComm_t, error: *mut ncclResult_t) -> ncclResult_t;
        /// The last error message.
        ncclGetLastError(comm: ncclComm_t) -> *const c_char;
        /// Begins a group on this thread.
        ncclGroupStart() -> ncclResult_t;
        /// Enqueues the group's operations.
        ncclGroupEnd() -> ncclResult_t;
        /// From the root to all.
        ncclBroadcast(send: *const c_void, receive: *mut c_void, count: usize, of: ncclDataType_t, root: c_int,
            comm: ncclComm_t, stream: CUstream) -> ncclResult_t;
        /// From all, reduced, to all.
        ncclAllReduce(send: *const c_void, receive: *mut c_void, count: usize, of: ncclDataType_t, reduction: ncclRedOp_t,
            comm: ncclComm_t, stream: CUstream) -> ncclResult_t;
        /// From all, reduced, to the root.
        ncclReduce(send: *const c_void, receive: *mut c_void, count: usize, of: ncclDataType_t, reduction: ncclRedOp_t,
            root: c_int, comm: ncclComm_t, stream: CUstream) -> ncclResult_t;
        /// From all, one after the other, to all.
        ncclAllGather(send: *const c_void, receive: *mut c_void, send_count: usize, of: ncclDataType_t, comm: ncclComm_t,
            stream: CUstream) -> ncclResult_t;
        /// From all, reduced, a part to each.
        ncclReduceScatter(send: *const c_void, receive: *mut c_void, receive_count: usize, of: ncclDataType_t,
            reduction: ncclRedOp_t, comm: ncclComm_t, stream: CUstream) -> ncclResult_t;
        /// To one.
        ncclSend(send: *const c_void, count: usize, of: ncclDataType_t, peer: c_int, comm: ncclComm_t, stream: CUstream)
            -> ncclResult_t;
        /// From one.
        ncclRecv(receive: *mut c_void, count: usize, of: ncclDataType_t, peer: c_int, comm: ncclComm_t, stream: CUstream)
            -> ncclResult_t;
    }
}

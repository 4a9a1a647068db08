//! The functions of the stand-in, with NCCL's names.
#![expect(unsafe_code, reason = "stands in for functions of C")]

use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, Weak};

use warploom::nccl::raw::{NcclTable, ncclComm, ncclComm_t, ncclResult_t, ncclUniqueId};
use warploom::sys::types::{CUdeviceptr, CUstream};

use super::{
    CUDA_ERROR, Comm, DEPTH, FAILED, GROUP, INVALID_ARGUMENT, INVALID_USAGE, Kind, Operation, SUCCESS, WORLDS, answer,
    comm_at, here, lock, run,
};

fn submit(function: &'static str, comm: ncclComm_t, operation: Operation) -> ncclResult_t {
    let (number, comm) = (comm as usize, comm_at(comm as usize));
    let text = format!(" rank {} count {} type {}", comm.rank, operation.count, operation.of);
    answer(comm.world.call(function, &text).and_then(|()| {
        if DEPTH.get() > 0 {
            GROUP.with_borrow_mut(|group| group.push((number, Some(operation))));
            return Ok(());
        }
        run(&[(number, operation)])
    }))
}

unsafe extern "C" fn get_version(version: *mut c_int) -> ncclResult_t {
    let Some(world) = here() else { return INVALID_USAGE };
    let raw = lock(&world.state).version;
    // SAFETY: the caller vouches for the pointer.
    unsafe { version.write(raw) };
    answer(world.call("ncclGetVersion", ""))
}

unsafe extern "C" fn get_unique_id(id: *mut ncclUniqueId) -> ncclResult_t {
    let Some(world) = here() else { return INVALID_USAGE };
    let mut bytes = [0_u8; 128];
    let clique = {
        let mut state = lock(&world.state);
        state.cliques += 1;
        state.cliques
    };
    bytes[..8].copy_from_slice(&world.number.to_ne_bytes());
    bytes[8..16].copy_from_slice(&clique.to_ne_bytes());
    // SAFETY: the caller vouches for the pointer, and an id has as many bytes.
    unsafe { id.cast::<[u8; 128]>().write(bytes) };
    answer(world.call("ncclGetUniqueId", ""))
}

unsafe extern "C" fn join(comm: *mut ncclComm_t, size: c_int, id: ncclUniqueId, rank: c_int) -> ncclResult_t {
    let number = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| id.internal[at + byte].to_ne_bytes()[0]));
    let known = lock(&WORLDS).iter().filter_map(Weak::upgrade).find(|world| world.number == number(0));
    let Some(world) = known else { return INVALID_USAGE };
    if comm.is_null() {
        return answer(Err(INVALID_ARGUMENT));
    }
    let mut context = null_mut();
    // SAFETY: `context` is writable.
    if unsafe { world.driver.cuCtxGetCurrent(&raw mut context) }.is_err() || context.is_null() {
        return answer(Err(CUDA_ERROR));
    }
    let joined = world.call("ncclCommInitRank", &format!(" rank {rank} of {size}"));
    let clique = number(8);
    let (context, places) = (context as usize, RefCell::default());
    // As with NCCL, what fails late has been made.
    let made = Box::into_raw(Box::new(Comm { world: Arc::clone(&world), clique, rank, size, context, places }));
    {
        let mut state = lock(&world.state);
        state.alive += 1;
        *state.joined.entry(clique).or_insert(0) += 1;
        world.changed.notify_all();
    }
    // SAFETY: the caller vouches for the pointer.
    unsafe { comm.write(made.cast::<ncclComm>()) };
    answer(joined.and_then(|()| {
        if DEPTH.get() > 0 {
            GROUP.with_borrow_mut(|group| group.push((made as usize, None)));
            return Ok(());
        }
        world.await_ranks(comm_at(made as usize))
    }))
}

unsafe extern "C" fn finalize(comm: ncclComm_t) -> ncclResult_t {
    let comm = comm_at(comm as usize);
    answer(comm.world.call("ncclCommFinalize", &format!(" rank {}", comm.rank)))
}

unsafe fn end(function: &'static str, comm: ncclComm_t) -> ncclResult_t {
    // SAFETY: callers give back what `join` made, once.
    let comm = unsafe { Box::from_raw(comm.cast::<Comm>()) };
    lock(&comm.world.state).alive -= 1;
    answer(comm.world.call(function, &format!(" rank {}", comm.rank)))
}

unsafe extern "C" fn destroy(comm: ncclComm_t) -> ncclResult_t {
    // SAFETY: as the caller says.
    unsafe { end("ncclCommDestroy", comm) }
}

unsafe extern "C" fn abort(comm: ncclComm_t) -> ncclResult_t {
    // SAFETY: as the caller says.
    unsafe { end("ncclCommAbort", comm) }
}

unsafe extern "C" fn get_async_error(comm: ncclComm_t, error: *mut ncclResult_t) -> ncclResult_t {
    let code = lock(&comm_at(comm as usize).world.state).asynchronous;
    // SAFETY: the caller vouches for the pointer.
    unsafe { error.write(code) };
    SUCCESS
}

unsafe extern "C" fn get_last_error(_: ncclComm_t) -> *const c_char {
    c"the stand-in was told to fail".as_ptr()
}

unsafe extern "C" fn group_start() -> ncclResult_t {
    let begun = here().map_or(Ok(()), |world| world.call("ncclGroupStart", ""));
    if begun.is_ok() {
        DEPTH.set(DEPTH.get() + 1);
    }
    answer(begun)
}

unsafe extern "C" fn group_end() -> ncclResult_t {
    let called = here().map_or(Ok(()), |world| world.call("ncclGroupEnd", ""));
    DEPTH.set(DEPTH.get() - 1);
    let (group, failed) = (GROUP.take(), FAILED.replace(SUCCESS));
    if failed != SUCCESS {
        return failed;
    }
    let joined = group.iter().filter(|(_, operation)| operation.is_none());
    let operations: Vec<_> = group.iter().filter_map(|(comm, operation)| Some((*comm, (*operation)?))).collect();
    answer(called.and_then(|()| {
        joined.map(|(comm, _)| comm_at(*comm)).try_for_each(|comm| comm.world.await_ranks(comm))?;
        run(&operations)
    }))
}

macro_rules! operations {
    ($($name:ident $function:literal ($($argument:ident: $type:ty),*)
        $kind:expr, $send:expr, $receive:expr, $count:ident $of:ident;)*) => {$(
        unsafe extern "C" fn $name($($argument: $type,)* comm: ncclComm_t, stream: CUstream) -> ncclResult_t {
            let operation = Operation {
                kind: $kind,
                send: $send as CUdeviceptr,
                receive: $receive as CUdeviceptr,
                count: $count,
                of: $of,
                stream: stream as usize,
            };
            submit($function, comm, operation)
        }
    )*};
}

operations! {
    broadcast "ncclBroadcast" (send: *const c_void, receive: *mut c_void, count: usize, of: c_int, root: c_int)
        Kind::Broadcast(root), send, receive, count of;
    all_reduce "ncclAllReduce" (send: *const c_void, receive: *mut c_void, count: usize, of: c_int, reduction: c_int)
        Kind::AllReduce(reduction), send, receive, count of;
    reduce "ncclReduce"
        (send: *const c_void, receive: *mut c_void, count: usize, of: c_int, reduction: c_int, root: c_int)
        Kind::Reduce(reduction, root), send, receive, count of;
    all_gather "ncclAllGather" (send: *const c_void, receive: *mut c_void, count: usize, of: c_int)
        Kind::AllGather, send, receive, count of;
    reduce_scatter "ncclReduceScatter"
        (send: *const c_void, receive: *mut c_void, count: usize, of: c_int, reduction: c_int)
        Kind::ReduceScatter(reduction), send, receive, count of;
    send "ncclSend" (send: *const c_void, count: usize, of: c_int, peer: c_int) Kind::Send(peer), send, 0, count of;
    receive "ncclRecv" (receive: *mut c_void, count: usize, of: c_int, peer: c_int) Kind::Receive(peer), 0, receive, count of;
}

pub(super) const TABLE: NcclTable = NcclTable {
    ncclGetVersion: get_version,
    ncclGetUniqueId: get_unique_id,
    ncclCommInitRank: join,
    ncclCommFinalize: finalize,
    ncclCommDestroy: destroy,
    ncclCommAbort: abort,
    ncclCommGetAsyncError: get_async_error,
    ncclGetLastError: get_last_error,
    ncclGroupStart: group_start,
    ncclGroupEnd: group_end,
    ncclBroadcast: broadcast,
    ncclAllReduce: all_reduce,
    ncclReduce: reduce,
    ncclAllGather: all_gather,
    ncclReduceScatter: reduce_scatter,
    ncclSend: send,
    ncclRecv: receive,
};

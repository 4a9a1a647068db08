//! Collective operations as copies between devices.
#![expect(unsafe_code, reason = "calls the driver with what callers of NCCL vouch for")]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use warploom::nccl::raw::ncclResult_t;
use warploom::sys::types::{CUcontext, CUevent, CUstream};

use super::reduce::{Values, size_of_type};
use super::{CUDA_ERROR, INVALID_USAGE, Kind, Operation, Part, World};

impl World {
    fn driver<R>(&self, result: warploom::driver::Result<R>) -> Result<R, ncclResult_t> {
        result.map_err(|_| CUDA_ERROR)
    }

    /// An event at the point that a stream of a context has come to.
    fn mark(&self, context: usize, stream: usize) -> Result<usize, ncclResult_t> {
        let mut event: CUevent = null_mut();
        let (context, mut popped): (CUcontext, CUcontext) = (context as CUcontext, null_mut());
        // SAFETY: the context and the stream belong to operations whose borrowers keep them; the outputs are
        // writable.
        self.driver(unsafe {
            self.driver.cuCtxPushCurrent_v2(context).and_then(|()| {
                let made = self.driver.cuEventCreate(&raw mut event, 2);
                made.and(self.driver.cuCtxPopCurrent_v2(&raw mut popped))
            })
        })?;
        // SAFETY: as above.
        self.driver(unsafe { self.driver.cuEventRecord(event, stream as CUstream) })?;
        Ok(event as usize)
    }

    fn wait_event(&self, stream: usize, event: usize) -> Result<(), ncclResult_t> {
        // SAFETY: both are alive.
        self.driver(unsafe { self.driver.cuStreamWaitEvent(stream as CUstream, event as CUevent, 0) })
    }

    /// Lets the streams of all wait for what each has so far.
    fn barrier(&self, parts: &[Part]) -> Result<(), ncclResult_t> {
        if parts.len() < 2 {
            return Ok(());
        }
        for one in parts {
            let event = self.mark(one.context, one.operation.stream)?;
            parts.iter().try_for_each(|other| self.wait_event(other.operation.stream, event))?;
        }
        Ok(())
    }

    /// Copies what one rank sends to a place of another, on the stream of that.
    fn copy(&self, to: &Part, place: usize, from: &Part, bytes: usize) -> Result<(), ncclResult_t> {
        let (target, source) = (to.operation.receive + (place * bytes) as u64, from.operation.send);
        if bytes == 0 || target == source {
            return Ok(());
        }
        let stream = to.operation.stream as CUstream;
        let (to_context, from_context) = (to.context as CUcontext, from.context as CUcontext);
        // SAFETY: the callers of NCCL vouch for the memory.
        self.driver(unsafe {
            if to_context == from_context {
                self.driver.cuMemcpyDtoDAsync_v2(target, source, bytes, stream)
            } else {
                self.driver.cuMemcpyPeerAsync(target, to_context, source, from_context, bytes, stream)
            }
        })
    }

    /// Does what all have come for.
    pub(super) fn perform(&self, parts: &[Part]) -> Result<(), ncclResult_t> {
        let mut parts = parts.to_vec();
        parts.sort_by_key(|part| part.rank);
        let Operation { kind, count, of, .. } = parts[0].operation;
        let bytes = count * size_of_type(of);
        self.barrier(&parts)?;
        match kind {
            Kind::Broadcast(root) => parts.iter().try_for_each(|part| self.copy(part, 0, &parts[root as usize], bytes)),
            Kind::AllGather => parts.iter().try_for_each(|part| {
                parts.iter().enumerate().try_for_each(|(place, from)| self.copy(part, place, from, bytes))
            }),
            Kind::Send(_) | Kind::Receive(_) => {
                let is_send = |part: &&Part| matches!(part.operation.kind, Kind::Send(_));
                let ends = (parts.iter().find(is_send), parts.iter().find(|part| !is_send(part)));
                let (Some(from), Some(to)) = ends else { return Err(INVALID_USAGE) };
                self.copy(to, 0, from, bytes)
            }
            Kind::AllReduce(reduction) => self.reduce(&parts, (bytes, reduction, of), |_| Some((0, bytes))),
            Kind::Reduce(reduction, root) => {
                self.reduce(&parts, (bytes, reduction, of), |rank| (rank == root).then_some((0, bytes)))
            }
            Kind::ReduceScatter(reduction) => {
                let place = |rank: c_int| Some((rank as usize * bytes, bytes));
                self.reduce(&parts, (bytes * parts.len(), reduction, of), place)
            }
        }?;
        self.barrier(&parts)
    }

    /// Reduces what all send, and gives each the bytes that are its.
    fn reduce(
        &self,
        parts: &[Part],
        (bytes, reduction, of): (usize, c_int, c_int),
        place: impl Fn(c_int) -> Option<(usize, usize)>,
    ) -> Result<(), ncclResult_t> {
        if let [part] = parts {
            return self.copy(part, 0, part, bytes);
        }
        let mut staged: *mut c_void = null_mut();
        // SAFETY: `staged` is writable, and whoever calls NCCL has made a context current.
        self.driver(unsafe { self.driver.cuMemAllocHost_v2(&raw mut staged, bytes * parts.len()) })?;
        for (index, Part { operation, .. }) in parts.iter().enumerate() {
            let to = staged.wrapping_byte_add(index * bytes);
            // SAFETY: there is room for that, and callers of NCCL vouch for what they send.
            self.driver(unsafe {
                self.driver.cuMemcpyDtoHAsync_v2(to, operation.send, bytes, operation.stream as CUstream)
            })?;
        }
        self.barrier(parts)?;
        let values = Box::new(Values { staged: staged as usize, bytes, ranks: parts.len(), reduction, of });
        let stream = parts[0].operation.stream as CUstream;
        // SAFETY: the function takes the box over, and is called once.
        self.driver(unsafe {
            self.driver.cuLaunchHostFunc(stream, Some(Values::reduce), Box::into_raw(values).cast())
        })?;
        self.barrier(parts)?;
        for Part { rank, operation, .. } in parts {
            let Some((offset, bytes)) = place(*rank) else { continue };
            let from = staged.wrapping_byte_add(offset);
            // SAFETY: as above, for what they receive.
            self.driver(unsafe {
                self.driver.cuMemcpyHtoDAsync_v2(operation.receive, from, bytes, operation.stream as CUstream)
            })?;
        }
        Ok(())
    }
}

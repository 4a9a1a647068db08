//! Communicators: one rank of a group of devices.
#![expect(unsafe_code, reason = "owns a communicator of NCCL's")]

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ptr::null_mut;

use super::ledger::{Share, Task};
use super::raw::{ncclComm, ncclComm_t, ncclResult_t};
use super::{Nccl, NcclCode, NcclError};
use crate::diagnostics::{Subject, report};
use crate::handle::Handle;
use crate::stream::WeakStream;
use crate::{Context, Device, Result, Stream};

/// One rank of a group of devices that work together, in this process or in many.
///
/// Operations are enqueued on a named stream, in the order of that stream, like anything else; it runs when
/// all ranks have asked for the same. **All ranks ask for the same, in the same order, with the same lengths
/// and types.** Ranks of one process that do not are told ([`NcclError::Mismatch`]). For ranks of other
/// processes, the caller of [`Nccl::join`] has promised it. Two communicators of the same devices that are
/// used in one order here and in another there wait for ever.
///
/// It may go to another thread, and is used by one at a time. It holds its context, and
/// remembers the streams that it was used on.
///
/// Devices of several ranks in one process may access each other's buffers directly: open the pools that
/// these come from to the other devices ([`DevicePool::peers`](crate::DevicePool::peers)), or set
/// `NCCL_P2P_DIRECT_DISABLE=1` in the environment.
///
/// # Its end
///
/// [`Communicator::close`] waits for the enqueued operations, together with the other ranks.
/// [`Communicator::abort`] does not wait: it is the way out when another rank is gone, and the kernels that
/// wait for it would never end. A communicator that is dropped is freed if its streams are idle; otherwise,
/// after an error, and in a panic it is aborted, so that no `drop` hangs, and
/// [diagnostics](crate::diagnostics) has a report.
#[doc(alias = "ncclComm_t")]
pub struct Communicator {
    /// Null after its end.
    raw: Handle<ncclComm>,
    nccl: Nccl,
    context: Context,
    rank: u32,
    size: u32,
    /// The streams that have, or may have, work of it.
    streams: RefCell<Vec<WeakStream>>,
    is_broken: Cell<bool>,
    share: Share,
}

impl Communicator {
    /// # Safety
    ///
    /// It is a communicator of this NCCL for that rank, was made with the context's device, and has no other
    /// owner.
    pub(super) unsafe fn new(
        nccl: &Nccl,
        context: &Context,
        raw: ncclComm_t,
        (rank, size): (u32, u32),
        share: Share,
    ) -> Communicator {
        let (nccl, context) = (nccl.clone(), context.clone());
        let (streams, is_broken) = (RefCell::default(), Cell::new(false));
        Communicator { raw: Handle::new(raw), nccl, context, rank, size, streams, is_broken, share }
    }

    /// Its rank, counted from 0.
    #[doc(alias = "ncclCommUserRank")]
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// The number of ranks.
    #[doc(alias = "ncclCommCount")]
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The context that it works in.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The device that it works on.
    #[doc(alias = "ncclCommCuDevice")]
    #[must_use]
    pub fn device(&self) -> &Device {
        self.context.device()
    }

    /// The NCCL that it belongs to.
    #[must_use]
    pub fn nccl(&self) -> &Nccl {
        &self.nccl
    }

    /// NCCL's own handle; valid while this value is held.
    #[must_use]
    pub fn as_raw(&self) -> ncclComm_t {
        self.raw.raw()
    }

    /// Checks for errors since the last call; an operation on a device or on another node can fail long after
    /// the call that asked for it. Waits for nothing.
    ///
    /// # Errors
    ///
    /// [`NcclError::Failed`] with the cause: the communicator is unusable, and is to be
    /// [aborted](Communicator::abort).
    #[doc(alias = "ncclCommGetAsyncError")]
    pub fn check(&self) -> Result<()> {
        self.context.check_generation()?;
        let mut code: ncclResult_t = 0;
        // SAFETY: `self` keeps the communicator alive, and `code` is writable.
        let asked = unsafe { (self.nccl.table().ncclCommGetAsyncError)(self.as_raw(), &raw mut code) };
        self.nccl.answer("ncclCommGetAsyncError", asked)?;
        match NcclCode(code) {
            NcclCode::SUCCESS | NcclCode::IN_PROGRESS => Ok(()),
            code => Err(NcclError::Failed { code, detail: self.nccl.last_error() }.into()),
        }
    }

    /// Refuses one that is of no use any more.
    pub(super) fn is_usable(&self) -> Result<()> {
        self.context.check_generation()?;
        if self.is_broken.get() { Err(NcclError::Broken.into()) } else { Ok(()) }
    }

    /// Refuses all further use but to end it.
    pub(super) fn break_down(&self) {
        self.is_broken.set(true);
    }

    /// Takes note of a stream that is about to get work.
    pub(super) fn remember(&self, stream: &Stream) {
        if self.streams.borrow().iter().any(|known| known.is(stream)) {
            return;
        }
        // Not borrowed while the driver is asked.
        let mut streams = self.streams.take();
        streams.retain(|known| !known.has_ended() || known.rest().is_some());
        streams.push(stream.downgrade());
        self.streams.borrow_mut().append(&mut streams);
    }

    /// As [`Share::note`].
    pub(super) fn note(&self, task: Task) -> Result<()> {
        Ok(self.share.note(task)?)
    }

    /// Waits until everything that was enqueued is done, and ends the communicator, together with the other
    /// ranks.
    ///
    /// # Errors
    ///
    /// The driver's and NCCL's errors; then it has been aborted.
    #[doc(alias = "ncclCommFinalize")]
    #[doc(alias = "ncclCommDestroy")]
    pub fn close(mut self) -> Result<()> {
        self.is_usable()?;
        let done = self.streams.take().iter().try_for_each(WeakStream::drain);
        let finalized = done.and_then(|()| self.finalize());
        let ended = self.end(finalized.is_err());
        finalized.and(ended)
    }

    /// Ends the communicator and its pending operations, without waiting for other ranks: destinations may be
    /// overwritten with garbage. The other ranks have to do the same.
    ///
    /// # Errors
    ///
    /// NCCL's error; the communicator is gone all the same.
    #[doc(alias = "ncclCommAbort")]
    pub fn abort(mut self) -> Result<()> {
        self.context.check_generation()?;
        self.end(true)
    }

    fn finalize(&self) -> Result<()> {
        let _current = self.context.current()?;
        // SAFETY: `self` keeps the communicator alive.
        let code = unsafe { (self.nccl.table().ncclCommFinalize)(self.as_raw()) };
        // SAFETY: as above.
        let code = unsafe { self.nccl.outcome(self.as_raw(), code) };
        self.nccl.answer("ncclCommFinalize", code)
    }

    /// Gives it back to NCCL; the second time, there is nothing left to give back.
    fn end(&mut self, is_aborted: bool) -> Result<()> {
        let raw = std::mem::replace(&mut self.raw, Handle::new(null_mut())).raw();
        // Objects of a past generation of the context are gone, and NCCL's communicator among them cannot be
        // given back.
        if raw.is_null() || !self.context.is_current_generation() {
            return Ok(());
        }
        // If that fails, NCCL makes the context current by itself.
        let current = self.context.current();
        let table = self.nccl.table();
        let (function, end) = if is_aborted {
            ("ncclCommAbort", table.ncclCommAbort)
        } else {
            ("ncclCommDestroy", table.ncclCommDestroy)
        };
        // SAFETY: NCCL has made it, it has no other owner, and it is given back once.
        let code = unsafe { end(raw) };
        let ended = match NcclCode(code) {
            NcclCode::IN_PROGRESS => Ok(()), // it goes on by itself
            _ => self.nccl.answer(function, code),
        };
        ended.and(current.map(drop))
    }

    /// `true` if everything that it has enqueued is done, and well.
    fn is_done(&self) -> Result<()> {
        self.is_usable()?;
        self.check()?;
        let streams = self.streams.borrow().clone();
        if streams.iter().all(WeakStream::is_idle) { Ok(()) } else { Err(NcclError::DroppedInUse.into()) }
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        if self.as_raw().is_null() || !self.context.is_current_generation() {
            return;
        }
        let done = self.is_done();
        let ended = self.end(done.is_err() || std::thread::panicking());
        // The failure was returned before.
        let done = if self.is_broken.get() { Ok(()) } else { done };
        report(|| Subject::Communicator { device: self.device().ordinal() }, done.and(ended));
    }
}

impl fmt::Debug for Communicator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Communicator")
            .field("rank", &self.rank)
            .field("size", &self.size)
            .field("device", self.device())
            .finish_non_exhaustive()
    }
}

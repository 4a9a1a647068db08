//! Creating communicators by joining ranks.
#![expect(unsafe_code, reason = "calls NCCL")]

use std::ptr::null_mut;

use super::ledger::Share;
use super::raw::{ncclComm_t, ncclResult_t};
use super::{Communicator, LocalId, Nccl, NcclCode, NcclError, UniqueId};
use crate::{Context, Result};

impl Nccl {
    /// Joins a communicator of `size` ranks as one of them, which works on the device of `context`. Waits
    /// until all have joined.
    ///
    /// Each rank is joined by a thread or a process of its own; [`Nccl::join_all`] is for a thread that has
    /// several. A rank that never joins keeps the others waiting. Ranks that are all in this process join
    /// without a promise, by [`Nccl::join_local`] and [`Nccl::join_alone`].
    ///
    /// # Errors
    ///
    /// [`NcclError::NoSuchRank`]; [`NcclError::NotPrimary`] unless the context is its device's primary one;
    /// [`NcclError::OtherDriver`] unless it is a context of the driver that NCCL uses; and NCCL's error.
    ///
    /// # Safety
    ///
    /// For as long as the communicator is used, ranks in other processes call the same operations as those in
    /// this one, in the same order, with the same lengths, types, roots and reductions, and each message is
    /// received with the length and type with which it was sent. NCCL does not compare them: a rank that
    /// receives less than another sends gets bytes written past the end of its buffer. Here, only ranks of
    /// this process are compared.
    #[doc(alias = "ncclCommInitRank")]
    pub unsafe fn join(&self, context: &Context, id: &UniqueId, rank: u32, size: u32) -> Result<Communicator> {
        self.join_one(context, id, rank, size)
    }

    /// As [`Nccl::join`], for a communicator of which this process has all ranks, each in a thread of its
    /// own. Their operations are compared before NCCL is called, so that no promise is needed.
    ///
    /// ```no_run
    /// use warploom::nccl::{Nccl, Reduction};
    /// use warploom::{DevicePool, Driver, Result};
    ///
    /// # fn main() -> Result<()> {
    /// let (driver, nccl) = (Driver::load()?, Nccl::load()?);
    /// let id = nccl.local_id(2)?;
    /// let rank = |rank: u32| -> Result<Vec<f32>> {
    ///     let context = driver.device(rank)?.context()?;
    ///     let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    ///     let communicator = nccl.join_local(&context, &id, rank)?;
    ///     let mut values = pool.upload(&[rank as f32], &stream)?;
    ///     communicator.all_reduce_in_place(&mut values, Reduction::Sum, &stream)?;
    ///     let values = values.download(&stream)?;
    ///     communicator.close().map(|()| values)
    /// };
    /// std::thread::scope(|scope| {
    ///     let other = scope.spawn(|| rank(1));
    ///     assert_eq!(rank(0)?, [1.0]);
    ///     other.join().expect("it does not panic").map(drop)
    /// })
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Nccl::join`], and [`NcclError::RankTaken`].
    pub fn join_local(&self, context: &Context, id: &LocalId, rank: u32) -> Result<Communicator> {
        self.join_one(context, &id.id, rank, id.size)
    }

    fn join_one(&self, context: &Context, id: &UniqueId, rank: u32, size: u32) -> Result<Communicator> {
        let (raw_rank, raw_size) = numbers(rank, size)?;
        self.serves(context)?;
        let share = Share::new(id, rank)?;
        share.open(context.device());
        let mut raw = null_mut();
        let _current = context.current()?;
        // SAFETY: `raw` is writable, and the device is current.
        let code = unsafe { (self.table().ncclCommInitRank)(&raw mut raw, raw_size, id.to_raw(), raw_rank) };
        // SAFETY: it is null, or the communicator that is being made.
        let code = unsafe { self.outcome(raw, code) };
        self.joined("ncclCommInitRank", code, &[raw])?;
        // SAFETY: NCCL has made it just now, for this rank and device.
        Ok(unsafe { Communicator::new(self, context, raw, (rank, size), share) })
    }

    /// Joins a communicator of `size` ranks as several of them at once, which work on devices of their own.
    ///
    /// # Errors
    ///
    /// As [`Nccl::join`], for each; [`NcclError::NoRanks`] for none, [`NcclError::SameDevice`] for a device
    /// that is named twice.
    ///
    /// # Safety
    ///
    /// As [`Nccl::join`].
    pub unsafe fn join_all(&self, id: &UniqueId, size: u32, ranks: &[(u32, &Context)]) -> Result<Vec<Communicator>> {
        self.join_several(id, size, ranks)
    }

    fn join_several(&self, id: &UniqueId, size: u32, ranks: &[(u32, &Context)]) -> Result<Vec<Communicator>> {
        let [(_, first), ..] = ranks else { return Err(NcclError::NoRanks.into()) };
        for (index, (rank, context)) in ranks.iter().enumerate() {
            numbers(*rank, size)?;
            self.serves(context)?;
            if ranks[..index].iter().any(|(_, other)| other.device() == context.device()) {
                return Err(NcclError::SameDevice { device: context.device().ordinal() }.into());
            }
        }
        let shares = ranks.iter().map(|(rank, _)| Share::new(id, *rank)).collect::<Result<Vec<_>, _>>()?;
        shares.iter().zip(ranks).for_each(|(share, (_, context))| share.open(context.device()));
        // Each of them is written until the group has ended.
        let mut raw = vec![null_mut(); ranks.len()];
        let _current = first.current()?;
        // SAFETY: every group that is begun is ended below.
        self.answer("ncclGroupStart", unsafe { (self.table().ncclGroupStart)() })?;
        let begun = ranks.iter().zip(&mut raw).try_for_each(|((rank, context), raw)| {
            let (rank, size) = numbers(*rank, size)?;
            let _current = context.current().inspect_err(|_| self.spoil(id))?;
            // SAFETY: `raw` is writable until the group has ended, and the device is current.
            let code = unsafe { (self.table().ncclCommInitRank)(raw, size, id.to_raw(), rank) };
            accepted(code).map_or(Ok(()), |code| self.answer("ncclCommInitRank", code))
        });
        // SAFETY: ends the group that was begun above.
        let mut ended = unsafe { (self.table().ncclGroupEnd)() };
        for raw in &raw {
            // SAFETY: it is null, or a communicator that is being made.
            let code = unsafe { self.outcome(*raw, ended) };
            ended = if accepted(ended).is_none() { code } else { ended };
        }
        let joined = begun.and_then(|()| self.answer("ncclGroupEnd", ended));
        if let Err(error) = joined {
            self.give_up(&raw);
            return Err(error);
        }
        let made = ranks.iter().zip(raw).zip(shares);
        Ok(made
            // SAFETY: NCCL has made them just now, each for its rank and device.
            .map(|(((rank, context), raw), share)| unsafe {
                Communicator::new(self, context, raw, (*rank, size), share)
            })
            .collect())
    }

    /// A communicator of which this process has all ranks: one for each context, in their order. Their
    /// operations are compared before NCCL is called, so that no promise is needed.
    ///
    /// # Errors
    ///
    /// As [`Nccl::join_all`].
    #[doc(alias = "ncclCommInitAll")]
    pub fn join_alone(&self, contexts: &[Context]) -> Result<Vec<Communicator>> {
        let ranks: Vec<(u32, &Context)> = (0..).zip(contexts).collect();
        // There are no more devices than ordinals.
        let size = u32::try_from(contexts.len()).unwrap_or(u32::MAX);
        if ranks.is_empty() {
            return Err(NcclError::NoRanks.into());
        }
        self.join_several(&self.unique_id()?, size, &ranks)
    }

    fn joined(&self, function: &'static str, code: ncclResult_t, raw: &[ncclComm_t]) -> Result<()> {
        self.answer(function, code).inspect_err(|_| self.give_up(raw))
    }

    /// Lets the group that was begun fail: those that have joined in it would wait for the rank that does
    /// not.
    fn spoil(&self, id: &UniqueId) {
        // SAFETY: what has nowhere to go is refused, and the group with it.
        let _refused = unsafe { (self.table().ncclCommInitRank)(null_mut(), 1, id.to_raw(), 0) };
    }

    /// Frees communicators whose creation failed. One that failed at once is null; one that failed later is
    /// not, and is aborted.
    fn give_up(&self, raw: &[ncclComm_t]) {
        for raw in raw.iter().filter(|raw| !raw.is_null()) {
            // SAFETY: NCCL has made it, and it has no other owner. That it fails changes nothing about the
            // failure that is told.
            let _code = unsafe { (self.table().ncclCommAbort)(*raw) };
        }
    }
}

/// The status of a call, if it neither succeeded nor is in progress.
pub(super) fn accepted(code: ncclResult_t) -> Option<ncclResult_t> {
    (!matches!(NcclCode(code), NcclCode::SUCCESS | NcclCode::IN_PROGRESS)).then_some(code)
}

/// A rank and a size, as NCCL has them.
fn numbers(rank: u32, size: u32) -> Result<(i32, i32)> {
    match (i32::try_from(rank), i32::try_from(size)) {
        (Ok(raw_rank), Ok(raw_size)) if rank < size => Ok((raw_rank, raw_size)),
        _ => Err(NcclError::NoSuchRank { rank, size }.into()),
    }
}

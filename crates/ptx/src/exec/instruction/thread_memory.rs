//! Bounds of a thread's local memory and of the kernel's arguments.
//!
//! On hardware the whole stack of a thread can be accessed, and arguments lie in a constant bank that reads
//! as zero behind them.

use crate::device::bounds::Bounds;
use crate::device::host::Host;
use crate::device::launch::MAX_LOCAL;
use crate::device::memory::Memory;
use crate::device::trap::TrapKind;
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor, Stop, stop};

impl<M: Memory + Host> Executor<'_, M> {
    /// Makes sure that a lane can access bytes of its local memory.
    #[inline]
    pub(crate) fn check_local(
        &self,
        warp: &mut Warp,
        at: Current,
        lane: usize,
        address: u64,
        length: usize,
    ) -> Result<(), Stop> {
        let end = address.saturating_add(length as u64);
        if end <= warp.local.end() && end <= MAX_LOCAL.into() {
            return Ok(());
        }
        self.beyond(warp, at, 1 << lane, TrapKind::Local(address), end <= self.context.stack.min(MAX_LOCAL).into())?;
        warp.local.reserve(end as u32);
        Ok(())
    }

    /// Reads arguments of the kernel.
    #[inline]
    pub(crate) fn read_arguments(
        &self,
        warp: &Warp,
        at: Current,
        lanes: u32,
        address: u64,
        into: &mut [u8],
    ) -> Result<(), Stop> {
        let arguments = &self.context.arguments;
        let start = usize::try_from(address).unwrap_or(usize::MAX);
        if let Some(bytes) = arguments.get(start..start.saturating_add(into.len())) {
            into.copy_from_slice(bytes);
            return Ok(());
        }
        self.beyond(warp, at, lanes, TrapKind::Parameter(address), true)?;
        into.fill(0);
        let there = arguments.get(start..).unwrap_or_default();
        into.iter_mut().zip(there).for_each(|(byte, there)| *byte = *there);
        Ok(())
    }

    /// An access beyond declared memory: a trap, or a report if the host asks for one and hardware lets it
    /// pass.
    #[cold]
    fn beyond(&self, warp: &Warp, at: Current, lanes: u32, kind: TrapKind, passes: bool) -> Result<(), Stop> {
        match self.context.bounds {
            Bounds::Hardware | Bounds::Reported if !passes => Err(stop(warp, at, lanes, kind)),
            Bounds::Declared => Err(stop(warp, at, lanes, kind)),
            Bounds::Hardware => Ok(()),
            Bounds::Reported => {
                self.context.memory.overrun(&self.access(warp, at, lanes, false), &kind);
                Ok(())
            }
        }
    }
}

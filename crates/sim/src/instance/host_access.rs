//! Accesses of the host to memory that streams touch, too, and hand-overs between host threads.

use warploom_engine::Known;

use super::machine::Machine;
use crate::memory::shadow::AccessKind;
use crate::memory::{Allocation, Residence};

/// The host reads or writes page-locked or managed memory, for as long as this lives.
///
/// Made by [`Machine::host_access`]. Work that touches the same bytes races with it unless the host has
/// waited for the work before this was made, or the work is enqueued after this was dropped.
#[derive(Debug)]
#[must_use = "the access ends when this is dropped"]
pub struct HostAccess<'a> {
    machine: &'a Machine,
    /// The step of a timeline of its own that is over when the access is.
    step: Known,
}

/// An access of the host that the machine cannot watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostAccessError {
    /// It is not in page-locked, registered or managed memory of the machine.
    #[error(
        "{bytes} bytes at {address:#x} are not all in one page-locked or managed allocation; only these are watched"
    )]
    NotShared {
        /// Its first address.
        address: u64,
        /// Size in bytes.
        bytes: u64,
    },
}

/// The knowledge of one thread, on its way to another; see [`Machine::hand_over`].
#[derive(Clone, Debug)]
pub struct HandOver {
    known: Known,
}

impl Machine {
    /// Says that the host is about to read (or, with `writes`, to write) memory that work may touch, too, so
    /// that the machine can tell whether the two are ordered. A machine that does not check only looks
    /// whether the memory is there.
    ///
    /// ```
    /// # use warploom_sim::{Checks, Machine};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let machine = Machine::builder().checks(Checks::report()).start()?;
    /// assert!(machine.host_access(0x1000, 16, false).is_err(), "nothing is allocated there");
    /// # Ok(())
    /// # }
    /// ```
    pub fn host_access(&self, address: u64, bytes: u64, writes: bool) -> Result<HostAccess<'_>, HostAccessError> {
        let kind = if writes { AccessKind::Write } else { AccessKind::Read };
        let range = address..address.saturating_add(bytes);
        let Some(core) = self.here() else { return Err(HostAccessError::NotShared { address, bytes }) };
        let step = {
            let mut world = core.world();
            let found =
                world.memory().containing(address).filter(|found| found.is_host_accessible() || found.is_managed());
            if found.is_none_or(|found| found.end() < range.end) {
                return Err(HostAccessError::NotShared { address, bytes });
            }
            if found.is_some_and(Allocation::is_managed) {
                world.pages_touched(&range, Residence::Host, writes);
            }
            let (checker, mut parts) = world.checked_parts();
            checker.check_host_access(&mut parts, &range, kind)
        };
        core.findings.tell();
        Ok(HostAccess { machine: self, step })
    }

    /// Hands the knowledge of this thread over to another, which learns it by a channel, a lock or a join
    /// that the machine cannot see. Matters where threads are ordered by
    /// [`HostOrder::HandOvers`](crate::HostOrder::HandOvers).
    #[must_use]
    pub fn hand_over(&self) -> HandOver {
        let Some(core) = self.here() else { return HandOver { known: Known::default() } };
        HandOver { known: core.world().host_hands_over() }
    }

    /// Takes the knowledge of another thread over.
    pub fn take_over(&self, from: &HandOver) {
        if let Some(core) = self.here() {
            core.world().host_learns(&from.known);
        }
    }
}

impl Drop for HostAccess<'_> {
    fn drop(&mut self) {
        if let Some(core) = self.machine.here() {
            core.world().host_ends(&self.step);
        }
    }
}

//! Kernels that have not ended, and the ops and frees enqueued since.

use std::collections::HashSet;
use std::ops::Range;

use warploom_engine::{Epoch, Known};

use crate::memory::shadow::{AllocationInfo, Operation, StreamInfo};

/// Kernels that have not ended.
#[derive(Debug, Default)]
pub(super) struct PendingKernels(Vec<PendingKernel>);

#[derive(Debug)]
struct PendingKernel {
    epoch: Epoch,
    /// Ops that were enqueued since and are ordered behind it.
    followers: HashSet<Epoch>,
    /// Memory that was freed since.
    frees: Vec<PendingFree>,
}

/// Memory that is freed while a kernel has not ended, which may yet touch it or have done so.
#[derive(Clone, Debug)]
pub(super) struct PendingFree {
    pub(super) addresses: Range<u64>,
    /// The free, if nothing orders it behind the kernel.
    pub(super) unordered: Option<UnorderedFree>,
}

/// A free that nothing orders behind a kernel, for a report.
#[derive(Clone, Debug)]
pub(super) struct UnorderedFree {
    pub(super) allocation: AllocationInfo,
    pub(super) free: Operation,
    pub(super) stream: Option<StreamInfo>,
}

impl PendingKernels {
    /// Notes an op that is enqueued behind all that it knows.
    pub(super) fn note(&mut self, epoch: Epoch, known: &Known) {
        for kernel in self.0.iter_mut().filter(|kernel| known.includes(kernel.epoch)) {
            kernel.followers.insert(epoch);
        }
    }

    /// `true` if a kernel among those that `known` includes has yet to run.
    pub(super) fn is_behind(&self, known: &Known) -> bool {
        self.0.iter().any(|kernel| known.includes(kernel.epoch))
    }

    pub(super) fn add(&mut self, epoch: Epoch) {
        self.0.push(PendingKernel { epoch, followers: HashSet::new(), frees: Vec::new() });
    }

    /// Removes a kernel; the ops that were enqueued behind it.
    pub(super) fn take(&mut self, epoch: Epoch) -> HashSet<Epoch> {
        let at = self.0.iter().position(|kernel| kernel.epoch == epoch);
        at.map(|at| self.0.swap_remove(at).followers).unwrap_or_default()
    }

    /// The ops that were enqueued behind a kernel so far.
    pub(super) fn followers(&self, epoch: Epoch) -> HashSet<Epoch> {
        self.0.iter().find(|kernel| kernel.epoch == epoch).map(|kernel| kernel.followers.clone()).unwrap_or_default()
    }

    /// Takes the frees that came since a kernel was enqueued.
    pub(super) fn take_frees(&mut self, epoch: Epoch) -> Vec<PendingFree> {
        let kernel = self.0.iter_mut().find(|kernel| kernel.epoch == epoch);
        kernel.map(|kernel| std::mem::take(&mut kernel.frees)).unwrap_or_default()
    }

    /// Notes a free behind all that is known; `free` describes it for a report.
    pub(super) fn free(&mut self, addresses: &Range<u64>, known: &Known, free: impl Fn() -> Option<UnorderedFree>) {
        for kernel in &mut self.0 {
            let is_ordered = known.is_unsure() || known.includes(kernel.epoch);
            let unordered = if is_ordered { None } else { free() };
            kernel.frees.push(PendingFree { addresses: addresses.clone(), unordered });
        }
    }
}

//! The limit of host memory that simulated memory takes.
//!
//! Memory is free until it is written: an allocation larger than the host succeeds. While all that is
//! allocated fits the limit, nothing is measured. Beyond that, the committed pages are counted from time to
//! time:
//!
//! | call | refused with `OUT_OF_MEMORY` if |
//! |---|---|
//! | an allocation, a launch of a kernel or a graph | the limit is reached |
//! | a copy, a fill, a launch of a graph with some | it would be exceeded by the pages of the destinations that are not committed yet |
//!
//! A large fill with zeros gives its pages back. They count as given back from the call on, though the fill
//! may run later.
//!
//! A kernel that exceeds the limit while it runs is ended, with the same code. So is a conditional node, before
//! it runs a body whose copies and fills would exceed it.

use std::ops::Range;
use std::sync::Arc;

use warploom_engine::{OpId, Work as _};

use crate::ffi::handle::ExecutableHandle;
use crate::ffi::status::{OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::graph::{NodeWork, Plan};
use crate::machine::world::{Work, World};
use crate::memory::committed::RELEASED;
use crate::memory::{Claim, MemoryOp, Side, Touch};

impl World {
    /// `true` if more is allocated than the limit, so that it could be exceeded.
    fn nears_host_limit(&self, more: u64) -> bool {
        let devices = self.devices.iter().map(|device| device.memory.capacity() - device.memory.free_bytes());
        let host = self.memory.held().filter(|(side, _)| *side == Side::Host).map(|(_, bytes)| bytes);
        // Managed memory need not take memory of a device.
        let all = devices.chain(host).chain([self.memory.managed()]);
        all.fold(more, u64::saturating_add) > self.host_limit.bytes()
    }

    /// The most bytes that are committed, with those that ops in flight may commit.
    fn most_committed(&mut self) -> u64 {
        if self.host_limit.is_stale() {
            self.measure_host_memory();
        }
        self.host_limit.most()
    }

    /// The bytes of memory in files: physical memory, and what other processes can have.
    fn committed_in_files(&self) -> u64 {
        let blocks = self.devices.iter().map(|device| device.memory.committed_shared());
        let pools = self.pools.iter().map(|(_, pool)| pool.committed());
        self.virtual_memory.committed() + blocks.chain(pools).sum::<u64>()
    }

    /// Measures the committed bytes.
    fn measure_host_memory(&mut self) -> u64 {
        let engine = &self.engine;
        self.host_limit.measure(self.committed_in_files(), |op| engine.is_done(op))
    }

    /// The bytes that will be committed when all work so far is done, and work that writes `more` pages.
    fn foresee_host_memory(&mut self, more: &[Range<u64>]) -> u64 {
        let engine = &self.engine;
        self.host_limit.foresee(self.committed_in_files(), |op| engine.is_done(op), more)
    }

    /// The reason why no more host memory is to be had, if the limit is reached.
    pub(crate) fn over_host_limit(&mut self, more: u64) -> Option<String> {
        if !self.nears_host_limit(more) || self.most_committed() < self.host_limit.bytes() {
            return None;
        }
        let bytes = self.foresee_host_memory(&[]);
        (bytes >= self.host_limit.bytes()).then(|| self.explain_host_limit(bytes))
    }

    fn explain_host_limit(&self, bytes: u64) -> String {
        format!(
            "simulated memory takes {bytes} bytes of the host's memory, and the limit is {}; \
             WARPLOOM_HOST_MEMORY and MachineBuilder::host_memory set it",
            self.host_limit.bytes()
        )
    }

    /// Refuses an allocation or a launch when the limit is reached.
    pub(crate) fn afford_host(&mut self, call: &Call<'_>, more: u64) -> Status {
        match self.over_host_limit(more) {
            Some(reason) => Err(call.refuse(OUT_OF_MEMORY, reason)),
            None => Ok(()),
        }
    }

    /// Refuses work that would exceed the limit. Returns the memory that it may commit.
    pub(crate) fn afford_work(&mut self, call: &Call<'_>, work: &Work) -> Status<Claim> {
        if !self.nears_host_limit(0) {
            return Ok(Claim::default());
        }
        if matches!(work, Work::Task(_)) {
            self.afford_host(call, 0)?;
            return Ok(Claim::default());
        }
        let mut claim = Claim::default();
        self.add_written(work, |_| false, &mut claim);
        self.afford_claim(call, claim)
    }

    /// Refuses a launch of a graph whose copies and fills would exceed the limit. Returns the memory that
    /// they may commit.
    pub(crate) fn afford_graph(&mut self, call: &Call<'_>, handle: ExecutableHandle) -> Status<Claim> {
        self.afford_host(call, 0)?;
        let Some(plan) = self.graphs.executables.get(handle).map(|executable| Arc::clone(executable.plan())) else {
            return Ok(Claim::default());
        };
        // Memory of the graph itself is allocated by the launch.
        let steps = || plan.steps.iter().filter(|step| step.is_enabled);
        let own: Vec<(u64, u64)> = steps().filter_map(|step| step.work.allocation()).collect();
        if !self.nears_host_limit(own.iter().map(|(_, bytes)| bytes).sum()) {
            return Ok(Claim::default());
        }
        let is_own = |address: u64| own.iter().any(|(start, bytes)| (*start..start + bytes).contains(&address));
        let claim = self.claim_of(&plan, is_own);
        self.afford_claim(call, claim)
    }

    /// Refuses to run a body of a conditional node whose copies and fills would exceed the limit. Returns the
    /// memory that they may commit.
    pub(crate) fn afford_body(&mut self, call: &Call<'_>, body: &Plan) -> Status<Claim> {
        if !self.nears_host_limit(0) {
            return Ok(Claim::default());
        }
        let claim = self.claim_of(body, |_| false);
        self.afford_claim(call, claim)
    }

    /// The memory that the copies and fills of a plan write or give back; bodies of its conditional nodes may
    /// not run.
    fn claim_of(&self, plan: &Plan, is_own: impl Fn(u64) -> bool + Copy) -> Claim {
        let mut claim = Claim::default();
        for step in plan.steps.iter().filter(|step| step.is_enabled) {
            if let NodeWork::Memory(node) = &step.work {
                self.add_written(&node.op.clone().into(), is_own, &mut claim);
            }
        }
        claim
    }

    /// Adds the simulated memory that work writes or gives back. `is_own` says that memory at an address is
    /// yet to be allocated.
    fn add_written(&self, work: &Work, is_own: impl Fn(u64) -> bool, claim: &mut Claim) {
        let pages = if gives_pages_back(work) { &mut claim.released } else { &mut claim.written };
        work.touches(|touch| match touch {
            Touch::Copy { to, bytes, .. } | Touch::Write { to, bytes } => {
                if is_own(to.address()) || self.memory.containing(to.address()).is_some() {
                    pages.push(to.host() as u64..to.host() as u64 + bytes);
                }
            }
            Touch::Prefetch { .. } | Touch::Discard { .. } | Touch::WriteValue { .. } | Touch::WaitValue { .. } => {}
        });
    }

    fn afford_claim(&mut self, call: &Call<'_>, claim: Claim) -> Status<Claim> {
        let wanted: u64 = claim.written.iter().map(|pages| pages.end - pages.start).sum();
        if wanted > 0 && self.most_committed() + wanted > self.host_limit.bytes() {
            let bytes = self.foresee_host_memory(&claim.written);
            if bytes > self.host_limit.bytes() {
                let now = self.measure_host_memory();
                let reason = format!("{}; with this call it would be {bytes}", self.explain_host_limit(now));
                return Err(call.refuse(OUT_OF_MEMORY, reason));
            }
        }
        Ok(claim)
    }

    /// Remembers the memory that an op may commit.
    pub(crate) fn claim_host(&mut self, op: OpId, claim: Claim) {
        self.host_limit.claim(op, claim);
    }
}

/// `true` for a large fill with zeros.
fn gives_pages_back(work: &Work) -> bool {
    match work {
        Work::Memory(MemoryOp::Fill { pattern: 0, element, count, .. }) => count * u64::from(*element) >= RELEASED,
        _ => false,
    }
}

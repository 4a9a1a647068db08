//! Settings of checks and of their reports.

use std::sync::Arc;

use warploom_engine::HostOrder;

use super::finding::Finding;

/// The checks of a machine on the programs that it runs.
///
/// ```
/// use warploom_sim::{Checks, Machine};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let machine = Machine::builder().checks(Checks::report()).start()?;
/// assert!(machine.findings().is_empty());
/// # Ok(())
/// # }
/// ```
///
/// Checking costs time in every call that enqueues work, allocates or frees;
/// `cargo bench -p warploom-sim --bench check` shows how much. A machine that does not check does nothing for
/// it.
#[derive(Clone)]
pub struct Checks {
    pub(crate) mode: CheckMode,
    pub(crate) backtraces: Backtraces,
    pub(crate) host_order: HostOrder,
    pub(crate) kernels: KernelChecks,
    pub(crate) pointers: bool,
    pub(crate) sink: Option<Sink>,
}

/// The function that gets findings.
type Sink = Arc<dyn Fn(&Finding) + Send + Sync>;

/// The effect of a finding on the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckMode {
    /// Nothing is checked.
    Off,
    /// The finding is kept, and the call goes on as it would have.
    Report,
    /// The finding is kept, and the call answers `CUDA_ERROR_ILLEGAL_STATE` and does nothing. A call that the
    /// driver refuses anyway keeps its own code.
    Fail,
}

/// The calls whose backtraces a finding shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backtraces {
    /// None: for programs whose frames would mean nothing to a reader.
    Off,
    /// The call in which it was found. The other call has its number. Costs nothing until there is a finding.
    Found,
    /// Every call that takes part: each call that enqueues, allocates or frees remembers its backtrace, which
    /// takes a few microseconds.
    All,
}

/// The checks among the threads of a kernel.
///
/// Kernels run several times slower for it, those that do little else than access memory a few dozen times;
/// `cargo bench -p warploom-ptx --bench watched` shows how much each check takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelChecks {
    /// Threads of a block that race in shared memory.
    pub shared_races: bool,
    /// Threads of one block or of several that race in global memory.
    pub global_races: bool,
    /// Reads of shared memory that no thread of the block has written.
    pub uninitialised_shared: bool,
    /// Barriers that not all threads come to.
    pub barriers: bool,
}

impl KernelChecks {
    /// All of it.
    pub const ALL: Self = Self { shared_races: true, global_races: true, uninitialised_shared: true, barriers: true };
    /// Nothing.
    pub const NONE: Self =
        Self { shared_races: false, global_races: false, uninitialised_shared: false, barriers: false };

    /// The same, with or without races in shared memory.
    #[must_use]
    pub fn shared_races(self, check: bool) -> Self {
        Self { shared_races: check, ..self }
    }

    /// The same, with or without races in global memory.
    #[must_use]
    pub fn global_races(self, check: bool) -> Self {
        Self { global_races: check, ..self }
    }

    /// The same, with or without reads of uninitialised shared memory.
    #[must_use]
    pub fn uninitialised_shared(self, check: bool) -> Self {
        Self { uninitialised_shared: check, ..self }
    }

    /// The same, with or without barriers.
    #[must_use]
    pub fn barriers(self, check: bool) -> Self {
        Self { barriers: check, ..self }
    }
}

impl Checks {
    /// Checks nothing.
    #[must_use]
    pub fn off() -> Self {
        Self {
            mode: CheckMode::Off,
            backtraces: Backtraces::Found,
            host_order: HostOrder::Observed,
            kernels: KernelChecks::ALL,
            pointers: false,
            sink: None,
        }
    }

    /// Checks everything, and keeps the findings.
    #[must_use]
    pub fn report() -> Self {
        Self { mode: CheckMode::Report, ..Self::off() }
    }

    /// Checks everything, and fails a call with a finding.
    #[must_use]
    pub fn fail() -> Self {
        Self { mode: CheckMode::Fail, ..Self::off() }
    }

    /// The calls whose backtraces a finding shows; without it, the call in which it was found.
    #[must_use]
    pub fn backtraces(mut self, backtraces: Backtraces) -> Self {
        self.backtraces = backtraces;
        self
    }

    /// The assumed order of host threads; [`HostOrder::Observed`] without this call.
    #[must_use]
    pub fn host_order(mut self, order: HostOrder) -> Self {
        self.host_order = order;
        self
    }

    /// The checks among the threads of kernels; without it, all of them. The accesses of a kernel as a whole
    /// are checked in any case.
    #[must_use]
    pub fn kernels(mut self, checks: KernelChecks) -> Self {
        self.kernels = checks;
        self
    }

    /// Asks the operating system about each pointer that a call reads or writes through, before it does.
    /// Without it, pointers are not checked: a Rust program has references to point with.
    ///
    /// A call with a pointer to memory that is not there or cannot be written then answers
    /// `CUDA_ERROR_INVALID_VALUE`, and the log says which it was; otherwise such a call ends the process, as
    /// the real driver's does. That memory is there does not say that it is the right one, or large enough
    /// for an array. Each pointer costs a system call.
    #[must_use]
    pub fn pointers(mut self, check: bool) -> Self {
        self.pointers = check;
        self
    }

    /// Calls a function with each finding when the call it was found in is about to return, on that call's
    /// thread, and with the leaks when the machine ends. Without it findings are told as `tracing` warnings.
    #[must_use]
    pub fn on_finding(mut self, sink: impl Fn(&Finding) + Send + Sync + 'static) -> Self {
        self.sink = Some(Arc::new(sink));
        self
    }

    pub(crate) fn is_on(&self) -> bool {
        self.mode != CheckMode::Off
    }
}

impl std::fmt::Debug for Checks {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { mode, backtraces, host_order, kernels, pointers, sink } = self;
        formatter
            .debug_struct("Checks")
            .field("mode", mode)
            .field("backtraces", backtraces)
            .field("host_order", host_order)
            .field("kernels", kernels)
            .field("pointers", pointers)
            .field("has_sink", &sink.is_some())
            .finish()
    }
}

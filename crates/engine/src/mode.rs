//! Modes: when enqueued work runs, and in which order.

/// The execution mode, which decides when ready ops run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// Executor threads, two for each unit (a virtual device), one of them for host functions: asynchronous
    /// for real.
    Threads,
    /// No threads; ops run inside calls, in a reproducible order. A host function runs on the thread whose
    /// call reaches it, so one that waits for that thread waits for ever.
    Deterministic(Order),
    /// Every call returns when its work is done.
    Sync,
}

/// The order in which a deterministic machine runs ready ops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Order {
    /// As soon as possible: during the call that makes them ready.
    Eager,
    /// As late as possible: only what a wait or a query needs, so that a forgotten wait shows.
    Lazy,
    /// A legal order picked by this seed; the same seed gives the same order.
    Seeded(u64),
}

impl Mode {
    /// `true` if ops that only do bookkeeping end the moment they are ready. The orders that exist to
    /// surprise a program hold these back like any other.
    pub(crate) fn finishes_instants_at_once(self) -> bool {
        matches!(self, Mode::Threads | Mode::Sync | Mode::Deterministic(Order::Eager))
    }
}

/// A small generator of random choices (SplitMix64); its whole state is the seed, so a run can be repeated.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(mode: Mode) -> Self {
        match mode {
            Mode::Deterministic(Order::Seeded(seed)) => Self(seed),
            _ => Self(0),
        }
    }

    /// A number smaller than `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed % bound as u64) as usize
    }
}

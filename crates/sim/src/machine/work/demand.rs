//! Demand of a kernel: the part of its device that it takes, and for how long.

/// All multiprocessors of a device.
pub(crate) const WHOLE: u32 = 1 << 20;

/// The part of a device that a kernel takes, and for how long.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Demand {
    /// The part of the multiprocessors that its blocks fill at once, of [`WHOLE`].
    pub(crate) share: u32,
    /// Nanoseconds of a block.
    pub(crate) round: u64,
    /// Shares times nanoseconds of all blocks.
    pub(crate) work: u128,
}

impl Demand {
    /// Nanoseconds that it takes alone.
    pub(crate) fn alone(&self) -> u64 {
        let rounds = self.work.div_ceil((u128::from(self.share) * u128::from(self.round)).max(1));
        u64::try_from(rounds.saturating_mul(self.round.into())).unwrap_or(u64::MAX)
    }
}

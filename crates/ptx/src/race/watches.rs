//! The kinds of hazards that a run is checked for.

/// The kinds of hazards to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watches {
    /// Races in shared memory.
    pub shared_races: bool,
    /// Races in global memory, within a block and between blocks.
    pub global_races: bool,
    /// Reads of uninitialised shared memory.
    pub unwritten_shared: bool,
    /// Barriers that not all come to.
    pub barriers: bool,
}

impl Watches {
    /// Everything.
    pub const ALL: Watches = Watches { shared_races: true, global_races: true, unwritten_shared: true, barriers: true };
}

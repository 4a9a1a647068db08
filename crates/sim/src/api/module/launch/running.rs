//! Running grids, under the race checker on machines with checks.

use std::sync::Arc;

use warploom_ptx::{Access, Cost, Crew, Grid, Kernel, Launch, LaunchError, Step, Trap, TrapKind, Watched, Watches};

use super::view::View;
use crate::check::{KernelChecks, KernelHazard};

/// The two executors of a kernel, compiled separately, so that machines without checks pay nothing for them.
pub(super) enum Running {
    Plain(Box<Grid<Arc<View>>>),
    Watched(Box<UnderWatch>),
}

pub(super) struct UnderWatch {
    grid: Grid<Arc<Watched<Arc<View>>>>,
    watched: Arc<Watched<Arc<View>>>,
    block: [u32; 3],
}

impl Running {
    pub(super) fn new(
        kernel: Kernel<'_>,
        launch: Launch<'_>,
        view: &Arc<View>,
        checks: KernelChecks,
    ) -> Result<Self, LaunchError> {
        if checks == KernelChecks::NONE {
            return Ok(Running::Plain(Box::new(Grid::new(kernel, launch, Arc::clone(view))?)));
        }
        let KernelChecks { shared_races, global_races, uninitialised_shared: unwritten_shared, barriers } = checks;
        let watches = Watches { shared_races, global_races, unwritten_shared, barriers };
        let watched = Arc::new(Watched::new(kernel, &launch, watches, Arc::clone(view)));
        let grid = Grid::new(kernel, launch, Arc::clone(&watched))?;
        Ok(Running::Watched(Box::new(UnderWatch { grid, watched, block: launch.block })))
    }

    /// Runs about `fuel` warp instructions.
    pub(super) fn step(&mut self, fuel: u64) -> Step {
        match self {
            Running::Plain(grid) => grid.step(fuel),
            Running::Watched(running) => running.grid.step(fuel),
        }
    }

    /// Number of blocks.
    pub(super) fn blocks(&self) -> u64 {
        match self {
            Running::Plain(grid) => grid.blocks(),
            Running::Watched(running) => running.grid.blocks(),
        }
    }

    /// The virtual cost of its blocks so far.
    pub(super) fn cost(&self) -> Cost {
        match self {
            Running::Plain(grid) => grid.cost(),
            Running::Watched(running) => running.grid.cost(),
        }
    }

    /// Runs about `fuel` warp instructions on each thread of a crew; with checks, on this thread only.
    pub(super) fn step_spread(&mut self, fuel: u64, crew: &Crew) -> Step {
        match self {
            Running::Plain(grid) => grid.step_spread(fuel, crew),
            Running::Watched(running) => running.grid.step(fuel),
        }
    }

    /// An overrun in the form of a trap.
    pub(super) fn describe(&self, access: &Access, kind: TrapKind) -> Trap {
        match self {
            Running::Plain(grid) => grid.describe(access, kind),
            Running::Watched(running) => running.grid.describe(access, kind),
        }
    }

    /// Notes that the grid ended early.
    pub(super) fn trapped(&self, trap: &Trap) {
        if let Running::Watched(running) = self {
            running.watched.trapped(trap);
        }
    }

    /// The hazards found among its threads.
    pub(super) fn found(&self, kernel: &str) -> Vec<KernelHazard> {
        match self {
            Running::Plain(_) => Vec::new(),
            Running::Watched(running) => {
                let hazards = running.watched.take().into_iter();
                hazards.filter_map(|hazard| KernelHazard::new(hazard, kernel, running.block)).collect()
            }
        }
    }
}

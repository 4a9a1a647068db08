//! Kernel tasks: a launched kernel as an op of the engine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use warploom_engine::Step;
use warploom_ptx::{Crew, Step as GridStep, Trap};
use warploom_sys::Function;
use warploom_sys::types::CUresult;

use super::fault;
use super::overruns::Overrun;
use super::running::Running;
use super::view::View;
use crate::check::Watched;
use crate::machine::call::Call;
use crate::machine::launch::Shape;
use crate::machine::log::{LogEntry, LogKind};
use crate::machine::work::{Demand, KernelRun, Task};
use crate::machine::world::World;

pub(super) struct KernelTask {
    name: String,
    shape: Shape,
    grid: Running,
    view: Arc<View>,
    /// The call that launched it.
    launch: Function,
    /// The time limit.
    watchdog: Option<Duration>,
    started: Option<Instant>,
    trap: Option<Trap>,
    /// Its place in the happens-before order, if the machine checks.
    watched: Option<Watched>,
    /// The workspace of a cooperative launch.
    workspace: Option<u64>,
    /// Threads for its blocks, if it has several and they may run in any order.
    crew: Option<Arc<Crew>>,
}

impl KernelTask {
    pub(super) fn new(
        call: &Call<'_>,
        name: String,
        shape: Shape,
        grid: Running,
        view: Arc<View>,
        workspace: Option<u64>,
    ) -> Self {
        let (launch, watchdog) = (call.function(), call.core().watchdog);
        let crew = (grid.blocks() > 1 && view.is_free()).then(|| call.core().crew()).flatten();
        Self { name, shape, grid, view, launch, watchdog, started: None, trap: None, watched: None, workspace, crew }
    }

    /// Ends the kernel with a status code and a reason.
    fn fail(&self, code: CUresult, reason: String) -> Step<CUresult> {
        if let Some(core) = self.view.core() {
            core.log.add(LogEntry { function: self.launch, code, reason, kind: LogKind::Fault });
        }
        Step::Fail(code)
    }
}

/// Warp instructions per slice, after which other work runs: the kernel may be waiting for it.
const SLICE: u64 = 4096;

/// The same for each thread of a crew; larger, to be worth the wake-ups.
const SPREAD_SLICE: u64 = 4 * SLICE;

impl Task<World> for KernelTask {
    fn advance(&mut self, fuel: u64) -> Step<CUresult> {
        let is_first = self.started.is_none();
        if let Some(reason) = self.view.look(is_first) {
            return self.fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY, reason);
        }
        let started = *self.started.get_or_insert_with(Instant::now);
        // The first slice runs without helper threads, because a short kernel ends within it.
        let step = match &self.crew {
            Some(crew) if !is_first => self.grid.step_spread(fuel.min(SPREAD_SLICE), crew),
            _ => self.grid.step(fuel.min(SLICE)),
        };
        match step {
            GridStep::Done => Step::Done,
            GridStep::Trapped(trap) => {
                let (code, reason) = (fault::code(&trap.kind), trap.to_string());
                if let Some(core) = self.view.core() {
                    fault::message(&trap).iter().for_each(|message| core.print(message));
                }
                self.grid.trapped(&trap);
                self.trap = Some(trap);
                self.fail(code, reason)
            }
            GridStep::Running => match self.watchdog {
                Some(limit) if started.elapsed() > limit => {
                    let reason = format!("{} has run for more than {limit:?}, and was ended", self.name);
                    self.fail(CUresult::CUDA_ERROR_LAUNCH_TIMEOUT, reason)
                }
                _ => Step::Yield,
            },
        }
    }

    fn starts_at(&mut self, nanoseconds: u64) {
        self.view.starts_at(nanoseconds);
    }

    fn demand(&self) -> Demand {
        self.view.pace().demand(&self.grid.cost())
    }

    fn describe(&self) -> String {
        format!("the kernel `{}`", self.name)
    }

    fn run(&self) -> Option<KernelRun<'_>> {
        Some(KernelRun { name: &self.name, shape: self.shape, cost: self.grid.cost() })
    }

    fn watch(&mut self, watched: Watched) {
        self.watched = Some(watched);
    }

    fn ended(&mut self, world: &mut World) {
        let mut touched = self.view.take_touched();
        if let Some(watched) = &self.watched {
            world.check_frees(watched, &mut touched);
        }
        self.view.forget_freed(world, &mut touched);
        world.move_touched_pages(&touched, self.view.device());
        if let Some(watched) = self.watched.take() {
            let overruns = self.view.take_overruns().into_iter();
            let overruns = overruns.map(|Overrun { access, kind }| self.grid.describe(&access, kind));
            let faults = overruns.chain(self.trap.take()).map(fault::describe).collect();
            let inside = self.grid.found(&self.name);
            world.check_ended(watched, touched, faults, inside);
        }
        if let Some(workspace) = self.workspace.take() {
            world.give_workspace(workspace);
        }
    }
}

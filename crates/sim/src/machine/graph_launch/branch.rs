//! Conditional nodes of launches: the choice of a body when their turn comes.
//!
//! ```text
//!   branch ──(value)──▶ body's steps ──▶ branch again (while) or join (if, switch) ──▶ successors of the node
//! ```
//!
//! The op of a node that chose a body is followed by the body's ops and one more op, which takes its place:
//! the node's successors wait for that one.

use std::sync::Arc;

use super::order::{Inside, StepOrder};
use super::shared::{BodyMemory, Launch};
use crate::check::{ReportedPairs, Watched};
use crate::machine::graph::{ConditionalKind, ConditionalNode, Plan};
use crate::machine::work::{Hook, Reached};
use crate::machine::world::{Work, World};

/// A conditional node of a launch.
pub(super) struct Branch {
    launch: Arc<Launch>,
    bodies: Arc<[Arc<Plan>]>,
    node: Arc<ConditionalNode>,
    memory: Arc<BodyMemory>,
    /// The node's place in the happens-before order, if the machine checks.
    watched: Option<Arc<Watched>>,
    /// The races between nodes of its bodies that were reported.
    reported: Arc<ReportedPairs>,
}

impl Branch {
    /// A node of a plan. In a body, it has the memory of the body.
    pub(super) fn new(
        world: &World,
        launch: &Arc<Launch>,
        (plan, step, node): (&Plan, u32, &Arc<ConditionalNode>),
        memory: Option<&Arc<BodyMemory>>,
        watched: Option<Watched>,
    ) -> Self {
        let bodies: Arc<[Arc<Plan>]> = plan.bodies(step).into();
        let memory = memory.map_or_else(|| launch.kernels.memory(world, &bodies), Arc::clone);
        let (launch, node, watched) = (Arc::clone(launch), Arc::clone(node), watched.map(Arc::new));
        Self { launch, bodies, node, memory, watched, reported: Arc::default() }
    }

    /// The body that the condition's value chooses.
    fn chosen(&self) -> Option<&Arc<Plan>> {
        let value = self.launch.conditions.get(self.node.condition.bits());
        let index = match self.node.kind {
            ConditionalKind::If => usize::from(value == 0),
            ConditionalKind::While if value == 0 => return None,
            ConditionalKind::While => 0,
            ConditionalKind::Switch => value as usize,
        };
        self.bodies.get(index)
    }

    /// The same node once more.
    fn again(&self) -> Self {
        let Self { launch, bodies, node, memory, watched, reported } = self;
        Self {
            launch: Arc::clone(launch),
            bodies: Arc::clone(bodies),
            node: Arc::clone(node),
            memory: Arc::clone(memory),
            watched: watched.clone(),
            reported: Arc::clone(reported),
        }
    }
}

impl Hook<World> for Branch {
    fn reached(&mut self, world: &mut World, at: Reached) {
        let chosen = self.chosen().filter(|_| at.ran).cloned();
        let Some(body) = chosen else {
            self.watched.iter().for_each(|watched| world.branch_ended(watched));
            return;
        };
        let claim = match self.launch.kernels.afford(world, &body) {
            Ok(claim) => claim,
            Err(code) => {
                let context = world.engine.queue(at.queue).owner.context;
                world.poison(context, code);
                self.watched.iter().for_each(|watched| world.branch_ended(watched));
                return;
            }
        };
        let mut order = match &self.watched {
            Some(watched) => StepOrder::Inside(Inside::new(watched, &body, &self.reported)),
            None => StepOrder::Unknown,
        };
        let enqueued = world.enqueue_plan(&self.launch, (&body, Some(&self.memory)), (&[], at.time), &mut order);
        let ends = match enqueued {
            Ok(ends) => ends,
            Err((ends, code)) => {
                let context = world.engine.queue(at.queue).owner.context;
                world.poison(context, code);
                ends
            }
        };
        let next: Work = match self.node.kind {
            ConditionalKind::While => Work::Hook(Box::new(self.again())),
            ConditionalKind::If | ConditionalKind::Switch => Work::Hook(Box::new(Over(self.watched.clone()))),
        };
        let heir = world.add_beside(at.queue, &ends, next, self.launch.call, at.time);
        world.engine.bequeath(at.op, heir);
        world.claim_host(heir, claim);
    }

    /// A loop that never ends must not keep the machine from everything else.
    fn is_instant(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        let kind = match self.node.kind {
            ConditionalKind::If => "an if",
            ConditionalKind::While => "a while",
            ConditionalKind::Switch => "a switch",
        };
        format!("{kind} node of a graph")
    }
}

/// The end of a conditional node that ran a body.
struct Over(Option<Arc<Watched>>);

impl Hook<World> for Over {
    fn reached(&mut self, world: &mut World, _: Reached) {
        self.0.iter().for_each(|watched| world.branch_ended(watched));
    }

    fn describe(&self) -> String {
        "the end of a conditional node".to_owned()
    }
}

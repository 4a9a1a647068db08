//! Happens-before of the steps of a launch, for the checks.

use std::collections::HashMap;
use std::sync::Arc;

use warploom_engine::{Epoch, Known};

use crate::check::{BodyPlace, BodyRun, ReportedPairs, Watched};
use crate::machine::graph::Plan;

/// Happens-before order of the steps of a launch.
pub(super) enum StepOrder<'a> {
    /// The machine does not check.
    Unknown,
    /// Each chain of the plan is a timeline.
    Chains(Chains),
    /// The steps are inside a conditional node, and at its place among all other ops.
    Inside(Inside<'a>),
}

/// The steps of one run of a conditional node's body.
pub(super) struct Inside<'a> {
    /// The place of the conditional node.
    pub(super) outer: &'a Watched,
    run: Arc<BodyRun>,
    /// Timelines that only the body knows.
    chains: Chains,
}

impl<'a> Inside<'a> {
    pub(super) fn new(outer: &'a Watched, plan: &Plan, reported: &Arc<ReportedPairs>) -> Self {
        let chains = (0..plan.chains).map(|timeline| Known::of(Epoch { timeline, count: 0 })).collect();
        Self { outer, run: BodyRun::new(reported), chains: Chains::new(chains, &Known::default()) }
    }

    /// The place of a step in the body.
    pub(super) fn place(&self, plan: &Plan, index: u32) -> BodyPlace {
        let chain = usize::from(plan.steps[index as usize].chain);
        self.run.place(&self.chains.chains[chain], self.outer.body())
    }
}

impl StepOrder<'_> {
    /// The timelines of the plan.
    pub(super) fn chains(&mut self) -> Option<&mut Chains> {
        match self {
            StepOrder::Unknown => None,
            StepOrder::Chains(chains) => Some(chains),
            StepOrder::Inside(inside) => Some(&mut inside.chains),
        }
    }
}

/// The timelines of a launch.
pub(super) struct Chains {
    /// Clocks of the chains, each before its next step.
    pub(super) chains: Vec<Known>,
    /// Clocks behind the steps that steps of other chains depend on.
    forks: HashMap<u32, Known>,
}

impl Chains {
    /// The timelines of an executable, behind everything before its launch.
    pub(super) fn new(mut chains: Vec<Known>, start: &Known) -> Self {
        chains.iter_mut().for_each(|chain| chain.join(start));
        Self { chains, forks: HashMap::new() }
    }

    /// The clock before a step: that of its chain, joined with those of the steps before it.
    pub(super) fn before(&mut self, plan: &Plan, index: u32) -> &mut Known {
        let chain = plan.steps[index as usize].chain;
        let known = &mut self.chains[usize::from(chain)];
        for before in plan.before(index as usize) {
            if plan.steps[*before as usize].chain != chain
                && let Some(fork) = self.forks.get(before)
            {
                known.join(fork);
            }
        }
        known
    }

    /// A step is enqueued; `touched` if it is one of the timeline's own.
    pub(super) fn passed(&mut self, plan: &Plan, index: u32, touched: bool) {
        let step = &plan.steps[index as usize];
        let known = &mut self.chains[usize::from(step.chain)];
        if touched {
            known.advance();
        }
        if step.is_fork {
            self.forks.insert(index, known.clone());
        }
    }
}

//! Index of a plan: the steps of nodes, also of those in bodies of conditional nodes.

use std::collections::HashMap;
use std::sync::Arc;

use super::plan::{Plan, Step};
use crate::ffi::handle::NodeHandle;

/// The steps of a plan's nodes. Updates do not change it, since they keep the steps.
#[derive(Default)]
pub(super) struct Index {
    places: HashMap<NodeHandle, Place>,
    /// The way to each plan: the first one is the outermost plan.
    ways: Vec<Way>,
}

/// The conditional steps around a plan, each with the number of its body, from the outermost on.
type Way = Vec<(u32, usize)>;

/// The place of a step.
#[derive(Clone, Copy)]
struct Place {
    way: u32,
    step: u32,
}

impl Index {
    pub(super) fn new(plan: &Plan) -> Self {
        let mut index = Self::default();
        index.add(plan, Way::new());
        index
    }

    fn add(&mut self, plan: &Plan, way: Way) {
        let number = self.ways.len() as u32;
        let steps = plan.steps.iter().enumerate();
        let places = steps.filter_map(|(step, found)| Some((found.node?, Place { way: number, step: step as u32 })));
        self.places.extend(places);
        self.ways.push(way.clone());
        for (step, bodies) in plan.all_bodies() {
            for (number, body) in bodies.iter().enumerate() {
                self.add(body, [way.as_slice(), &[(step, number)]].concat());
            }
        }
    }

    /// The step of a node in the indexed plan.
    pub(super) fn step<'p>(&self, plan: &'p Plan, node: NodeHandle) -> Option<&'p Step> {
        let Place { way, step } = *self.places.get(&node)?;
        let mut way = self.ways.get(way as usize)?.iter();
        let plan = way.try_fold(plan, |plan, (step, body)| plan.bodies(*step).get(*body).map(Arc::as_ref))?;
        plan.steps.get(step as usize)
    }

    /// The step of a node in the indexed plan, to be changed.
    pub(super) fn step_mut<'p>(&self, plan: &'p mut Plan, node: NodeHandle) -> Option<&'p mut Step> {
        let Place { way, step } = *self.places.get(&node)?;
        let mut way = self.ways.get(way as usize)?.iter();
        let plan = way.try_fold(plan, |plan, (step, body)| plan.body_mut(*step, *body))?;
        plan.steps.get_mut(step as usize)
    }
}

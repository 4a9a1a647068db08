//! Counts of kernels, by name, and the shapes of their launches.

use std::collections::HashMap;

use warploom_engine::Period;
use warploom_record::{KernelCount, KernelWork, LaunchShape};

/// Counts as kernels end.
#[derive(Default)]
pub(super) struct Kernels {
    counts: Vec<KernelCount>,
    by_name: HashMap<String, u32>,
    shapes: Vec<LaunchShape>,
    by_shape: HashMap<LaunchShape, u32>,
}

impl Kernels {
    /// Counts a launch; the index of the kernel among the counts.
    pub(super) fn add(&mut self, name: &str, work: KernelWork, period: Period) -> u32 {
        let index = match self.by_name.get(name) {
            Some(index) => *index,
            None => {
                let index = self.counts.len() as u32;
                self.counts.push(KernelCount { name: name.to_owned(), ..KernelCount::default() });
                self.by_name.insert(name.to_owned(), index);
                index
            }
        };
        let (count, time_ns) = (&mut self.counts[index as usize], period.end - period.start);
        count.launches += 1;
        count.time_ns += time_ns;
        count.longest_ns = count.longest_ns.max(time_ns);
        count.work += work;
        index
    }

    /// The index of a shape among the shapes.
    pub(super) fn shape(&mut self, shape: LaunchShape) -> u32 {
        let Self { shapes, by_shape, .. } = self;
        *by_shape.entry(shape).or_insert_with(|| {
            shapes.push(shape);
            shapes.len() as u32 - 1
        })
    }

    /// The kernels, in the order of their first launches' ends.
    pub(super) fn counts(&self) -> &[KernelCount] {
        &self.counts
    }

    pub(super) fn shapes(&self) -> &[LaunchShape] {
        &self.shapes
    }
}

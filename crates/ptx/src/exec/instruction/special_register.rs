//! Special registers.

use crate::device::host::Host;
use crate::device::memory::Memory;
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor};
use crate::lanes::{LANES, by_lane};
use crate::program::operation::Special;
use crate::program::slot::Slot;

impl<M: Memory + Host> Executor<'_, M> {
    pub(crate) fn special(&self, warp: &mut Warp, at: Current, lanes: u32, special: Special, d: Slot) {
        let context = self.context;
        let same = |value: u32| [value; LANES];
        let each = |value: fn(u32) -> u32| by_lane(|lane| value(lane as u32));
        let cycles = match special.is_time() {
            true => warp.time.read(at.pc, context.cycles_per_instruction, &context.program.code.instructions),
            false => 0,
        };
        let clock = || context.memory.clock(cycles);
        let row = match special {
            Special::Thread(axis) => context.places[warp.index as usize][usize::from(axis)],
            Special::BlockSize(axis) => same(context.block[usize::from(axis)]),
            Special::Block(axis) => same(self.block[usize::from(axis)]),
            Special::GridSize(axis) => same(context.grid[usize::from(axis)]),
            Special::Lane => each(|lane| lane),
            Special::Warp => same(warp.index),
            Special::Warps => same(64),
            Special::WarpSize => same(32),
            Special::Processor => same(self.linear_block() % context.processors.max(1)),
            Special::Processors => same(context.processors),
            Special::Clock => same(clock() as u32),
            Special::ClockHigh => same((clock() >> 32) as u32),
            Special::TimerLow => same(context.memory.nanoseconds(cycles) as u32),
            Special::TimerHigh => same((context.memory.nanoseconds(cycles) >> 32) as u32),
            Special::LanesEqual => each(|lane| 1 << lane),
            Special::LanesLess => each(|lane| (1 << lane) - 1),
            Special::LanesLessEqual => each(|lane| u32::MAX >> (31 - lane)),
            Special::LanesGreater => each(|lane| !(u32::MAX >> (31 - lane))),
            Special::LanesGreaterEqual => each(|lane| u32::MAX << lane),
            Special::DynamicShared => same(context.dynamic_shared),
            Special::TotalShared => same(self.shared.len() as u32),
            Special::DynamicBase => same(context.kernel_shared().next_multiple_of(16)),
            Special::Environment(index) => same(context.environment[usize::from(index)]),
            Special::Cluster(axis) => same(self.block[usize::from(axis)] / context.cluster[usize::from(axis)]),
            Special::Clusters(axis) => same(context.grid[usize::from(axis)] / context.cluster[usize::from(axis)]),
            Special::ClusterBlock(axis) => same(self.block[usize::from(axis)] % context.cluster[usize::from(axis)]),
            Special::ClusterSize(axis) => same(context.cluster[usize::from(axis)]),
            Special::ClusterRank => same(self.others.rank),
            Special::ClusterRanks => same(self.others.count),
            Special::ExplicitCluster => {
                let holds = if context.explicit_cluster { u32::MAX } else { 0 };
                return self.file(warp, at).set_predicate(d, lanes, holds);
            }
            Special::Grid | Special::Clock64 | Special::Timer => {
                let value = match special {
                    Special::Grid => context.id,
                    Special::Clock64 => clock(),
                    _ => context.memory.nanoseconds(cycles),
                };
                return self.file(warp, at).set_longs(d, lanes, &[value; LANES]);
            }
        };
        self.file(warp, at).set_words(d, lanes, &row);
    }

    fn linear_block(&self) -> u32 {
        let [x, y, z] = self.block;
        let [width, height, _] = self.context.grid;
        (z.wrapping_mul(height).wrapping_add(y)).wrapping_mul(width).wrapping_add(x)
    }
}

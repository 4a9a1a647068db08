//! Speed of a kernel on its device: cycles per instruction, clock rate, and the part of the device that it
//! takes.

use warploom_ptx::Cost;

use crate::api::module::attributes::Limits;
use crate::machine::launch::Shape;
use crate::machine::work::{Demand, WHOLE};
use crate::topology::number;

/// Cycles between two dependent instructions of a warp.
const LATENCY: u32 = 4;
/// Warps of a multiprocessor that each issue an instruction in a cycle.
const SCHEDULERS: u32 = 4;

/// The speed of a kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Clock rate of the device.
    kilohertz: u64,
    memory_bytes_per_second: u64,
    cycles_per_instruction: u32,
    /// Blocks of the grid, in clusters.
    blocks: u64,
    /// Blocks that the device holds at once, in clusters.
    resident: u64,
}

impl Pace {
    /// The speed of a launch, of whose blocks a multiprocessor holds so many at once.
    pub(super) fn new(limits: &Limits<'_>, shape: &Shape, active_blocks: u32) -> Self {
        let processors = u64::from(limits.of(number::MULTIPROCESSOR_COUNT)).max(1);
        let active = u64::from(active_blocks).max(1);
        let (blocks, cluster) = (shape.blocks(), shape.cluster.unwrap_or([1; 3]).iter().product::<u32>().max(1));
        let warps = shape.block.iter().product::<u32>().div_ceil(32);
        // Warps that share the schedulers of a multiprocessor take turns.
        let beside = active.min(blocks.div_ceil(processors)) as u32 * warps;
        Self {
            kilohertz: u64::from(limits.of(number::CLOCK_RATE)).max(1),
            memory_bytes_per_second: limits.memory_bandwidth().max(1),
            cycles_per_instruction: beside.div_ceil(SCHEDULERS).max(LATENCY),
            blocks: blocks / u64::from(cluster),
            resident: (active * processors / u64::from(cluster)).max(1),
        }
    }

    pub(super) fn cycles_per_instruction(&self) -> u32 {
        self.cycles_per_instruction
    }

    /// Nanoseconds of so many cycles.
    pub(super) fn nanoseconds(&self, cycles: u64) -> u64 {
        clamp(u128::from(cycles) * 1_000_000 / u128::from(self.kilohertz))
    }

    /// Cycles of so many nanoseconds.
    pub(super) fn cycles(&self, nanoseconds: u64) -> u64 {
        clamp(u128::from(nanoseconds) * u128::from(self.kilohertz) / 1_000_000)
    }

    /// The time of blocks that have run, and the part of the device that the grid takes.
    pub(super) fn demand(&self, cost: &Cost) -> Demand {
        let average = cost.cycles / cost.blocks.max(1);
        let rounds = cost.blocks.div_ceil(self.resident).max(1);
        let computing = self.nanoseconds(cost.longest.max(average.saturating_mul(rounds)));
        let moving = clamp(u128::from(cost.bytes) * 1_000_000_000 / u128::from(self.memory_bytes_per_second));
        let (round, whole, resident) = (computing.max(moving) / rounds, u128::from(WHOLE), u128::from(self.resident));
        let share = (u128::from(self.blocks.min(self.resident)) * whole / resident).max(1);
        let work = match rounds {
            1 => share,
            _ => u128::from(cost.blocks) * whole / resident,
        };
        Demand { share: share as u32, round, work: work * u128::from(round) }
    }
}

fn clamp(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

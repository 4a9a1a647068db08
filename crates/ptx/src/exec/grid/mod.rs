//! A launched kernel, whose blocks take turns.

pub(crate) mod block;
pub(crate) mod crew;
mod parallel;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crate::device::access::Access;
use crate::device::host::Host;
use crate::device::launch::{Launch, LaunchError, coordinates};
use crate::device::memory::Memory;
use crate::device::trap::{Trap, TrapKind};
use crate::exec::context::Context;
use crate::exec::grid::block::Block;
use crate::exec::memory::range_cache::RangeCache;
use crate::program::Kernel;

/// The most threads of a block.
const MAX_THREADS: u64 = 1024;

/// The most blocks of a cluster.
const MAX_CLUSTER: u64 = 16;

/// Instructions after which another block has its turn.
const TURN: u64 = 1 << 16;

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// There is more to do.
    Running,
    /// All threads have ended.
    Done,
    /// A thread has failed, and the kernel with it.
    Trapped(Trap),
}

/// A launched kernel.
///
/// ```
/// use warploom_ptx::{Grid, Launch, Program, Step, VecMemory};
///
/// let program = Program::from_text(
///     ".version 8.7 .target sm_90 .address_size 64
///      .visible .entry fill(.param .u64 out, .param .u32 value) {
///          .reg .b32 %r<3>; .reg .b64 %rd<4>;
///          ld.param.u64 %rd1, [out];
///          ld.param.u32 %r1, [value];
///          mov.u32 %r2, %tid.x;
///          mul.wide.u32 %rd2, %r2, 4;
///          add.s64 %rd3, %rd1, %rd2;
///          st.global.u32 [%rd3], %r1;
///          ret;
///      }",
/// )?;
/// let memory = VecMemory::new(4096);
/// let out = memory.reserve(128);
/// let mut arguments = out.to_le_bytes().to_vec();
/// arguments.extend(7u32.to_le_bytes());
/// let kernel = program.kernel("fill").expect("it was just written");
/// let launch = Launch { block: [32, 1, 1], arguments: &arguments, ..Launch::default() };
/// let mut grid = Grid::new(kernel, launch, &memory)?;
/// assert_eq!(grid.step(1000), Step::Done);
/// assert_eq!(memory.read(out, 128), [7, 0, 0, 0].repeat(32));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Grid<M> {
    context: Arc<Context<M>>,
    /// Blocks that have started and not ended, in the order of their turns.
    pub(super) resident: VecDeque<Box<Block<M>>>,
    /// Blocks that have ended, whose memory the next ones take.
    pub(super) spare: VecDeque<Box<Block<M>>>,
    /// Blocks that a thread took and did not start; see `spread`.
    pub(super) left: Vec<Range<u64>>,
    pub(super) next: u64,
    pub(super) limit: usize,
    pub(super) trapped: Option<Trap>,
    /// Instructions of warps so far.
    pub(super) instructions: u64,
    /// The cost of blocks that have ended.
    pub(super) ended: Cost,
}

/// Virtual cost of the blocks of a grid. It does not depend on the order in which they ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Blocks; a cluster counts as one.
    pub blocks: u64,
    /// Cycles of all blocks together.
    pub cycles: u64,
    /// Cycles of the longest block.
    pub longest: u64,
    /// Bytes of global memory that were loaded and stored.
    pub bytes: u64,
    /// Instructions of warps.
    pub instructions: u64,
    /// Instructions of threads: each of a warp counts once for every thread of the group that ran it.
    pub thread_instructions: u64,
    /// Branches at which the threads of a warp parted.
    pub divergent_branches: u64,
    /// Loads and stores of global memory by warps; 0 unless [`Launch::counts_sectors`] is set.
    pub requests: u64,
    /// Sectors of 32 bytes that these requests touched.
    pub sectors: u64,
    /// Sectors that the same bytes would take side by side.
    pub needed_sectors: u64,
}

impl Cost {
    /// Counts a block.
    pub(super) fn add<M: Memory + Host>(&mut self, block: &Block<M>) {
        let cycles = block.cycles();
        self.blocks += 1;
        self.cycles = self.cycles.saturating_add(cycles);
        self.longest = self.longest.max(cycles);
        let traffic = block.traffic();
        self.bytes = self.bytes.saturating_add(traffic.bytes);
        self.requests += traffic.requests;
        self.sectors += traffic.sectors;
        self.needed_sectors += traffic.needed_sectors;
        for warp in block.warps() {
            self.instructions += warp.time.instructions;
            self.thread_instructions += warp.divergence.thread_instructions;
            self.divergent_branches += warp.divergence.branches;
        }
    }

    /// Counts other blocks.
    pub(super) fn join(&mut self, other: Cost) {
        self.blocks += other.blocks;
        self.cycles = self.cycles.saturating_add(other.cycles);
        self.longest = self.longest.max(other.longest);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.instructions += other.instructions;
        self.thread_instructions += other.thread_instructions;
        self.divergent_branches += other.divergent_branches;
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.needed_sectors += other.needed_sectors;
    }
}

impl<M: Memory + Host> Grid<M> {
    /// A kernel that has not started; a launch that does not fit the kernel is refused.
    pub fn new(kernel: Kernel<'_>, launch: Launch<'_>, memory: M) -> Result<Grid<M>, LaunchError> {
        let Launch { grid, block, cluster, dynamic_shared, arguments, .. } = launch;
        if grid.contains(&0) || grid[1] > 65535 || grid[2] > 65535 || grid[0] > i32::MAX as u32 {
            return Err(LaunchError::Grid(grid));
        }
        let threads = block.iter().fold(1u64, |all, size| all.saturating_mul((*size).into()));
        if threads == 0 || threads > MAX_THREADS || block[2] > 64 {
            return Err(LaunchError::Block(block));
        }
        let cluster = cluster.or(kernel.required_cluster());
        let explicit_cluster = cluster.is_some();
        let cluster = cluster.unwrap_or([1; 3]);
        let divides = |(size, blocks): (&u32, &u32)| *size > 0 && blocks.is_multiple_of(*size);
        let ranks = cluster.iter().fold(1u64, |all, size| all.saturating_mul((*size).into()));
        if !cluster.iter().zip(&grid).all(divides) || ranks > MAX_CLUSTER {
            return Err(LaunchError::Cluster { cluster, grid });
        }
        if let Some(bound) = kernel.required_threads().filter(|bound| *bound != block) {
            return Err(LaunchError::Bound { asked: block, bound });
        }
        let most = |bound: &[u32; 3]| bound.iter().map(|size| u64::from(*size)).product::<u64>();
        if let Some(bound) = kernel.max_threads().filter(|bound| threads > most(bound)) {
            return Err(LaunchError::Bound { asked: block, bound });
        }
        if arguments.len() != kernel.parameter_bytes() {
            return Err(LaunchError::Arguments { given: arguments.len(), expected: kernel.parameter_bytes() });
        }
        let shared = kernel.shared_bytes() as u64 + u64::from(dynamic_shared);
        if shared > 1 << 24 {
            return Err(LaunchError::Shared(shared));
        }
        let threads = threads as u32;
        let row =
            |warp: u32, axis: usize| std::array::from_fn(|lane| coordinates(block, warp * 32 + lane as u32)[axis]);
        let places = (0..threads.div_ceil(32)).map(|warp| std::array::from_fn(|axis| row(warp, axis))).collect();
        let context = Context {
            program: kernel.program().clone(),
            function: kernel.index(),
            grid,
            block,
            cluster,
            explicit_cluster,
            dynamic_shared,
            bounds: memory.bounds(),
            arguments: arguments.to_vec(),
            memory,
            id: launch.id,
            processors: launch.processors,
            environment: launch.environment,
            cycles_per_instruction: launch.cycles_per_instruction.max(1).into(),
            counts_sectors: launch.counts_sectors,
            stack: launch.stack.max(kernel.local_bytes() as u32),
            places,
        };
        let limit = launch.resident.max(1) as usize;
        let (resident, spare) = (VecDeque::new(), VecDeque::new());
        Ok(Grid {
            context: Arc::new(context),
            resident,
            spare,
            left: Vec::new(),
            next: 0,
            limit,
            trapped: None,
            instructions: 0,
            ended: Cost::default(),
        })
    }

    /// Number of blocks; a cluster, whose blocks run together, counts as one.
    pub fn blocks(&self) -> u64 {
        self.clusters().iter().product()
    }

    /// An [overrun](Host::overrun) of one of its threads, the lowest of the access, in the form of a trap.
    pub fn describe(&self, access: &Access, kind: TrapKind) -> Trap {
        let thread = access.warp * 32 + access.lanes.trailing_zeros();
        self.context.trap(kind, access.block, thread, access.instruction)
    }

    /// Clusters, in each dimension.
    fn clusters(&self) -> [u64; 3] {
        let Context { grid, cluster, .. } = &*self.context;
        std::array::from_fn(|axis| u64::from(grid[axis] / cluster[axis]))
    }

    /// Instructions of warps that [`step`](Self::step) has carried out.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// The cost of its blocks so far, those that have not ended included.
    pub fn cost(&self) -> Cost {
        let mut cost = self.ended;
        self.resident.iter().for_each(|block| cost.add(block));
        cost
    }

    /// One block by its number, to be run apart from [`step`](Self::step).
    ///
    /// # Panics
    /// If there are not so many.
    pub fn block(&self, number: u64) -> Block<M> {
        assert!(number < self.blocks(), "block {number} of {}", self.blocks());
        Block::new(Arc::clone(&self.context), self.place(number))
    }

    fn place(&self, number: u64) -> [u32; 3] {
        let [width, height, _] = self.clusters();
        let place = [number % width, number / width % height, number / width / height];
        // Each is below a dimension, which has 32 bits.
        std::array::from_fn(|axis| place[axis] as u32 * self.context.cluster[axis])
    }

    /// A block's number, by where it lies.
    pub(super) fn number(&self, place: [u32; 3]) -> u64 {
        let [width, height, _] = self.clusters();
        let [x, y, z] = [0, 1, 2].map(|axis| u64::from(place[axis] / self.context.cluster[axis]));
        (z * height + y) * width + x
    }

    /// A block before its first instruction, in the memory of one that has ended if there is any.
    pub(super) fn start(&self, number: u64, spare: Option<Box<Block<M>>>) -> Box<Block<M>> {
        match spare {
            Some(mut block) => {
                block.restart(self.place(number));
                block
            }
            None => Box::new(Block::new(Arc::clone(&self.context), self.place(number))),
        }
    }

    /// The next block that has not started.
    fn next(&mut self) -> Option<u64> {
        if let Some(numbers) = self.left.last_mut() {
            let number = numbers.next();
            if numbers.is_empty() {
                self.left.pop();
            }
            return number;
        }
        let number = (self.next < self.blocks()).then_some(self.next)?;
        self.next += 1;
        Some(number)
    }

    /// Runs for about `fuel` instructions of warps; resident blocks take turns.
    pub fn step(&mut self, fuel: u64) -> Step {
        if let Some(trap) = &self.trapped {
            return Step::Trapped(trap.clone());
        }
        let (mut fuel, mut ranges) = (fuel, RangeCache::default());
        loop {
            while self.resident.len() < self.limit
                && let Some(number) = self.next()
            {
                let spare = self.spare.pop_back();
                self.resident.push_back(self.start(number, spare));
            }
            let Some(mut block) = self.resident.pop_front() else { return Step::Done };
            if fuel == 0 {
                self.resident.push_front(block);
                return Step::Running;
            }
            let mut turn = TURN.min(fuel);
            let given = turn;
            let step = block.advance(&mut turn, &mut ranges);
            fuel -= given - turn;
            self.instructions += given - turn;
            match step {
                Step::Running => self.resident.push_back(block),
                Step::Done => {
                    self.ended.add(&block);
                    self.spare.push_back(block);
                }
                Step::Trapped(trap) => {
                    self.ended.add(&block);
                    self.trapped = Some(trap.clone());
                    return Step::Trapped(trap);
                }
            }
        }
    }
}

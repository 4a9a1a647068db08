//! A launched kernel: its blocks, some of which run at a time.

pub(crate) mod block;
pub(crate) mod crew;
mod parallel;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crate::device::direct::Lens;
use crate::device::host::Host;
use crate::device::memory::Memory;
use crate::device::trap::Trap;
use crate::exec::grid::block::Block;
use crate::exec::warp::local;
use crate::lanes::Words;
use crate::program::{Kernel, Program};

/// The most threads of a block.
const MAX_THREADS: u64 = 1024;

/// The most blocks of a cluster.
const MAX_CLUSTER: u64 = 16;

/// Instructions after which another block has its turn.
const TURN: u64 = 1 << 16;

/// The shape and the arguments of a run.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'l> {
    /// Blocks, in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block, in each dimension.
    pub block: [u32; 3],
    /// Blocks of a cluster, in each dimension; where the launch says nothing of clusters, they are those that the kernel requires, or
    /// of one block.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of shared memory beside what the kernel itself declares.
    pub dynamic_shared: u32,
    /// Bytes of the stack that calls of a thread may take together; the kernel has what it
    /// [needs](crate::Kernel::local_bytes) in any case, and nobody more than 512 KiB.
    pub stack: u32,
    /// Arguments, each at its [offset](crate::Parameter::offset).
    pub arguments: &'l [u8],
    /// Blocks that [`Grid::step`] runs at a time; those that wait for each other have to be resident together.
    pub resident: u32,
    /// What `%gridid` says.
    pub id: u64,
    /// What `%nsmid` says.
    pub processors: u32,
    /// What `%envreg0` to `%envreg31` say.
    pub environment: [u32; 32],
}

impl Default for Launch<'_> {
    /// One block of one thread, without arguments.
    fn default() -> Self {
        Launch {
            grid: [1; 3],
            block: [1; 3],
            cluster: None,
            dynamic_shared: 0,
            stack: local::LIMIT,
            arguments: &[],
            resident: 16,
            id: 1,
            processors: 1,
            environment: [0; 32],
        }
    }
}

/// Why a kernel cannot be launched so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// A dimension of zero, or too many of something.
    #[error("{0:?} blocks; each dimension is at least 1, and y and z are at most 65535")]
    Grid([u32; 3]),
    /// A dimension of zero, or too many threads.
    #[error("blocks of {0:?} threads; each dimension is at least 1, z at most 64, and a block has at most 1024")]
    Block([u32; 3]),
    /// Blocks that do not make whole clusters, or clusters of more than 16.
    #[error("clusters of {cluster:?} blocks; they divide a grid, here {grid:?}, and have at most 16")]
    Cluster {
        /// Blocks of a cluster.
        cluster: [u32; 3],
        /// Blocks of the grid.
        grid: [u32; 3],
    },
    /// Threads that the kernel says it is not for.
    #[error("blocks of {asked:?} threads; the kernel is for {bound:?}")]
    Bound {
        /// What was asked for.
        asked: [u32; 3],
        /// What the kernel says.
        bound: [u32; 3],
    },
    /// Arguments of another size.
    #[error("{given} bytes of arguments; the kernel takes {expected}")]
    Arguments {
        /// What was given.
        given: usize,
        /// What the kernel takes.
        expected: usize,
    },
    /// More shared memory than addresses reach.
    #[error("{0} bytes of shared memory; at most 16777216 can be had")]
    Shared(u64),
}

/// What a step has led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// There is more to do.
    Running,
    /// All threads have ended.
    Done,
    /// A thread cannot go on, and with it nobody.
    Trapped(Trap),
}

/// What all blocks of a grid share.
#[derive(Debug)]
pub(crate) struct Context<M> {
    pub(crate) program: Program,
    pub(crate) function: u32,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Blocks of a cluster.
    pub(crate) cluster: [u32; 3],
    /// Whether the launch has said so.
    pub(crate) explicit_cluster: bool,
    pub(crate) dynamic_shared: u32,
    pub(crate) arguments: Vec<u8>,
    pub(crate) memory: M,
    pub(crate) id: u64,
    pub(crate) processors: u32,
    pub(crate) environment: [u32; 32],
    /// Bytes of the stack that a thread has.
    pub(crate) stack: u32,
    /// Where the threads of each warp lie in their block: a row for each axis.
    pub(crate) places: Vec<[Words; 3]>,
}

impl<M> Context<M> {
    /// Threads of a block.
    pub(crate) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Blocks of a cluster.
    pub(crate) fn ranks(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// Where a thread lies in its block.
    pub(crate) fn thread(&self, number: u32) -> [u32; 3] {
        place_of(self.block, number)
    }

    /// Shared memory that the kernel declares.
    pub(crate) fn kernel_shared(&self) -> u32 {
        self.program.code.functions[self.function as usize].shared
    }

    pub(crate) fn shared_bytes(&self) -> u32 {
        let declared = self.kernel_shared();
        if self.dynamic_shared == 0 { declared } else { declared.next_multiple_of(16) + self.dynamic_shared }
    }
}

/// Where a thread lies in a block of a shape.
pub(crate) fn place_of([width, height, _]: [u32; 3], number: u32) -> [u32; 3] {
    [number % width, number / width % height, number / width / height]
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
}

impl<M: Memory + Host> Grid<M> {
    /// A kernel that has not started; what does not fit the kernel is refused.
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
        let row = |warp: u32, axis: usize| std::array::from_fn(|lane| place_of(block, warp * 32 + lane as u32)[axis]);
        let places = (0..threads.div_ceil(32)).map(|warp| std::array::from_fn(|axis| row(warp, axis))).collect();
        let context = Context {
            program: kernel.program().clone(),
            function: kernel.index(),
            grid,
            block,
            cluster,
            explicit_cluster,
            dynamic_shared,
            arguments: arguments.to_vec(),
            memory,
            id: launch.id,
            processors: launch.processors,
            environment: launch.environment,
            stack: launch.stack.max(kernel.local_bytes() as u32),
            places,
        };
        let limit = launch.resident.max(1) as usize;
        let (resident, spare) = (VecDeque::new(), VecDeque::new());
        let left = Vec::new();
        Ok(Grid { context: Arc::new(context), resident, spare, left, next: 0, limit, trapped: None, instructions: 0 })
    }

    /// How many blocks there are; a cluster, whose blocks run together, counts as one.
    pub fn blocks(&self) -> u64 {
        self.clusters().iter().product()
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

    /// One block by its number, to be run apart from [`step`](Self::step).
    ///
    /// # Panics
    /// When there are not so many.
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

    /// The next block that nobody has started.
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
        let (mut fuel, mut lens) = (fuel, Lens::default());
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
            let step = block.advance(&mut turn, &mut lens);
            fuel -= given - turn;
            self.instructions += given - turn;
            match step {
                Step::Running => self.resident.push_back(block),
                Step::Done => self.spare.push_back(block),
                Step::Trapped(trap) => {
                    self.trapped = Some(trap.clone());
                    return Step::Trapped(trap);
                }
            }
        }
    }
}

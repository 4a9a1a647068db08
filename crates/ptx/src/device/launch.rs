//! Launch configuration of a kernel: grid, block and cluster shapes, arguments, limits.

/// The most bytes of local memory that a thread can have.
pub(crate) const MAX_LOCAL: u32 = 1 << 19;

/// The shape and the arguments of a run.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'l> {
    /// Blocks, in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block, in each dimension.
    pub block: [u32; 3],
    /// Blocks of a cluster, in each dimension; where the launch says nothing of clusters, they are those that
    /// the kernel requires, or of one block.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory, beside those that the kernel declares.
    pub dynamic_shared: u32,
    /// Bytes of the stack that calls of a thread may take together: at least those that the kernel
    /// [needs](crate::Kernel::local_bytes), at most 512 KiB.
    pub stack: u32,
    /// Arguments, each at its [offset](crate::Parameter::offset).
    pub arguments: &'l [u8],
    /// Blocks that [`Grid::step`](crate::Grid::step) runs at a time; those that wait for each other have to
    /// be resident together.
    pub resident: u32,
    /// The value of `%gridid`.
    pub id: u64,
    /// The value of `%nsmid`.
    pub processors: u32,
    /// The values of `%envreg0` to `%envreg31`.
    pub environment: [u32; 32],
    /// Cycles of the device's clock that an instruction of a warp takes.
    pub cycles_per_instruction: u32,
    /// Counts the sectors of global memory that warps touch, for [`Cost::sectors`](crate::Cost::sectors).
    pub counts_sectors: bool,
}

impl Default for Launch<'_> {
    /// One block of one thread, without arguments.
    fn default() -> Self {
        Launch {
            grid: [1; 3],
            block: [1; 3],
            cluster: None,
            dynamic_shared: 0,
            stack: MAX_LOCAL,
            arguments: &[],
            resident: 16,
            id: 1,
            processors: 1,
            environment: [0; 32],
            cycles_per_instruction: 1,
            counts_sectors: false,
        }
    }
}

/// A launch configuration that does not fit the kernel or the limits of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// A dimension of zero, or too many blocks.
    #[error("a grid of {0:?} blocks; each dimension is at least 1, and y and z are at most 65535")]
    Grid([u32; 3]),
    /// A dimension of zero, or too many threads.
    #[error("blocks of {0:?} threads; each dimension is at least 1, z at most 64, and a block has at most 1024")]
    Block([u32; 3]),
    /// Blocks that do not make whole clusters, or clusters of more than 16.
    #[error("clusters of {cluster:?} blocks do not divide a grid of {grid:?} blocks, or have more than 16")]
    Cluster {
        /// Blocks of a cluster.
        cluster: [u32; 3],
        /// Blocks of the grid.
        grid: [u32; 3],
    },
    /// Threads that the kernel says it is not for.
    #[error("blocks of {asked:?} threads; the kernel allows {bound:?}")]
    Bound {
        /// The block of the launch.
        asked: [u32; 3],
        /// The bound of the kernel.
        bound: [u32; 3],
    },
    /// Arguments of another size.
    #[error("{given} bytes of arguments; the kernel takes {expected}")]
    Arguments {
        /// The bytes that the launch has.
        given: usize,
        /// The bytes that the kernel takes.
        expected: usize,
    },
    /// More shared memory than addresses reach.
    #[error("{0} bytes of shared memory; the limit is 16777216")]
    Shared(u64),
}

/// The coordinates of a thread in a block of a shape.
pub(crate) fn coordinates([width, height, _]: [u32; 3], number: u32) -> [u32; 3] {
    [number % width, number / width % height, number / width / height]
}

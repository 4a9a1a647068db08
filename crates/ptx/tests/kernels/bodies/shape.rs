//! Launch shapes of kernels.

/// A launch configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Bytes of shared memory beside what the kernel itself declares.
    pub(crate) dynamic_shared: u32,
    /// `true` for a cooperative launch, whose blocks are all resident at once.
    pub(crate) cooperative: bool,
}

impl Shape {
    /// Blocks and threads in a row.
    pub(crate) fn row(grid: u32, block: u32) -> Shape {
        Shape { grid: [grid, 1, 1], block: [block, 1, 1], ..Shape::default() }
    }
}

impl Default for Shape {
    /// One block of one thread.
    fn default() -> Self {
        Shape { grid: [1; 3], block: [1; 3], dynamic_shared: 0, cooperative: false }
    }
}

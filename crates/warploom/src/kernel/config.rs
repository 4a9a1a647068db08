//! Launch configurations: grid, block, cluster, shared memory.

use super::Dimensions;

/// A launch configuration: grid, block, cluster, dynamic shared memory and priority.
///
/// It is checked by [`Kernel::launch`](super::Kernel::launch), or once and for all by
/// [`Kernel::check`](super::Kernel::check).
///
/// ```
/// use warploom::LaunchConfig;
///
/// let each = LaunchConfig::cover(1000, 256); // a thread for each of 1000 values
/// assert_eq!(each, LaunchConfig::new(4, 256));
/// let tiles = LaunchConfig::new((8, 8), (16, 16)).shared_memory(2 * 16 * 16 * 4);
/// assert_eq!(tiles.threads(), 8 * 8 * 16 * 16);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct LaunchConfig {
    pub(super) grid: Dimensions,
    pub(super) block: Dimensions,
    pub(super) shared: u32,
    pub(super) cluster: Option<Dimensions>,
    pub(super) is_cooperative: bool,
    pub(super) overlaps: bool,
    pub(super) priority: Option<i32>,
}

impl LaunchConfig {
    /// So many blocks, of so many threads each.
    pub fn new(grid: impl Into<Dimensions>, block: impl Into<Dimensions>) -> LaunchConfig {
        LaunchConfig {
            grid: grid.into(),
            block: block.into(),
            shared: 0,
            cluster: None,
            is_cooperative: false,
            overlaps: false,
            priority: None,
        }
    }

    /// At least `len` threads in a row, in blocks of `block`: as few blocks as that takes, but one. The last
    /// one may have threads with nothing to do, which the kernel has to leave out.
    pub fn cover(len: usize, block: u32) -> LaunchConfig {
        let blocks = len.div_ceil((block as usize).max(1)).max(1);
        // More than fit a number are more than any device has, which the check says.
        LaunchConfig::new(u32::try_from(blocks).unwrap_or(u32::MAX), block)
    }

    /// So many clusters of so many blocks each, where [`LaunchConfig::new`] with [`LaunchConfig::cluster`]
    /// counts blocks.
    pub fn of_clusters(
        clusters: impl Into<Dimensions>,
        cluster: impl Into<Dimensions>,
        block: impl Into<Dimensions>,
    ) -> LaunchConfig {
        let (clusters, cluster) = (clusters.into(), cluster.into());
        let grid = Dimensions {
            x: clusters.x.saturating_mul(cluster.x),
            y: clusters.y.saturating_mul(cluster.y),
            z: clusters.z.saturating_mul(cluster.z),
        };
        LaunchConfig::new(grid, block).cluster(cluster)
    }

    /// Gives each block so many bytes of shared memory besides those that the kernel says itself.
    pub fn shared_memory(self, bytes: u32) -> LaunchConfig {
        LaunchConfig { shared: bytes, ..self }
    }

    /// Runs so many neighbouring blocks together, which can use each other's shared memory. The grid, which
    /// still counts blocks, is a whole number of clusters. Needs compute capability 9.0.
    pub fn cluster(self, blocks: impl Into<Dimensions>) -> LaunchConfig {
        LaunchConfig { cluster: Some(blocks.into()), ..self }
    }

    /// Runs all blocks at once, so that they can wait for each other.
    pub fn cooperative(self) -> LaunchConfig {
        LaunchConfig { is_cooperative: true, ..self }
    }

    /// Lets the kernel start before the one before it on the stream is done. It says itself from where on it
    /// needs that one's results (`cudaGridDependencySynchronize`).
    #[doc(alias = "PDL")]
    #[doc(alias = "programmatic stream serialization")]
    pub fn overlap_previous(self) -> LaunchConfig {
        LaunchConfig { overlaps: true, ..self }
    }

    /// Runs it with another priority than its stream has; see
    /// [`Context::priority_range`](crate::Context::priority_range).
    pub fn priority(self, priority: i32) -> LaunchConfig {
        LaunchConfig { priority: Some(priority), ..self }
    }

    /// `true` if the driver has to be told more than sizes.
    #[inline]
    pub(super) fn has_attributes(&self) -> bool {
        self.cluster.is_some() || self.is_cooperative || self.overlaps || self.priority.is_some()
    }

    /// The number of blocks in each direction.
    #[must_use]
    pub fn grid(&self) -> Dimensions {
        self.grid
    }

    /// The threads of a block in each dimension.
    #[must_use]
    pub fn block(&self) -> Dimensions {
        self.block
    }

    /// The number of threads altogether; more than a number can say counts as the largest number.
    #[must_use]
    pub fn threads(&self) -> u64 {
        self.grid.total().saturating_mul(self.block.total())
    }
}

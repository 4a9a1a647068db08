//! What a launch may be like.

use std::fmt;
use std::sync::{PoisonError, RwLock};

use warploom_driver::sys::types::CUkern_st;

use super::{Dimensions, Kernel, KernelAttribute, LaunchConfig, LaunchError};
use crate::device::same_driver;
use crate::handle::Handle;
use crate::{Context, Device, Error, Result, Stream};

/// What launches of a kernel may be like on a device.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    grid: Dimensions,
    block: Dimensions,
    threads: u32,
    shared: u32,
    multiprocessors: u32,
    has_clusters: bool,
    has_cooperation: bool,
}

/// What is known of the limits of one kernel, by device.
#[derive(Default)]
pub(super) struct KnownLimits(RwLock<Vec<(u32, Limits)>>);

impl KnownLimits {
    #[inline]
    fn get(&self, device: u32) -> Option<Limits> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(of, _)| *of == device).map(|(_, limits)| *limits)
    }

    fn set(&self, device: u32, limits: Limits) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(of, _)| *of != device);
        known.push((device, limits));
    }

    pub(super) fn forget(&self, device: &Device) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(of, _)| *of != device.ordinal());
    }
}

impl Limits {
    #[inline]
    fn check(&self, config: &LaunchConfig, device: &Device) -> Result<(), LaunchError> {
        let LaunchConfig { grid, block, .. } = *config;
        for (what, dimensions) in [("grid", grid), ("block", block)] {
            if dimensions.axes().contains(&0) {
                return Err(LaunchError::Empty { what, dimensions });
            }
        }
        if !block.fits(self.block) {
            return Err(LaunchError::BlockTooLarge { block, limit: self.block });
        }
        if block.total() > u64::from(self.threads) {
            return Err(LaunchError::TooManyThreads { block, limit: self.threads });
        }
        if !grid.fits(self.grid) {
            return Err(LaunchError::GridTooLarge { grid, limit: self.grid });
        }
        if config.shared > self.shared {
            return Err(LaunchError::SharedMemory { bytes: config.shared, limit: self.shared });
        }
        if let Some(cluster) = config.cluster {
            self.check_cluster(grid, cluster, device)?;
        }
        if config.is_cooperative && !self.has_cooperation {
            return Err(LaunchError::NotCooperative { device: device.ordinal() });
        }
        Ok(())
    }

    fn check_cluster(&self, grid: Dimensions, cluster: Dimensions, device: &Device) -> Result<(), LaunchError> {
        if cluster.axes().contains(&0) {
            return Err(LaunchError::Empty { what: "cluster", dimensions: cluster });
        }
        if !self.has_clusters {
            return Err(LaunchError::NoClusters { device: device.ordinal() });
        }
        let is_whole = |(grid, cluster): (u32, u32)| grid.is_multiple_of(cluster);
        if grid.axes().into_iter().zip(cluster.axes()).all(is_whole) {
            return Ok(());
        }
        Err(LaunchError::PartOfCluster { grid, cluster })
    }
}

impl Kernel {
    /// What launches may be like on a device; asked once.
    #[inline]
    fn limits(&self, device: &Device) -> Result<Limits> {
        match self.shared().limits.get(device.ordinal()) {
            Some(known) => Ok(known),
            None => self.read_limits(device),
        }
    }

    #[cold]
    fn read_limits(&self, device: &Device) -> Result<Limits> {
        let properties = device.properties()?;
        let count = |attribute| Ok::<u32, Error>(self.attribute(attribute, device)?.max(0).unsigned_abs());
        let limits = Limits {
            grid: properties.max_grid().into(),
            block: properties.max_block().into(),
            threads: count(KernelAttribute::MaxThreadsPerBlock)?,
            shared: count(KernelAttribute::MaxDynamicShared)?,
            multiprocessors: properties.multiprocessors(),
            has_clusters: properties.has_cluster_launch(),
            has_cooperation: properties.has_cooperative_launch(),
        };
        self.shared().limits.set(device.ordinal(), limits);
        Ok(limits)
    }

    /// Looks once at how the kernel is to be launched in a context, so that launches need not.
    ///
    /// # Errors
    ///
    /// [`Error::Launch`] if it cannot be launched like that, [`Error::DriverMismatch`] for a context of another driver, and
    /// what the driver answers.
    pub fn check(&self, config: &LaunchConfig, context: &Context) -> Result<CheckedConfig> {
        same_driver(self.driver(), context.driver())?;
        self.check_in(config, context)?;
        if let Some(priority) = config.priority {
            let range = context.priority_range()?;
            if !range.contains(priority) {
                return Err(LaunchError::PriorityOutOfRange { priority, range }.into());
            }
        }
        let device = context.device().ordinal();
        Ok(CheckedConfig { config: *config, kernel: Handle::new(self.as_raw()), device })
    }

    /// What can be checked without asking the driver each time, and whether cooperating blocks fit the device at once, for which it
    /// is.
    fn check_in(&self, config: &LaunchConfig, context: &Context) -> Result<()> {
        let limits = self.limits(context.device())?;
        limits.check(config, context.device())?;
        if config.is_cooperative {
            let each = self.occupancy(context)?.max_active_blocks(config.block, config.shared)?;
            let (blocks, limit) = (config.grid.total(), u64::from(each) * u64::from(limits.multiprocessors));
            if blocks > limit {
                return Err(LaunchError::TooManyCooperativeBlocks { blocks, limit }.into());
            }
        }
        Ok(())
    }
}

/// A [`LaunchConfig`] that was checked for one kernel on one device, by [`Kernel::check`].
pub struct CheckedConfig {
    config: LaunchConfig,
    kernel: Handle<CUkern_st>,
    device: u32,
}

impl CheckedConfig {
    /// What was checked.
    pub fn config(&self) -> LaunchConfig {
        self.config
    }
}

impl fmt::Debug for CheckedConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("CheckedConfig").field(&self.config).finish()
    }
}

/// How a kernel is launched: a [`LaunchConfig`], which is checked each time, or a [`CheckedConfig`].
pub trait Shape: private::Checked {}

pub(super) mod private {
    use super::{Kernel, LaunchConfig, Result, Stream};

    #[expect(unnameable_types, reason = "only this crate knows what is checked")]
    pub trait Checked {
        /// The configuration, if the kernel can be launched like that on the stream.
        fn checked(&self, kernel: &Kernel, stream: &Stream) -> Result<&LaunchConfig>;
    }
}

impl Shape for LaunchConfig {}
impl private::Checked for LaunchConfig {
    #[inline]
    fn checked(&self, kernel: &Kernel, stream: &Stream) -> Result<&LaunchConfig> {
        kernel.check_in(self, stream.context())?;
        Ok(self)
    }
}

impl Shape for CheckedConfig {}
impl private::Checked for CheckedConfig {
    #[inline]
    fn checked(&self, kernel: &Kernel, stream: &Stream) -> Result<&LaunchConfig> {
        if self.kernel.raw() == kernel.as_raw() && self.device == stream.device().ordinal() {
            return Ok(&self.config);
        }
        Err(LaunchError::CheckedElsewhere.into())
    }
}

//! Limits of a launch, and configurations checked against them.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use warploom_driver::sys::types::CUkern_st;
use warploom_driver::user_code::{Mutex, MutexGuard};

use super::{Dimensions, Kernel, KernelAttribute, LaunchConfig, LaunchError};
use crate::device::same_driver;
use crate::handle::Handle;
use crate::{Context, Device, Error, Properties, Result};

/// The limits of launches of a kernel on a device.
struct Limits {
    device: u32,
    grid: Dimensions,
    block: Dimensions,
    multiprocessors: u32,
    has_clusters: bool,
    has_cooperation: bool,
    /// The limits from kernel attributes, which can be set.
    threads: AtomicU32,
    shared: AtomicU32,
    /// `true` if these two are to be asked for anew.
    is_stale: AtomicBool,
    next: List,
}

/// A list with one entry per device; entries stay.
type List = OnceLock<Box<Limits>>;

/// The cached limits of one kernel, by device. Every launch looks here, mostly at the first, and takes no
/// lock for it.
#[derive(Default)]
pub(super) struct KnownLimits {
    first: List,
    /// Held while the driver is asked, so that no limit is cached from before an attribute was set.
    asking: Mutex<()>,
}

impl KnownLimits {
    #[inline]
    fn get(&self, device: u32) -> Option<&Limits> {
        let mut at = self.first.get();
        while let Some(limits) = at {
            if limits.device == device {
                return Some(limits);
            }
            at = limits.next.get();
        }
        None
    }

    /// The entry of a device, which is made at the end if there is none.
    fn entry(&self, properties: &Properties, device: u32) -> &Limits {
        let make = || {
            Box::new(Limits {
                device,
                grid: properties.max_grid().into(),
                block: properties.max_block().into(),
                multiprocessors: properties.multiprocessors(),
                has_clusters: properties.has_cluster_launch(),
                has_cooperation: properties.has_cooperative_launch(),
                threads: AtomicU32::new(0),
                shared: AtomicU32::new(0),
                is_stale: AtomicBool::new(true),
                next: List::new(),
            })
        };
        let mut limits = self.first.get_or_init(make);
        while limits.device != device {
            limits = limits.next.get_or_init(make);
        }
        limits
    }

    fn ask(&self) -> MutexGuard<'_, ()> {
        self.asking.lock()
    }

    pub(super) fn forget(&self, device: &Device) {
        let _asking = self.ask();
        if let Some(limits) = self.get(device.ordinal()) {
            limits.is_stale.store(true, Ordering::Release);
        }
    }
}

impl Limits {
    /// `true` if sizes alone decide, and all are within their limits.
    #[inline]
    fn allow_at_once(&self, config: &LaunchConfig) -> bool {
        config.block.is_within(&self.block)
            && config.grid.is_within(&self.grid)
            && config.block.total() <= u64::from(self.threads.load(Ordering::Relaxed))
            && config.shared <= self.shared.load(Ordering::Relaxed)
            && config.cluster.is_none()
            && !config.is_cooperative
    }

    fn check(&self, config: &LaunchConfig) -> Result<(), LaunchError> {
        let LaunchConfig { grid, block, .. } = *config;
        let (threads, shared) = (self.threads.load(Ordering::Relaxed), self.shared.load(Ordering::Relaxed));
        for (what, dimensions) in [("grid", grid), ("block", block)] {
            if dimensions.axes().contains(&0) {
                return Err(LaunchError::Empty { what, dimensions });
            }
        }
        if !block.fits(self.block) {
            return Err(LaunchError::BlockTooLarge { block, limit: self.block });
        }
        if block.total() > u64::from(threads) {
            return Err(LaunchError::TooManyThreads { block, limit: threads });
        }
        if !grid.fits(self.grid) {
            return Err(LaunchError::GridTooLarge { grid, limit: self.grid });
        }
        if config.shared > shared {
            return Err(LaunchError::SharedMemory { bytes: config.shared, limit: shared });
        }
        if let Some(cluster) = config.cluster {
            self.check_cluster(grid, cluster)?;
        }
        if config.is_cooperative && !self.has_cooperation {
            return Err(LaunchError::NotCooperative { device: self.device });
        }
        Ok(())
    }

    fn check_cluster(&self, grid: Dimensions, cluster: Dimensions) -> Result<(), LaunchError> {
        if cluster.axes().contains(&0) {
            return Err(LaunchError::Empty { what: "cluster", dimensions: cluster });
        }
        if !self.has_clusters {
            return Err(LaunchError::NoClusters { device: self.device });
        }
        let is_whole = |(grid, cluster): (u32, u32)| grid.is_multiple_of(cluster);
        if grid.axes().into_iter().zip(cluster.axes()).all(is_whole) {
            return Ok(());
        }
        Err(LaunchError::PartOfCluster { grid, cluster })
    }
}

impl Kernel {
    /// The limits on a device; asked for once, and again after an attribute was set.
    #[inline]
    fn limits(&self, device: &Device) -> Result<&Limits> {
        match self.shared().limits.get(device.ordinal()) {
            Some(known) if !known.is_stale.load(Ordering::Acquire) => Ok(known),
            _ => self.read_limits(device),
        }
    }

    #[cold]
    fn read_limits(&self, device: &Device) -> Result<&Limits> {
        let (known, properties) = (&self.shared().limits, device.properties()?);
        let _asking = known.ask();
        let count = |attribute| Ok::<u32, Error>(self.attribute(attribute, device)?.max(0).unsigned_abs());
        let (threads, shared) =
            (count(KernelAttribute::MaxThreadsPerBlock)?, count(KernelAttribute::MaxDynamicShared)?);
        let limits = known.entry(properties, device.ordinal());
        limits.threads.store(threads, Ordering::Relaxed);
        limits.shared.store(shared, Ordering::Relaxed);
        limits.is_stale.store(false, Ordering::Release);
        Ok(limits)
    }

    /// Looks once at how the kernel is to be launched in a context, so that launches need not.
    ///
    /// # Errors
    ///
    /// [`Error::Launch`] if it cannot be launched like that,
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) for a context of another driver,
    /// and the driver's error.
    pub fn check(&self, config: &LaunchConfig, context: &Context) -> Result<CheckedConfig> {
        same_driver(self.driver(), context.driver())?;
        self.check_in(config, context)?;
        if let Some(cluster) = config.cluster {
            let limit = self.occupancy(context)?.max_cluster(config)?;
            if cluster.total() > u64::from(limit) {
                return Err(LaunchError::ClusterTooLarge { cluster, limit }.into());
            }
        }
        if let Some(priority) = config.priority {
            let range = context.priority_range()?;
            if !range.contains(priority) {
                return Err(LaunchError::PriorityOutOfRange { priority, range }.into());
            }
        }
        let device = context.device().ordinal();
        Ok(CheckedConfig { config: *config, kernel: Handle::new(self.as_raw()), device })
    }

    /// The checks that need no driver call each time, and the occupancy of cooperative launches, for which it
    /// is asked.
    #[inline]
    fn check_in(&self, config: &LaunchConfig, context: &Context) -> Result<()> {
        let limits = self.limits(context.device())?;
        if limits.allow_at_once(config) { Ok(()) } else { self.check_closely(limits, config, context) }
    }

    #[cold]
    fn check_closely(&self, limits: &Limits, config: &LaunchConfig, context: &Context) -> Result<()> {
        limits.check(config)?;
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
    /// The checked configuration.
    pub fn config(&self) -> LaunchConfig {
        self.config
    }
}

impl fmt::Debug for CheckedConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("CheckedConfig").field(&self.config).finish()
    }
}

/// A launch configuration: a [`LaunchConfig`], which is checked each time, or a [`CheckedConfig`].
pub trait Shape: private::Checked {}

pub(super) mod private {
    use super::{Context, Kernel, LaunchConfig, Result};

    #[expect(unnameable_types, reason = "only this crate knows what is checked")]
    pub trait Checked {
        /// The configuration, if the kernel can be launched like that in the context.
        fn checked(&self, kernel: &Kernel, context: &Context) -> Result<&LaunchConfig>;
    }
}

impl Shape for LaunchConfig {}
impl private::Checked for LaunchConfig {
    #[inline]
    fn checked(&self, kernel: &Kernel, context: &Context) -> Result<&LaunchConfig> {
        kernel.check_in(self, context)?;
        Ok(self)
    }
}

impl Shape for CheckedConfig {}
impl private::Checked for CheckedConfig {
    #[inline]
    fn checked(&self, kernel: &Kernel, context: &Context) -> Result<&LaunchConfig> {
        if self.kernel.raw() == kernel.as_raw() && self.device == context.device().ordinal() {
            return Ok(&self.config);
        }
        Err(LaunchError::CheckedElsewhere.into())
    }
}

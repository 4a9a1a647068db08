//! Occupancy: the blocks of a kernel that fit a multiprocessor.
#![expect(unsafe_code, reason = "asks the driver about a kernel, and is called back by it")]

use std::cell::RefCell;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null_mut;

use warploom_driver::sys::types::{CUlaunchConfig, CUoccupancyB2DSize};

use super::launch::{attributes, to_raw};
use super::{Dimensions, Kernel, LaunchConfig, LaunchError};
use crate::context::Current;
use crate::device::same_driver;
use crate::{Context, Driver, Queue, Result};

/// The occupancy of a kernel in a context.
///
/// ```
/// use warploom::Driver;
///
/// # const SCALE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scale.ptx"));
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let scale = context.load(SCALE)?.kernel("scale")?;
/// let occupancy = scale.occupancy(&context)?;
/// let suggested = occupancy.suggest_block(0, 0)?;
/// assert!(occupancy.max_active_blocks(suggested.block, 0)? > 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Occupancy<'a> {
    kernel: &'a Kernel,
    context: &'a Context,
}

/// The suggestion of [`Occupancy::suggest_block`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockSuggestion {
    /// The block size with the highest occupancy.
    pub block: u32,
    /// The number of such blocks that fill the device.
    pub grid: u32,
}

impl Kernel {
    /// Its occupancy in a context.
    ///
    /// # Errors
    ///
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) for a context of another driver.
    pub fn occupancy<'a>(&'a self, context: &'a Context) -> Result<Occupancy<'a>> {
        same_driver(self.driver(), context.driver())?;
        Ok(Occupancy { kernel: self, context })
    }
}

impl Occupancy<'_> {
    fn driver(&self) -> &Driver {
        self.kernel.driver()
    }

    /// The threads of a block, as the driver counts them.
    fn threads(&self, block: Dimensions) -> Result<c_int> {
        match c_int::try_from(block.total()) {
            Ok(0) => Err(LaunchError::Empty { what: "block", dimensions: block }.into()),
            Ok(threads) => Ok(threads),
            Err(_) => {
                let limit = self.context.device().properties()?.max_block().into();
                Err(LaunchError::BlockTooLarge { block, limit }.into())
            }
        }
    }

    /// Makes the context current, in which the driver then loads the kernel.
    fn enter(&self) -> Result<Current<'_>> {
        let current = self.context.current()?;
        self.kernel.note(self.context);
        Ok(current)
    }

    /// The number of blocks of so many threads and bytes of dynamic shared memory that a multiprocessor runs
    /// at once.
    ///
    /// # Errors
    ///
    /// [`LaunchError::Empty`] for no threads, [`LaunchError::BlockTooLarge`] for more than the driver can be
    /// asked about, and the driver's error. Of blocks that are only too large to be launched, there are 0.
    #[doc(alias = "cuOccupancyMaxActiveBlocksPerMultiprocessor")]
    pub fn max_active_blocks(&self, block: impl Into<Dimensions>, shared: u32) -> Result<u32> {
        let (threads, shared) = (self.threads(block.into())?, shared as usize);
        let _current = self.enter()?;
        let mut blocks = 0;
        let function = self.kernel.as_function();
        // SAFETY: `blocks` is writable, the kernel is held, and `_current` keeps the context current.
        unsafe {
            self.driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut blocks, function, threads, shared)
        }?;
        Ok(blocks.max(0).unsigned_abs())
    }

    /// The size of blocks that fills the device best, with so many bytes of dynamic shared memory each, and
    /// at most `limit` threads; a limit of 0 is none.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuOccupancyMaxPotentialBlockSize")]
    pub fn suggest_block(&self, shared: u32, limit: u32) -> Result<BlockSuggestion> {
        self.suggest(None, shared as usize, limit)
    }

    /// As [`Occupancy::suggest_block`], where the dynamic shared memory depends on the number of threads.
    ///
    /// # Errors
    ///
    /// The driver's error.
    ///
    /// # Panics
    ///
    /// If `shared` does.
    pub fn suggest_block_with(&self, mut shared: impl FnMut(u32) -> usize, limit: u32) -> Result<BlockSuggestion> {
        let mut panicked = None;
        let mut bytes = |threads: u32| match catch_unwind(AssertUnwindSafe(|| shared(threads))) {
            Ok(bytes) => bytes,
            Err(payload) => {
                panicked.get_or_insert(payload);
                0
            }
        };
        let suggested = asking(&mut bytes, || self.suggest(Some(answer), 0, limit));
        match panicked {
            Some(payload) => resume_unwind(payload),
            None => suggested,
        }
    }

    fn suggest(&self, of: CUoccupancyB2DSize, shared: usize, limit: u32) -> Result<BlockSuggestion> {
        let _current = self.enter()?;
        let (mut grid, mut block) = (0, 0);
        let (function, limit) = (self.kernel.as_function(), c_int::try_from(limit).unwrap_or(c_int::MAX));
        let (grid_at, block_at) = (&raw mut grid, &raw mut block);
        // SAFETY: both are writable, the kernel is held, `_current` keeps the context current, and the
        // function may be called until the call returns.
        unsafe { self.driver().cuOccupancyMaxPotentialBlockSize(grid_at, block_at, function, of, shared, limit) }?;
        Ok(BlockSuggestion { block: block.max(0).unsigned_abs(), grid: grid.max(0).unsigned_abs() })
    }

    /// The dynamic shared memory that a block can have, in bytes, if a multiprocessor is to run so many
    /// blocks of so many threads at once.
    ///
    /// # Errors
    ///
    /// [`LaunchError::Empty`] for no blocks, and as [`Occupancy::max_active_blocks`].
    #[doc(alias = "cuOccupancyAvailableDynamicSMemPerBlock")]
    pub fn available_dynamic_shared(&self, blocks: u32, block: impl Into<Dimensions>) -> Result<usize> {
        if blocks == 0 {
            return Err(LaunchError::Empty { what: "grid", dimensions: blocks.into() }.into());
        }
        let (threads, blocks) = (self.threads(block.into())?, c_int::try_from(blocks).unwrap_or(c_int::MAX));
        let _current = self.enter()?;
        let mut bytes = 0;
        let function = self.kernel.as_function();
        // SAFETY: `bytes` is writable, the kernel is held, and `_current` keeps the context current.
        unsafe { self.driver().cuOccupancyAvailableDynamicSMemPerBlock(&raw mut bytes, function, blocks, threads) }?;
        Ok(bytes)
    }

    /// The largest cluster size for this launch configuration on this stream.
    ///
    /// # Errors
    ///
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) for a stream of another context, and the
    /// driver's error.
    #[doc(alias = "cuOccupancyMaxPotentialClusterSize")]
    pub fn max_cluster_size(&self, config: &LaunchConfig, queue: &impl Queue) -> Result<u32> {
        self.ask_clusters(config, queue, |size, config| {
            // SAFETY: `size` is writable, the configuration is whole, the kernel is held, and a context is
            // current.
            unsafe { self.driver().cuOccupancyMaxPotentialClusterSize(size, self.kernel.as_function(), config) }
        })
    }

    /// The number of clusters that the device runs at once, for this launch configuration on this stream.
    ///
    /// # Errors
    ///
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) for a stream of another context, and the
    /// driver's error.
    #[doc(alias = "cuOccupancyMaxActiveClusters")]
    pub fn max_active_clusters(&self, config: &LaunchConfig, queue: &impl Queue) -> Result<u32> {
        self.ask_clusters(config, queue, |clusters, config| {
            // SAFETY: `clusters` is writable, the configuration is whole, the kernel is held, and a context
            // is current.
            unsafe { self.driver().cuOccupancyMaxActiveClusters(clusters, self.kernel.as_function(), config) }
        })
    }

    /// The largest cluster of blocks as in a launch configuration, on any stream.
    pub(super) fn max_cluster(&self, config: &LaunchConfig) -> Result<u32> {
        let _current = self.enter()?;
        let blocks = LaunchConfig::new(config.grid, config.block).shared_memory(config.shared);
        let config = to_raw(&blocks, null_mut(), (null_mut(), 0));
        let (function, mut size) = (self.kernel.as_function(), 0);
        // SAFETY: `size` is writable, the configuration is whole, the kernel is held, and a context is
        // current.
        unsafe { self.driver().cuOccupancyMaxPotentialClusterSize(&raw mut size, function, &raw const config) }?;
        Ok(size.max(0).unsigned_abs())
    }

    fn ask_clusters(
        &self,
        config: &LaunchConfig,
        queue: &impl Queue,
        ask: impl FnOnce(*mut c_int, *const CUlaunchConfig) -> warploom_driver::Result<()>,
    ) -> Result<u32> {
        let stream = queue.stream();
        self.context.serves(stream)?;
        let _current = self.enter()?;
        let mut room = [const { MaybeUninit::uninit() }; 4];
        let count = attributes(config, &mut room);
        let mut answer = 0;
        let _turn = stream.turn();
        stream.signal(|raw| {
            let config = to_raw(config, raw, (room.as_mut_ptr().cast(), count));
            ask(&raw mut answer, &raw const config)
        })?;
        Ok(answer.max(0).unsigned_abs())
    }
}

/// The function that computes the shared memory of a block.
type Bytes<'a> = dyn FnMut(u32) -> usize + 'a;

thread_local! {
    /// The driver passes nothing along to the function that it calls, so that the function to ask is here
    /// meanwhile.
    static ASKED: RefCell<Vec<*mut Bytes<'static>>> = const { RefCell::new(Vec::new()) };
}

/// Calls, with `answer` asking `bytes` meanwhile.
fn asking<R>(bytes: &mut Bytes<'_>, call: impl FnOnce() -> R) -> R {
    // SAFETY: only the lifetime changes; it is out of the list before it ends.
    let asked = unsafe { std::mem::transmute::<*mut Bytes<'_>, *mut Bytes<'static>>(bytes) };
    ASKED.with_borrow_mut(|all| all.push(asked));
    let done = catch_unwind(AssertUnwindSafe(call));
    ASKED.with_borrow_mut(Vec::pop);
    done.unwrap_or_else(|payload| resume_unwind(payload))
}

unsafe extern "C" fn answer(threads: c_int) -> usize {
    match ASKED.with_borrow(|all| all.last().copied()) {
        // SAFETY: it is in the list, so that it is alive; and nothing else uses it, since who put it there
        // waits for the call that calls this.
        Some(asked) => (unsafe { &mut *asked })(threads.max(0).unsigned_abs()),
        None => 0,
    }
}

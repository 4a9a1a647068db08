//! The default memory resource of a context.

use crate::memory::resource::refuse_captured;
use crate::{
    Buffer, Context, DeviceAttribute, DeviceCopy, DeviceMemory, DevicePool, Queue, Result, SynchronousResource as _,
};

/// The memory of a device without a choice: the pool that it allocates from, or plain memory on a device
/// without pools; made by [`Context::default_resource`].
///
/// Both take a stream, so that one program works on either.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum DefaultResource {
    /// The device's current pool.
    Pool(DevicePool),
    /// Memory that is allocated and freed at once.
    Memory(DeviceMemory),
}

impl Context {
    /// The device's current pool, or plain memory on a device without pools.
    ///
    /// Nothing is kept: each call asks the driver. Another default is a value of the program's own.
    ///
    /// ```
    /// use warploom::{DefaultResource, Driver};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let stream = context.stream()?;
    /// let memory = context.default_resource()?;
    /// assert!(matches!(memory, DefaultResource::Pool(_)));
    /// assert_eq!(memory.upload(&[1_u32, 2, 3], &stream)?.download(&stream)?, [1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`MemoryError::Untracked`](crate::MemoryError::Untracked) if other code has made a pool of its own
    /// current, which [`DevicePool::current_untracked`] takes for a [`DefaultResource::Pool`]; and the
    /// driver's error.
    #[doc(alias = "cuDeviceGetMemPool")]
    pub fn default_resource(&self) -> Result<DefaultResource> {
        if self.device().attribute(DeviceAttribute::MemoryPoolsSupported)? == 0 {
            return Ok(DefaultResource::Memory(DeviceMemory::new(self)));
        }
        DevicePool::current(self).map(DefaultResource::Pool)
    }
}

impl DefaultResource {
    /// The context of the memory.
    #[must_use]
    pub fn context(&self) -> &Context {
        match self {
            DefaultResource::Pool(pool) => pool.context(),
            DefaultResource::Memory(memory) => memory.context(),
        }
    }

    /// A buffer of `len` uninitialised values, to be used in the order of `queue`.
    ///
    /// # Errors
    ///
    /// As [`OrderedResource::allocate`](crate::OrderedResource::allocate), whichever memory it is.
    pub fn allocate<T: DeviceCopy>(&self, len: usize, queue: &impl Queue) -> Result<Buffer<T>> {
        match self {
            DefaultResource::Pool(pool) => pool.allocate(len, queue),
            DefaultResource::Memory(memory) => {
                let stream = queue.stream();
                memory.context().serves(stream)?;
                refuse_captured(|| memory.resource().name(), stream)?;
                memory.allocate(len)
            }
        }
    }

    /// A buffer of `len` values whose bytes are all 0.
    ///
    /// # Errors
    ///
    /// As [`DefaultResource::allocate`].
    pub fn zeroed<T: DeviceCopy>(&self, len: usize, queue: &impl Queue) -> Result<Buffer<T>> {
        let mut buffer = self.allocate(len, queue)?;
        buffer.zero(queue)?;
        Ok(buffer)
    }

    /// A buffer with these values. Returns when they have been read.
    ///
    /// # Errors
    ///
    /// As [`DefaultResource::allocate`].
    pub fn upload<T: DeviceCopy>(&self, values: &[T], queue: &impl Queue) -> Result<Buffer<T>> {
        let mut buffer = self.allocate(values.len(), queue)?;
        buffer.copy_from_host(values, queue)?;
        Ok(buffer)
    }
}

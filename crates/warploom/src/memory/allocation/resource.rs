//! The resource that an allocation came from and goes back to.

use std::sync::Arc;

use super::Owner;
use crate::memory::resource::{StreamOrdered, Synchronous};
use crate::{Buffer, DeviceCopy};

impl<T: DeviceCopy> Buffer<T> {
    /// The stream-ordered resource that gets the memory back: more memory of the same kind comes from it.
    /// `None` for memory of a [`Synchronous`] resource, of a graph, or of other code.
    ///
    /// ```
    /// use warploom::{Buffer, DevicePool, Driver, OrderedResource, Stream};
    ///
    /// /// A buffer of the same resource, for any buffer that has a stream-ordered one.
    /// fn twice_as_large(buffer: &Buffer<u32>, stream: &Stream) -> warploom::Result<Option<Buffer<u32>>> {
    ///     buffer.ordered_resource().map(|resource| resource.allocate(2 * buffer.len(), stream)).transpose()
    /// }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    /// let small = pool.zeroed::<u32>(1 << 20, &stream)?;
    /// let large = twice_as_large(&small, &stream)?.expect("it came from a pool");
    /// assert_eq!(large.len(), 2 << 20);
    /// assert!(pool.statistics()?.used >= 12 << 20);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn ordered_resource(&self) -> Option<Arc<dyn StreamOrdered>> {
        match &self.allocation().owner {
            Owner::Ordered { resource, .. } => Some(resource.shared()),
            Owner::Leased(lease) => lease.resource(),
            _ => None,
        }
    }

    /// The resource that gets the memory back, if it is one that allocates and frees at once; see
    /// [`Buffer::ordered_resource`] for the others.
    ///
    /// ```
    /// use warploom::{DeviceMemory, Driver};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let buffer = DeviceMemory::new(&context).allocate::<u8>(100)?;
    /// let resource = buffer.synchronous_resource().expect("plain device memory");
    /// assert_eq!(resource.context(), &context);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn synchronous_resource(&self) -> Option<Arc<dyn Synchronous>> {
        match &self.allocation().owner {
            Owner::Synchronous { resource } => Some(Arc::clone(resource)),
            _ => None,
        }
    }
}

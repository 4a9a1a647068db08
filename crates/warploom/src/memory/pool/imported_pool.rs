//! `ImportedPool`: a pool of another process, which hands out that process's buffers.

use std::fmt;
use std::sync::Arc;

use warploom_driver::sys::types::CUmemoryPool;

use super::imported::Imported;
use super::sharing;
use crate::ipc::{PoolHandle, SharedMemory};
use crate::memory::resource::StreamOrdered as _;
use crate::{Context, Driver, PeerSet, Result, Uuid};

/// A pool of another process, imported by [`DevicePool::import`](crate::DevicePool::import) or
/// [`PinnedPool::import`](crate::PinnedPool::import).
///
/// It cannot allocate, and so is no [`OrderedResource`](crate::OrderedResource); buffers come from
/// [`Buffer::import`](crate::Buffer::import). A clone is another handle to the same pool, which ends with its
/// last handle and buffer; the exporter's pool does not.
#[derive(Clone)]
pub struct ImportedPool {
    pub(in crate::memory) shared: Arc<Imported>,
}

impl ImportedPool {
    /// The pool of this UUID, if it is imported and still used: for receivers of a
    /// [`BufferDescriptor`](crate::ipc::BufferDescriptor), which names its pool. No driver call.
    ///
    /// ```
    /// use warploom::ipc::ImportedPool;
    /// use warploom::{Driver, Uuid};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// assert!(ImportedPool::find(&driver, Uuid::from_bytes([1; 16])).is_none());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn find(driver: &Driver, pool: Uuid) -> Option<ImportedPool> {
        sharing::find(driver, pool)
    }

    /// The pool's UUID.
    #[must_use]
    pub fn uuid(&self) -> Uuid {
        self.shared.uuid()
    }

    /// The context that it was imported for.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.shared.pool().context()
    }

    /// The kind of its memory.
    #[must_use]
    pub fn memory(&self) -> SharedMemory {
        self.shared.memory()
    }

    /// The raw handle; valid while this value is held.
    #[must_use]
    pub fn as_raw(&self) -> CUmemoryPool {
        self.shared.pool().as_raw()
    }

    /// The other devices that may use its memory in this process: none at first, and never those of the
    /// exporter.
    #[must_use]
    pub fn peers(&self) -> PeerSet<'_> {
        self.shared.pool().peers()
    }

    /// A handle of the pool, to be passed on to a further process. No driver call.
    ///
    /// # Errors
    ///
    /// As [`PoolHandle::try_clone`].
    pub fn export(&self) -> Result<PoolHandle> {
        Ok(self.shared.handle().try_clone()?)
    }
}

impl PartialEq for ImportedPool {
    /// `true` if the two are the same import.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl Eq for ImportedPool {}

impl fmt::Debug for ImportedPool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_struct("ImportedPool");
        text.field("uuid", &self.uuid()).field("memory", &self.memory());
        text.field("device", self.context().device()).finish()
    }
}

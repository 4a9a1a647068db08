//! Descriptors of interprocess events.

use std::fmt;

use super::IpcError;
use super::error::SharedMemory;
use super::origin::Origin;
use super::record::EVENT;

/// An interprocess event, described for other processes; made by
/// [`IpcEvent::descriptor`](super::IpcEvent::descriptor) and opened by
/// [`IpcEvent::import`](super::IpcEvent::import).
///
/// It is plain data, which travels as its [bytes](EventDescriptor::to_bytes), or with the feature `serde` as
/// part of a message.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct EventDescriptor {
    pub(super) origin: Origin,
    /// The driver's handle.
    pub(super) payload: [u8; 64],
}

impl EventDescriptor {
    /// The length of its [bytes](EventDescriptor::to_bytes).
    pub const LEN: usize = EVENT.len();

    /// The descriptor as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; EventDescriptor::LEN] {
        // Events have no memory; the field says the device's.
        EVENT.write(self.origin, SharedMemory::Device, &[&self.payload])
    }

    /// The descriptor that was written as these bytes.
    ///
    /// # Errors
    ///
    /// [`IpcError::Length`], [`IpcError::NotADescriptor`], [`IpcError::Version`] or [`IpcError::Altered`].
    pub fn from_bytes(bytes: &[u8]) -> Result<EventDescriptor, IpcError> {
        let (origin, _, mut body) = EVENT.read(bytes)?;
        let payload = body.take().ok_or(IpcError::NotADescriptor { what: EVENT.what })?;
        Ok(EventDescriptor { origin, payload })
    }

    /// Refuses one that was not made for this process to open.
    pub(super) fn check_origin(&self) -> Result<(), IpcError> {
        self.origin.check(EVENT.what)
    }
}

impl fmt::Debug for EventDescriptor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EventDescriptor").finish_non_exhaustive()
    }
}

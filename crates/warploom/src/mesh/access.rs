//! Checks that a device has direct access to memory of another.

use super::{Context, Error, Mesh, Result};
use crate::{AccessLayer, DeviceRef, PeerError};

impl Mesh {
    /// Refuses unless `accessor` has peer access to memory of `owner`, a context of another device.
    pub(super) fn check_contexts(&self, accessor: &Context, owner: &Context) -> Result<()> {
        let (from, to) = (self.seat(accessor)?, self.seat(owner)?);
        if self.state().is_enabled(from, to) { Ok(()) } else { Err(self.missing(from, to, AccessLayer::Contexts)) }
    }

    /// The error for missing access from one position to another.
    pub(super) fn missing(&self, accessor: usize, owner: usize, layer: AccessLayer) -> Error {
        let ordinal = |at: usize| self.topology.devices()[at].ordinal();
        let (from, to) = (ordinal(accessor), ordinal(owner));
        match self.topology.capability(accessor, owner) {
            Ok(false) => Error::Peer(PeerError::Unsupported { owner: to, peers: vec![from] }),
            _ => Error::Peer(PeerError::NotEnabled { from, to, layer }),
        }
    }

    /// The position of a context that takes part. A primary context keeps its handle, and so its place, when it
    /// is reset; another context of the device never gets that place.
    fn seat(&self, context: &Context) -> Result<usize> {
        let at = self.topology.position(&DeviceRef::from(context.device()))?;
        match &self.state().contexts[at] {
            Some(seated) if seated.as_raw() == context.as_raw() => Ok(at),
            _ => Err(PeerError::ContextUnavailable { device: context.device().ordinal() }.into()),
        }
    }
}

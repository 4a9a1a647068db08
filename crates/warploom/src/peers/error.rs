//! Errors of access between devices.

use super::AccessLayer;
use crate::EnableReport;
use crate::device::list;

/// Memory of a device that another device cannot use.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeerError {
    /// No link leads from the peers to the owner's memory.
    #[error(
        "{} be given access to memory of device {owner}; leave out what `Device::can_access` denies, or copy",
        list(peers, "cannot", "cannot")
    )]
    Unsupported {
        /// The device whose memory it is.
        owner: u32,
        /// All devices that cannot access it, ascending.
        peers: Vec<u32>,
    },

    /// Access is possible but not enabled, or it ended when a device was reset.
    #[error("device {from} has no access to memory of device {to}; {layer}")]
    NotEnabled {
        /// The device that needs access.
        from: u32,
        /// The device whose memory it is.
        to: u32,
        /// The kind of access that is missing.
        layer: AccessLayer,
    },

    /// The context has access to as many others as the hardware allows.
    #[error("device {from} has too many peers to be given access to memory of device {to}; disable others first")]
    TooMany {
        /// The device that needs access.
        from: u32,
        /// The device whose memory it is.
        to: u32,
    },

    /// No context was given to a mesh.
    #[error("0 contexts were given; a mesh takes at least 1, and one of each device")]
    NoContexts,

    /// Two contexts of one device, or one context twice, were given to a mesh.
    #[error("device {device} was given twice; a mesh takes one context of each device")]
    TwoContexts {
        /// The device.
        device: u32,
    },

    /// The context takes no part in the mesh.
    #[error("the context of device {device} is not in the mesh; enable a mesh with it")]
    ContextUnavailable {
        /// The device.
        device: u32,
    },

    /// A pair of devices could not be enabled, and so none was.
    #[error("{}", incomplete(report))]
    MeshIncomplete {
        /// The outcome of each pair.
        report: Box<EnableReport>,
    },
}

/// The number of pairs that failed, and the first of them.
fn incomplete(report: &EnableReport) -> String {
    let failed = report.failures().count();
    let first = report.failures().next();
    let first = first.map(|(pair, error)| format!("; {} to {}: {error}", pair.accessor, pair.owner));
    format!("{failed} of {} pairs of devices could not be enabled{}", report.pairs().len(), first.unwrap_or_default())
}

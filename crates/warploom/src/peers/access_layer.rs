//! The two kinds of access to memory of another device.

use std::fmt;

/// Access to memory of another device: enabled between contexts, or granted to a pool. Neither covers the
/// other's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessLayer {
    /// Peer access between contexts.
    Contexts,
    /// The peers of a pool, or the devices that virtual memory was made for.
    Pool,
}

impl fmt::Display for AccessLayer {
    /// The call that gives access.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            AccessLayer::Contexts => "enable it with Mesh::enable, or again with Mesh::refresh",
            AccessLayer::Pool => {
                "open its pool with Mesh::grant_pools or DevicePool::peers; virtual memory is opened when it is made"
            }
        })
    }
}

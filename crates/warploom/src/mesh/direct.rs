//! Whether a device can use another's memory by itself.

use std::fmt;

/// What opens memory to other devices; neither layer covers the other's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessLayer {
    /// Peer access between contexts.
    Contexts,
    /// The peers of a pool.
    Pool,
}

impl fmt::Display for AccessLayer {
    /// What is to be done to have access.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            AccessLayer::Contexts => "enable it with Mesh::enable, or again with Mesh::refresh",
            AccessLayer::Pool => "open the pool with Mesh::grant_pools or DevicePool::peers",
        })
    }
}

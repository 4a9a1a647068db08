//! The history of an allocation while its machine checks: its birth and the accesses since.

use super::access::Access;
use super::blocks::Blocks;
use super::bytes::Shadow;
use super::journal::Journal;

/// The birth of an allocation, and the accesses to it.
#[derive(Debug)]
pub(crate) struct Tracked {
    pub(crate) born: Access,
    /// The accesses to it; those of a mapping are with the physical allocation, for all its mappings
    /// together.
    pub(crate) shadow: Shadow,
    /// The blocks of it that the program hands out itself, once it has said so.
    pub(crate) blocks: Option<Box<Blocks>>,
    /// The journal of the memory and the offset there of the first byte, if other processes can have it.
    pub(crate) shared: Option<(Journal, u64)>,
}

impl Tracked {
    #[inline]
    pub(crate) fn new(born: Access) -> Box<Self> {
        Box::new(Self { born, shadow: Shadow::default(), blocks: None, shared: None })
    }
}

//! Ids of communicators whose ranks are all in one process.

use super::{Nccl, UniqueId};
use crate::Result;

/// The id of a communicator whose ranks are all in this process: threads share it, and it has no bytes to
/// send elsewhere. Ranks join with it by [`Nccl::join_local`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LocalId {
    pub(super) id: UniqueId,
    pub(super) size: u32,
}

impl LocalId {
    /// The number of ranks.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }
}

impl Nccl {
    /// A new id for a communicator of `size` ranks, which are all in this process.
    ///
    /// # Errors
    ///
    /// NCCL's error.
    pub fn local_id(&self, size: u32) -> Result<LocalId> {
        Ok(LocalId { id: self.unique_id()?, size })
    }
}

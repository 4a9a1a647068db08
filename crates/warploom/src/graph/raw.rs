//! Raw node handles, as values that can be compared and sent to other threads.
#![expect(unsafe_code, reason = "lets C handles cross threads")]

use std::hash::{BuildHasherDefault, Hasher};

use warploom_driver::sys::types::CUgraphNode;

/// The driver's handle of a node, which is never dereferenced here. A list of these is one of handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub(crate) struct RawNode(CUgraphNode);

// SAFETY: the pointer is only ever handed back to the driver, under the lock of its hierarchy.
unsafe impl Send for RawNode {}
// SAFETY: as above.
unsafe impl Sync for RawNode {}

impl RawNode {
    pub(crate) fn new(raw: CUgraphNode) -> RawNode {
        RawNode(raw)
    }

    pub(crate) fn raw(self) -> CUgraphNode {
        self.0
    }
}

/// A map from nodes, which are addresses or numbers of the driver's choice.
pub(super) type NodeMap<V> = std::collections::HashMap<RawNode, V, BuildHasherDefault<HandleHasher>>;

/// One multiplication: handles differ, and need no protection from collisions made on purpose.
#[derive(Default)]
pub(super) struct HandleHasher(u64);

impl Hasher for HandleHasher {
    fn finish(&self) -> u64 {
        // The table takes the low bits for the bucket and the high ones for a tag.
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_usize(usize::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

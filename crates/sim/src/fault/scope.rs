//! Devices and contexts that a call acts on, as rules select them.

use smallvec::SmallVec;

use crate::ffi::handle::ContextHandle;

/// The devices and contexts that a call acts on.
#[derive(Default)]
pub(crate) struct CallScope {
    devices: SmallVec<[u16; 2]>,
    contexts: SmallVec<[ScopeContext; 2]>,
}

/// A context that a call acts on.
#[derive(Clone, Copy)]
struct ScopeContext {
    handle: ContextHandle,
    /// The number that `cuCtxGetId` shows.
    id: u64,
}

impl CallScope {
    pub(crate) fn add_device(&mut self, device: u16) {
        if !self.devices.contains(&device) {
            self.devices.push(device);
        }
    }

    /// Adds a context and its device.
    pub(crate) fn add_context(&mut self, handle: ContextHandle, id: u64, device: u16) {
        if !self.contexts.iter().any(|known| known.handle == handle) {
            self.contexts.push(ScopeContext { handle, id });
            self.add_device(device);
        }
    }

    /// The ordinals of the devices.
    pub(super) fn devices(&self) -> &[u16] {
        &self.devices
    }

    pub(crate) fn contexts(&self) -> impl ExactSizeIterator<Item = ContextHandle> {
        self.contexts.iter().map(|context| context.handle)
    }

    /// `true` if it has the context whose handle has these bits.
    pub(super) fn has_context(&self, bits: u64) -> bool {
        self.contexts.iter().any(|context| context.handle.bits() == bits)
    }

    pub(super) fn has_context_id(&self, id: u64) -> bool {
        self.contexts.iter().any(|context| context.id == id)
    }
}

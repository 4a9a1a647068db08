//! Devices and contexts that a call acts on, as rules select them.

use smallvec::SmallVec;

/// The devices and contexts that a call acts on.
#[derive(Default)]
pub(crate) struct CallScope {
    devices: SmallVec<[u16; 2]>,
    contexts: SmallVec<[ScopeContext; 2]>,
}

/// A context that a call acts on.
#[derive(Clone, Copy)]
struct ScopeContext {
    /// The bits of its handle.
    handle: u64,
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
    pub(crate) fn add_context(&mut self, handle: u64, id: u64, device: u16) {
        if !self.contexts.iter().any(|known| known.handle == handle) {
            self.contexts.push(ScopeContext { handle, id });
            self.add_device(device);
        }
    }

    /// The ordinals of the devices.
    pub(super) fn devices(&self) -> &[u16] {
        &self.devices
    }

    /// The bits of the contexts' handles.
    pub(crate) fn contexts(&self) -> impl ExactSizeIterator<Item = u64> {
        self.contexts.iter().map(|context| context.handle)
    }

    pub(super) fn has_context(&self, handle: u64) -> bool {
        self.contexts.iter().any(|context| context.handle == handle)
    }

    pub(super) fn has_context_id(&self, id: u64) -> bool {
        self.contexts.iter().any(|context| context.id == id)
    }
}

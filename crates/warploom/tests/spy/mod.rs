//! Memory resources that record on which stream each address is freed.

use std::sync::{Arc, Mutex};

use warploom::sys::types::CUdeviceptr;
use warploom::{Context, OrderedResource, Result, Stream, StreamOrdered};

/// A resource that passes every call on to another one, and records each free.
pub(crate) struct Spy {
    below: Arc<dyn StreamOrdered>,
    freed: Mutex<Vec<(CUdeviceptr, Stream)>>,
}

impl Spy {
    /// Records the frees of this resource.
    pub(crate) fn on(below: &impl OrderedResource) -> Arc<Spy> {
        Arc::new(Spy { below: below.resource(), freed: Mutex::default() })
    }

    /// The addresses freed since it was last asked, each with its stream.
    pub(crate) fn freed(&self) -> Vec<(CUdeviceptr, Stream)> {
        std::mem::take(&mut self.freed.lock().expect("no test panics while it is held"))
    }
}

#[expect(unsafe_code, reason = "hands memory of another resource on")]
// SAFETY: what the resource below answers for.
unsafe impl StreamOrdered for Spy {
    fn context(&self) -> &Context {
        self.below.context()
    }

    fn allocate_raw(&self, bytes: usize, stream: &Stream) -> Result<CUdeviceptr> {
        self.below.allocate_raw(bytes, stream)
    }

    unsafe fn deallocate_raw(&self, address: CUdeviceptr, bytes: usize, stream: &Stream) -> Result<()> {
        self.freed.lock().expect("no test panics while it is held").push((address, stream.clone()));
        // SAFETY: the caller's promise, handed on.
        unsafe { self.below.deallocate_raw(address, bytes, stream) }
    }

    fn is_pinned(&self) -> bool {
        self.below.is_pinned()
    }

    fn is_managed(&self) -> bool {
        self.below.is_managed()
    }
}

//! A context with streams and a pool.

use std::sync::{Arc, Mutex};

use warploom::sys::types::CUdeviceptr;
use warploom::{Context, DevicePool, Devices, Driver, OrderedResource, Result, Stream, StreamOrdered};
use warploom_testkit::TestResult;

pub(crate) struct Stage {
    pub(crate) context: Context,
    pub(crate) stream: Stream,
    pub(crate) other: Stream,
    pub(crate) pool: DevicePool,
}

impl Stage {
    pub(crate) fn new(driver: &Driver) -> TestResult<Stage> {
        let context = driver.device(0)?.context()?;
        let (stream, other, pool) = (context.stream()?, context.stream()?, DevicePool::new(&context)?);
        Ok(Stage { context, stream, other, pool })
    }
}

/// A resource that hands everything on, and remembers what was freed on which stream.
pub(crate) struct Spy {
    below: Arc<dyn StreamOrdered>,
    freed: Mutex<Vec<(CUdeviceptr, Stream)>>,
}

impl Spy {
    pub(crate) fn on(below: &impl OrderedResource) -> Arc<Spy> {
        Arc::new(Spy { below: below.resource(), freed: Mutex::default() })
    }

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
}

//! Resources of the program that panic, below buffers and adaptors.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use warploom::sys::types::CUdeviceptr;
use warploom::{Cached, Context, DevicePool, Limited, OrderedResource, Result, Stream, StreamOrdered};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode, Order};
use warploom_testkit::{TestResult, assert_sound, open};

/// A resource that panics after it has done what it was asked for, once it is told to.
struct Panicking {
    below: Arc<dyn StreamOrdered>,
    panics: AtomicBool,
}

#[expect(unsafe_code, reason = "hands memory of another resource on")]
// SAFETY: what the resource below answers for.
unsafe impl StreamOrdered for Panicking {
    fn context(&self) -> &Context {
        self.below.context()
    }

    fn allocate_raw(&self, bytes: usize, stream: &Stream) -> Result<CUdeviceptr> {
        assert!(!self.panics.load(Ordering::Relaxed), "an allocation panics");
        self.below.allocate_raw(bytes, stream)
    }

    unsafe fn deallocate_raw(&self, address: CUdeviceptr, bytes: usize, stream: &Stream) -> Result<()> {
        // SAFETY: handed on as it came.
        let freed = unsafe { self.below.deallocate_raw(address, bytes, stream) };
        assert!(!self.panics.load(Ordering::Relaxed), "a free panics");
        freed
    }
}

impl Panicking {
    /// `true` if the calls of the body unwind.
    fn panics_in(&self, body: impl FnOnce()) -> bool {
        self.panics.store(true, Ordering::Relaxed);
        let unwound = catch_unwind(AssertUnwindSafe(body)).is_err();
        self.panics.store(false, Ordering::Relaxed);
        unwound
    }
}

fn setup() -> TestResult<(Machine, Arc<Panicking>, Stream)> {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(Order::Lazy))?;
    let context = driver.device(0)?.context()?;
    let below = DevicePool::new(&context)?.resource();
    let stream = context.stream()?;
    Ok((machine, Arc::new(Panicking { below, panics: AtomicBool::new(false) }), stream))
}

#[test]
fn memory_whose_free_panics_is_not_freed_again() -> TestResult {
    let (machine, resource, stream) = setup()?;
    let [closed, dropped] = [resource.zeroed::<u8>(64, &stream)?, resource.zeroed::<u8>(64, &stream)?];
    assert!(resource.panics_in(|| assert_eq!(closed.close(), Ok(()))));
    assert!(resource.panics_in(|| drop(dropped)));
    stream.synchronize()?;
    assert_sound(&machine);
    Ok(())
}

#[test]
fn an_allocation_that_panics_does_not_count() -> TestResult {
    let (machine, resource, stream) = setup()?;
    let (limited, cached) = (Limited::ordered(&resource, 1000), Cached::new(&resource));
    assert!(resource.panics_in(|| drop(limited.allocate::<u8>(64, &stream))));
    assert!(resource.panics_in(|| drop(cached.allocate::<u8>(64, &stream))));
    assert_eq!((limited.used(), cached.statistics().reserved), (0, 0));
    assert_sound(&machine);
    Ok(())
}

//! Memory that graphs have kept, freed on the thread that releases it.

use std::thread;
use std::time::{Duration, Instant};

use warploom::{ContextOptions, DeviceMemory, DevicePool, GraphDef, WeakAllocation};
use warploom_testkit::driver_tests;

use crate::gate::Gate;

/// Waits for the thread that releases what graphs have kept.
fn released(memory: &WeakAllocation) -> bool {
    let start = Instant::now();
    while memory.is_held() && start.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(1));
    }
    !memory.is_held()
}

driver_tests! {
    /// M.5, S4.17: memory whose stream is the per-thread default stream of another thread is freed on the
    /// legacy stream, after all work of the per-thread one. The machine that this runs on would find a free
    /// that comes before the fill.
    threads fn memory_of_a_per_thread_stream_is_freed_after_its_work(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, pool) = (context.per_thread_stream(), DevicePool::new(&context)?);
        let mut buffer = pool.zeroed::<u32>(1 << 12, &stream)?;
        let memory = buffer.downgrade();
        let graph = GraphDef::new(&context)?;
        graph.entry().fill(&mut buffer, 7)?;
        let gate = Gate::close(&stream)?;
        buffer.fill(9, &stream)?;
        drop(buffer);
        drop(graph);
        assert!(released(&memory));
        gate.open();
        context.synchronize()?;
        assert_eq!(pool.statistics()?.used, 0);
    }

    /// M.5, S4.14: the thread that releases it frees memory of any context, whichever is current where the
    /// graph is dropped, which stays current.
    fn memory_of_another_context_is_freed_there(driver) {
        let (context, own) = (driver.device(0)?.context()?, driver.device(0)?.create_context(ContextOptions::new())?);
        let stream = own.stream()?;
        let pool = DevicePool::new(&own)?;
        let (mut ordered, mut plain) = (pool.zeroed::<u32>(16, &stream)?, DeviceMemory::new(&own).allocate::<u32>(16)?);
        let observed = [ordered.downgrade(), plain.downgrade()];
        let graph = GraphDef::new(&own)?;
        graph.entry().fill(&mut ordered, 7)?.then().fill(&mut plain, 7)?;
        graph.instantiate()?.launch(&stream)?;
        stream.synchronize()?;
        drop((ordered, plain));
        context.scope(|| {
            drop(graph);
            assert_eq!(driver.current_context(), Ok(Some(context.clone())));
        })?;
        assert!(observed.iter().all(released));
        own.synchronize()?;
        assert_eq!(pool.statistics()?.used, 0);
        assert_eq!(driver.current_context()?, None);
    }
}

//! Memory that graphs have kept, freed on the thread that releases it.

use std::thread;
use std::time::{Duration, Instant};

use warploom::{Context, ContextOptions, DeviceMemory, DevicePool, GraphDef, WeakAllocation};
use warploom_testkit::driver_tests;

use crate::gate::Gate;

/// Waits until the thread that releases owners of graphs has come to something; `false` after ten seconds.
fn comes(mut is_there: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !is_there() {
        if start.elapsed() > Duration::from_secs(10) {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    true
}

/// The last reference to the memory is gone. Its free may still be on its way to the driver.
fn released(memory: &WeakAllocation) -> bool {
    comes(|| !memory.is_held())
}

/// All memory of a pool has been freed, and the work of the context before that is done.
fn freed(pool: &DevicePool, context: &Context) -> bool {
    comes(|| context.synchronize().is_ok() && pool.statistics().is_ok_and(|statistics| statistics.used == 0))
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
        assert!(freed(&pool, &context));
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
        own.synchronize()?; // the call after the launch has been made, also by a machine that runs nothing else
        assert!(observed.iter().all(released));
        assert!(freed(&pool, &own));
        assert_eq!(driver.current_context()?, None);
    }
}

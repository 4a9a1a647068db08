//! Weak references to allocations.

use warploom::capture::Relaxed;
use warploom::graph::reclaim;
use warploom::{DeviceMemory, DevicePool, GraphDef};
use warploom_testkit::{budget, driver_tests};

driver_tests! {
    fn memory_is_held_until_the_last_of_buffer_and_graph_is_gone(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        for of_graph in [false, true] {
            let mut buffer = DevicePool::new(&context)?.zeroed::<u32>(16, &stream)?;
            let memory = budget(driver, &[], || buffer.downgrade());
            assert!(memory.is_held() && buffer.downgrade().is_held());
            let graph = GraphDef::new(&context)?;
            if of_graph {
                graph.entry().fill(&mut buffer, 7)?;
            }
            drop(buffer);
            assert_eq!(memory.is_held(), of_graph);
            drop(graph);
            reclaim();
            assert!(!memory.is_held(), "{memory:?}");
        }
    }

    fn a_free_that_waits_for_a_capture_holds_the_memory(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let buffer = DevicePool::new(&context)?.zeroed::<u32>(16, &stream)?;
        let memory = buffer.downgrade();
        let capture = stream.capture(Relaxed)?;
        drop(buffer);
        assert!(memory.is_held());
        capture.end()?;
        assert!(!memory.is_held());
    }

    fn an_observer_keeps_nothing(driver) {
        let context = driver.device(0)?.context()?;
        let buffer = DeviceMemory::new(&context).allocate::<u8>(64)?;
        let memory = buffer.downgrade();
        buffer.close()?;
        assert!(!memory.is_held() && !memory.clone().is_held());
        assert!(format!("{memory:?}").contains("bytes: 64, is_held: false"));
    }
}

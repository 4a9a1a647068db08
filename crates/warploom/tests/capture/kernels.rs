//! Kernels in graphs.
#![expect(unsafe_code, reason = "launches a kernel that does nothing")]

use std::ptr::null_mut;

use warploom::LaunchConfig;
use warploom::capture::ThreadLocal;
use warploom::graph::reclaim;
use warploom::leaks::{Kind, Leaks};
use warploom::sys::types::CUgraphEdgeData;
use warploom_testkit::{budget, call, driver_tests};

use crate::support::Stage;

const NOTHING: &str =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nothing(.param .u64 at) { ret; }\n";

/// The libraries and buffers that are alive.
fn kept(leaks: &Leaks) -> usize {
    let totals = leaks.report().totals();
    totals
        .iter()
        .filter(|total| matches!(total.kind, Kind::Library | Kind::Memory { .. }))
        .map(|total| total.count)
        .sum()
}

driver_tests! {
    /// S2.34: a graph keeps the code that it runs, and the memory that was passed.
    fn a_graph_keeps_its_kernels(driver) {
        let leaks = Leaks::track(driver);
        let stage = Stage::new(driver)?;
        let library = stage.context.load(NOTHING)?;
        let (kernel, buffer) = (library.kernel("nothing")?, stage.pool.zeroed::<u8>(64, &stage.stream)?);
        let shape = LaunchConfig::new(1, 1);
        let capture = stage.stream.capture(ThreadLocal)?;
        // SAFETY: the kernel takes an address and does nothing with it.
        unsafe { kernel.launch(&capture, &shape, (&buffer,)) }?;
        budget(driver, &[], || drop((kernel, library, buffer)));
        let graph = capture.end()?;
        assert_eq!(graph.node_count()?, 1);
        assert!(graph.is_accounted()?);
        assert_eq!(kept(&leaks), 2, "the library and the buffer");
        drop(graph);
        reclaim();
        assert_eq!(kept(&leaks), 0);
    }

    fn a_captured_launch_that_overlaps_the_previous_one_has_a_programmatic_edge(driver) {
        let stage = Stage::new(driver)?;
        let library = stage.context.load(NOTHING)?;
        let (kernel, buffer) = (library.kernel("nothing")?, stage.pool.zeroed::<u8>(64, &stage.stream)?);
        let shape = LaunchConfig::new(1, 1);
        for (second, expected) in [(shape, (0, 0)), (shape.overlap_previous(), (1, 1))] {
            let capture = stage.stream.capture(ThreadLocal)?;
            // SAFETY: the kernel takes an address and does nothing with it.
            unsafe { kernel.launch(&capture, &shape, (&buffer,)) }?;
            // SAFETY: as above.
            unsafe { kernel.launch(&capture, &second, (&buffer,)) }?;
            let graph = capture.end()?;
            assert_eq!(graph.definition().edges()?.len(), 1);
            let raw = graph.as_raw()?;
            let (mut from, mut to, mut count) = (null_mut(), null_mut(), 1);
            let mut data = CUgraphEdgeData { from_port: 9, to_port: 9, type_: 9, reserved: [0; 5] };
            call!(driver.cuGraphGetEdges_v2(raw, &mut from, &mut to, &mut data, &mut count))?;
            assert_eq!((count, (data.type_, data.from_port), data.to_port), (1, expected, 0));
            graph.instantiate()?.launch(&stage.stream)?;
            stage.stream.synchronize()?;
        }
    }

    /// Unloading waits for the context, so it waits for the end of the capture.
    fn a_library_that_is_dropped_in_a_capture_is_unloaded_at_the_end(driver) {
        let stage = Stage::new(driver)?;
        let library = stage.context.load(NOTHING)?;
        let capture = stage.stream.capture(ThreadLocal)?;
        budget(driver, &[], || drop(library));
        assert!(capture.is_valid()?);
        capture.end()?;
    }
}

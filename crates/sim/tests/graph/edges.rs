//! Edges: added, removed and listed, with their data.

use std::ptr::{null, null_mut};

use warploom_testkit::sys::types::{CUgraphEdgeData, CUgraphNode};
use warploom_testkit::{answers, call, driver_tests};

use crate::support::Stage;

const PLAIN: CUgraphEdgeData = CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };
/// The dependent kernel may begin when the other one says so.
const PROGRAMMATIC: CUgraphEdgeData = CUgraphEdgeData { from_port: 1, type_: 1, ..PLAIN };
const LAUNCH_ORDER: CUgraphEdgeData = CUgraphEdgeData { from_port: 2, ..PLAIN };

driver_tests! {
    /// A list with a bad node changes nothing; one with an edge that exists stops there.
    fn edges_are_added_up_to_the_first_that_exists(driver) {
        let stage = Stage::new(driver)?;
        let (graph, other) = (stage.graph()?, stage.graph()?);
        let [a, b, c] = [graph.empty(&[])?, graph.empty(&[])?, graph.empty(&[])?];
        let foreign = other.empty(&[])?;
        let add = |from: &[CUgraphNode], to: &[CUgraphNode]| {
            call!(driver.cuGraphAddDependencies(graph.raw, from.as_ptr(), to.as_ptr(), from.len()))
        };
        add(&[a], &[b])?;
        for (from, to) in [
            (vec![a], vec![b]),
            (vec![a], vec![a]),
            (vec![a], vec![foreign]),
            (vec![foreign], vec![a]),
            (vec![null_mut()], vec![a]),
            (vec![a, b], vec![c, b]),
            (vec![a, a], vec![c, foreign]),
        ] {
            assert!(add(&from, &to).is_err(), "{from:?} {to:?}");
            assert_eq!(graph.counts()?, (3, 1), "{from:?} {to:?}");
        }
        answers!(driver.cuGraphAddDependencies(graph.raw, null(), [a].as_ptr(), 1), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphAddDependencies(null_mut(), null(), null(), 0), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuGraphAddDependencies(graph.raw, null(), null(), 0))?;
        assert!(add(&[b, b, a], &[c, c, c]).is_err());
        assert_eq!(graph.counts()?, (3, 2));
    }

    fn edges_are_removed_up_to_the_first_that_is_missing(driver) {
        let stage = Stage::new(driver)?;
        let graph = stage.graph()?;
        let a = graph.empty(&[])?;
        let b = graph.empty(&[a])?;
        let c = graph.empty(&[a, b])?;
        let remove = |from: &[CUgraphNode], to: &[CUgraphNode]| {
            call!(driver.cuGraphRemoveDependencies(graph.raw, from.as_ptr(), to.as_ptr(), from.len()))
        };
        assert!(remove(&[c], &[a]).is_err());
        assert_eq!(graph.counts()?, (3, 3));
        assert!(remove(&[a, a, b], &[b, b, c]).is_err());
        assert_eq!(graph.counts()?, (3, 2));
        remove(&[a, b], &[c, c])?;
        assert_eq!(graph.counts()?, (3, 0));
    }

    /// Edges carry the part of the kernel that they start from.
    fn edges_of_kernels_keep_their_data(driver) {
        let stage = Stage::new(driver)?;
        let graph = stage.graph()?;
        let nothing = stage.launch(c"nothing", &mut [])?;
        let [a, b, c] = [graph.kernel(&nothing, &[])?, graph.kernel(&nothing, &[])?, graph.kernel(&nothing, &[])?];
        let fill = graph.fill(&stage.fill(0, 1, 4), stage.context(), &[])?;
        let add = |from: CUgraphNode, to: CUgraphNode, data: CUgraphEdgeData| {
            call!(driver.cuGraphAddDependencies_v2(graph.raw, [from].as_ptr(), [to].as_ptr(), [data].as_ptr(), 1))
        };
        for data in [
            CUgraphEdgeData { type_: 1, ..PLAIN },
            CUgraphEdgeData { from_port: 1, ..PLAIN },
            CUgraphEdgeData { from_port: 3, type_: 1, ..PLAIN },
            CUgraphEdgeData { to_port: 1, ..PLAIN },
            CUgraphEdgeData { type_: 2, ..PLAIN },
            CUgraphEdgeData { reserved: [0, 0, 1, 0, 0], ..PLAIN },
        ] {
            assert!(add(a, b, data).is_err(), "{data:?}");
        }
        assert!(add(a, fill, PROGRAMMATIC).is_err());
        assert!(add(fill, a, PROGRAMMATIC).is_err());
        add(a, b, PROGRAMMATIC)?;
        add(a, c, LAUNCH_ORDER)?;
        assert!(add(a, b, PLAIN).is_err(), "other data makes no other edge");
        let (mut from, mut to, mut data, mut count) = ([null_mut(); 2], [null_mut(); 2], [PLAIN; 2], 2);
        call!(driver.cuGraphGetEdges(graph.raw, null_mut(), null_mut(), &mut count))?;
        assert_eq!(count, 2);
        answers!(
            driver.cuGraphGetEdges(graph.raw, from.as_mut_ptr(), to.as_mut_ptr(), &mut count),
            CUDA_ERROR_LOSSY_QUERY
        );
        answers!(
            driver.cuGraphGetEdges_v2(graph.raw, from.as_mut_ptr(), to.as_mut_ptr(), null_mut(), &mut count),
            CUDA_ERROR_LOSSY_QUERY
        );
        call!(driver.cuGraphGetEdges_v2(graph.raw, from.as_mut_ptr(), to.as_mut_ptr(), data.as_mut_ptr(), &mut count))?;
        for ((from, to), data) in from.into_iter().zip(to).zip(data) {
            assert_eq!((from, data), (a, if to == b { PROGRAMMATIC } else { LAUNCH_ORDER }));
        }
        count = 1;
        answers!(driver.cuGraphNodeGetDependencies(b, from.as_mut_ptr(), &mut count), CUDA_ERROR_LOSSY_QUERY);
        call!(driver.cuGraphNodeGetDependencies_v2(b, from.as_mut_ptr(), data.as_mut_ptr(), &mut count))?;
        assert_eq!((from[0], data[0]), (a, PROGRAMMATIC));
        count = 2;
        answers!(driver.cuGraphNodeGetDependentNodes(a, to.as_mut_ptr(), &mut count), CUDA_ERROR_LOSSY_QUERY);
        call!(driver.cuGraphNodeGetDependentNodes_v2(a, to.as_mut_ptr(), data.as_mut_ptr(), &mut count))?;
        assert!(to == [b, c] || to == [c, b]);
        // A removal does not compare the data.
        call!(driver.cuGraphRemoveDependencies(graph.raw, [a, a].as_ptr(), [b, c].as_ptr(), 2))?;
        assert_eq!(graph.counts()?, (4, 0));
    }

    fn a_captured_stream_keeps_the_data_of_its_dependencies(driver) {
        let stage = Stage::new(driver)?;
        let (graph, mut stream) = (stage.graph()?, null_mut());
        let kernel = graph.kernel(&stage.launch(c"nothing", &mut [])?, &[])?;
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        let mode = warploom_testkit::sys::types::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        let (list, data) = ([kernel], [PROGRAMMATIC]);
        call!(driver.cuStreamBeginCaptureToGraph(stream, graph.raw, list.as_ptr(), data.as_ptr(), 1, mode))?;
        let (mut nodes, mut count) = (null(), 0);
        let mut state = warploom_testkit::sys::types::CUstreamCaptureStatus(9);
        answers!(
            driver.cuStreamGetCaptureInfo_v2(stream, &mut state, null_mut(), null_mut(), &mut nodes, &mut count),
            CUDA_ERROR_LOSSY_QUERY
        );
        let function = stage.function(c"nothing")?;
        call!(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, null_mut(), null_mut()))?;
        let mut same = null_mut();
        call!(driver.cuStreamEndCapture(stream, &mut same))?;
        let (mut from, mut to, mut data, mut count) = ([null_mut()], [null_mut()], [PLAIN], 1);
        call!(driver.cuGraphGetEdges_v2(same, from.as_mut_ptr(), to.as_mut_ptr(), data.as_mut_ptr(), &mut count))?;
        assert_eq!((from[0], data[0]), (kernel, PROGRAMMATIC));
        call!(driver.cuStreamDestroy_v2(stream))?;
    }

    fn a_destroyed_node_takes_its_edges_along(driver) {
        let stage = Stage::new(driver)?;
        let graph = stage.graph()?;
        let nodes: Vec<CUgraphNode> = (0..6).map(|_| graph.empty(&[])).collect::<Result<_, _>>()?;
        let last = graph.empty(&nodes)?;
        for node in &nodes[..5] {
            call!(driver.cuGraphDestroyNode(*node))?;
        }
        assert_eq!(graph.counts()?, (2, 1));
        let (mut left, mut count) = ([null_mut(); 3], 3);
        call!(driver.cuGraphGetNodes(graph.raw, left.as_mut_ptr(), &mut count))?;
        assert_eq!((count, left), (2, [nodes[5], last, null_mut()]));
        let newest = graph.empty(&[last])?;
        call!(driver.cuGraphDestroyNode(last))?;
        call!(driver.cuGraphDestroyNode(newest))?;
        assert_eq!(graph.counts()?, (1, 0));
        answers!(driver.cuGraphDestroyNode(null_mut()), CUDA_ERROR_INVALID_VALUE);
    }
}

//! Bad input: typed errors before the driver is called, and nothing changed.

use warploom::capture::Relaxed;
use warploom::graph::{Node, Operand, Owner};
use warploom::{
    CaptureError, CopyError, DeviceError, Error, GraphDef, GraphError, GraphPool, LaunchConfig, LaunchError,
    MemoryError,
};
use warploom_sim::topology::Topology;
use warploom_testkit::{TestResult, budget, driver_tests};

use crate::support::{Stage, small};

driver_tests! {
    /// Nodes of other graphs and destroyed ones are refused as positions, without a driver call.
    fn positions_of_other_graphs_are_refused(driver) {
        let stage = Stage::new(driver)?;
        let other = GraphDef::new(&stage.context)?;
        let (foreign, gone, own) = (other.empty()?, stage.graph.empty()?, stage.graph.empty()?);
        gone.destroy()?;
        let elsewhere = GraphError::OtherGraph { what: "node" };
        budget(driver, &[], || {
            assert_eq!(stage.graph.join([&foreign]).map(drop), Err(elsewhere.clone().into()));
            assert_eq!(stage.graph.join([&own, &foreign]).map(drop), Err(elsewhere.into()));
            assert_eq!(gone.then().empty().map(drop), Err(GraphError::NodeDestroyed.into()));
            assert_eq!(stage.graph.join([&own, &gone]).map(drop), Err(GraphError::NodeDestroyed.into()));
        });
        assert_eq!(stage.graph.nodes()?, [Node::from(&own)]);
    }

    /// Copies of different lengths, of nothing and onto themselves are refused.
    fn copies_that_cannot_be_are_refused(driver) {
        let stage = Stage::new(driver)?;
        let (from, mut to) = (stage.zeroed(4)?, stage.zeroed(8)?);
        let lengths = CopyError::LengthMismatch { source_len: 4, destination_len: 8 };
        assert_eq!(stage.graph.entry().copy(&from, &mut to).map(drop), Err(lengths.into()));
        let nothing = stage.graph.entry().copy(from.slice(..0)?, to.slice_mut(..0)?);
        assert_eq!(nothing.map(drop), Err(GraphError::NoBytes.into()));
        let copy = stage.graph.entry().copy(&from, to.slice_mut(..4)?)?;
        let other = GraphError::OtherSize { bytes: 16, given: 32 };
        assert_eq!(copy.set_destination(&mut to), Err(other.into()));
        let (pitch, rows) = (to.rows(4, 2, 2)?.pitch(), from.rows(2, 2, 2)?);
        assert_eq!(pitch, 4);
        let node = stage.graph.entry().copy_rows(rows, to.rows_mut(4, 2, 2)?)?;
        assert_eq!(node.parameters()?.height, 2);
        assert!(matches!(node.set_source(&from), Err(Error::Graph(GraphError::Opaque { .. }))));
        assert_eq!(stage.graph.node_count()?, 2);
    }

    /// Fills of memory that is not aligned for the value are refused, also by the setters of nodes.
    fn fills_of_misaligned_memory_are_refused(driver) {
        let stage = Stage::new(driver)?;
        let mut bytes = stage.pool.zeroed::<u8>(64, &stage.stream)?;
        let start = bytes.as_raw();
        let at = |address, align| Err(Error::from(MemoryError::FillAlignment { address, align }));
        let four = [1_u8, 2, 3, 4];
        let node = stage.graph.entry().fill(bytes.slice_mut(1..9)?, 1_u8)?;
        let even = stage.graph.entry().fill(bytes.slice_mut(16..24)?.cast::<[u8; 4]>()?, four)?;
        let exec = stage.graph.instantiate()?;
        stage.context.scope(|| {
            let fill = stage.graph.entry().fill(bytes.slice_mut(1..9)?.cast::<[u8; 4]>()?, four);
            assert_eq!(fill.map(drop), at(start + 1, 4));
            let fill = stage.graph.entry().fill(bytes.slice_mut(3..9)?.cast::<[u8; 2]>()?, [1, 2]);
            assert_eq!(fill.map(drop), at(start + 3, 2));
            assert_eq!(node.set_value(four), at(start + 1, 4));
            assert_eq!(even.set(bytes.slice_mut(2..10)?.cast::<[u8; 4]>()?, four), at(start + 2, 4));
            assert_eq!(even.set_destination(bytes.slice_mut(2..10)?), at(start + 2, 4));
            let refused = exec.node(&even).set(bytes.slice_mut(2..10)?.cast::<[u8; 4]>()?, four);
            assert_eq!(refused, at(start + 2, 4));
            Ok::<(), Error>(())
        })??;
        let parameters = (node.parameters()?, even.parameters()?);
        assert_eq!((parameters.0.address, parameters.1.address), (start + 1, start + 16));
        assert_eq!(stage.graph.node_count()?, 2);
    }

    /// Owners of another driver's memory, or of memory that a capture allocates for its graph, are refused.
    fn memory_that_a_graph_cannot_keep_is_refused(driver) {
        let stage = Stage::new(driver)?;
        let capture = stage.other.capture(Relaxed)?;
        let scratch = GraphPool::new(&stage.context).allocate::<u32>(4, &capture)?;
        let (owner, source, mut target) = (Owner::from(&scratch), stage.zeroed(4)?, stage.zeroed(4)?);
        assert_eq!(stage.graph.keep_alive(owner.clone()), Err(CaptureError::GraphMemory.into()));
        #[expect(unsafe_code, reason = "uses a raw address")]
        // SAFETY: it is refused.
        let from = unsafe { Operand::<u32>::raw(source.as_raw(), 4, Some(owner)) };
        let refused = stage.graph.entry().copy(from, &mut target).map(drop);
        assert_eq!(refused, Err(CaptureError::GraphMemory.into()));
        assert_eq!(stage.graph.node_count()?, 0);
        scratch.close()?;
        capture.end()?;
        stage.graph.keep_alive(Owner::from(&target))?;
    }

    /// Kernels are checked as launches are.
    fn kernel_nodes_are_checked_as_launches_are(driver) {
        let stage = Stage::new(driver)?;
        let (x, mut y) = (stage.pool.zeroed::<f32>(4, &stage.stream)?, stage.pool.zeroed::<f32>(4, &stage.stream)?);
        let kernel = stage.saxpy()?;
        #[expect(unsafe_code, reason = "adds kernels")]
        // SAFETY: all but the last are refused, and that is not launched.
        unsafe {
            let add = |config: LaunchConfig| stage.graph.entry().kernel(&kernel, &config, (1.0_f32, &x)).map(drop);
            assert!(matches!(add(small()), Err(Error::Launch(LaunchError::ArgumentCount { .. }))));
            let config = LaunchConfig::new(0, 32);
            let empty = stage.graph.entry().kernel(&kernel, &config, (1.0_f32, &x, &mut y, 4_u32));
            assert!(matches!(empty, Err(Error::Launch(LaunchError::Empty { .. }))));
            let node = stage.graph.entry().kernel(&kernel, &small(), (1.0_f32, &x, &mut y, 4_u32))?;
            let attributes = node.set_config(&small().priority(-1));
            assert_eq!(attributes, Err(GraphError::Attributes.into()));
            assert!(node.set_arguments((1.0_f32, &x)).is_err());
            assert_eq!(node.config()?, small());
        }
        assert_eq!(stage.graph.node_count()?, 1);
    }
}

/// Graphs, memory, events, kernels and streams of another driver are refused.
#[test]
fn values_of_another_driver_are_refused() -> TestResult {
    let open = || warploom_testkit::open(Topology::preset("h200")?, warploom_sim::Mode::Threads);
    let ((_one, first), (_two, second)) = (open()?, open()?);
    let (here, there) = (Stage::new(&first)?, Stage::new(&second)?);
    let is_mismatch = |result: Result<(), Error>| {
        assert!(matches!(result, Err(Error::Device(DeviceError::DriverMismatch { .. }))), "{result:?}");
    };
    let mut buffer = there.zeroed(4)?;
    is_mismatch(here.graph.entry().fill(&mut buffer, 1).map(drop));
    is_mismatch(here.graph.keep_alive(Owner::from(&buffer)));
    #[expect(unsafe_code, reason = "uses a raw address")]
    // SAFETY: it is refused.
    let from = unsafe { Operand::<u32>::raw(buffer.as_raw(), 4, Some(Owner::from(&buffer))) };
    is_mismatch(here.graph.entry().copy(from, &mut here.zeroed(4)?).map(drop));
    is_mismatch(here.graph.entry().embed(&there.graph).map(drop));
    is_mismatch(here.graph.entry().record(&mut there.stream.record()?).map(drop));
    is_mismatch(here.graph.entry().on(&there.context).fill(&mut buffer, 1).map(drop));
    let kernel = there.saxpy()?;
    #[expect(unsafe_code, reason = "adds kernels")]
    // SAFETY: it is refused.
    is_mismatch(unsafe { here.graph.entry().kernel(&kernel, &small(), ()) }.map(drop));
    here.graph.empty()?;
    let exec = here.graph.instantiate_with(&warploom::graph::InstantiateOptions::new())?;
    is_mismatch(exec.launch(&there.stream));
    is_mismatch(exec.update(&there.graph));
    assert_eq!(here.graph.node_count()?, 1);
    Ok(())
}

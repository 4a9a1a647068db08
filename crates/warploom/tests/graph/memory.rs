//! Memory that a graph allocates for itself.

use warploom::graph::{Operand, OperandMut};
use warploom::{GraphDef, GraphError, Host, Location, LocationError, MemoryError, NumaId};
use warploom_testkit::driver_tests;

use crate::support::{Stage, small};

driver_tests! {
    /// Memory of a graph is an operand and an argument of its own nodes, and of no others.
    fn memory_of_a_graph_is_used_by_its_own_nodes(driver) {
        let stage = Stage::new(driver)?;
        let kernel = stage.saxpy()?;
        let mut result = stage.pool.zeroed::<f32>(4, &stage.stream)?;
        let (x, y) = (stage.graph.entry().allocate::<f32>(4)?, stage.graph.entry().allocate::<f32>(4)?);
        assert_eq!((x.len(), x.size_in_bytes()), (4, 16));
        #[expect(unsafe_code, reason = "uses memory of the graph")]
        // SAFETY: all nodes come after the allocations and before the frees; the kernel reads and writes as
        // many values as it is told.
        unsafe {
            let fill = x.then().fill(OperandMut::of_graph(&x), 3.0)?;
            let zero = y.then().fill(OperandMut::of_graph(&y), 1.0)?;
            let step = stage.graph.after([&fill, &zero]).kernel(&kernel, &small(), (2.0_f32, &x, &y, 4_u32))?;
            let copy = step.then().copy(Operand::of_graph(&y), &mut result)?;
            copy.then().free(&x)?;
            assert_eq!(copy.then().free(&y)?.address()?, y.address());
        }
        stage.graph.instantiate()?.launch(&stage.stream)?;
        assert_eq!(result.download(&stage.stream)?, [7.0; 4]);

        let other = GraphDef::new(&stage.context)?;
        let outside = GraphError::OutsideGraph;
        #[expect(unsafe_code, reason = "launches kernels")]
        // SAFETY: all are refused.
        unsafe {
            let filled = other.entry().fill(OperandMut::of_graph(&x), 1.0).map(drop);
            assert_eq!(filled, Err(outside.clone().into()));
            assert_eq!(other.entry().free(&x).map(drop), Err(outside.clone().into()));
            let refused = other.entry().kernel(&kernel, &small(), (2.0_f32, &x, &y, 4_u32)).map(drop);
            assert_eq!(refused, Err(outside.clone().into()));
            assert_eq!(kernel.launch(&stage.stream, &small(), (2.0_f32, &x, &y, 4_u32)), Err(outside.into()));
        }
        assert_eq!(other.node_count()?, 0);
    }

    /// A slice of a graph's memory is an operand and an argument, too; a range that is not inside is refused.
    fn slices_of_a_graphs_memory_are_used_by_its_nodes(driver) {
        let stage = Stage::new(driver)?;
        let kernel = stage.saxpy()?;
        let mut result = stage.pool.zeroed::<f32>(8, &stage.stream)?;
        let scratch = stage.graph.entry().allocate::<f32>(8)?;
        let (left, right) = (scratch.slice(..4)?, scratch.slice(4..)?);
        assert_eq!((left.len(), right.len(), right.address()), (4, 4, scratch.address() + 16));
        assert_eq!(right.slice(1..=2)?.address(), scratch.address() + 20);
        let outside = MemoryError::OutOfRange { start: 5, end: 9, len: 8 };
        assert_eq!(scratch.slice(5..9).map(drop), Err(outside.into()));
        #[expect(unsafe_code, reason = "uses memory of the graph")]
        // SAFETY: all nodes come after the allocation and before the free; the kernel reads and writes as many
        // values as it is told.
        unsafe {
            let ones = scratch.then().fill(OperandMut::of_graph(left), 1.0)?;
            let twos = scratch.then().fill(OperandMut::of_graph(right), 2.0)?;
            let step = stage.graph.after([&ones, &twos]).kernel(&kernel, &small(), (3.0_f32, left, right, 3_u32))?;
            let copy = step.then().copy(Operand::of_graph(&scratch), &mut result)?;
            copy.then().free(&scratch)?;
            let other = GraphDef::new(&stage.context)?;
            let refused = other.entry().kernel(&kernel, &small(), (3.0_f32, left, right, 3_u32)).map(drop);
            assert_eq!(refused, Err(GraphError::OutsideGraph.into()));
            let refused = other.entry().fill(OperandMut::of_graph(left), 1.0).map(drop);
            assert_eq!(refused, Err(GraphError::OutsideGraph.into()));
            let empty = stage.graph.entry().fill(OperandMut::of_graph(scratch.slice(8..)?), 1.0).map(drop);
            assert_eq!(empty, Err(GraphError::NoBytes.into()));
        }
        stage.graph.instantiate()?.launch(&stage.stream)?;
        assert_eq!(result.download(&stage.stream)?, [1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 2.0]);
    }

    /// Graphs with memory nodes are neither cloned nor embedded.
    fn graphs_with_memory_nodes_are_not_copied(driver) {
        let stage = Stage::new(driver)?;
        let scratch = stage.graph.entry().allocate::<u32>(4)?;
        #[expect(unsafe_code, reason = "frees memory of the graph")]
        // SAFETY: after the allocation, which no node uses.
        unsafe { scratch.then().free(&scratch) }?;
        let refused = GraphError::NotCopyable { kind: "memory" };
        assert_eq!(stage.graph.try_clone().map(drop), Err(refused.clone().into()));
        let outer = GraphDef::new(&stage.context)?;
        assert_eq!(outer.entry().embed(&stage.graph).map(drop), Err(refused.into()));
        assert_eq!(outer.node_count()?, 0);
    }

    /// M.7: graphs allocate at a location, which is a device; the error names a location on the host.
    fn memory_of_a_graph_has_a_location(driver) {
        let stage = Stage::new(driver)?;
        let device = driver.device(0)?;
        let on_the_host = [Host::Any, Host::Numa(NumaId::try_from(0_u32)?), Host::NumaCurrent];
        for host in on_the_host {
            let refused = stage.graph.entry().allocate_at::<u32>(host, 4, &[]).map(drop);
            assert_eq!(refused, Err(LocationError::GraphMemory { host }.into()));
        }
        assert_eq!(stage.graph.node_count()?, 0);
        let scratch = stage.graph.entry().allocate_at::<u32>(Location::from(&device), 4, &[device])?;
        let mut result = stage.zeroed(4)?;
        #[expect(unsafe_code, reason = "uses memory of the graph")]
        // SAFETY: all nodes come after the allocation and before the free.
        unsafe {
            let fill = scratch.then().fill(OperandMut::of_graph(&scratch), 7)?;
            let copy = fill.then().copy(Operand::of_graph(&scratch), &mut result)?;
            copy.then().free(&scratch)?;
        }
        stage.graph.instantiate()?.launch(&stage.stream)?;
        assert_eq!(result.download(&stage.stream)?, [7; 4]);
    }

    /// Sizes are checked before the driver is called.
    fn sizes_of_memory_nodes_are_checked(driver) {
        let stage = Stage::new(driver)?;
        assert_eq!(stage.graph.entry().allocate::<u32>(0).map(drop), Err(MemoryError::EmptyBuffer.into()));
        let too_large = MemoryError::TooLarge { len: usize::MAX, element: 4 };
        assert_eq!(stage.graph.entry().allocate::<u32>(usize::MAX).map(drop), Err(too_large.into()));
    }
}

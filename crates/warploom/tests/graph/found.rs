//! Nodes that are found by their graph, of a clone, an embedded graph or a capture, as values of their type.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use warploom::capture::Relaxed;
use warploom::graph::{
    AllocNode, ChildNode, HostNode, IfElseNode, IfNode, NodeKind, OperandMut, SwitchNode, WhileNode,
};
use warploom::{Error, GraphDef, GraphError, GraphPool, MemoryError};
use warploom_testkit::driver_tests;

use crate::support::{Stage, closure};

driver_tests! {
    /// S2.32, S2.45: the function of a host node is replaced in clones, embedded and captured graphs and their
    /// executables, and its panics are counted there.
    fn a_host_node_is_found(driver) {
        let stage = Stage::new(driver)?;
        let (first, watch) = closure();
        stage.graph.entry().host(first)?;
        let outer = GraphDef::new(&stage.context)?;
        let child = outer.entry().embed(&stage.graph)?.child()?;
        let clone = stage.graph.try_clone()?;
        let capture = stage.stream.capture(Relaxed)?;
        let (captured, captured_watch) = closure();
        capture.callback(captured)?;
        let captured: GraphDef = capture.end()?.into();

        let calls = Arc::new(AtomicU32::new(0));
        let add = |amount: u32| {
            let calls = Arc::clone(&calls);
            move || _ = calls.fetch_add(amount, Ordering::Relaxed)
        };
        for (graph, root) in [(&stage.graph, &stage.graph), (&child, &outer), (&clone, &clone), (&captured, &captured)] {
            let mut node = graph.nodes()?[0].downcast::<HostNode>()?;
            node.set_function(add(1))?;
            let exec = root.instantiate()?;
            if graph == root {
                exec.node(&node).set_function(add(10))?;
            }
            exec.launch(&stage.stream)?;
            stage.stream.synchronize()?;
        }
        assert_eq!(calls.load(Ordering::Relaxed), 31);
        assert!(stage.is_released(&watch) && stage.is_released(&captured_watch));

        let node = clone.entry().host(|| panic!("as told"))?;
        clone.instantiate()?.launch(&stage.stream)?;
        stage.stream.synchronize()?;
        assert_eq!((node.node().downcast::<HostNode>()?.panics(), node.panics()), (1, 1));
    }

    /// S2.45: an alloc node is found with its memory, as values of any type that fits.
    fn an_alloc_node_is_found(driver) {
        let stage = Stage::new(driver)?;
        let scratch = stage.graph.entry().allocate::<u32>(3)?;
        let found = stage.graph.nodes()?[0].downcast::<AllocNode<u32>>()?;
        assert_eq!((&found, found.address(), found.len()), (&scratch, scratch.address(), 3));
        assert_eq!(found.node().downcast::<AllocNode<u16>>()?.len(), 6);
        let (bytes, address) = (12, scratch.address());
        let refused = MemoryError::Cast { bytes, address, size: 8, align: 8 };
        assert_eq!(found.node().downcast::<AllocNode<u64>>().map(drop), Err(refused.into()));
        let other = GraphError::OtherKind { expected: NodeKind::Alloc, found: NodeKind::Empty };
        assert_eq!(stage.graph.empty()?.node().downcast::<AllocNode<u8>>().map(drop), Err(other.into()));
        let mut result = stage.zeroed(3)?;
        #[expect(unsafe_code, reason = "uses memory of the graph")]
        // SAFETY: all nodes come after the allocation and before the free.
        unsafe {
            let fill = found.then().fill(OperandMut::of_graph(&found), 7)?;
            let copy = fill.then().copy(warploom::graph::Operand::of_graph(&found), &mut result)?;
            copy.then().free(&found)?;
        }
        stage.graph.instantiate()?.launch(&stage.stream)?;
        assert_eq!(result.download(&stage.stream)?, [7; 3]);

        let capture = stage.stream.capture(Relaxed)?;
        GraphPool::new(&stage.context).allocate::<u32>(5, &capture)?.close()?;
        let captured: GraphDef = capture.end()?.into();
        let of_kind = |node: &warploom::graph::Node| node.kind() == Ok(NodeKind::Alloc);
        let node = captured.nodes()?.into_iter().find(of_kind).ok_or("an alloc node")?;
        assert_eq!(node.downcast::<AllocNode<u32>>()?.len(), 5);
    }

    /// S2.45: a conditional node is found with its condition and its bodies, as one of its own type.
    fn a_conditional_node_is_found(driver) {
        let stage = Stage::new(driver)?;
        let graph = &stage.graph;
        let conditions = [graph.condition(1)?, graph.condition(1)?, graph.condition(1)?, graph.condition(1)?];
        let once = graph.entry().if_then(&conditions[0])?;
        let either = graph.entry().if_else(&conditions[1])?;
        let rounds = graph.entry().while_loop(&conditions[2])?;
        let which = graph.entry().switch(&conditions[3], 3)?;

        let found = once.node().downcast::<IfNode>()?;
        assert_eq!((found.body(), found.condition()?), (once.body(), conditions[0].clone()));
        let found = either.node().downcast::<IfElseNode>()?;
        assert_eq!((found.then_body(), found.else_body()), (either.then_body(), either.else_body()));
        assert_eq!(found.condition()?, conditions[1]);
        let found = rounds.node().downcast::<WhileNode>()?;
        assert_eq!((found.body(), found.condition()?), (rounds.body(), conditions[2].clone()));
        let found = which.node().downcast::<SwitchNode>()?;
        assert_eq!((found.branches(), found.condition()?), (which.branches(), conditions[3].clone()));

        let other = |expected, found| Err(Error::from(GraphError::OtherConditional { expected, found }));
        assert_eq!(once.node().downcast::<WhileNode>().map(drop), other("a while", "an if"));
        assert_eq!(either.node().downcast::<IfNode>().map(drop), other("an if", "an if-else"));
        assert_eq!(rounds.node().downcast::<SwitchNode>().map(drop), other("a switch", "a while"));
        assert_eq!(which.node().downcast::<IfElseNode>().map(drop), other("an if-else", "a switch"));
        let other = GraphError::OtherKind { expected: NodeKind::Child, found: NodeKind::Conditional };
        assert_eq!(which.node().downcast::<ChildNode>().map(drop), Err(other.into()));
        once.destroy()?;
        assert_eq!(once.condition().map(drop), Err(GraphError::NodeDestroyed.into()));
        assert_eq!(once.node().downcast::<IfNode>().map(drop), Err(GraphError::NodeDestroyed.into()));
    }

    /// S2.42, S2.45: so is a conditional node that was captured, whose body can be extended.
    fn a_captured_conditional_node_is_found(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.zeroed(4)?;
        let capture = stage.stream.capture(Relaxed)?;
        let condition = capture.condition(1)?;
        drop(capture.if_then(&condition)?);
        let graph: GraphDef = capture.end()?.into();
        let node = graph.nodes()?[0].downcast::<IfNode>()?;
        assert_eq!(node.condition()?, condition);
        node.body().entry().fill(&mut buffer, 7)?;
        graph.instantiate()?.launch(&stage.stream)?;
        assert_eq!(buffer.download(&stage.stream)?, [7; 4]);
    }
}

//! Copies of graphs, and the copies of nodes in them.

use std::ptr::{dangling_mut, null_mut};

use warploom_testkit::sys::types::CUgraphNode;
use warploom_testkit::{answers, call, driver_tests};

use crate::support::{Graph, Stage};

driver_tests! {
    /// A clone is as deep as the graph, and later changes of the one do not reach the other.
    fn a_clone_is_independent_of_its_original(driver) {
        let stage = Stage::new(driver)?;
        let (graph, inner, mut raw) = (stage.graph()?, stage.graph()?, null_mut());
        inner.fill(&stage.fill(4, 2, 4), stage.context(), &[])?;
        let first = graph.fill(&stage.fill(0, 1, 4), stage.context(), &[])?;
        let child = graph.child(inner.raw, &[first])?;
        call!(driver.cuGraphClone(&mut raw, graph.raw))?;
        let clone = Graph { driver, raw };
        assert_eq!(clone.counts()?, (2, 1));
        let later = graph.empty(&[child])?;
        assert_eq!(clone.counts()?, (2, 1));
        let find = |node: CUgraphNode, graph| {
            let mut found = dangling_mut();
            let answer = call!(driver.cuGraphNodeFindInClone(&mut found, node, graph));
            assert_eq!(answer.is_err(), found.is_null());
            answer.map(|()| found)
        };
        let copy = find(first, clone.raw)?;
        assert_ne!(copy, first);
        call!(driver.cuGraphMemsetNodeSetParams(copy, &stage.fill(0, 9, 4)))?;
        let (mut theirs, mut ours) = (null_mut(), null_mut());
        call!(driver.cuGraphChildGraphNodeGetGraph(child, &mut theirs))?;
        call!(driver.cuGraphChildGraphNodeGetGraph(find(child, clone.raw)?, &mut ours))?;
        assert_ne!(theirs, ours);
        let (mut inside, mut count) = (null_mut(), 1);
        call!(driver.cuGraphGetNodes(theirs, &mut inside, &mut count))?;
        find(inside, ours)?;
        assert!(find(inside, clone.raw).is_err() && find(later, clone.raw).is_err() && find(first, graph.raw).is_err());
        assert!(find(copy, clone.raw).is_err());
        clone.instantiate()?.run()?;
        assert_eq!(stage.words::<2>()?, [0x0909_0909, 0x0202_0202]);
        call!(driver.cuGraphDestroyNode(copy))?;
        assert!(find(first, clone.raw).is_err());
    }

    fn graphs_with_memory_or_conditions_cannot_be_cloned(driver) {
        let stage = Stage::new(driver)?;
        let (memory, condition) = (stage.graph()?, stage.graph()?);
        let (mut node, mut raw, mut handle) = (null_mut(), null_mut(), 0);
        let mut params = crate::memory::allocation(64);
        call!(driver.cuGraphAddMemAllocNode(&mut node, memory.raw, null_mut(), 0, &mut params))?;
        call!(driver.cuGraphConditionalHandleCreate(&mut handle, condition.raw, stage.context(), 0, 0))?;
        answers!(driver.cuGraphClone(&mut raw, memory.raw), CUDA_ERROR_NOT_SUPPORTED);
        answers!(driver.cuGraphClone(&mut raw, condition.raw), CUDA_ERROR_NOT_SUPPORTED);
        answers!(driver.cuGraphClone(&mut raw, null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphClone(null_mut(), memory.raw), CUDA_ERROR_INVALID_VALUE);
    }

    fn a_graph_with_a_cycle_can_be_cloned(driver) {
        let stage = Stage::new(driver)?;
        let (graph, mut raw) = (stage.graph()?, null_mut());
        let a = graph.empty(&[])?;
        let b = graph.empty(&[a])?;
        call!(driver.cuGraphAddDependencies(graph.raw, [b].as_ptr(), [a].as_ptr(), 1))?;
        call!(driver.cuGraphClone(&mut raw, graph.raw))?;
        assert_eq!(Graph { driver, raw }.counts()?, (2, 2));
    }
}

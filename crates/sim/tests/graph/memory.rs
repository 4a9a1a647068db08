//! Memory nodes: allocations and frees.

use std::ptr::null_mut;

use warploom_testkit::sys::types::*;
use warploom_testkit::{answers, call, code_of, driver_tests};

use crate::support::{Stage, kind_of, moved, zeroed};

/// The parameters of an allocation on the first device.
pub(crate) fn allocation(bytes: usize) -> CUDA_MEM_ALLOC_NODE_PARAMS {
    let mut params: CUDA_MEM_ALLOC_NODE_PARAMS = zeroed();
    params.poolProps.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, 0);
    params.bytesize = bytes;
    params
}

driver_tests! {
    fn memory_nodes_are_read_back(driver) {
        let stage = Stage::new(driver)?;
        let (graph, mut alloc, mut free, mut params) = (stage.graph()?, null_mut(), null_mut(), allocation(1000));
        call!(driver.cuGraphAddMemAllocNode(&mut alloc, graph.raw, null_mut(), 0, &mut params))?;
        assert_ne!(params.dptr, 0);
        // Nodes may use the memory before any launch.
        let fill = CUDA_MEMSET_NODE_PARAMS { dst: params.dptr, ..stage.fill(0, 1, 1000) };
        let fill = graph.fill(&fill, stage.context(), &[alloc])?;
        call!(driver.cuGraphAddMemFreeNode(&mut free, graph.raw, [fill].as_ptr(), 1, params.dptr))?;
        let (mut shown, mut address): (CUDA_MEM_ALLOC_NODE_PARAMS, _) = (zeroed(), 0);
        call!(driver.cuGraphMemAllocNodeGetParams(alloc, &mut shown))?;
        call!(driver.cuGraphMemFreeNodeGetParams(free, &mut address))?;
        assert_eq!((shown.dptr, shown.bytesize, shown.accessDescCount, address), (params.dptr, 1000, 0, params.dptr));
        assert_eq!(kind_of(driver, alloc)?, CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_ALLOC);
        assert_eq!(kind_of(driver, free)?, CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_FREE);
        answers!(driver.cuGraphMemAllocNodeGetParams(free, &mut shown), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphMemFreeNodeGetParams(alloc, &mut address), CUDA_ERROR_INVALID_VALUE);
    }

    fn allocations_that_no_graph_makes_are_refused(driver) {
        let stage = Stage::new(driver)?;
        let (graph, mut node) = (stage.graph()?, null_mut());
        let mut good = allocation(64);
        let with = |change: &dyn Fn(&mut CUDA_MEM_ALLOC_NODE_PARAMS)| {
            let mut params = allocation(64);
            change(&mut params);
            params
        };
        let at = CUmemLocation::new;
        let device = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        for mut bad in [
            with(&|params| params.bytesize = 0),
            with(&|params| params.poolProps.location = at(device, 99)),
            with(&|params| params.poolProps.location = at(device, -1)),
            with(&|params| params.poolProps.location = at(CUmemLocationType::CU_MEM_LOCATION_TYPE_INVALID, 0)),
            with(&|params| params.poolProps.allocType = CUmemAllocationType(0)),
            with(&|params| params.poolProps.reserved[0] = 1),
        ] {
            answers!(
                driver.cuGraphAddMemAllocNode(&mut node, graph.raw, null_mut(), 0, &mut bad),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        let read = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ;
        let access = [CUmemAccessDesc { location: at(device, 0), flags: read }];
        for mut bad in [
            with(&|params| params.poolProps.location = at(CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST, 0)),
            with(&|params| params.poolProps.handleTypes = CUmemAllocationHandleType(1)),
            with(&|params| (params.accessDescs, params.accessDescCount) = (access.as_ptr(), 1)),
        ] {
            answers!(
                driver.cuGraphAddMemAllocNode(&mut node, graph.raw, null_mut(), 0, &mut bad),
                CUDA_ERROR_NOT_SUPPORTED
            );
        }
        assert_eq!(graph.counts()?, (0, 0));
        call!(driver.cuGraphAddMemAllocNode(&mut node, graph.raw, null_mut(), 0, &mut good))?;
        for address in [0, 0x1000, stage.memory, good.dptr + 16] {
            let mut free = null_mut();
            answers!(
                driver.cuGraphAddMemFreeNode(&mut free, graph.raw, null_mut(), 0, address),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        let mut free = null_mut();
        call!(driver.cuGraphAddMemFreeNode(&mut free, graph.raw, [node].as_ptr(), 1, good.dptr))?;
        answers!(
            driver.cuGraphAddMemFreeNode(&mut free, graph.raw, [node].as_ptr(), 1, good.dptr),
            CUDA_ERROR_INVALID_VALUE
        );
    }

    /// Graphs have more addresses than the device has bytes, but not any number of them.
    fn addresses_for_graphs_come_to_an_end(driver) {
        let stage = Stage::new(driver)?;
        let (mut node, mut available, mut total) = (null_mut(), 0, 0);
        call!(driver.cuMemGetInfo_v2(&mut available, &mut total))?;
        let mut large = allocation(2 * total);
        let graph = stage.graph()?;
        for _ in 0..2 {
            let mut fitting = allocation(available / 10 * 6);
            call!(driver.cuGraphAddMemAllocNode(&mut node, graph.raw, null_mut(), 0, &mut fitting))?;
        }
        answers!(
            driver.cuGraphAddMemAllocNode(&mut node, graph.raw, null_mut(), 0, &mut large),
            CUDA_ERROR_OUT_OF_MEMORY
        );
        assert_eq!(graph.counts()?, (2, 0));
        drop(graph);
        let graph = stage.graph()?;
        call!(driver.cuGraphAddMemAllocNode(&mut node, graph.raw, null_mut(), 0, &mut large))?;
    }

    /// A graph with memory nodes grows, and does not shrink.
    fn nodes_of_a_graph_with_memory_stay(driver) {
        let stage = Stage::new(driver)?;
        let (graph, mut node, mut params) = (stage.graph()?, null_mut(), allocation(64));
        let first = graph.empty(&[])?;
        let second = graph.empty(&[first])?;
        call!(driver.cuGraphAddMemAllocNode(&mut node, graph.raw, null_mut(), 0, &mut params))?;
        answers!(driver.cuGraphDestroyNode(first), CUDA_ERROR_NOT_SUPPORTED);
        answers!(driver.cuGraphDestroyNode(node), CUDA_ERROR_NOT_SUPPORTED);
        answers!(
            driver.cuGraphRemoveDependencies(graph.raw, [first].as_ptr(), [second].as_ptr(), 1),
            CUDA_ERROR_NOT_SUPPORTED
        );
        call!(driver.cuGraphAddDependencies(graph.raw, [second].as_ptr(), [node].as_ptr(), 1))?;
        graph.empty(&[node])?;
        assert_eq!(graph.counts()?, (4, 3));
    }

    /// A child graph with memory nodes that was moved into a graph counts as memory nodes of that graph.
    fn nodes_beside_a_child_graph_with_memory_stay(driver) {
        let stage = Stage::new(driver)?;
        let (graph, inner, mut node, mut params) = (stage.graph()?, stage.graph()?, null_mut(), allocation(64));
        call!(driver.cuGraphAddMemAllocNode(&mut node, inner.raw, null_mut(), 0, &mut params))?;
        call!(driver.cuGraphAddMemFreeNode(&mut node, inner.raw, [node].as_ptr(), 1, params.dptr))?;
        let first = graph.empty(&[])?;
        let child = graph.move_in(inner, &[first])?;
        answers!(driver.cuGraphDestroyNode(first), CUDA_ERROR_NOT_SUPPORTED);
        answers!(driver.cuGraphDestroyNode(child), CUDA_ERROR_NOT_SUPPORTED);
        answers!(
            driver.cuGraphRemoveDependencies(graph.raw, [first].as_ptr(), [child].as_ptr(), 1),
            CUDA_ERROR_NOT_SUPPORTED
        );
        assert_eq!(graph.counts()?, (2, 1));
        graph.instantiate()?.run()?;
    }

    fn a_child_graph_with_memory_takes_no_others_place(driver) {
        let stage = Stage::new(driver)?;
        let (graph, inner, mut node, mut params) = (stage.graph()?, stage.graph()?, null_mut(), allocation(64));
        let child = graph.child(inner.raw, &[])?;
        call!(driver.cuGraphAddMemAllocNode(&mut node, inner.raw, null_mut(), 0, &mut params))?;
        answers!(driver.cuGraphNodeSetParams(child, &mut moved(inner.raw)), CUDA_ERROR_NOT_SUPPORTED);
        call!(driver.cuGraphDestroyNode(child))?;
    }
    /// An executable's copy does not change between memory that a graph allocates and other memory.
    fn copies_stay_in_the_memory_that_they_were_made_for(driver) {
        let stage = Stage::new(driver)?;
        let (graph, context, mut node, mut params) = (stage.graph()?, stage.context(), null_mut(), allocation(64));
        call!(driver.cuGraphAddMemAllocNode(&mut node, graph.raw, null_mut(), 0, &mut params))?;
        let plain = stage.copy(4, 0, 4);
        let of_graph = CUDA_MEMCPY3D { dstDevice: params.dptr, ..plain };
        let copies = [graph.copy(&of_graph, context, &[node])?, graph.copy(&plain, context, &[])?];
        let executable = graph.instantiate()?;
        for (copy, given, code) in [
            (copies[0], &plain, CUresult::CUDA_ERROR_INVALID_VALUE),
            (copies[0], &of_graph, CUresult::CUDA_SUCCESS),
            (copies[1], &of_graph, CUresult::CUDA_ERROR_INVALID_VALUE),
            (copies[1], &stage.copy(8, 0, 4), CUresult::CUDA_SUCCESS),
        ] {
            let answer = call!(driver.cuGraphExecMemcpyNodeSetParams(executable.raw, copy, given, context));
            assert_eq!(code_of(answer), code);
        }
        call!(driver.cuMemsetD32_v2(stage.memory, 7, 1))?;
        call!(driver.cuMemsetD32_v2(stage.memory + 4, 0, 2))?;
        executable.run()?;
        assert_eq!(stage.words()?, [7, 0, 7]);
        call!(driver.cuMemFree_v2(params.dptr))?;
    }
}

//! Addresses of memory nodes: how long they stay, and the graphs that free them.

use std::ptr::{null, null_mut};

use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
use warploom_testkit::driver::{Driver, Error};
use warploom_testkit::sys::types::*;
use warploom_testkit::{TestResult, answers, call, code_of, driver_tests, open};

use super::memory::allocation;
use crate::support::{Executable, Graph, Stage, zeroed};

const BYTES: usize = 1024;

/// Adds an allocation behind nothing, and a fill of all of it.
fn allocate(stage: &Stage<'_>, graph: &Graph<'_>, value: u32) -> TestResult<(CUdeviceptr, CUgraphNode)> {
    let (driver, mut node, mut params) = (stage.driver, null_mut(), allocation(BYTES));
    call!(driver.cuGraphAddMemAllocNode(&mut node, graph.raw, null(), 0, &mut params))?;
    let fill = CUDA_MEMSET_NODE_PARAMS { dst: params.dptr, ..stage.fill(0, value, BYTES) };
    Ok((params.dptr, graph.fill(&fill, stage.context(), &[node])?))
}

fn free(driver: &Driver, graph: &Graph<'_>, address: CUdeviceptr, after: &[CUgraphNode]) -> Result<(), Error> {
    let mut node = null_mut();
    call!(driver.cuGraphAddMemFreeNode(&mut node, graph.raw, after.as_ptr(), after.len(), address))
}

/// The address that an allocation node gets now.
fn next_address(stage: &Stage<'_>) -> TestResult<CUdeviceptr> {
    Ok(allocate(stage, &stage.graph()?, 0)?.0)
}

/// The first byte of memory; the code of the refused copy if there is none.
fn byte(driver: &Driver, address: CUdeviceptr) -> Result<u8, CUresult> {
    let mut byte = [0];
    match code_of(call!(driver.cuMemcpyDtoH_v2(byte.as_mut_ptr().cast(), address, 1))) {
        CUresult::CUDA_SUCCESS => Ok(byte[0]),
        code => Err(code),
    }
}

/// Updates an executable. Returns the result, and `true` if a node is named.
fn update(driver: &Driver, executable: &Executable<'_>, graph: &Graph<'_>) -> (CUgraphExecUpdateResult, bool) {
    let mut info: CUgraphExecUpdateResultInfo = zeroed();
    let code = code_of(call!(driver.cuGraphExecUpdate_v2(executable.raw, graph.raw, &mut info)));
    let is_done = info.result == CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS;
    assert_eq!(code == CUresult::CUDA_SUCCESS, is_done, "{code:?}");
    (info.result, !info.errorNode.is_null())
}

driver_tests! {
    fn an_executable_keeps_the_addresses_of_a_graph_that_is_gone(driver) {
        let stage = Stage::new(driver)?;
        let make = |value| -> TestResult<_> {
            let graph = stage.graph()?;
            Ok((allocate(&stage, &graph, value)?.0, graph.instantiate()?))
        };
        let ((first, one), (second, two)) = (make(7)?, make(9)?);
        assert_ne!(first, second);
        one.run()?;
        two.run()?;
        assert_eq!((byte(driver, first), byte(driver, second)), (Ok(7), Ok(9)));
        call!(driver.cuMemFree_v2(first))?;
        call!(driver.cuMemFree_v2(second))?;
    }

    fn memory_that_is_allocated_keeps_its_addresses(driver) {
        let stage = Stage::new(driver)?;
        let graph = stage.graph()?;
        let (first, _) = allocate(&stage, &graph, 7)?;
        graph.instantiate()?.run()?;
        drop(graph);
        let (graph, mut raw) = (stage.graph()?, null_mut());
        let (second, _) = allocate(&stage, &graph, 9)?;
        assert_ne!(first, second);
        // It frees what its own launches leave, and nothing else.
        let free_on_launch = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH.0;
        call!(driver.cuGraphInstantiateWithFlags(&mut raw, graph.raw, free_on_launch.into()))?;
        call!(driver.cuGraphLaunch(raw, null_mut()))?;
        assert_eq!((byte(driver, first), byte(driver, second)), (Ok(7), Ok(9)));
        call!(driver.cuMemFree_v2(second))?;
        call!(driver.cuMemFree_v2(first))?;
        call!(driver.cuGraphExecDestroy(raw))?;
        drop(graph);
        let (newest, next) = (stage.graph()?, stage.graph()?);
        assert_eq!(allocate(&stage, &newest, 0)?.0, second, "it has come last");
        assert_eq!(allocate(&stage, &next, 0)?.0, first, "nothing has it any more");
    }

    fn addresses_are_given_out_again_when_graph_and_executable_are_gone(driver) {
        let stage = Stage::new(driver)?;
        let first = next_address(&stage)?;
        assert_eq!(next_address(&stage)?, first);
        let graph = stage.graph()?;
        let (address, fill) = allocate(&stage, &graph, 1)?;
        free(driver, &graph, address, &[fill])?;
        let executable = graph.instantiate()?;
        drop(graph);
        assert_ne!(next_address(&stage)?, address);
        drop(executable);
        assert_eq!(next_address(&stage)?, address);
    }

    fn graphs_and_executables_that_free_memory_keep_its_addresses(driver) {
        let stage = Stage::new(driver)?;
        let graph = stage.graph()?;
        let (address, _) = allocate(&stage, &graph, 7)?;
        graph.instantiate()?.run()?;
        let other = stage.graph()?;
        free(driver, &other, address, &[])?;
        drop(graph);
        call!(driver.cuMemFree_v2(address))?;
        assert_ne!(next_address(&stage)?, address, "the other graph has it");
        let executable = other.instantiate()?;
        drop(other);
        assert_ne!(next_address(&stage)?, address, "and its executable");
        drop(executable);
        assert_eq!(next_address(&stage)?, address);
    }

    /// The graph that frees memory may be another than the one that has allocated it, which may be gone.
    fn memory_is_freed_by_another_graph(driver) {
        let stage = Stage::new(driver)?;
        let graph = stage.graph()?;
        let (address, _) = allocate(&stage, &graph, 7)?;
        let executable = graph.instantiate()?;
        drop(graph);
        let other = stage.graph()?;
        free(driver, &other, address, &[])?;
        let freeing = other.instantiate()?;
        answers!(driver.cuGraphLaunch(freeing.raw, null_mut()), CUDA_ERROR_INVALID_VALUE);
        executable.run()?;
        answers!(driver.cuGraphLaunch(executable.raw, null_mut()), CUDA_ERROR_INVALID_VALUE);
        drop(executable);
        assert_eq!(byte(driver, address), Ok(7));
        freeing.run()?;
        assert_eq!(byte(driver, address), Err(CUresult::CUDA_ERROR_INVALID_VALUE));
        answers!(driver.cuGraphLaunch(freeing.raw, null_mut()), CUDA_ERROR_INVALID_VALUE);
        free(driver, &stage.graph()?, address, &[])?;
        drop((other, freeing));
        let third = stage.graph()?;
        assert!(free(driver, &third, address, &[]).is_err(), "nothing has the address any more");
    }

    fn a_graph_frees_memory_once_and_only_one_if_it_is_its_own(driver) {
        let stage = Stage::new(driver)?;
        let (own, other, third) = (stage.graph()?, stage.graph()?, stage.graph()?);
        let (address, fill) = allocate(&stage, &own, 7)?;
        free(driver, &own, address, &[fill])?;
        for graph in [&own, &other] {
            assert!(free(driver, graph, address, &[]).is_err(), "its own graph frees it");
        }
        let own = stage.graph()?;
        let (address, fill) = allocate(&stage, &own, 7)?;
        free(driver, &other, address, &[])?;
        free(driver, &third, address, &[])?;
        assert!(free(driver, &third, address, &[]).is_err(), "it frees it already");
        drop((other, third));
        assert!(free(driver, &own, address, &[fill]).is_err(), "others have freed it");
        free(driver, &stage.graph()?, address, &[])?;
    }

    /// An update takes over the addresses of the other graph's memory.
    fn updates_replace_allocations(driver) {
        let stage = Stage::new(driver)?;
        let success = CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS;
        let (graph, other) = (stage.graph()?, stage.graph()?);
        let ((first, _), (second, _)) = (allocate(&stage, &graph, 7)?, allocate(&stage, &other, 9)?);
        let executable = graph.instantiate()?;
        executable.run()?;
        assert_eq!(update(driver, &executable, &other), (success, false));
        drop(other);
        executable.run()?;
        assert_eq!((byte(driver, first), byte(driver, second)), (Ok(7), Ok(9)));
        assert_ne!(next_address(&stage)?, second, "the executable has it");

        let frees = |address| -> TestResult<_> {
            let graph = stage.graph()?;
            free(driver, &graph, address, &[])?;
            Ok(graph)
        };
        let freeing = frees(first)?.instantiate()?;
        assert_eq!(update(driver, &freeing, &frees(second)?), (success, false));
        freeing.run()?;
        assert_eq!((byte(driver, first), byte(driver, second)), (Ok(7), Err(CUresult::CUDA_ERROR_INVALID_VALUE)));
        call!(driver.cuMemFree_v2(first))?;
    }

    /// A child graph node of an executable takes over no graph with memory nodes.
    fn a_graph_with_memory_updates_no_child_graph_node(driver) {
        let stage = Stage::new(driver)?;
        for is_freed in [false, true] {
            let make = |value| -> TestResult<_> {
                let graph = stage.graph()?;
                let (address, fill) = allocate(&stage, &graph, value)?;
                if is_freed {
                    free(driver, &graph, address, &[fill])?;
                }
                Ok((graph, address))
            };
            let (graph, (inner, first), (other, second)) = (stage.graph()?, make(7)?, make(9)?);
            let child = graph.move_in(inner, &[])?;
            let executable = graph.instantiate()?;
            answers!(
                driver.cuGraphExecChildGraphNodeSetParams(executable.raw, child, other.raw),
                CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
            );
            executable.run()?;
            assert_eq!(byte(driver, second), Err(CUresult::CUDA_ERROR_INVALID_VALUE));
            if !is_freed {
                assert_eq!(byte(driver, first), Ok(7));
                call!(driver.cuMemFree_v2(first))?;
            }
            executable.run()?;
            if !is_freed {
                call!(driver.cuMemFree_v2(first))?;
            }
        }
    }

    /// A fill of memory that its graph frees cannot be taken over by an executable with other addresses.
    fn updates_with_fills_of_temporary_memory_are_refused(driver) {
        let stage = Stage::new(driver)?;
        let make = || -> TestResult<_> {
            let graph = stage.graph()?;
            let (address, fill) = allocate(&stage, &graph, 7)?;
            free(driver, &graph, address, &[fill])?;
            Ok(graph)
        };
        let (graph, other) = (make()?, make()?);
        let executable = graph.instantiate()?;
        let success = CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS;
        let failure = CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR;
        assert_eq!(update(driver, &executable, &other), (failure, true));
        assert_eq!(update(driver, &executable, &graph), (success, false));
        executable.run()?;
    }

    /// Memory that a graph allocates is copied and filled by nodes of any graph, until the free node is there.
    fn nodes_for_memory_are_added_before_the_free_node(driver) {
        let stage = Stage::new(driver)?;
        let (own, left, other) = (stage.graph()?, stage.graph()?, stage.graph()?);
        let ((temporary, last), (kept, _)) = (allocate(&stage, &own, 7)?, allocate(&stage, &left, 7)?);
        let (context, mut node) = (stage.context(), null_mut());
        let filled = |dst| CUDA_MEMSET_NODE_PARAMS { dst, ..stage.fill(0, 1, BYTES) };
        let copied = |to| CUDA_MEMCPY3D { dstDevice: to, ..stage.copy(0, 0, 16) };
        for graph in [&own, &other] {
            graph.fill(&filled(temporary), context, &[])?;
            graph.copy(&copied(temporary), context, &[])?;
        }
        free(driver, &own, temporary, &[last])?;
        for graph in [&own, &other] {
            let (raw, fill, copy) = (graph.raw, filled(temporary), copied(temporary));
            answers!(
                driver.cuGraphAddMemsetNode(&mut node, raw, [last].as_ptr(), 0, &fill, context),
                CUDA_ERROR_INVALID_VALUE
            );
            answers!(
                driver.cuGraphAddMemcpyNode(&mut node, raw, [last].as_ptr(), 0, &copy, context),
                CUDA_ERROR_INVALID_VALUE
            );
            graph.fill(&filled(kept), context, &[])?;
            graph.copy(&copied(kept), context, &[])?;
        }
        let third = stage.graph()?;
        let fill = third.fill(&stage.fill(0, 1, BYTES), context, &[])?;
        let executable = third.instantiate()?;
        let set = |dst| call!(driver.cuGraphExecMemsetNodeSetParams(executable.raw, fill, &filled(dst), context));
        assert_eq!(code_of(set(temporary)), CUresult::CUDA_ERROR_INVALID_VALUE);
        set(kept)?;
    }

    /// The graph that allocates memory cannot free it any more once an executable leaves it allocated.
    fn memory_that_an_executable_leaves_is_freed_by_other_graphs(driver) {
        let stage = Stage::new(driver)?;
        for flags in [0, CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH.0] {
            let (graph, mut raw) = (stage.graph()?, null_mut());
            let (address, fill) = allocate(&stage, &graph, 7)?;
            call!(driver.cuGraphInstantiateWithFlags(&mut raw, graph.raw, flags.into()))?;
            call!(driver.cuGraphExecDestroy(raw))?;
            assert!(free(driver, &graph, address, &[fill]).is_err());
            free(driver, &stage.graph()?, address, &[])?;
        }
    }

    fn memory_that_an_updated_executable_leaves_is_freed_by_other_graphs(driver) {
        let stage = Stage::new(driver)?;
        let (graph, other) = (stage.graph()?, stage.graph()?);
        allocate(&stage, &graph, 7)?;
        let (address, fill) = allocate(&stage, &other, 9)?;
        let free_on_launch = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH.0;
        let executable = graph.instantiate_with(free_on_launch.into())?;
        assert_eq!(update(driver, &executable, &other).0, CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS);
        executable.run()?;
        assert!(free(driver, &other, address, &[fill]).is_err());
        free(driver, &stage.graph()?, address, &[])?;
        call!(driver.cuMemFree_v2(address))?;
    }

    /// A graph counts as one with memory from the first memory node on, even if that is refused.
    fn a_refused_memory_node_leaves_its_mark(driver) {
        let stage = Stage::new(driver)?;
        let (graph, mut copy, mut node, mut bad) = (stage.graph()?, null_mut(), null_mut(), allocation(0));
        let empty = graph.empty(&[])?;
        // But for parameters that are refused for themselves.
        answers!(driver.cuGraphAddMemAllocNode(&mut node, graph.raw, null(), 0, &mut bad), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuGraphClone(&mut copy, graph.raw))?;
        call!(driver.cuGraphDestroy(copy))?;
        let (mut good, twice) = (allocation(BYTES), [empty; 2]);
        let raw = graph.raw;
        answers!(
            driver.cuGraphAddMemAllocNode(&mut node, raw, twice.as_ptr(), 2, &mut good),
            CUDA_ERROR_INVALID_VALUE
        );
        answers!(driver.cuGraphClone(&mut copy, graph.raw), CUDA_ERROR_NOT_SUPPORTED);
        answers!(driver.cuGraphDestroyNode(empty), CUDA_ERROR_NOT_SUPPORTED);
        let executable = graph.instantiate()?;
        executable.run()?;
    }

    /// Executables from before the first memory node do not count.
    fn a_graph_with_memory_has_one_executable(driver) {
        let stage = Stage::new(driver)?;
        let (graph, mut raw) = (stage.graph()?, null_mut());
        graph.empty(&[])?;
        let before = graph.instantiate()?;
        allocate(&stage, &graph, 7)?;
        let executable = graph.instantiate()?;
        let instantiate = |raw: &mut CUgraphExec, graph: &Graph<'_>| {
            code_of(call!(driver.cuGraphInstantiateWithFlags(raw, graph.raw, 0)))
        };
        assert_eq!(instantiate(&mut raw, &graph), CUresult::CUDA_ERROR_NOT_SUPPORTED);
        answers!(driver.cuGraphExecUpdate_v2(before.raw, graph.raw, null_mut()), CUDA_ERROR_NOT_SUPPORTED);
        assert_eq!(update(driver, &executable, &graph).0, CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS);
        drop(executable);
        graph.instantiate()?;
    }

    /// A graph takes managed memory of a device, and allocates plain device memory.
    fn managed_memory_of_a_graph_is_the_devices(driver) {
        let stage = Stage::new(driver)?;
        let (graph, mut node) = (stage.graph()?, null_mut());
        type L = CUmemLocationType;
        let with = |kind, location, id| {
            let mut params = allocation(BYTES);
            params.poolProps.allocType = kind;
            params.poolProps.location = CUmemLocation::new(location, id);
            params
        };
        let managed = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED;
        let pinned = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        let (invalid, unsupported) = (CUresult::CUDA_ERROR_INVALID_VALUE, CUresult::CUDA_ERROR_NOT_SUPPORTED);
        for (kind, location, id, code) in [
            (pinned, L::CU_MEM_LOCATION_TYPE_INVALID, 0, invalid),
            (pinned, L::CU_MEM_LOCATION_TYPE_DEVICE, 99, invalid),
            (pinned, L::CU_MEM_LOCATION_TYPE_HOST, 0, unsupported),
            (pinned, L::CU_MEM_LOCATION_TYPE_HOST_NUMA, 0, unsupported),
            (pinned, L::CU_MEM_LOCATION_TYPE_HOST_NUMA, 99, invalid),
            (pinned, L::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0, invalid),
            (managed, L::CU_MEM_LOCATION_TYPE_INVALID, 0, unsupported),
            (managed, L::CU_MEM_LOCATION_TYPE_DEVICE, 99, invalid),
            (managed, L::CU_MEM_LOCATION_TYPE_HOST, 0, unsupported),
            (managed, L::CU_MEM_LOCATION_TYPE_HOST_NUMA, 0, unsupported),
            (managed, L::CU_MEM_LOCATION_TYPE_HOST_NUMA, 99, invalid),
            (managed, L::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0, unsupported),
        ] {
            let mut params = with(kind, location, id);
            let answer = call!(driver.cuGraphAddMemAllocNode(&mut node, graph.raw, null(), 0, &mut params));
            assert_eq!(code_of(answer), code, "{kind:?} {location:?} {id}");
        }
        let mut params = with(managed, L::CU_MEM_LOCATION_TYPE_DEVICE, 0);
        call!(driver.cuGraphAddMemAllocNode(&mut node, graph.raw, null(), 0, &mut params))?;
        let mut shown: CUDA_MEM_ALLOC_NODE_PARAMS = zeroed();
        call!(driver.cuGraphMemAllocNodeGetParams(node, &mut shown))?;
        assert_eq!(shown.poolProps.allocType, managed);
        graph.instantiate()?.run()?;
        let (mut is_managed, attribute) = (9_u32, CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED);
        call!(driver.cuPointerGetAttribute((&raw mut is_managed).cast(), attribute, params.dptr))?;
        assert_eq!(is_managed & 0xff, 0);
        call!(driver.cuMemFree_v2(params.dptr))?;
    }
}

/// A launch that would allocate live memory is refused, and the log has the reason.
#[test]
fn the_reason_of_a_refused_launch_is_logged() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let driver = &driver;
    let stage = Stage::new(driver)?;
    let graph = stage.graph()?;
    let (address, _) = allocate(&stage, &graph, 7)?;
    let executable = graph.instantiate()?;
    executable.run()?;
    answers!(driver.cuGraphLaunch(executable.raw, null_mut()), CUDA_ERROR_INVALID_VALUE);
    let log = machine.log();
    assert!(log.iter().any(|entry| entry.to_string().contains(&format!("{address:#x}"))), "{log:#?}");
    call!(driver.cuMemFree_v2(address))?;
    Ok(())
}

/// A copy or fill of graph memory that nothing has allocated is a fault of its launch.
#[test]
fn a_node_without_its_memory_is_a_fault() -> TestResult {
    for (is_fill, code) in [(true, CUresult::CUDA_ERROR_LAUNCH_FAILED), (false, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS)] {
        let machine = Machine::preset("h200")?;
        let driver = &Driver::open(&machine)?;
        driver.initialize()?;
        let stage = std::mem::ManuallyDrop::new(Stage::new(driver)?);
        let (graph, other) = (stage.graph()?, stage.graph()?);
        let (address, _) = allocate(&stage, &graph, 7)?;
        let context = stage.context();
        // There is memory for the whole of a launch that allocates it, also before the allocation in order.
        graph.fill(&CUDA_MEMSET_NODE_PARAMS { dst: address, ..stage.fill(0, 1, 4) }, context, &[])?;
        graph.instantiate()?.run()?;
        call!(driver.cuMemFree_v2(address))?;
        if is_fill {
            other.fill(&CUDA_MEMSET_NODE_PARAMS { dst: address, ..stage.fill(0, 1, 4) }, context, &[])?;
        } else {
            other.copy(&CUDA_MEMCPY3D { dstDevice: address, ..stage.copy(0, 0, 4) }, context, &[])?;
        }
        let executable = std::mem::ManuallyDrop::new(other.instantiate()?);
        call!(driver.cuGraphLaunch(executable.raw, null_mut()))?;
        assert_eq!(code_of(call!(driver.cuCtxSynchronize())), code);
        std::mem::forget((graph, other));
    }
    Ok(())
}

/// A launch that needs more memory than there is runs no node and leaves nothing allocated, so that a later one
/// succeeds.
#[test]
fn a_launch_without_enough_memory_changes_nothing() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let driver = &driver;
    let stage = Stage::new(driver)?;
    let (graph, mut available, mut total, mut large) = (stage.graph()?, 0, 0, 0);
    call!(driver.cuMemGetInfo_v2(&mut available, &mut total))?;
    call!(driver.cuMemAlloc_v2(&mut large, available / 10 * 5))?;
    let mut last = graph.fill(&stage.fill(0, 1, 4), stage.context(), &[])?;
    let mut addresses = [0; 2];
    for address in &mut addresses {
        let mut params = allocation(available / 10 * 3);
        call!(driver.cuGraphAddMemAllocNode(&mut last, graph.raw, [last].as_ptr(), 1, &mut params))?;
        *address = params.dptr;
    }
    for address in addresses {
        call!(driver.cuGraphAddMemFreeNode(&mut last, graph.raw, [last].as_ptr(), 1, address))?;
    }
    let (executable, mut reserved) = (graph.instantiate()?, 1_u64);
    for _ in 0..2 {
        answers!(driver.cuGraphLaunch(executable.raw, null_mut()), CUDA_ERROR_OUT_OF_MEMORY);
    }
    call!(driver.cuCtxSynchronize())?;
    assert_eq!(stage.words::<1>()?, [0]);
    let attribute = CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT;
    call!(driver.cuDeviceGetGraphMemAttribute(0, attribute, (&raw mut reserved).cast()))?;
    assert_eq!(reserved, 0);
    call!(driver.cuMemFree_v2(large))?;
    executable.run()?;
    assert_eq!(stage.words::<1>()?, [0x0101_0101]);
    Ok(())
}

//! Nodes of any kind through one function: cuGraphAddNode, cuGraphNodeSetParams and cuGraphNodeGetParams.
#![expect(unsafe_code, reason = "reads members of C unions, and host functions have C's type")]

use std::ffi::c_void;
use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::*;
use warploom_testkit::{TestResult, answers, call, driver_tests};

use crate::support::{Graph, Stage, zeroed};

unsafe extern "C" fn nothing(_: *mut c_void) {}

pub(crate) type Kind = CUgraphNodeType;
type Union = CUgraphNodeParams_st__bindgen_ty_1;

fn params(kind: Kind, fill: impl FnOnce(&mut Union)) -> CUgraphNodeParams {
    let mut params: CUgraphNodeParams = zeroed();
    params.type_ = kind;
    fill(&mut params.__bindgen_anon_1);
    params
}

pub(crate) fn add(driver: &Driver, graph: &Graph<'_>, params: &mut CUgraphNodeParams) -> TestResult<CUgraphNode> {
    let mut node = null_mut();
    call!(driver.cuGraphAddNode_v2(&mut node, graph.raw, null_mut(), null_mut(), 0, params))?;
    Ok(node)
}

/// Parameters of a node of each kind that can be changed.
pub(crate) fn kinds(stage: &Stage<'_>, event: CUevent) -> TestResult<Vec<CUgraphNodeParams>> {
    let (kernel, context) = (stage.launch(c"nothing", &mut [])?, stage.context());
    let fill = stage.fill(128, 1, 4);
    Ok(vec![
        params(Kind::CU_GRAPH_NODE_TYPE_EMPTY, |_| {}),
        params(Kind::CU_GRAPH_NODE_TYPE_KERNEL, |all| {
            (all.kernel.func, all.kernel.ctx) = (kernel.func, null_mut());
            // SAFETY: a struct of integers and pointers, which is all zeros.
            let given = unsafe { &mut all.kernel };
            for size in [
                &mut given.gridDimX,
                &mut given.gridDimY,
                &mut given.gridDimZ,
                &mut given.blockDimX,
                &mut given.blockDimY,
                &mut given.blockDimZ,
            ] {
                *size = 1;
            }
        }),
        params(Kind::CU_GRAPH_NODE_TYPE_MEMCPY, |all| {
            all.memcpy =
                CUDA_MEMCPY_NODE_PARAMS { flags: 0, reserved: 0, copyCtx: context, copyParams: stage.copy(0, 64, 8) };
        }),
        params(Kind::CU_GRAPH_NODE_TYPE_MEMSET, |all| {
            let CUDA_MEMSET_NODE_PARAMS { dst, pitch, value, elementSize, width, height } = fill;
            all.memset = CUDA_MEMSET_NODE_PARAMS_v2 { dst, pitch, value, elementSize, width, height, ctx: context };
        }),
        params(Kind::CU_GRAPH_NODE_TYPE_HOST, |all| {
            all.host.fn_ = Some(nothing);
        }),
        params(Kind::CU_GRAPH_NODE_TYPE_EVENT_RECORD, |all| all.eventRecord.event = event),
        params(Kind::CU_GRAPH_NODE_TYPE_WAIT_EVENT, |all| all.eventWait.event = event),
    ])
}

driver_tests! {
    fn nodes_of_every_kind_are_added_and_changed(driver) {
        let stage = Stage::new(driver)?;
        let (graph, event) = (stage.graph()?, stage.event()?);
        let all = kinds(&stage, event)?;
        for (index, given) in all.iter().enumerate() {
            let mut given = *given;
            let node = add(driver, &graph, &mut given)?;
            assert_eq!(crate::support::kind_of(driver, node)?, given.type_);
            call!(driver.cuGraphNodeSetParams(node, &mut given))?;
            let mut other = all[(index + 1) % all.len()];
            answers!(driver.cuGraphNodeSetParams(node, &mut other), CUDA_ERROR_INVALID_VALUE);
        }
        graph.instantiate()?.run()?;
        drop(graph);
        call!(driver.cuEventDestroy_v2(event))?;
    }

    fn bytes_that_a_kind_does_not_use_must_be_zero(driver) {
        let stage = Stage::new(driver)?;
        let (graph, event, mut node) = (stage.graph()?, stage.event()?, null_mut());
        for given in kinds(&stage, event)? {
            for change in [
                (|params| params.reserved0[1] = 1) as fn(&mut CUgraphNodeParams),
                |params| params.reserved2 = 1,
                |params| {
                    // SAFETY: the last bytes of the union, which no kind uses.
                    unsafe { params.__bindgen_anon_1.reserved1[28] = 1 };
                },
            ] {
                let mut bad = given;
                change(&mut bad);
                answers!(
                    driver.cuGraphAddNode_v2(&mut node, graph.raw, null_mut(), null_mut(), 0, &mut bad),
                    CUDA_ERROR_INVALID_VALUE
                );
            }
        }
        for kind in [14, 99] {
            let mut bad = params(CUgraphNodeType(kind), |_| {});
            answers!(
                driver.cuGraphAddNode_v2(&mut node, graph.raw, null_mut(), null_mut(), 0, &mut bad),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        assert_eq!(graph.counts()?, (0, 0));
        call!(driver.cuEventDestroy_v2(event))?;
    }

    fn an_allocation_writes_its_address_back(driver) {
        let stage = Stage::new(driver)?;
        let graph = stage.graph()?;
        let given = crate::memory::allocation(1000);
        let mut alloc = params(Kind::CU_GRAPH_NODE_TYPE_MEM_ALLOC, |all| {
            (all.alloc.poolProps, all.alloc.bytesize) = (given.poolProps, 1000);
        });
        let node = add(driver, &graph, &mut alloc)?;
        // SAFETY: the member of the kind.
        let (address, bytes) = unsafe { (alloc.__bindgen_anon_1.alloc.dptr, alloc.__bindgen_anon_1.alloc.bytesize) };
        assert!(address != 0 && bytes == 1000);
        let mut free = params(Kind::CU_GRAPH_NODE_TYPE_MEM_FREE, |all| all.free.dptr = address);
        add(driver, &graph, &mut free)?;
        answers!(driver.cuGraphNodeSetParams(node, &mut alloc), CUDA_ERROR_NOT_SUPPORTED);
    }

    fn a_child_gets_another_graph(driver) {
        let stage = Stage::new(driver)?;
        let (graph, inner, other) = (stage.graph()?, stage.graph()?, stage.graph()?);
        let node = graph.child(inner.raw, &[])?;
        other.empty(&[])?;
        let mut given = params(Kind::CU_GRAPH_NODE_TYPE_GRAPH, |all| all.graph.graph = other.raw);
        call!(driver.cuGraphNodeSetParams(node, &mut given))?;
        let (mut child, mut len) = (null_mut(), 0);
        call!(driver.cuGraphChildGraphNodeGetGraph(node, &mut child))?;
        call!(driver.cuGraphGetNodes(child, null_mut(), &mut len))?;
        assert_eq!((child != other.raw, len), (true, 1));
    }

    fn a_child_stays_in_a_graph_with_memory_nodes(driver) {
        let stage = Stage::new(driver)?;
        let (graph, inner, mut node) = (stage.graph()?, stage.graph()?, null_mut());
        let child = graph.child(inner.raw, &[])?;
        let mut alloc = crate::memory::allocation(64);
        call!(driver.cuGraphAddMemAllocNode(&mut node, graph.raw, null_mut(), 0, &mut alloc))?;
        let mut given = params(Kind::CU_GRAPH_NODE_TYPE_GRAPH, |all| all.graph.graph = inner.raw);
        answers!(driver.cuGraphNodeSetParams(child, &mut given), CUDA_ERROR_NOT_SUPPORTED);
    }

    sim fn nodes_of_external_semaphores_are_not_simulated(driver) {
        let stage = Stage::new(driver)?;
        let (graph, mut node) = (stage.graph()?, null_mut());
        let mut given = params(Kind::CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, |_| {});
        answers!(
            driver.cuGraphAddNode(&mut node, graph.raw, null_mut(), 0, &mut given),
            CUDA_ERROR_NOT_SUPPORTED
        );
    }
}

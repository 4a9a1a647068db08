//! Instantiation: its flags, and graphs that cannot be instantiated.
#![expect(unsafe_code, reason = "host functions have C's type")]

use std::ffi::c_void;
use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::*;
use warploom_testkit::{answers, call, code_of, driver_tests};

use crate::conditions::{bodies, conditional};
use crate::support::{Graph, Stage, kind_of, zeroed};

unsafe extern "C" fn nothing(_: *mut c_void) {}

/// The answer, the outcome, and the node that it names.
fn instantiate(driver: &Driver, graph: &Graph<'_>, flags: u64) -> (CUresult, u32, CUgraphNode) {
    let mut raw = null_mut();
    let mut params = CUDA_GRAPH_INSTANTIATE_PARAMS { flags, ..zeroed() };
    let code = code_of(call!(driver.cuGraphInstantiateWithParams(&mut raw, graph.raw, &mut params)));
    if code == CUresult::CUDA_SUCCESS {
        call!(driver.cuGraphExecDestroy(raw)).expect("an executable graph");
    } else {
        assert!(raw.is_null());
    }
    (code, params.result_out.0, params.hErrNode_out)
}

const FINE: (CUresult, u32, CUgraphNode) = (CUresult::CUDA_SUCCESS, 0, null_mut());
const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

driver_tests! {
    fn flags_are_shown_in_part(driver) {
        let stage = Stage::new(driver)?;
        let graph = stage.graph()?;
        graph.kernel(&stage.launch(c"nothing", &mut [])?, &[])?;
        for (flags, seen) in [(0, 0), (1, 1), (4, 4), (8, 0)] {
            let (mut raw, mut shown) = (null_mut(), 99);
            call!(driver.cuGraphInstantiateWithFlags(&mut raw, graph.raw, flags))?;
            call!(driver.cuGraphExecGetFlags(raw, &mut shown))?;
            assert_eq!(shown, seen);
            call!(driver.cuGraphExecDestroy(raw))?;
            assert_eq!(instantiate(driver, &graph, flags), FINE);
        }
        let mut raw = null_mut();
        answers!(driver.cuGraphInstantiateWithFlags(&mut raw, graph.raw, 2), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphInstantiateWithFlags(null_mut(), graph.raw, 0), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(instantiate(driver, &graph, 2), FINE);
        for flags in [5, 15, 16] {
            assert_eq!(instantiate(driver, &graph, flags), (INVALID, 1, null_mut()));
        }
        answers!(driver.cuGraphInstantiateWithParams(&mut raw, graph.raw, null_mut()), CUDA_ERROR_INVALID_VALUE);
    }

    /// A cycle is found at the instantiation, with a node of it.
    fn a_cycle_cannot_be_instantiated(driver) {
        let stage = Stage::new(driver)?;
        let graph = stage.graph()?;
        let a = graph.empty(&[])?;
        let b = graph.empty(&[a])?;
        let c = graph.empty(&[b])?;
        let after = graph.empty(&[c])?;
        call!(driver.cuGraphAddDependencies(graph.raw, [c].as_ptr(), [b].as_ptr(), 1))?;
        let (code, outcome, node) = instantiate(driver, &graph, 0);
        assert_eq!((code, outcome), (INVALID, 2));
        assert!(node == b || node == c, "{node:?} of {a:?} {b:?} {c:?} {after:?}");
        let mut raw = null_mut();
        answers!(driver.cuGraphInstantiateWithFlags(&mut raw, graph.raw, 0), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuGraphRemoveDependencies(graph.raw, [c].as_ptr(), [b].as_ptr(), 1))?;
        assert_eq!(instantiate(driver, &graph, 0), FINE);
    }

    fn edges_against_the_order_of_addition_are_fine(driver) {
        let stage = Stage::new(driver)?;
        let (graph, context) = (stage.graph()?, stage.context());
        let copy = graph.copy(&stage.copy(4, 0, 4), context, &[])?;
        let fill = graph.fill(&stage.fill(0, 3, 4), context, &[])?;
        call!(driver.cuGraphAddDependencies(graph.raw, [fill].as_ptr(), [copy].as_ptr(), 1))?;
        graph.instantiate()?.run()?;
        assert_eq!(stage.words::<2>()?, [0x0303_0303; 2]);
    }

    fn a_condition_without_a_node_cannot_be_instantiated(driver) {
        let stage = Stage::new(driver)?;
        let (graph, mut handle) = (stage.graph()?, 0);
        call!(driver.cuGraphConditionalHandleCreate(&mut handle, graph.raw, stage.context(), 0, 0))?;
        assert_eq!(instantiate(driver, &graph, 0), (INVALID, 5, null_mut()));
    }

    /// Bodies have kernels, copies, fills and graphs; others are found at the instantiation.
    fn bodies_with_other_nodes_cannot_be_instantiated(driver) {
        let stage = Stage::new(driver)?;
        let (graph, context, mut handle, mut node) = (stage.graph()?, stage.context(), 0, null_mut());
        call!(driver.cuGraphConditionalHandleCreate(&mut handle, graph.raw, context, 0, 0))?;
        let mut params = conditional(handle, CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF, 1, context);
        call!(driver.cuGraphAddNode_v2(&mut node, graph.raw, null_mut(), null_mut(), 0, &mut params))?;
        let body = bodies(&params)[0];
        let (fill, function) = (stage.fill(0, 1, 4), CUDA_HOST_NODE_PARAMS { fn_: Some(nothing), userData: null_mut() });
        call!(driver.cuGraphAddMemsetNode(&mut node, body, null_mut(), 0, &fill, context))?;
        assert_eq!(instantiate(driver, &graph, 0), FINE);
        call!(driver.cuGraphAddHostNode(&mut node, body, null_mut(), 0, &function))?;
        assert_eq!(instantiate(driver, &graph, 0), (INVALID, 3, node));
        call!(driver.cuGraphDestroyNode(node))?;
        let bytes = [0; 64];
        call!(driver.cuGraphAddMemcpyNode(&mut node, body, null_mut(), 0, &stage.upload(0, &bytes), context))?;
        assert_eq!(instantiate(driver, &graph, 0), (INVALID, 4, node));
        let mut raw = null_mut();
        answers!(driver.cuGraphInstantiateWithFlags(&mut raw, body, 0), CUDA_ERROR_NOT_SUPPORTED);
    }

    fn a_device_launches_work_of_devices_only(driver) {
        let stage = Stage::new(driver)?;
        let (graph, mut node) = (stage.graph()?, null_mut());
        assert_eq!(instantiate(driver, &graph, 4), (INVALID, 1, null_mut()));
        graph.fill(&stage.fill(0, 1, 4), stage.context(), &[])?;
        assert_eq!(instantiate(driver, &graph, 4), FINE);
        let function = CUDA_HOST_NODE_PARAMS { fn_: Some(nothing), userData: null_mut() };
        call!(driver.cuGraphAddHostNode(&mut node, graph.raw, null_mut(), 0, &function))?;
        assert_eq!(instantiate(driver, &graph, 4), (INVALID, 3, node));
        assert_eq!(kind_of(driver, node)?, CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST);
    }

    fn a_graph_with_memory_has_one_executable(driver) {
        let stage = Stage::new(driver)?;
        let (graph, mut node, mut params) = (stage.graph()?, null_mut(), crate::memory::allocation(64));
        call!(driver.cuGraphAddMemAllocNode(&mut node, graph.raw, null_mut(), 0, &mut params))?;
        call!(driver.cuGraphAddMemFreeNode(&mut node, graph.raw, [node].as_ptr(), 1, params.dptr))?;
        let executable = graph.instantiate()?;
        assert_eq!(instantiate(driver, &graph, 0), (CUresult::CUDA_ERROR_NOT_SUPPORTED, 1, null_mut()));
        drop(executable);
        assert_eq!(instantiate(driver, &graph, 0), FINE);
    }
}

//! Conditional nodes: their conditions and bodies.
#![expect(unsafe_code, reason = "reads the driver's array of bodies")]

use std::ptr::null_mut;

use warploom_sim::Mode;
use warploom_sim::topology::Topology;
use warploom_testkit::sys::types::*;
use warploom_testkit::{TestResult, answers, call, code_of, driver_tests, open};

use crate::support::{Graph, Stage, zeroed};

/// The parameters of a conditional node.
pub(crate) fn conditional(
    handle: CUgraphConditionalHandle,
    kind: CUgraphConditionalNodeType,
    size: u32,
    context: CUcontext,
) -> CUgraphNodeParams {
    let mut params: CUgraphNodeParams = zeroed();
    params.type_ = CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL;
    params.__bindgen_anon_1.conditional =
        CUDA_CONDITIONAL_NODE_PARAMS { handle, type_: kind, size, phGraph_out: null_mut(), ctx: context };
    params
}

/// The bodies of a conditional node that was just added.
pub(crate) fn bodies(params: &CUgraphNodeParams) -> Vec<CUgraph> {
    // SAFETY: the driver filled the member of a conditional node, whose array has as many graphs.
    unsafe {
        let conditional = params.__bindgen_anon_1.conditional;
        std::slice::from_raw_parts(conditional.phGraph_out, conditional.size as usize).to_vec()
    }
}

pub(crate) const IF: CUgraphConditionalNodeType = CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF;
const WHILE: CUgraphConditionalNodeType = CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_WHILE;
const SWITCH: CUgraphConditionalNodeType = CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_SWITCH;

driver_tests! {
    fn conditions_need_a_graph_and_a_context(driver) {
        let stage = Stage::new(driver)?;
        let (graph, context, mut first, mut second) = (stage.graph()?, stage.context(), 0, 0);
        call!(driver.cuGraphConditionalHandleCreate(&mut first, graph.raw, context, 0, 0))?;
        call!(driver.cuGraphConditionalHandleCreate(&mut second, graph.raw, context, 5, 1))?;
        assert!(first != 0 && first != second);
        answers!(driver.cuGraphConditionalHandleCreate(&mut first, graph.raw, context, 0, 2), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphConditionalHandleCreate(&mut first, null_mut(), context, 0, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(
            driver.cuGraphConditionalHandleCreate(null_mut(), graph.raw, context, 0, 0),
            CUDA_ERROR_INVALID_VALUE
        );
        answers!(
            driver.cuGraphConditionalHandleCreate(&mut first, graph.raw, null_mut(), 0, 0),
            CUDA_ERROR_INVALID_CONTEXT
        );
    }

    /// A conditional node comes with its bodies, which belong to it.
    fn bodies_come_with_their_node(driver) {
        let stage = Stage::new(driver)?;
        let (graph, context, mut node) = (stage.graph()?, stage.context(), null_mut());
        for (kind, size) in [(IF, 1), (IF, 2), (WHILE, 1), (SWITCH, 5)] {
            let mut handle = 0;
            call!(driver.cuGraphConditionalHandleCreate(&mut handle, graph.raw, context, 0, 0))?;
            let mut params = conditional(handle, kind, size, context);
            call!(driver.cuGraphAddNode_v2(&mut node, graph.raw, null_mut(), null_mut(), 0, &mut params))?;
            let bodies = bodies(&params);
            assert_eq!(bodies.len(), size as usize);
            let (mut inside, mut copy) = (null_mut(), null_mut());
            call!(driver.cuGraphAddEmptyNode(&mut inside, bodies[0], null_mut(), 0))?;
            answers!(driver.cuGraphDestroy(bodies[0]), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuGraphClone(&mut copy, bodies[0]), CUDA_ERROR_NOT_SUPPORTED);
            // A condition is for one node.
            let mut again = conditional(handle, kind, size, context);
            answers!(
                driver.cuGraphAddNode_v2(&mut node, graph.raw, null_mut(), null_mut(), 0, &mut again),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        assert_eq!(graph.counts()?, (4, 0));
    }

    fn conditional_nodes_that_make_no_sense_are_refused(driver) {
        let stage = Stage::new(driver)?;
        let (graph, other, context) = (stage.graph()?, stage.graph()?, stage.context());
        let (mut own, mut foreign, mut node) = (0, 0, null_mut());
        call!(driver.cuGraphConditionalHandleCreate(&mut own, graph.raw, context, 0, 0))?;
        // The driver counts the conditions of each graph, so that the other needs one that this graph does
        // not get to.
        for _ in 0..32 {
            call!(driver.cuGraphConditionalHandleCreate(&mut foreign, other.raw, context, 0, 0))?;
        }
        let kind = CUgraphConditionalNodeType;
        for (handle, kind, size) in [
            (own, IF, 0),
            (own, IF, 3),
            (own, WHILE, 0),
            (own, WHILE, 2),
            (own, SWITCH, 0),
            (own, kind(3), 1),
            (foreign, IF, 1),
            (0, IF, 1),
            (0x1234, IF, 1),
        ] {
            // A condition of its own for each, as the one that a call was refused for may be taken.
            let mut fresh = 0;
            call!(driver.cuGraphConditionalHandleCreate(&mut fresh, graph.raw, context, 0, 0))?;
            let mut params = conditional(if handle == own { fresh } else { handle }, kind, size, context);
            let answer = call!(driver.cuGraphAddNode_v2(&mut node, graph.raw, null_mut(), null_mut(), 0, &mut params));
            assert_eq!(code_of(answer), CUresult::CUDA_ERROR_INVALID_VALUE, "{handle:#x} {kind:?} {size}");
        }
        let mut params = conditional(own, IF, 1, null_mut());
        answers!(
            driver.cuGraphAddNode_v2(&mut node, graph.raw, null_mut(), null_mut(), 0, &mut params),
            CUDA_ERROR_INVALID_CONTEXT
        );
        assert_eq!(graph.counts()?, (0, 0));
        // A destroyed node sets its condition free.
        for _ in 0..2 {
            let mut params = conditional(own, IF, 1, context);
            call!(driver.cuGraphAddNode_v2(&mut node, graph.raw, null_mut(), null_mut(), 0, &mut params))?;
            call!(driver.cuGraphDestroyNode(node))?;
        }
    }

    /// Any context can be current when the graph is instantiated.
    fn conditional_nodes_run_in_the_context_of_their_condition(driver) {
        let stage = Stage::new(driver)?;
        let (context, mut elsewhere) = (stage.context(), null_mut());
        call!(driver.cuCtxCreate_v2(&mut elsewhere, 0, 0))?;
        call!(driver.cuCtxSetCurrent(context))?;
        let add = |graph: &Graph<'_>, of_handle, of_node| {
            let (mut handle, mut node) = (0, null_mut());
            call!(driver.cuGraphConditionalHandleCreate(&mut handle, graph.raw, of_handle, 0, 0))?;
            let mut params = conditional(handle, IF, 1, of_node);
            call!(driver.cuGraphAddNode_v2(&mut node, graph.raw, null_mut(), null_mut(), 0, &mut params))
        };
        for (of_handle, of_node) in [(context, elsewhere), (elsewhere, context)] {
            let graph = stage.graph()?;
            let answer = add(&graph, of_handle, of_node);
            assert_eq!(code_of(answer), CUresult::CUDA_ERROR_INVALID_VALUE);
            assert_eq!(graph.counts()?, (0, 0));
        }
        for contexts in [&[context][..], &[elsewhere], &[context, elsewhere], &[elsewhere, context]] {
            for current in [context, elsewhere] {
                let graph = stage.graph()?;
                contexts.iter().try_for_each(|of_both| add(&graph, *of_both, *of_both))?;
                call!(driver.cuCtxSetCurrent(current))?;
                let executable = graph.instantiate()?;
                call!(driver.cuCtxSetCurrent(context))?;
                executable.run()?;
            }
        }
        call!(driver.cuCtxDestroy_v2(elsewhere))?;
    }
}

/// The inner node goes with the body that it is in; its condition belongs to the outer graph and stays.
#[test]
fn a_condition_is_free_again_when_its_node_is_gone() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let driver = &driver;
    let stage = Stage::new(driver)?;
    let (graph, context, mut handles) = (stage.graph()?, stage.context(), [0; 2]);
    for handle in &mut handles {
        call!(driver.cuGraphConditionalHandleCreate(handle, graph.raw, context, 0, 0))?;
    }
    let add = |graph: CUgraph, handle| {
        let (mut node, mut params) = (null_mut(), conditional(handle, IF, 1, context));
        let added = call!(driver.cuGraphAddNode_v2(&mut node, graph, null_mut(), null_mut(), 0, &mut params));
        added.map(|()| (node, bodies(&params)[0]))
    };
    for _ in 0..2 {
        let (outer, body) = add(graph.raw, handles[0])?;
        add(body, handles[1])?;
        let answer = add(graph.raw, handles[1]).map(drop);
        assert_eq!(code_of(answer), CUresult::CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuGraphDestroyNode(outer))?;
    }
    add(graph.raw, handles[1])?;
    Ok(())
}

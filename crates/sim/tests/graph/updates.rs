//! Updates of an executable by a graph: permitted differences, and the node named in a refusal.

use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::*;
use warploom_testkit::{TestResult, answers, call, driver_tests};

use crate::support::{Executable, Graph, Stage, zeroed};

type Outcome = CUgraphExecUpdateResult;

/// The outcome of an update, and the node that it names.
fn update(driver: &Driver, executable: &Executable<'_>, graph: &Graph<'_>) -> (Outcome, CUgraphNode) {
    let mut info: CUgraphExecUpdateResultInfo = zeroed();
    let answer = call!(driver.cuGraphExecUpdate_v2(executable.raw, graph.raw, &mut info));
    let code = warploom_testkit::code_of(answer);
    let expected = match info.result {
        Outcome::CU_GRAPH_EXEC_UPDATE_SUCCESS => CUresult::CUDA_SUCCESS,
        _ => CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
    };
    assert_eq!(code, expected);
    (info.result, info.errorNode)
}

const SUCCESS: Outcome = Outcome::CU_GRAPH_EXEC_UPDATE_SUCCESS;
const TOPOLOGY: Outcome = Outcome::CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
const KIND: Outcome = Outcome::CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
const PARAMETERS: Outcome = Outcome::CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
const ATTRIBUTES: Outcome = Outcome::CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
const UNSUPPORTED: Outcome = Outcome::CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;

driver_tests! {
    /// An executable takes over the parameters of a graph with the same shape.
    fn a_graph_of_the_same_shape_updates(driver) {
        let stage = Stage::new(driver)?;
        let (graph, other, context) = (stage.graph()?, stage.graph()?, stage.context());
        let first = graph.fill(&stage.fill(0, 1, 4), context, &[])?;
        graph.copy(&stage.copy(4, 0, 4), context, &[first])?;
        let executable = graph.instantiate()?;
        // The order in which nodes are added does not count.
        let copy = other.copy(&stage.copy(8, 0, 4), context, &[])?;
        let fill = other.fill(&CUDA_MEMSET_NODE_PARAMS { elementSize: 4, width: 1, ..stage.fill(0, 9, 1) }, context, &[])?;
        call!(driver.cuGraphAddDependencies(other.raw, [fill].as_ptr(), [copy].as_ptr(), 1))?;
        assert_eq!(update(driver, &executable, &other), (SUCCESS, null_mut()));
        executable.run()?;
        assert_eq!(stage.words::<3>()?, [9, 0, 9]);
        // The nodes of the first graph still name those of the executable.
        call!(driver.cuGraphNodeSetEnabled(executable.raw, first, 0))?;
        answers!(driver.cuGraphNodeSetEnabled(executable.raw, fill, 0), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuGraphExecUpdate_v2(executable.raw, graph.raw, null_mut()))?;
        executable.run()?;
        assert_eq!(stage.words::<3>()?, [9, 9, 9], "a disabled node stays so");
        answers!(driver.cuGraphExecUpdate_v2(null_mut(), graph.raw, null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphExecUpdate_v2(executable.raw, null_mut(), null_mut()), CUDA_ERROR_INVALID_VALUE);
    }

    /// Nodes are compared level by level from the newest ends on: first the number of dependencies, then the kind.
    fn the_first_node_that_differs_is_named(driver) {
        let stage = Stage::new(driver)?;
        type Shape<'s> = &'s [(char, &'s [usize])];
        let build = |shape: Shape<'_>| -> TestResult<_> {
            let (graph, mut nodes) = (stage.graph()?, Vec::new());
            let context = stage.context();
            for (kind, after) in shape {
                let after: Vec<CUgraphNode> = after.iter().map(|index| nodes[*index]).collect();
                let fill = stage.fill(0, 1, 4);
                nodes.push(if *kind == 'e' { graph.empty(&after)? } else { graph.fill(&fill, context, &after)? });
            }
            Ok((graph, nodes))
        };
        let rows: [(Shape<'_>, Shape<'_>, Outcome, usize, Option<usize>); 5] = [
            (&[('e', &[]), ('f', &[])], &[('f', &[]), ('e', &[])], KIND, 1, None),
            (
                &[('e', &[]), ('e', &[0]), ('f', &[])],
                &[('f', &[]), ('e', &[]), ('e', &[1])],
                TOPOLOGY, 2, None,
            ),
            (
                &[('e', &[]), ('f', &[]), ('e', &[1])],
                &[('f', &[]), ('f', &[0]), ('f', &[0])],
                KIND, 2, None,
            ),
            (
                &[('f', &[]), ('f', &[0]), ('e', &[1])],
                &[('f', &[]), ('e', &[]), ('e', &[])],
                TOPOLOGY, 1, None,
            ),
            (
                &[('f', &[]), ('e', &[]), ('e', &[0, 1]), ('e', &[1])],
                &[('f', &[]), ('e', &[]), ('e', &[1, 0]), ('e', &[1])],
                TOPOLOGY, 2, Some(1),
            ),
        ];
        for (old, new, result, node, from) in rows {
            let ((graph, _), (other, nodes)) = (build(old)?, build(new)?);
            let executable = graph.instantiate()?;
            let mut info: CUgraphExecUpdateResultInfo = zeroed();
            answers!(
                driver.cuGraphExecUpdate_v2(executable.raw, other.raw, &mut info),
                CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
            );
            let from = from.map_or(null_mut(), |from| nodes[from]);
            assert_eq!((info.result, info.errorNode, info.errorFromNode), (result, nodes[node], from), "{old:?} {new:?}");
        }
    }

    /// Each node is compared with its partner, parameters included, before those that come behind it.
    fn parameters_are_compared_with_the_nodes(driver) {
        let stage = Stage::new(driver)?;
        let (old, mut new) = (stage.fill(0, 1, 4), stage.fill(0, 1, 4));
        (new.height, new.pitch) = (2, 8);
        let with = |fill: &CUDA_MEMSET_NODE_PARAMS, empty_behind: usize, before: bool| -> TestResult<_> {
            let (graph, mut nodes, context) = (stage.graph()?, Vec::new(), stage.context());
            if before {
                nodes.push(graph.fill(&old, context, &[])?);
            } else {
                nodes.push(graph.empty(&[])?);
            }
            nodes.push(graph.fill(fill, context, &[nodes[0]])?);
            for _ in 0..empty_behind {
                nodes.push(graph.empty(&[])?);
            }
            Ok((graph, nodes))
        };
        let executable = with(&old, 0, false)?.0.instantiate()?;
        let (other, nodes) = with(&new, 0, true)?;
        assert_eq!(update(driver, &executable, &other), (PARAMETERS, nodes[1]), "its dependency differs in kind");
        let (other, nodes) = with(&old, 0, true)?;
        assert_eq!(update(driver, &executable, &other), (KIND, nodes[0]));

        // The newest end comes first.
        let graph = with(&old, 0, false)?.0;
        graph.fill(&old, stage.context(), &[])?;
        let executable = graph.instantiate()?;
        let (other, nodes) = with(&new, 1, false)?;
        assert_eq!(update(driver, &executable, &other), (KIND, nodes[2]));

        // So does a node before other edges of its dependency.
        let (graph, mut last) = (stage.graph()?, Vec::new());
        let (other, mut others) = (stage.graph()?, Vec::new());
        let (first, second) = (graph.empty(&[])?, other.empty(&[])?);
        last.push(graph.empty(&[first])?);
        others.push(other.empty(&[second])?);
        last.push(graph.empty(&[first])?);
        others.push(other.empty(&[others[0]])?);
        let (joined, other_joined) = (graph.empty(&last)?, other.empty(&others)?);
        graph.fill(&old, stage.context(), &[joined])?;
        let differing = other.fill(&new, stage.context(), &[other_joined])?;
        assert_eq!(update(driver, &graph.instantiate()?, &other), (PARAMETERS, differing));
    }

    fn a_graph_of_another_shape_is_refused(driver) {
        let stage = Stage::new(driver)?;
        let (graph, context) = (stage.graph()?, stage.context());
        let kernel = stage.launch(c"nothing", &mut [])?;
        let first = graph.kernel(&kernel, &[])?;
        graph.fill(&stage.fill(0, 1, 4), context, &[first])?;
        let executable = graph.instantiate()?;
        let fewer = stage.graph()?;
        assert_eq!(update(driver, &executable, &fewer), (TOPOLOGY, null_mut()));
        let more = stage.graph()?;
        let nodes = [more.kernel(&kernel, &[])?, more.empty(&[])?];
        more.fill(&stage.fill(0, 1, 4), context, &nodes)?;
        assert_eq!(update(driver, &executable, &more), (TOPOLOGY, null_mut()));
        let loose = stage.graph()?;
        let named = loose.kernel(&kernel, &[])?;
        loose.fill(&stage.fill(0, 1, 4), context, &[])?;
        assert_eq!(update(driver, &executable, &loose), (TOPOLOGY, named));
        let swapped = stage.graph()?;
        let fill = swapped.fill(&stage.fill(0, 1, 4), context, &[])?;
        let last = swapped.kernel(&kernel, &[fill])?;
        assert_eq!(update(driver, &executable, &swapped), (KIND, last));
        executable.run()?;
        assert_eq!(stage.words::<1>()?, [0x0101_0101], "a refused update changes nothing");
    }

    fn work_that_does_not_fit_is_refused(driver) {
        let stage = Stage::new(driver)?;
        let context = stage.context();
        let (fills, copies) = (stage.graph()?, stage.graph()?);
        fills.fill(&stage.fill(0, 1, 4), context, &[])?;
        copies.copy(&stage.copy(0, 4096, 64), context, &[])?;
        let (fill, copy) = (fills.instantiate()?, copies.instantiate()?);
        let rows = stage.graph()?;
        let node = rows.fill(&CUDA_MEMSET_NODE_PARAMS { height: 2, pitch: 16, ..stage.fill(0, 1, 4) }, context, &[])?;
        assert_eq!(update(driver, &fill, &rows), (PARAMETERS, node));
        let (uploads, bytes) = (stage.graph()?, [1; 64]);
        let node = uploads.copy(&stage.upload(0, &bytes), context, &[])?;
        assert_eq!(update(driver, &copy, &uploads), (PARAMETERS, node));
        let blocks = stage.graph()?;
        let block = CUDA_MEMCPY3D { Height: 2, srcPitch: 128, dstPitch: 256, ..stage.copy(0, 4096, 64) };
        let node = blocks.copy(&block, context, &[])?;
        assert_eq!(update(driver, &copy, &blocks), (PARAMETERS, node));
        let longer = stage.graph()?;
        longer.copy(&stage.copy(0, 4096, 128), context, &[])?;
        assert_eq!(update(driver, &copy, &longer), (SUCCESS, null_mut()));
    }

    fn a_kernel_may_change_its_function_and_not_its_cooperation(driver) {
        let stage = Stage::new(driver)?;
        let (graph, other, mut to, mut value) = (stage.graph()?, stage.graph()?, stage.memory, 6_u32);
        graph.kernel(&stage.launch(c"nothing", &mut [])?, &[])?;
        let executable = graph.instantiate()?;
        let mut arguments = [(&raw mut to).cast(), (&raw mut value).cast()];
        let node = other.kernel(&stage.launch(c"store", &mut arguments)?, &[])?;
        assert_eq!(update(driver, &executable, &other), (SUCCESS, null_mut()));
        executable.run()?;
        assert_eq!(stage.words::<1>()?, [6]);
        let (id, on) = (CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY, CUlaunchAttributeValue { priority: -3 });
        call!(driver.cuGraphKernelNodeSetAttribute(node, id, &on))?;
        assert_eq!(update(driver, &executable, &other), (SUCCESS, null_mut()));
        let (id, on) = (CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CUlaunchAttributeValue { cooperative: 1 });
        call!(driver.cuGraphKernelNodeSetAttribute(node, id, &on))?;
        assert_eq!(update(driver, &executable, &other), (ATTRIBUTES, node));
    }

    /// They are compared as they were requested, before they are clamped to the device's range.
    fn an_executable_with_priorities_of_nodes_keeps_them(driver) {
        let stage = Stage::new(driver)?;
        let with = |priority: Option<i32>| {
            let graph = stage.graph()?;
            let node = graph.kernel(&stage.launch(c"nothing", &mut [])?, &[])?;
            if let Some(priority) = priority {
                let value = CUlaunchAttributeValue { priority };
                let id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY;
                call!(driver.cuGraphKernelNodeSetAttribute(node, id, &value))?;
            }
            Ok::<_, Box<dyn std::error::Error>>((graph, node))
        };
        for (first, second, is_same) in [
            (None, Some(0), true),
            (Some(0), None, true),
            (Some(-2), Some(-2), true),
            (None, Some(-2), false),
            (Some(-5), Some(-100), false),
        ] {
            let ((graph, _), (other, node)) = (with(first)?, with(second)?);
            let executable = graph.instantiate_with(8)?;
            let expected = if is_same { (SUCCESS, null_mut()) } else { (ATTRIBUTES, node) };
            assert_eq!(update(driver, &executable, &other), expected, "{first:?} and {second:?}");
        }
    }

    fn graphs_inside_graphs_are_compared_and_updated(driver) {
        let stage = Stage::new(driver)?;
        let context = stage.context();
        let with_child = |value: u32, is_longer: bool| {
            let (graph, inner) = (stage.graph()?, stage.graph()?);
            let fill = inner.fill(&stage.fill(0, value, 4), context, &[])?;
            if is_longer {
                inner.empty(&[fill])?;
            }
            let node = graph.child(inner.raw, &[])?;
            Ok::<_, Box<dyn std::error::Error>>((graph, inner, node))
        };
        let (graph, _inner, node) = with_child(1, false)?;
        let (same, same_inner, _) = with_child(2, false)?;
        let (longer, longer_inner, _) = with_child(3, true)?;
        let executable = graph.instantiate()?;
        assert_eq!(update(driver, &executable, &longer), (TOPOLOGY, null_mut()));
        assert_eq!(update(driver, &executable, &same), (SUCCESS, null_mut()));
        executable.run()?;
        assert_eq!(stage.words::<1>()?, [0x0202_0202]);
        answers!(
            driver.cuGraphExecChildGraphNodeSetParams(executable.raw, node, longer_inner.raw),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
        );
        let (mut inside, mut count) = (null_mut(), 1);
        call!(driver.cuGraphGetNodes(same_inner.raw, &mut inside, &mut count))?;
        call!(driver.cuGraphMemsetNodeSetParams(inside, &stage.fill(0, 5, 4)))?;
        call!(driver.cuGraphExecChildGraphNodeSetParams(executable.raw, node, same_inner.raw))?;
        executable.run()?;
        assert_eq!(stage.words::<1>()?, [0x0505_0505]);
    }

    fn conditional_nodes_keep_their_kind(driver) {
        let stage = Stage::new(driver)?;
        let context = stage.context();
        let with = |kind: CUgraphConditionalNodeType| {
            let (graph, mut handle, mut node) = (stage.graph()?, 0, null_mut());
            call!(driver.cuGraphConditionalHandleCreate(&mut handle, graph.raw, context, 0, 1))?;
            let mut params = crate::conditions::conditional(handle, kind, 1, context);
            call!(driver.cuGraphAddNode_v2(&mut node, graph.raw, null_mut(), null_mut(), 0, &mut params))?;
            Ok::<_, Box<dyn std::error::Error>>((graph, node))
        };
        let (graph, _) = with(CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF)?;
        let (same, _) = with(CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF)?;
        let (other, node) = with(CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_WHILE)?;
        let executable = graph.instantiate()?;
        assert_eq!(update(driver, &executable, &same), (SUCCESS, null_mut()));
        assert_eq!(update(driver, &executable, &other), (UNSUPPORTED, node));
    }
}

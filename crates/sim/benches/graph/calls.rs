//! Calls for graphs of two sizes: a node of the large one takes as long as one of the small one.
#![expect(unsafe_code, reason = "fills in structures of C")]

use std::ptr::{null, null_mut};
use std::time::Instant;

use warploom_testkit::sys::types::{
    CUDA_CONDITIONAL_NODE_PARAMS, CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS_v2, CUgraph,
    CUgraphConditionalNodeType, CUgraphExec, CUgraphExecUpdateResultInfo, CUgraphNode, CUgraphNodeParams,
    CUgraphNodeType, CUmemAllocationType, CUmemLocation, CUmemLocationType,
};
use warploom_testkit::{TestResult, call};

use crate::{Bench, Case, nanoseconds};

const FILL: Case = Case { name: "", fills: true, is_chain: false };
const EMPTY: Case = Case { name: "", fills: false, is_chain: false };

/// Nodes of the small graph and of the large one.
const SIZES: [usize; 2] = [1_500, 24_000];

type Measured = fn(&Bench, usize) -> TestResult<f64>;

/// The calls, and the nanoseconds that they take for a graph of so many nodes.
const CALLS: [(&str, Measured); 7] = [
    ("set parameters in an executable", set_parameters),
    ("set a child graph in an executable", set_children),
    ("update, every other node empty", update_with_empty_nodes),
    ("update a body", update_body),
    ("instantiate a chain of joins", instantiate_joins),
    ("add an allocation and its free", add_memory),
    ("free and allocate again, at a launch", launch_memory),
];

/// Measures one call, and prints its row.
pub(crate) fn row(index: usize) -> TestResult {
    let ((name, measured), bench) = (CALLS[index], Bench::new(warploom_testkit::sim::Mode::Threads)?);
    let mut per_node = [0.0; SIZES.len()];
    for (size, figure) in SIZES.into_iter().zip(&mut per_node) {
        *figure = f64::min(measured(&bench, size)?, measured(&bench, size)?) / size as f64;
    }
    println!("{name:<40}{:>12.0}{:>12.0}", per_node[0], per_node[1]);
    let [few, many] = per_node;
    assert!(many <= 5.0 * few + 200.0, "the cost per node grows with the number of nodes");
    Ok(())
}

pub(crate) fn print_heading() {
    println!();
    println!("{:<40}{:>12}{:>12}", "ns per node, in graphs of so many", SIZES[0], SIZES[1]);
}

pub(crate) const ROWS: usize = CALLS.len();

/// A graph, and an executable of it if there is one, which end with this value.
struct Made<'b> {
    bench: &'b Bench,
    graph: CUgraph,
    exec: CUgraphExec,
}

impl<'b> Made<'b> {
    fn new(bench: &'b Bench) -> TestResult<Made<'b>> {
        let (driver, mut graph) = (&bench.driver, null_mut());
        call!(driver.cuGraphCreate(&mut graph, 0))?;
        Ok(Made { bench, graph, exec: null_mut() })
    }

    fn instantiate(&mut self, flags: u64) -> TestResult {
        let driver = &self.bench.driver;
        Ok(call!(driver.cuGraphInstantiateWithFlags(&mut self.exec, self.graph, flags))?)
    }

    fn update(&self) -> TestResult<f64> {
        let (driver, start) = (&self.bench.driver, Instant::now());
        // SAFETY: all of it are numbers and pointers, for which 0 is a value.
        let mut info: CUgraphExecUpdateResultInfo = unsafe { std::mem::zeroed() };
        call!(driver.cuGraphExecUpdate_v2(self.exec, self.graph, &mut info))?;
        Ok(nanoseconds(start))
    }
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        let driver = &self.bench.driver;
        if !self.exec.is_null() {
            call!(driver.cuGraphExecDestroy(self.exec)).unwrap_or_default();
        }
        call!(driver.cuGraphDestroy(self.graph)).unwrap_or_default();
    }
}

/// Parameters of a node, with 0 everywhere.
fn params_of(kind: CUgraphNodeType) -> CUgraphNodeParams {
    // SAFETY: all of it are numbers and pointers, for which 0 is a value.
    let mut params: CUgraphNodeParams = unsafe { std::mem::zeroed() };
    params.type_ = kind;
    params
}

fn set_parameters(bench: &Bench, size: usize) -> TestResult<f64> {
    let (driver, mut made) = (&bench.driver, Made::new(bench)?);
    let nodes = (0..size).map(|_| bench.add(made.graph, FILL, None)).collect::<TestResult<Vec<_>>>()?;
    made.instantiate(0)?;
    let mut params = params_of(CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET);
    params.__bindgen_anon_1.memset = CUDA_MEMSET_NODE_PARAMS_v2 {
        dst: bench.fill.dst,
        pitch: 0,
        value: 2,
        elementSize: 1,
        width: 4,
        height: 1,
        ctx: bench.primary.context,
    };
    let start = Instant::now();
    for node in nodes {
        call!(driver.cuGraphExecNodeSetParams(made.exec, node, &mut params))?;
    }
    Ok(nanoseconds(start))
}

fn set_children(bench: &Bench, size: usize) -> TestResult<f64> {
    let (driver, mut made, inner) = (&bench.driver, Made::new(bench)?, Made::new(bench)?);
    bench.add(inner.graph, FILL, None)?;
    let add = |_| -> TestResult<CUgraphNode> {
        let mut node = null_mut();
        call!(driver.cuGraphAddChildGraphNode(&mut node, made.graph, null(), 0, inner.graph))?;
        Ok(node)
    };
    let nodes = (0..size).map(add).collect::<TestResult<Vec<_>>>()?;
    made.instantiate(0)?;
    let start = Instant::now();
    for node in nodes {
        call!(driver.cuGraphExecChildGraphNodeSetParams(made.exec, node, inner.graph))?;
    }
    Ok(nanoseconds(start))
}

/// Empty nodes are no steps of a launch.
fn update_with_empty_nodes(bench: &Bench, size: usize) -> TestResult<f64> {
    let mut made = Made::new(bench)?;
    for _ in 0..size / 2 {
        bench.add(made.graph, FILL, None)?;
        bench.add(made.graph, EMPTY, None)?;
    }
    made.instantiate(0)?;
    made.update()
}

fn update_body(bench: &Bench, size: usize) -> TestResult<f64> {
    let (driver, context, mut made) = (&bench.driver, bench.primary.context, Made::new(bench)?);
    let (mut handle, mut node) = (0, null_mut());
    call!(driver.cuGraphConditionalHandleCreate(&mut handle, made.graph, context, 0, 1))?;
    let mut params = params_of(CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL);
    params.__bindgen_anon_1.conditional = CUDA_CONDITIONAL_NODE_PARAMS {
        handle,
        type_: CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF,
        size: 1,
        phGraph_out: null_mut(),
        ctx: context,
    };
    call!(driver.cuGraphAddNode_v2(&mut node, made.graph, null(), null(), 0, &mut params))?;
    // SAFETY: the driver has filled the member of a conditional node, with an array of one graph.
    let body = unsafe { *params.__bindgen_anon_1.conditional.phGraph_out };
    for _ in 0..size {
        bench.add(body, FILL, None)?;
    }
    made.instantiate(0)?;
    made.update()
}

/// Each empty node waits for one more fill, and for those before by the empty node before it.
fn instantiate_joins(bench: &Bench, size: usize) -> TestResult<f64> {
    let (driver, mut made) = (&bench.driver, Made::new(bench)?);
    let mut last = bench.add(made.graph, EMPTY, None)?;
    for _ in 0..size / 2 {
        let after = [last, bench.add(made.graph, FILL, None)?];
        call!(driver.cuGraphAddEmptyNode(&mut last, made.graph, after.as_ptr(), after.len()))?;
    }
    let start = Instant::now();
    made.instantiate(0)?;
    Ok(nanoseconds(start))
}

fn allocation() -> CUDA_MEM_ALLOC_NODE_PARAMS {
    // SAFETY: all of it are numbers and pointers, for which 0 is a value.
    let mut params: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
    params.poolProps.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, 0);
    params.bytesize = 512;
    params
}

/// Each allocation comes behind all those before, and behind their frees.
fn add_memory(bench: &Bench, size: usize) -> TestResult<f64> {
    let (driver, made) = (&bench.driver, Made::new(bench)?);
    let mut last = bench.add(made.graph, EMPTY, None)?;
    let start = Instant::now();
    for _ in 0..size / 2 {
        let mut params = allocation();
        call!(driver.cuGraphAddMemAllocNode(&mut last, made.graph, [last].as_ptr(), 1, &mut params))?;
        call!(driver.cuGraphAddMemFreeNode(&mut last, made.graph, [last].as_ptr(), 1, params.dptr))?;
    }
    Ok(nanoseconds(start))
}

/// A launch frees the memory that the one before has left, and allocates it again.
fn launch_memory(bench: &Bench, size: usize) -> TestResult<f64> {
    let (driver, mut made, mut node) = (&bench.driver, Made::new(bench)?, null_mut());
    for _ in 0..size {
        call!(driver.cuGraphAddMemAllocNode(&mut node, made.graph, null(), 0, &mut allocation()))?;
    }
    made.instantiate(1)?;
    call!(driver.cuGraphLaunch(made.exec, bench.stream))?;
    call!(driver.cuStreamSynchronize(bench.stream))?;
    let start = Instant::now();
    call!(driver.cuGraphLaunch(made.exec, bench.stream))?;
    let elapsed = nanoseconds(start);
    call!(driver.cuStreamSynchronize(bench.stream))?;
    Ok(elapsed)
}

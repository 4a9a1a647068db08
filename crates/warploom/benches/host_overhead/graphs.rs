//! Graphs: their nodes, executables and launches, as calls through the bare table, and with warploom.
//!
//! A graph of warploom's keeps the kernel and the memory of every node. Where nodes are added, the calls through the
//! table do the same with a user object for each, whose destructor does nothing. Executables that are made and launched
//! through the table have nothing attached.
#![expect(unsafe_code, reason = "calls through the bare table, and adds kernels to graphs")]

use std::any::Any;
use std::ffi::c_void;
use std::hint::black_box;
use std::mem::zeroed;
use std::ptr::{null, null_mut};

use warploom::graph::{KernelNode, Operand, OperandMut};
use warploom::sys::types::{
    CUDA_GRAPH_INSTANTIATE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEMCPY3D_v2, CUdeviceptr, CUgraph, CUgraphExec,
    CUgraphNode, CUmemorytype, CUresult, CUuserObject_flags, CUuserObjectRetain_flags,
};
use warploom::{CheckedConfig, GraphDef, GraphExec, Kernel, LaunchConfig, Shape};

use crate::launches::SHAPE;
use crate::measure::{Outcome, Row, Work, repeat};
use crate::operations::{BYTES, Bench, function, success};

/// The nodes of a graph.
pub(crate) const NODES: u32 = 1000;

/// The driver's function that destroys a graph.
type Destroy = unsafe extern "C" fn(CUgraph) -> CUresult;

/// A graph that was made through the table.
struct RawGraph {
    raw: CUgraph,
    destroy: Destroy,
}

impl Drop for RawGraph {
    fn drop(&mut self) {
        // SAFETY: the graph belongs to this value. The process goes on if it stays.
        _ = unsafe { (self.destroy)(self.raw) };
    }
}

/// An executable that was made through the table, with its graph.
struct RawExec {
    raw: CUgraphExec,
    first: CUgraphNode,
    _graph: RawGraph,
    destroy: unsafe extern "C" fn(CUgraphExec) -> CUresult,
}

impl Drop for RawExec {
    fn drop(&mut self) {
        // SAFETY: the executable belongs to this value. The process goes on if it stays.
        _ = unsafe { (self.destroy)(self.raw) };
    }
}

/// The parameters of a kernel node, and the arguments they point at.
struct KernelParams {
    params: CUDA_KERNEL_NODE_PARAMS_v2,
    _held: (Kernel, Vec<*mut c_void>, Vec<u64>),
}

impl KernelParams {
    /// The parameters. A closure that calls this has all of the value, and not only what is pointed from.
    fn as_raw(&self) -> *const CUDA_KERNEL_NODE_PARAMS_v2 {
        &raw const self.params
    }
}

/// The destructor of a user object that owns nothing.
unsafe extern "C" fn nothing(_: *mut c_void) {}

impl Bench {
    pub(crate) fn graphs(&self) -> Outcome<Vec<Row<'_>>> {
        let [unowned_copy, filled_copy] = self.add_unowned_copy()?;
        Ok(vec![
            self.add_empty()?,
            unowned_copy,
            filled_copy,
            self.add_copy()?,
            self.add_kernel()?,
            self.add_kernel_with_arguments()?,
            self.instantiate()?,
            self.launch_graph("launch 1 node", 1, false)?,
            self.launch_graph("launch 1,000 nodes", NODES, false)?,
            self.launch_graph("launch 1 node, until done", 1, true)?,
            self.launch_graph("launch 1,000 nodes, until done", NODES, true)?,
            self.update_kernel("update a kernel node of 1,000", LaunchConfig::new(SHAPE.0, SHAPE.1))?,
            self.update_kernel("update a kernel node, checked shape", self.checked()?)?,
        ])
    }

    /// A work that adds nodes, to another graph whenever one is full. Full graphs are dropped between rounds,
    /// which is not timed.
    fn adding<'a, G: 'static>(
        &'a self,
        mut new: impl FnMut() -> Outcome<G> + 'a,
        mut add: impl FnMut(&G) -> Outcome + 'a,
    ) -> Work<'a> {
        let (mut filling, mut room) = (None, 0);
        Box::new(move |times| {
            if room < times {
                let full = filling.replace(new()?);
                self.finished.borrow_mut().extend(full.map(|full| Box::new(full) as Box<dyn Any>));
                room = NODES;
            }
            room -= times;
            let Some(graph) = &filling else { return Ok(()) };
            for _ in 0..times {
                add(graph)?;
            }
            Ok(())
        })
    }

    fn raw_graph(&self) -> Outcome<RawGraph> {
        let (create, destroy) = (function!(self.driver, cuGraphCreate), function!(self.driver, cuGraphDestroy));
        let mut raw = null_mut();
        // SAFETY: `raw` is writable.
        success(unsafe { create(&raw mut raw, 0) })?;
        Ok(RawGraph { raw, destroy })
    }

    fn graph(&self) -> Outcome<GraphDef> {
        Ok(GraphDef::new(&self.context)?)
    }

    /// Has a graph keep a user object of its own.
    fn keep(&self) -> Outcome<impl Fn(CUgraph) -> Result<(), String> + use<>> {
        let create = function!(self.driver, cuUserObjectCreate);
        let retain = function!(self.driver, cuGraphRetainUserObject);
        Ok(move |graph| {
            let (mut object, flags) = (null_mut(), CUuserObject_flags::CU_USER_OBJECT_NO_DESTRUCTOR_SYNC.0);
            // SAFETY: `object` is writable, and the destructor takes any pointer.
            success(unsafe { create(&raw mut object, null_mut(), Some(nothing), 1, flags) })?;
            let flags = CUuserObjectRetain_flags::CU_GRAPH_USER_OBJECT_MOVE.0;
            // SAFETY: the caller's graph is alive, and the object was made above.
            success(unsafe { retain(graph, object, 1, flags) })
        })
    }

    fn add_empty(&self) -> Outcome<Row<'_>> {
        let add = function!(self.driver, cuGraphAddEmptyNode);
        let raw = self.adding(
            || self.raw_graph(),
            move |graph| {
                let mut node = null_mut();
                // SAFETY: the graph is alive, and `node` is writable.
                Ok(success(unsafe { add(&raw mut node, graph.raw, null(), 0) })?)
            },
        );
        let ours = self.adding(|| self.graph(), |graph| Ok(graph.empty().map(drop)?));
        Ok(Row::new("add an empty node", raw, ours))
    }

    /// Adds copies through the table, with parameters that were filled in once; with a user object each, if `owned`.
    fn add_copy_raw(&self, owned: bool) -> Outcome<Work<'_>> {
        let (add, keep) = (function!(self.driver, cuGraphAddMemcpyNode), self.keep()?);
        // The kinds that warploom gives: raw addresses are of a kind that the driver finds out.
        let kind = if owned { CUmemorytype::CU_MEMORYTYPE_DEVICE } else { CUmemorytype::CU_MEMORYTYPE_UNIFIED };
        let params = copy_params((self.from.as_raw(), self.to.borrow().as_raw()), kind);
        let context = self.context.as_raw();
        Ok(self.adding(
            || self.raw_graph(),
            move |graph| {
                if owned {
                    keep(graph.raw)?;
                }
                let mut node = null_mut();
                // SAFETY: the graph is alive, and `node` is writable; both ends have as many bytes, and the
                // bench keeps them.
                Ok(success(unsafe { add(&raw mut node, graph.raw, null(), 0, &raw const params, context) })?)
            },
        ))
    }

    /// Adds copies through the table, and fills in the parameters of each, as a program whose copies differ.
    fn add_filled_copy_raw(&self) -> Outcome<Work<'_>> {
        let add = function!(self.driver, cuGraphAddMemcpyNode);
        let (ends, context) = ((self.from.as_raw(), self.to.borrow().as_raw()), self.context.as_raw());
        Ok(self.adding(
            || self.raw_graph(),
            move |graph| {
                let params = copy_params(black_box(ends), CUmemorytype::CU_MEMORYTYPE_UNIFIED);
                let mut node = null_mut();
                // SAFETY: as above.
                Ok(success(unsafe { add(&raw mut node, graph.raw, null(), 0, &raw const params, context) })?)
            },
        ))
    }

    /// The same copies of ours beside raw ones whose parameters are filled in once, and each time.
    fn add_unowned_copy(&self) -> Outcome<[Row<'_>; 2]> {
        let (from, to) = (self.from.as_raw(), self.to.borrow().as_raw());
        let ours = || {
            let add = move |graph: &GraphDef| {
                // SAFETY: there are as many bytes, and the bench keeps them.
                let ends = unsafe { (Operand::<u8>::raw(from, BYTES, None), OperandMut::raw(to, BYTES, None)) };
                Ok(graph.entry().copy(ends.0, ends.1).map(drop)?)
            };
            self.adding(|| self.graph(), add)
        };
        Ok([
            Row::new("add a copy node without owners", self.add_copy_raw(false)?, ours()),
            Row::new("add a copy node, filled in each time", self.add_filled_copy_raw()?, ours()),
        ])
    }

    fn add_copy(&self) -> Outcome<Row<'_>> {
        let ours = self
            .adding(|| self.graph(), |graph| Ok(graph.entry().copy(&self.from, &mut *self.to.borrow_mut()).map(drop)?));
        Ok(Row::new("add a copy node", self.add_copy_raw(true)?, ours))
    }

    /// The parameters of a kernel's node.
    fn params(&self, kernel: &Kernel, values: Vec<u64>) -> KernelParams {
        let mut addresses: Vec<*mut c_void> =
            values.iter().map(|value| (&raw const *value).cast_mut().cast()).collect();
        let params = CUDA_KERNEL_NODE_PARAMS_v2 {
            func: null_mut(),
            gridDimX: SHAPE.0,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: SHAPE.1,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            kernelParams: addresses.as_mut_ptr(),
            extra: null_mut(),
            kern: kernel.as_raw(),
            ctx: self.context.as_raw(),
        };
        KernelParams { params, _held: (kernel.clone(), addresses, values) }
    }

    /// The parameters of the kernel with four arguments.
    fn four(&self) -> Outcome<(Kernel, KernelParams)> {
        let kernel = self.library.kernel("four")?;
        let (from, to) = (self.from.as_raw(), self.to.borrow().as_raw());
        let params = self.params(&kernel, vec![1.0_f32.to_bits().into(), from, to, 7]);
        Ok((kernel, params))
    }

    /// Adds kernels through the table, with a user object each.
    fn add_kernel_raw(&self, given: KernelParams) -> Outcome<Work<'_>> {
        let (add, keep) = (function!(self.driver, cuGraphAddKernelNode_v2), self.keep()?);
        Ok(self.adding(
            || self.raw_graph(),
            move |graph| {
                keep(graph.raw)?;
                let (mut node, params) = (null_mut(), given.as_raw());
                // SAFETY: the graph is alive, and `node` is writable; the kernel takes as many values, none
                // wider than these.
                Ok(success(unsafe { add(&raw mut node, graph.raw, null(), 0, params) })?)
            },
        ))
    }

    /// A node without arguments: warploom keeps its kernel.
    fn add_kernel(&self) -> Outcome<Row<'_>> {
        let (kernel, shape) = (self.library.kernel("none")?, LaunchConfig::new(SHAPE.0, SHAPE.1));
        let raw = self.add_kernel_raw(self.params(&kernel, Vec::new()))?;
        let ours = self.adding(
            || self.graph(),
            move |graph| {
                // SAFETY: the kernel does nothing.
                Ok(unsafe { graph.entry().kernel(&kernel, &shape, ()) }.map(drop)?)
            },
        );
        Ok(Row::new("add a kernel node, no arguments", raw, ours))
    }

    fn add_kernel_with_arguments(&self) -> Outcome<Row<'_>> {
        let ((kernel, params), shape) = (self.four()?, LaunchConfig::new(SHAPE.0, SHAPE.1));
        let raw = self.add_kernel_raw(params)?;
        let ours = self.adding(
            || self.graph(),
            move |graph| {
                let (from, to) = (&self.from, &mut *self.to.borrow_mut());
                // SAFETY: the kernel does nothing.
                Ok(unsafe { graph.entry().kernel(&kernel, &shape, (1.0_f32, from, to, 7_u32)) }.map(drop)?)
            },
        );
        Ok(Row::new("add a kernel node, 4 arguments", raw, ours))
    }

    /// A chain of kernels with four arguments, made through the table with nothing attached, and its first node.
    fn raw_chain(&self, nodes: u32) -> Outcome<(RawGraph, CUgraphNode)> {
        let (add, (_kernel, given), graph) =
            (function!(self.driver, cuGraphAddKernelNode_v2), self.four()?, self.raw_graph()?);
        let (mut first, mut last) = (null_mut(), null_mut());
        for number in 0..nodes {
            let (mut node, count) = (null_mut(), usize::from(number > 0));
            // SAFETY: the graph is alive, and `node` is writable; the kernel takes as many values, none wider than
            // these.
            success(unsafe { add(&raw mut node, graph.raw, &raw const last, count, given.as_raw()) })?;
            last = node;
            if number == 0 {
                first = node;
            }
        }
        Ok((graph, first))
    }

    fn raw_exec(&self, nodes: u32) -> Outcome<RawExec> {
        let make = function!(self.driver, cuGraphInstantiateWithParams);
        let destroy = function!(self.driver, cuGraphExecDestroy);
        let (graph, first) = self.raw_chain(nodes)?;
        // SAFETY: all of it are numbers and pointers, for which 0 is a value.
        let (mut raw, mut params) = (null_mut(), unsafe { zeroed::<CUDA_GRAPH_INSTANTIATE_PARAMS>() });
        // SAFETY: the graph is held, and both results are writable.
        let made = self.context.scope(|| unsafe { make(&raw mut raw, graph.raw, &raw mut params) })?;
        success(made)?;
        Ok(RawExec { raw, first, _graph: graph, destroy })
    }

    /// A chain of kernels with four arguments, and its first node.
    fn chain(&self, nodes: u32) -> Outcome<(GraphDef, KernelNode)> {
        let (graph, kernel) = (self.graph()?, self.library.kernel("four")?);
        let (shape, to) = (LaunchConfig::new(SHAPE.0, SHAPE.1), &mut *self.to.borrow_mut());
        // SAFETY: the kernel does nothing.
        let first = unsafe { graph.entry().kernel(&kernel, &shape, (1.0_f32, &self.from, &mut *to, 7_u32)) }?;
        let mut last = first.clone();
        for _ in 1..nodes {
            // SAFETY: as above.
            last = unsafe { last.then().kernel(&kernel, &shape, (1.0_f32, &self.from, &mut *to, 7_u32)) }?;
        }
        Ok((graph, first))
    }

    fn exec(&self, nodes: u32) -> Outcome<(GraphExec, KernelNode)> {
        let (graph, first) = self.chain(nodes)?;
        Ok((graph.instantiate()?, first))
    }

    fn instantiate(&self) -> Outcome<Row<'_>> {
        let make = function!(self.driver, cuGraphInstantiateWithParams);
        let destroy = function!(self.driver, cuGraphExecDestroy);
        let set_current = function!(self.driver, cuCtxSetCurrent);
        let ((graph, _), (raw_graph, _)) = (self.chain(NODES)?, self.raw_chain(NODES)?);
        let context = self.context.as_raw();
        let raw = repeat(move || {
            let raw_graph = &raw_graph;
            // SAFETY: the bench keeps the context alive.
            success(unsafe { set_current(context) })?;
            // SAFETY: all of it are numbers and pointers, for which 0 is a value.
            let (mut exec, mut params) = (null_mut(), unsafe { zeroed::<CUDA_GRAPH_INSTANTIATE_PARAMS>() });
            // SAFETY: the graph is held, and both results are writable.
            success(unsafe { make(&raw mut exec, raw_graph.raw, &raw mut params) })?;
            // SAFETY: made above, and given back once.
            success(unsafe { destroy(exec) })
        });
        let ours = repeat(move || graph.instantiate().map(drop));
        Ok(Row { times: 2, ..Row::new("instantiate 1,000 nodes and drop", raw, ours) })
    }

    /// Launches alone, or each with a wait until the device has done it.
    fn launch_graph(&self, name: &'static str, nodes: u32, waits: bool) -> Outcome<Row<'_>> {
        let launch = function!(self.driver, cuGraphLaunch);
        let synchronize = function!(self.driver, cuStreamSynchronize);
        let (other, (exec, _)) = (self.raw_exec(nodes)?, self.exec(nodes)?);
        let stream = self.stream.as_raw();
        let raw = repeat(move || {
            let other = &other;
            // SAFETY: the executable is held, and the bench keeps the stream and what the nodes use alive.
            success(unsafe { launch(other.raw, stream) })?;
            if !waits {
                return Ok(());
            }
            // SAFETY: as above.
            success(unsafe { synchronize(stream) })
        });
        let ours = repeat(move || {
            exec.launch(&self.stream)?;
            if waits { self.stream.synchronize() } else { Ok(()) }
        });
        Ok(Row { times: 10, ..Row::new(name, raw, ours) })
    }

    fn update_kernel<S: Shape + 'static>(&self, name: &'static str, shape: S) -> Outcome<Row<'_>> {
        let set = function!(self.driver, cuGraphExecKernelNodeSetParams_v2);
        let (kernel, given) = self.four()?;
        let (other, (exec, node)) = (self.raw_exec(NODES)?, self.exec(NODES)?);
        let raw = repeat(move || {
            let (other, params) = (&other, given.as_raw());
            // SAFETY: executable and node are held; the kernel takes as many values, none wider than these.
            success(unsafe { set(other.raw, other.first, params) })
        });
        let ours = repeat(move || {
            let (from, to) = (&self.from, &mut *self.to.borrow_mut());
            // SAFETY: the kernel does nothing.
            unsafe { exec.node(&node).set(&kernel, &shape, (1.0_f32, from, to, 7_u32)) }
        });
        Ok(Row::new(name, raw, ours))
    }

    /// The shape that nodes have, looked at once for all.
    fn checked(&self) -> Outcome<CheckedConfig> {
        Ok(self.four()?.0.check(&LaunchConfig::new(SHAPE.0, SHAPE.1), &self.context)?)
    }
}

/// The parameters of a copy in one piece, between memories of one kind.
fn copy_params((from, to): (CUdeviceptr, CUdeviceptr), kind: CUmemorytype) -> CUDA_MEMCPY3D_v2 {
    // SAFETY: all of it are numbers and pointers, for which 0 is a value.
    let mut params: CUDA_MEMCPY3D_v2 = unsafe { zeroed() };
    (params.srcDevice, params.dstDevice) = (from, to);
    (params.srcMemoryType, params.dstMemoryType) = (kind, kind);
    (params.srcPitch, params.dstPitch) = (BYTES, BYTES);
    (params.srcHeight, params.dstHeight) = (1, 1);
    (params.WidthInBytes, params.Height, params.Depth) = (BYTES, 1, 1);
    params
}

//! Host nodes: functions of the program that a graph calls.
#![expect(unsafe_code, reason = "has the driver call C functions")]

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use warploom_driver::sys::types::CUDA_HOST_NODE_PARAMS_v1;

use super::Position;
use super::bundle::{Bundle, Part, Retained};
use super::node::{Node, NodeKind, TypedNode, sealed, typed_node};
use super::position::Place;
use crate::callback::{Running, panicked};
use crate::{Driver, Error, Result};

/// A node that calls a function of the host, added by [`Position::host`].
#[derive(Clone)]
pub struct HostNode {
    node: Node,
    panics: Arc<Panics>,
}
typed_node!(HostNode);

impl TypedNode for HostNode {}
impl sealed::TypedNode for HostNode {
    const KIND: NodeKind = NodeKind::Host;

    fn over(node: Node) -> Result<HostNode> {
        let locked = node.lock();
        let bundle = locked.bundle(node.graph_id(), node.raw());
        let panics = bundle.and_then(closure_of).map(|closure| Arc::clone(&closure.panics)).unwrap_or_default();
        drop(locked);
        Ok(HostNode { node, panics })
    }
}

/// The closure that a bundle keeps, if the function is one.
fn closure_of(bundle: &Bundle) -> Option<&Closure> {
    bundle.retained(|part| part == Part::Function).find_map(|(_, retained)| match retained {
        Retained::Value(value) => value.downcast_ref(),
        _ => None,
    })
}

/// A C function that the driver calls with its data, which must not call CUDA.
pub type HostFunction = unsafe extern "C" fn(data: *mut c_void);

/// The data of a [`HostFunction`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HostData<'a> {
    /// A number or an address, which is passed as it is. The caller owns what it stands for.
    Number(usize),
    /// Bytes, which are copied and kept; the function is given the address of the copy, aligned to 16. Of no
    /// bytes, it is null.
    Bytes(&'a [u8]),
}

/// The panics of a function, which has been called any number of times.
#[derive(Default)]
struct Panics {
    count: AtomicU64,
    last: Mutex<Option<Error>>,
}

/// A closure as the driver calls it.
struct Closure {
    function: Box<dyn Fn() + Send + Sync>,
    panics: Arc<Panics>,
}

/// A function, its data, and their owner.
pub(crate) struct HostCall {
    params: CUDA_HOST_NODE_PARAMS_v1,
    owner: Option<Retained>,
    panics: Arc<Panics>,
}

impl HostCall {
    pub(crate) fn closure(function: impl Fn() + Send + Sync + 'static) -> HostCall {
        let panics = Arc::<Panics>::default();
        let closure = Arc::new(Closure { function: Box::new(function), panics: Arc::clone(&panics) });
        let data = Arc::as_ptr(&closure).cast_mut().cast();
        let params = CUDA_HOST_NODE_PARAMS_v1 { fn_: Some(call_closure), userData: data };
        HostCall { params, owner: Some(Retained::Value(closure)), panics }
    }

    pub(crate) fn raw(function: HostFunction, data: HostData<'_>) -> HostCall {
        let (data, owner) = match data {
            HostData::Number(number) => (without_provenance_mut(number), None),
            HostData::Bytes([]) => (null_mut(), None),
            HostData::Bytes(bytes) => {
                let copy = Arc::new(AlignedBytes::copied(bytes));
                let start = copy.0.as_ptr().cast_mut().cast::<c_void>();
                (start, Some(Retained::Value(copy)))
            }
        };
        let params = CUDA_HOST_NODE_PARAMS_v1 { fn_: Some(function), userData: data };
        HostCall { params, owner, panics: Arc::default() }
    }

    pub(crate) fn params(&self) -> *const CUDA_HOST_NODE_PARAMS_v1 {
        &raw const self.params
    }

    /// The function and its data, for a stream that is captured.
    pub(super) fn function(&self) -> (HostFunction, *mut c_void) {
        (self.params.fn_.unwrap_or(call_closure), self.params.userData)
    }

    pub(crate) fn owners(&self) -> Bundle {
        Bundle::of(Part::Function, self.owner.clone())
    }
}

/// Bytes at an address that any C value can have.
struct AlignedBytes(Box<[u128]>);

impl AlignedBytes {
    fn copied(bytes: &[u8]) -> AlignedBytes {
        let chunk = |chunk: &[u8]| {
            let mut word = [0; size_of::<u128>()];
            word[..chunk.len()].copy_from_slice(chunk);
            u128::from_ne_bytes(word)
        };
        AlignedBytes(bytes.chunks(size_of::<u128>()).map(chunk).collect())
    }
}

/// Calls a closure, on a thread of the driver's, and keeps its panic.
extern "C" fn call_closure(data: *mut c_void) {
    // SAFETY: the graph, executable or launch that calls keeps the closure, by the owner of the node.
    let closure = unsafe { &*data.cast::<Closure>() };
    let _running = Running::new();
    if let Err(payload) = catch_unwind(AssertUnwindSafe(&closure.function)) {
        closure.panics.count.fetch_add(1, Ordering::Relaxed);
        let error = panicked(payload);
        *closure.panics.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

impl Position<'_> {
    /// Adds a node that calls a function, in each launch, on a thread of the driver's. The graph keeps the
    /// function. Executables of the graph may call it at the same time.
    ///
    /// The function must not call CUDA. Values that it drops are freed soon after; see
    /// [`Stream::host`](crate::Stream::host). A panic in it stays there: it is reported
    /// like a failure in a `drop`, and counted by [`HostNode::panics`]; the launch goes on.
    ///
    /// A function that holds the graph itself is never dropped, since the two keep each other: let it hold a
    /// [`WeakGraph`](super::WeakGraph).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use warploom::{Driver, GraphDef};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let stream = context.stream()?;
    /// let calls = Arc::new(AtomicU32::new(0));
    /// let graph = GraphDef::new(&context)?;
    /// let counted = Arc::clone(&calls);
    /// graph.entry().host(move || _ = counted.fetch_add(1, Ordering::Relaxed))?;
    /// let exec = graph.instantiate()?;
    /// exec.launch(&stream)?;
    /// exec.launch(&stream)?;
    /// stream.synchronize()?;
    /// assert_eq!(calls.load(Ordering::Relaxed), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Position::empty`]; then the function is dropped.
    #[doc(alias = "cuGraphAddHostNode")]
    pub fn host(self, function: impl Fn() + Send + Sync + 'static) -> Result<HostNode> {
        self.call(HostCall::closure(function))
    }

    /// Adds a node that calls a C function with its data.
    ///
    /// # Errors
    ///
    /// As [`Position::empty`].
    ///
    /// # Safety
    ///
    /// The function may be called with the data on any thread, at any time from now on and several times at
    /// once, for as long as the graph, its clones, executables and their launches exist. It calls no CUDA,
    /// and does not unwind.
    pub unsafe fn host_raw(self, function: HostFunction, data: HostData<'_>) -> Result<HostNode> {
        self.call(HostCall::raw(function, data))
    }

    fn call(self, call: HostCall) -> Result<HostNode> {
        let add = |driver: &Driver, (node, graph, after, count): Place| {
            // SAFETY: the place is one to add a node at; the function can be called with the data, which the
            // graph keeps, or for which the caller vouches.
            unsafe { driver.cuGraphAddHostNode(node, graph, after, count, call.params()) }
        };
        let node = self.node(|position| position.add(&mut call.owners(), add))?;
        Ok(HostNode::over(node, call))
    }
}

impl HostNode {
    /// A node that calls such a function.
    pub(crate) fn over(node: Node, call: HostCall) -> HostNode {
        HostNode { node, panics: call.panics }
    }

    /// Number of panics of the function that the node was added with, or has had since it was found by
    /// [`Node::downcast`]. Clones of a graph share functions, and executables of it as well.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.panics.count.load(Ordering::Relaxed)
    }

    /// The last panic of the function that is meant by [`HostNode::panics`], once:
    /// [`StreamError::HostFunctionPanicked`](crate::StreamError::HostFunctionPanicked).
    #[must_use]
    pub fn take_panic(&self) -> Option<Error> {
        self.panics.last.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Replaces the function. Executables keep the one that they have.
    ///
    /// # Errors
    ///
    /// [`GraphError::NodeDestroyed`](super::GraphError::NodeDestroyed), and the driver's error.
    #[doc(alias = "cuGraphHostNodeSetParams")]
    pub fn set_function(&mut self, function: impl Fn() + Send + Sync + 'static) -> Result<()> {
        self.set(HostCall::closure(function))
    }

    /// Replaces the function by a C function with its data. Executables keep the one that they have.
    ///
    /// # Errors
    ///
    /// As [`HostNode::set_function`].
    ///
    /// # Safety
    ///
    /// As [`Position::host_raw`].
    pub unsafe fn set_function_raw(&mut self, function: HostFunction, data: HostData<'_>) -> Result<()> {
        self.set(HostCall::raw(function, data))
    }

    fn set(&mut self, call: HostCall) -> Result<()> {
        let driver = self.node.graph().driver();
        self.node.change(
            |_| Some(call.owners()),
            // SAFETY: the node is alive and calls a function; as for `Position::call`.
            |_, node| Ok(unsafe { driver.cuGraphHostNodeSetParams(node, call.params()) }?),
        )?;
        self.panics = call.panics;
        Ok(())
    }
}

//! `GraphExec`: graphs that can be launched.
#![expect(unsafe_code, reason = "owns and launches a raw executable")]

use std::fmt;
use std::sync::Arc;

use warploom_driver::sys::types::{CUgraphExec, CUgraphExec_st};
use warploom_driver::user_code::{Mutex, MutexGuard};

use super::GraphDef;
use super::bundle::Bundle;
use super::dropped::{DroppedExec, destroy_exec};
use super::exec_owners::{ExecOwners, NodeKey};
use super::hierarchy::GraphId;
use super::launches::Launches;
use crate::completion::drop_after;
use crate::device::same_driver;
use crate::diagnostics::{Subject, report};
use crate::handle::Handle;
use crate::leaks::{Kind, Mark, mark};
use crate::stream::WeakStream;
use crate::{Completion, Context, Device, Driver, Event, Queue, Result, Stream, callback};

/// A graph that can be launched, made by [`GraphDef::instantiate`].
///
/// It keeps everything that its nodes use, also when the definition is gone. Its launches run one after
/// another, and in the order of their streams; those of two executables may run at the same time. It may be
/// dropped while a launch is running, which goes on.
///
/// The driver's executables are not for several threads at once. Here they may be shared: each call takes a
/// lock of the executable, which no other has.
///
/// ```
/// use warploom::{DevicePool, Driver, GraphDef};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let mut buffer = DevicePool::new(&context)?.zeroed::<u32>(4, &stream)?;
/// let graph = GraphDef::new(&context)?;
/// let fill = graph.entry().fill(&mut buffer, 1)?;
/// let exec = graph.instantiate()?;
///
/// exec.node(&fill).set(&mut buffer, 2)?; // this executable alone
/// exec.launch(&stream)?;
/// assert_eq!(buffer.download(&stream)?, [2, 2, 2, 2]);
/// exec.update(&graph)?; // as the definition has it
/// exec.launch(&stream)?;
/// assert_eq!(buffer.download(&stream)?, [1, 1, 1, 1]);
/// # Ok(())
/// # }
/// ```
pub struct GraphExec {
    raw: Handle<CUgraphExec_st>,
    context: Context,
    /// The hierarchy that it was made from.
    source: Source,
    is_over: bool,
    state: Mutex<State>,
    _mark: Mark,
}

/// The hierarchy that an executable was made from, and the number of its nodes that had been destroyed by then.
/// Handles of destroyed nodes may name other nodes later.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) hierarchy: u64,
    pub(super) deaths: u64,
}

/// Owners of an executable, and the launches that they have to outlast.
#[derive(Default)]
pub(super) struct State {
    owners: ExecOwners,
    launches: Launches,
    /// `true` if all of the memory has met the stream of the last launch.
    has_met: bool,
}

/// Owners that an executable has let go of, and the streams whose launches may use them. Dropped without a lock of
/// the executable or of a graph: owners are dropped in it.
#[derive(Default)]
#[must_use]
pub(super) struct Released {
    bundles: Vec<Arc<Bundle>>,
    streams: Vec<WeakStream>,
}

impl Drop for Released {
    fn drop(&mut self) {
        drop_after(&self.streams, std::mem::take(&mut self.bundles));
    }
}

impl State {
    /// The owners of a node.
    #[inline]
    pub(super) fn of_node(&self, node: NodeKey) -> Option<&Bundle> {
        self.owners.of_node(node)
    }

    /// Makes a call that gives a node other parameters. If it succeeds, the owners of these are taken; otherwise the
    /// caller still has them, and drops them when nothing is locked.
    pub(super) fn change(
        &mut self,
        node: NodeKey,
        bundle: &mut Bundle,
        call: impl FnOnce() -> warploom_driver::Result<()>,
    ) -> Result<Released> {
        call()?;
        if self.owners.of_node(node).is_some_and(|known| known.is_same(bundle)) {
            return Ok(Released::default());
        }
        self.has_met = false;
        let Some(before) = self.owners.replace(node, Arc::new(std::mem::take(bundle))) else {
            return Ok(Released::default());
        };
        let outlasts = before.outlasts_launches(self.owners.of_node(node));
        Ok(self.released(vec![before], outlasts))
    }

    /// Takes the owners of all nodes of some graphs, which have other parameters now.
    pub(super) fn take_nodes_of(&mut self, graphs: &[GraphId]) -> Released {
        let bundles = self.owners.take_nodes_of(graphs);
        let outlasts = bundles.iter().any(|bundle| bundle.outlasts_launches(None));
        self.released(bundles, outlasts)
    }

    /// Replaces all owners.
    pub(super) fn replace(&mut self, owners: ExecOwners) -> Released {
        self.has_met = false;
        let before = std::mem::replace(&mut self.owners, owners);
        let bundles = before.into_bundles();
        let outlasts = bundles.iter().any(|bundle| bundle.outlasts_launches(None));
        self.released(bundles, outlasts)
    }

    fn released(&self, bundles: Vec<Arc<Bundle>>, outlasts: bool) -> Released {
        Released { bundles, streams: if outlasts { self.launches.streams() } else { Vec::new() } }
    }

    /// Releases everything, when the executable is destroyed.
    pub(super) fn end(self) {
        let State { owners, launches, .. } = self;
        drop(Released { bundles: owners.into_bundles(), streams: launches.streams() });
    }
}

/// Prepares launches on another stream than the last one's, or with other memory.
#[cold]
#[inline(never)]
fn meet(owners: &ExecOwners, launches: &mut Launches, stream: &Stream) -> Result<()> {
    launches.add(stream);
    owners.meet(stream)
}

impl GraphExec {
    /// # Safety
    ///
    /// It is an executable of the graph, has no other owner, and uses nothing but what these owners keep.
    pub(super) unsafe fn over(graph: &GraphDef, source: Source, raw: CUgraphExec, owners: ExecOwners) -> GraphExec {
        let context = graph.context().clone();
        let mark = mark(&context, || (Kind::GraphExec, raw.addr() as u64, 0));
        GraphExec {
            raw: Handle::new(raw),
            context,
            source,
            is_over: false,
            state: Mutex::new(State { owners, ..State::default() }),
            _mark: mark,
        }
    }

    /// The context that it was made in.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The device of its context.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.context.device()
    }

    pub(super) fn driver(&self) -> &Driver {
        self.context.driver()
    }

    pub(super) fn source(&self) -> Source {
        self.source
    }

    /// The raw handle; valid while this value is held. Other code must not use it while this crate does, and
    /// keeps the memory that its launches use.
    #[must_use]
    pub fn as_raw(&self) -> CUgraphExec {
        self.raw.raw()
    }

    #[inline]
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Launches the graph, in the order of `queue`.
    ///
    /// Exactly one driver call, and nothing from the heap, once the executable has been launched on the
    /// stream. All memory that the graph uses is freed after the launch.
    ///
    /// # Errors
    ///
    /// [`MemoryError::HostBorrowed`](crate::MemoryError::HostBorrowed) while the host borrows memory that the
    /// graph uses, [`CaptureError::NotCapturable`](crate::CaptureError::NotCapturable) on a captured stream,
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch),
    /// [`ContextError::Stale`](crate::ContextError::Stale), and the driver's error; errors of the nodes are
    /// reported by later calls.
    #[doc(alias = "cuGraphLaunch")]
    #[inline]
    pub fn launch(&self, queue: &impl Queue) -> Result<()> {
        let stream = queue.stream();
        self.check(stream)?;
        stream.refuse_captured("the launch of a graph")?;
        let State { owners, launches, has_met } = &mut *self.lock();
        let launching = owners.host().begin_launch(stream)?;
        if !(*has_met && launches.is_last(stream)) {
            *has_met = false;
            meet(owners, launches, stream)?;
            *has_met = true;
        }
        // SAFETY: the executable and the stream are alive, and no other thread uses the executable. What its
        // nodes use is kept until the launch is done: by the owners, and by the stream that has met the memory.
        stream.enqueue(|raw| unsafe { self.driver().cuGraphLaunch(self.as_raw(), raw) })?;
        launching.enqueued();
        Ok(())
    }

    /// Launches the graph at once, and gives a future that is ready when the launch is done.
    ///
    /// A failure to launch is the future's result.
    ///
    /// ```
    /// # use warploom::{Driver, GraphDef};
    /// async fn twice(exec: &warploom::GraphExec, stream: &warploom::Stream) -> warploom::Result<()> {
    ///     exec.run(stream).await?;
    ///     exec.run(stream).await
    /// }
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// # let context = driver.device(0)?.context()?;
    /// # let stream = context.stream()?;
    /// # let graph = GraphDef::new(&context)?;
    /// # graph.empty()?;
    /// # let exec = graph.instantiate()?;
    /// # let mut task = std::pin::pin!(twice(&exec, &stream));
    /// # struct Unpark(std::thread::Thread);
    /// # impl std::task::Wake for Unpark { fn wake(self: std::sync::Arc<Self>) { self.0.unpark() } }
    /// # let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    /// # loop {
    /// #     match task.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
    /// #         std::task::Poll::Ready(result) => break result?,
    /// #         std::task::Poll::Pending => std::thread::park(),
    /// #     }
    /// # }
    /// # Ok(())
    /// # }
    /// ```
    pub fn run(&self, queue: &impl Queue) -> Completion<Event> {
        let stream = queue.stream();
        Completion::new(self.launch(stream).and_then(|()| stream.record()))
    }

    /// Prepares the next launch on the device, in the order of `queue`, so that it need not.
    ///
    /// # Errors
    ///
    /// As [`GraphExec::launch`].
    #[doc(alias = "cuGraphUpload")]
    pub fn upload(&self, queue: &impl Queue) -> Result<()> {
        let stream = queue.stream();
        self.check(stream)?;
        stream.refuse_captured("the upload of a graph")?;
        let _state = self.lock();
        // SAFETY: the executable and the stream are alive, and no other thread uses the executable.
        stream.signal(|raw| unsafe { self.driver().cuGraphUpload(self.as_raw(), raw) })
    }

    #[inline]
    fn check(&self, stream: &Stream) -> Result<()> {
        if stream.context() == &self.context {
            return self.context.check_generation();
        }
        same_driver(self.driver(), stream.driver())?;
        self.context.check_generation()?;
        stream.context().check_generation()
    }

    /// Ends it. Launches that are running go on, and keep what they use.
    ///
    /// Dropping does the same, and can only report a failure.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuGraphExecDestroy")]
    pub fn close(mut self) -> Result<()> {
        if callback::is_running() {
            return Ok(()); // dropped, and so left to the reclaimer
        }
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_over, true) {
            return Ok(());
        }
        // SAFETY: the executable belongs to this value, which gives it up.
        let destroyed = unsafe { destroy_exec(&self.context, &self.raw) };
        self.take_state().end();
        destroyed
    }

    fn take_state(&mut self) -> State {
        std::mem::take(self.state.get_mut())
    }
}

impl Drop for GraphExec {
    fn drop(&mut self) {
        if callback::is_running() && !std::mem::replace(&mut self.is_over, true) {
            let (raw, mark) = (Handle::new(self.as_raw()), std::mem::take(&mut self._mark));
            let state = self.take_state();
            // SAFETY: the executable belongs to this value, which gives it up.
            return unsafe { DroppedExec::defer(raw, &self.context, state, mark) };
        }
        let ended = self.end();
        report(|| Subject::GraphExec { device: self.device().ordinal() }, ended);
    }
}

impl fmt::Debug for GraphExec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_struct("GraphExec");
        text.field("raw", &self.as_raw()).field("device", self.device()).finish_non_exhaustive()
    }
}

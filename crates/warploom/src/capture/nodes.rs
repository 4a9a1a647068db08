//! Nodes that are added to the graph of a capture: callbacks, embedded graphs and conditional nodes.
//!
//! Until the capture ends, its graph belongs to the driver. It is good for adding nodes and for keeping
//! owners, and is never destroyed here.
#![expect(unsafe_code, reason = "uses the graph of a capture, and has the driver call a C function")]

use std::ops::Deref;

use super::tail::Tail;
use super::{Body, CaptureStream};
use crate::diagnostics::{Subject, report};
use crate::graph::{Condition, HostCall, Node, Position};
use crate::{CaptureError, GraphDef, Result};

impl CaptureStream {
    /// Calls a function at this point of the graph, in every launch. The graph keeps the function.
    ///
    /// The function must not call CUDA, or drop values that do. Launches of several executables may call it
    /// at the same time. A panic in it is reported like a failure in a `drop`, and the launch goes on.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// use warploom::capture::Relaxed;
    /// use warploom::Driver;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let stream = driver.device(0)?.context()?.stream()?;
    /// let calls = Arc::new(AtomicU32::new(0));
    ///
    /// let capture = stream.capture(Relaxed)?;
    /// capture.callback({
    ///     let calls = Arc::clone(&calls);
    ///     move || drop(calls.fetch_add(1, Ordering::Relaxed))
    /// })?;
    /// let exec = capture.end()?.instantiate()?;
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
    /// [`CaptureError::Invalidated`], and the driver's error. If the function was captured but its node
    /// cannot be found, the graph keeps the function for good.
    #[doc(alias = "cuLaunchHostFunc")]
    pub fn callback(&self, function: impl Fn() + Send + Sync + 'static) -> Result<()> {
        let (stream, call) = (self.stream(), HostCall::closure(function));
        let _turn = self.sequence().turn();
        let before = Tail::of(stream)?;
        let graph = self.graph(&before);
        let launch = |called, data| {
            // SAFETY: the stream is alive; the graph keeps the function and its data, and so does every
            // launch.
            Ok(stream.with_raw(|raw| unsafe { stream.driver().cuLaunchHostFunc(raw, Some(called), data) })??)
        };
        let added = || match &*Tail::of(stream)?.dependencies {
            [node] => Ok(*node),
            nodes => Err(CaptureError::CallbackNotFound { candidates: nodes.len() }.into()),
        };
        let is_unchanged = || Tail::of(stream).is_ok_and(|now| now.dependencies == before.dependencies);
        graph.capture_callback(&call, launch, added, is_unchanged)?;
        self.sequence().count();
        Ok(())
    }

    /// Runs a copy of a graph at this point. The copy keeps the same memory and code as the graph.
    ///
    /// ```
    /// use warploom::capture::Relaxed;
    /// use warploom::{DevicePool, Driver, GraphDef};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let stream = context.stream()?;
    /// let mut buffer = DevicePool::new(&context)?.zeroed::<u32>(4, &stream)?;
    /// let step = GraphDef::new(&context)?;
    /// step.entry().fill(&mut buffer, 7)?;
    ///
    /// let capture = stream.capture(Relaxed)?;
    /// capture.embed(&step)?;
    /// buffer.slice_mut(..1)?.fill(1, &capture)?; // after the graph
    /// capture.end()?.instantiate()?.launch(&stream)?;
    /// assert_eq!(buffer.download(&stream)?, [1, 7, 7, 7]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`CaptureError::Invalidated`], the errors of [`Position::embed`], and the driver's error. Then the
    /// capture goes on without it.
    #[doc(alias = "cuGraphAddChildGraphNode")]
    pub fn embed(&self, graph: &GraphDef) -> Result<()> {
        self.add(|position| position.embed(graph)).map(drop)
    }

    /// A condition for a node of this graph; see [`GraphDef::condition`].
    ///
    /// # Errors
    ///
    /// [`CaptureError::Invalidated`], and as [`GraphDef::condition`].
    #[doc(alias = "cuGraphConditionalHandleCreate")]
    pub fn condition(&self, default: impl Into<Option<u32>>) -> Result<Condition> {
        let _turn = self.sequence().turn();
        self.graph(&Tail::of(self.stream())?).condition(default)
    }

    /// Runs a body at this point if the condition is not 0.
    ///
    /// # Errors
    ///
    /// As [`CaptureStream::while_loop`].
    #[doc(alias = "cuGraphAddNode")]
    pub fn if_then(&self, condition: &Condition) -> Result<Body<'_>> {
        let node = self.add(|position| position.if_then(condition))?;
        Ok(Body::new(self, node.body().clone()))
    }

    /// Runs the first body at this point if the condition is not 0, and the second if it is.
    ///
    /// # Errors
    ///
    /// As [`CaptureStream::while_loop`].
    #[doc(alias = "cuGraphAddNode")]
    pub fn if_else(&self, condition: &Condition) -> Result<(Body<'_>, Body<'_>)> {
        let node = self.add(|position| position.if_else(condition))?;
        Ok((Body::new(self, node.then_body().clone()), Body::new(self, node.else_body().clone())))
    }

    /// Runs a body repeatedly at this point while the condition is not 0.
    ///
    /// # Errors
    ///
    /// [`CaptureError::Invalidated`], [`GraphError::OtherGraph`](crate::graph::GraphError::OtherGraph) for
    /// the condition of another graph, and the driver's error. Then the capture goes on without the node.
    #[doc(alias = "cuGraphAddNode")]
    pub fn while_loop(&self, condition: &Condition) -> Result<Body<'_>> {
        let node = self.add(|position| position.while_loop(condition))?;
        Ok(Body::new(self, node.body().clone()))
    }

    /// Runs that body at this point whose number the condition is; none, if there are fewer.
    ///
    /// # Errors
    ///
    /// As [`CaptureStream::while_loop`], and
    /// [`GraphError::NoBranches`](crate::graph::GraphError::NoBranches) for none.
    #[doc(alias = "cuGraphAddNode")]
    pub fn switch(&self, condition: &Condition, branches: u32) -> Result<Vec<Body<'_>>> {
        let node = self.add(|position| position.switch(condition, branches))?;
        Ok(node.branches().iter().map(|body| Body::new(self, body.clone())).collect())
    }

    /// The graph of the capture, to be used only while it goes on.
    fn graph(&self, tail: &Tail) -> GraphDef {
        // SAFETY: it is the graph of the sequence, which gives it up when the capture ends.
        self.sequence().graph(|| unsafe { GraphDef::borrow(self.stream().context(), tail.graph) })
    }

    /// Adds a node after those at the tail, and makes it the tail.
    fn add<N: Deref<Target = Node>>(&self, add: impl FnOnce(Position<'_>) -> Result<N>) -> Result<N> {
        let stream = self.stream();
        let _turn = self.sequence().turn();
        let tail = Tail::of(stream)?;
        let graph = self.graph(&tail);
        let node = add(Position::after_raw(&graph, &tail.dependencies).on(stream.context()))?;
        if let Err(error) = node.as_raw().and_then(|raw| Tail::set(stream, raw)) {
            // The call may have failed when it was done: no stream may come after a node that is destroyed.
            let undone = tail.restore(stream).and_then(|()| node.take_back());
            report(|| Subject::Capture { device: stream.device().ordinal() }, undone);
            return Err(error);
        }
        self.sequence().count();
        Ok(node)
    }
}

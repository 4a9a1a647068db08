//! Nodes of an executable, whose parameters can be replaced.
#![expect(unsafe_code, reason = "changes nodes of raw executables")]

use warploom_driver::sys::types::{CUDA_KERNEL_NODE_PARAMS_v2, CUgraphExec, CUgraphNode};

use super::bundle::Bundle;
use super::child_node::copyable;
use super::copy_index::lock_both;
use super::copy_node::Copy;
use super::event_node::owner;
use super::fill_node::Fill;
use super::host_node::HostCall;
use super::kernel_node::owners;
use super::words_node::WordList;
use super::{
    ChildNode, CopyNode, FillNode, GraphDef, GraphError, GraphExec, HostData, HostFunction, HostNode, KernelNode, Node,
    Operand, OperandMut, RecordNode, WaitNode, WordsNode,
};
use crate::event::Timing;
use crate::kernel::NodeLaunch;
use crate::{Arguments, DeviceCopy, Event, Kernel, Result, RowsMut, Shape, WordOperation};

/// A node of an executable, named by the node of the definition that it came from: [`GraphExec::node`].
///
/// Parameters are replaced in this executable alone, and for launches from now on. The executable keeps what
/// the new ones refer to, and lets go of what the old ones did: at once if no launch is in flight, otherwise after
/// those that are.
#[derive(Debug)]
#[must_use = "it changes nothing by itself"]
pub struct ExecNode<'a, N> {
    exec: &'a GraphExec,
    node: &'a N,
}

impl GraphExec {
    /// The node of this executable that came from a node of the definition.
    pub fn node<'a, N: AsRef<Node>>(&'a self, node: &'a N) -> ExecNode<'a, N> {
        ExecNode { exec: self, node }
    }
}

impl<N: AsRef<Node>> ExecNode<'_, N> {
    /// Makes a call that gives the node other parameters, with the executable locked, and has it keep their owners.
    fn change(
        &self,
        mut bundle: Bundle,
        call: impl FnOnce(CUgraphExec, CUgraphNode) -> warploom_driver::Result<()>,
    ) -> Result<()> {
        let node = self.node.as_ref();
        self.check()?;
        let released; // and the bundle, if it is left, are dropped after the locks
        let mut state = self.exec.lock();
        let locked = node.graph().hierarchy().lock();
        let raw = locked.node(node)?;
        released = state.change(node.key_in_exec(), &mut bundle, || call(self.exec.as_raw(), raw))?;
        drop((locked, state, released));
        Ok(())
    }

    /// Makes a call that changes no parameters, with the executable locked.
    fn ask(&self, call: impl FnOnce(CUgraphExec, CUgraphNode) -> warploom_driver::Result<()>) -> Result<()> {
        let node = self.node.as_ref();
        self.check()?;
        let _state = self.exec.lock();
        let locked = node.graph().hierarchy().lock();
        Ok(call(self.exec.as_raw(), locked.node(node)?)?)
    }

    /// Refuses a node of another graph than the executable's.
    fn check(&self) -> Result<()> {
        self.exec.context().check_generation()?;
        if self.node.as_ref().graph().hierarchy().number() == self.exec.source().hierarchy {
            Ok(())
        } else {
            Err(GraphError::OtherExecutable.into())
        }
    }

    fn set_switch(&self, is_enabled: bool) -> Result<()> {
        self.ask(|exec, node| {
            // SAFETY: both are alive, and no other thread uses them.
            unsafe { self.exec.driver().cuGraphNodeSetEnabled(exec, node, is_enabled.into()) }
        })
    }

    fn switch(&self) -> Result<bool> {
        let mut is_enabled = 0;
        self.ask(|exec, node| {
            // SAFETY: both are alive, no other thread uses them, and `is_enabled` is writable.
            unsafe { self.exec.driver().cuGraphNodeGetEnabled(exec, node, &raw mut is_enabled) }
        })?;
        Ok(is_enabled != 0)
    }
}

macro_rules! switchable {
    ($($name:ident)*) => {$(
        impl ExecNode<'_, $name> {
            /// Has the node run or do nothing, in launches from now on. Nothing that it keeps is released.
            ///
            /// # Errors
            ///
            /// [`GraphError::OtherExecutable`] for a node of another graph, [`GraphError::NodeDestroyed`],
            /// and the driver's error.
            #[doc(alias = "cuGraphNodeSetEnabled")]
            pub fn set_enabled(&self, is_enabled: bool) -> Result<()> {
                self.set_switch(is_enabled)
            }

            /// `true` if the node runs.
            ///
            /// # Errors
            ///
            #[doc = concat!("As [`ExecNode::<", stringify!($name), ">::set_enabled`].")]
            #[doc(alias = "cuGraphNodeGetEnabled")]
            pub fn is_enabled(&self) -> Result<bool> {
                self.switch()
            }
        }
    )*};
}
switchable!(KernelNode CopyNode FillNode);

impl ExecNode<'_, KernelNode> {
    /// Replaces the arguments; kernel and configuration are those that the definition has now.
    ///
    /// # Errors
    ///
    /// [`GraphError::OtherExecutable`], and as [`KernelNode::set_arguments`]. Then the executable is as
    /// before.
    ///
    /// # Safety
    ///
    /// As [`Position::kernel`](super::Position::kernel), for launches of this executable.
    pub unsafe fn set_arguments(&self, arguments: impl Arguments) -> Result<()> {
        self.check()?;
        let (kernel, config, _) = self.node.known()?;
        // SAFETY: the caller vouches for it.
        unsafe { self.set(&kernel, &config, arguments) }
    }

    /// Replaces kernel, configuration and arguments. Exactly one driver call. A shape that
    /// [`Kernel::check`] returned is not checked again.
    ///
    /// # Errors
    ///
    /// [`GraphError::OtherExecutable`], [`GraphError::Attributes`] for a configuration with a cluster, a
    /// priority or cooperation, and as [`Position::kernel`](super::Position::kernel). The driver refuses some
    /// changes of the kernel. Then the executable is as before.
    ///
    /// # Safety
    ///
    /// As [`Position::kernel`](super::Position::kernel), for launches of this executable.
    #[doc(alias = "cuGraphExecKernelNodeSetParams")]
    pub unsafe fn set(&self, kernel: &Kernel, shape: &impl Shape, arguments: impl Arguments) -> Result<()> {
        self.check()?;
        let (mut bundle, released); // dropped after the locks
        let mut state = self.exec.lock();
        let locked = self.node.lock();
        let (raw, key) = (locked.node(self.node)?, self.node.key_in_exec());
        let context = self.node.context_in(&locked).unwrap_or(self.exec.context());
        let launch = NodeLaunch::new(kernel, context, shape, &arguments, self.exec.source().hierarchy)?;
        if launch.has_attributes() {
            return Err(GraphError::Attributes.into());
        }
        let (exec, driver) = (self.exec.as_raw(), self.exec.driver());
        let call = |params: &CUDA_KERNEL_NODE_PARAMS_v2| {
            // SAFETY: both are alive, and no other thread uses them; the parameters are complete, and the caller
            // vouches for the kernel's accesses.
            unsafe { driver.cuGraphExecKernelNodeSetParams_v2(exec, raw, params) }
        };
        // A program may change the numbers among the arguments before each launch, and nothing that is kept.
        if state.of_node(key).is_some_and(|kept| kept.is_of_launch(kernel, context, &arguments)) {
            return Ok(launch.pass(&arguments, call)?);
        }
        bundle = owners(kernel, context, &arguments)?;
        released = state.change(key, &mut bundle, || launch.pass(&arguments, call))?;
        drop((locked, state, released));
        Ok(())
    }
}

impl ExecNode<'_, CopyNode> {
    /// Replaces both ends.
    ///
    /// # Errors
    ///
    /// [`GraphError::OtherExecutable`], and as [`Position::copy`](super::Position::copy). Then the executable
    /// is as before.
    #[doc(alias = "cuGraphExecMemcpyNodeSetParams")]
    pub fn set<'a, T: DeviceCopy>(
        &self,
        from: impl Into<Operand<'a, T>>,
        to: impl Into<OperandMut<'a, T>>,
    ) -> Result<()> {
        let context = self.node.context();
        let mut owners = Bundle::default();
        let copy = Copy::linear((self.node.graph(), context), from.into(), to.into(), &mut owners)?;
        let params = copy.params();
        self.change(owners, |exec, node| {
            // SAFETY: both are alive, and no other thread uses them; both ends have as many bytes, which are
            // kept, or for which their owner vouches.
            unsafe {
                self.exec.driver().cuGraphExecMemcpyNodeSetParams(exec, node, &raw const params, context.as_raw())
            }
        })
    }
}

impl ExecNode<'_, FillNode> {
    /// Replaces memory and value.
    ///
    /// # Errors
    ///
    /// [`GraphError::OtherExecutable`], and as [`Position::fill`](super::Position::fill). Then the executable
    /// is as before.
    #[doc(alias = "cuGraphExecMemsetNodeSetParams")]
    pub fn set<'a, T: DeviceCopy>(&self, to: impl Into<OperandMut<'a, T>>, value: T) -> Result<()> {
        self.replace(&Fill::linear(to.into(), &value)?)
    }

    /// Replaces memory and value of a node that fills rows. The driver refuses another number or length of rows,
    /// and another distance between them.
    ///
    /// # Errors
    ///
    /// As [`ExecNode::<FillNode>::set`].
    #[doc(alias = "cuGraphExecMemsetNodeSetParams")]
    pub fn set_rows<T: DeviceCopy>(&self, to: RowsMut<'_, T>, value: T) -> Result<()> {
        self.replace(&Fill::of_rows(to, &value)?)
    }

    fn replace(&self, fill: &Fill<'_>) -> Result<()> {
        let context = self.node.context();
        let (owners, params) = (fill.owners((self.node.graph(), context))?, &raw const fill.params);
        self.change(owners, |exec, node| {
            // SAFETY: both are alive, and no other thread uses them; the memory has as many elements, and is
            // kept, or its owner vouches for it.
            unsafe { self.exec.driver().cuGraphExecMemsetNodeSetParams(exec, node, params, context.as_raw()) }
        })
    }
}

impl ExecNode<'_, HostNode> {
    /// Replaces the function.
    ///
    /// # Errors
    ///
    /// [`GraphError::OtherExecutable`], [`GraphError::NodeDestroyed`], and the driver's error. Then the
    /// executable is as before.
    #[doc(alias = "cuGraphExecHostNodeSetParams")]
    pub fn set_function(&self, function: impl Fn() + Send + Sync + 'static) -> Result<()> {
        self.set_call(&HostCall::closure(function))
    }

    /// Replaces the function by a C function with its data.
    ///
    /// # Errors
    ///
    /// As [`ExecNode::<HostNode>::set_function`].
    ///
    /// # Safety
    ///
    /// As [`Position::host_raw`](super::Position::host_raw).
    pub unsafe fn set_function_raw(&self, function: HostFunction, data: HostData<'_>) -> Result<()> {
        self.set_call(&HostCall::raw(function, data))
    }

    fn set_call(&self, call: &HostCall) -> Result<()> {
        self.change(call.owners(), |exec, node| {
            // SAFETY: both are alive, and no other thread uses them; the function can be called with the
            // data, which is kept, or for which the caller vouches.
            unsafe { self.exec.driver().cuGraphExecHostNodeSetParams(exec, node, call.params()) }
        })
    }
}

impl ExecNode<'_, WordsNode> {
    /// Replaces the operations.
    ///
    /// # Errors
    ///
    /// [`GraphError::OtherExecutable`], and as [`Position::words`](super::Position::words). Then the
    /// executable is as before.
    #[doc(alias = "cuGraphExecBatchMemOpNodeSetParams")]
    pub fn set(&self, operations: &[WordOperation]) -> Result<()> {
        let mut list = WordList::new(self.node.graph(), self.node.context(), operations)?;
        let owners = list.take_owners();
        // SAFETY: both are alive, and no other thread uses them; the owners are kept.
        self.change(owners, |exec, node| unsafe { list.set_in(self.exec.driver(), exec, node) })
    }
}

macro_rules! event_nodes {
    ($($name:ident $event:ty, $set:ident;)*) => {$(
        impl ExecNode<'_, $name> {
            /// Replaces the event.
            ///
            /// # Errors
            ///
            /// [`GraphError::OtherExecutable`], [`GraphError::NodeDestroyed`],
            /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch), and the driver's error.
            /// Then the executable is as before.
            pub fn set_event<T: Timing>(&self, event: $event) -> Result<()> {
                crate::device::same_driver(self.exec.driver(), event.driver())?;
                event.context().check_generation()?;
                self.change(owner(event), |exec, node| {
                    // SAFETY: all are alive, and no other thread uses the first two; the event is kept.
                    unsafe { self.exec.driver().$set(exec, node, event.as_raw()) }
                })
            }
        }
    )*};
}
event_nodes! {
    RecordNode &mut Event<T>, cuGraphExecEventRecordNodeSetEvent;
    WaitNode &Event<T>, cuGraphExecEventWaitNodeSetEvent;
}

impl ExecNode<'_, ChildNode> {
    /// Gives the nodes of the graph inside the parameters of another graph's, which has the same nodes and
    /// edges.
    ///
    /// # Errors
    ///
    /// [`GraphError::SameHierarchy`] if the graph is part of the node's own,
    /// [`GraphError::NotCopyable`] if it has memory or conditional nodes, [`GraphError::OtherExecutable`],
    /// [`GraphError::NodeDestroyed`], and the driver's error. Then the executable is as before.
    #[doc(alias = "cuGraphExecChildGraphNodeSetParams")]
    pub fn set_child(&self, source: &GraphDef) -> Result<()> {
        let graph = self.node.graph();
        graph.same_driver(source.driver())?;
        graph.independent_of(source)?;
        self.check()?;
        let (mut bundle, released); // dropped after the locks
        bundle = Bundle::default();
        let mut state = self.exec.lock();
        let (locked, mut from) = lock_both(graph, source);
        let (node, child) = (locked.node(self.node)?, copyable(&from, source)?);
        bundle.keep_parts_of(&from.contexts_besides(self.exec.context(), source.id()), |_| true);
        from.each_bundle(source.id(), &mut |_, _, kept| bundle.keep_parts_of(kept, |_| true));
        let inside =
            locked.inside(graph.id(), self.node.raw()).iter().flat_map(|id| locked.from(*id)).collect::<Vec<_>>();
        let set = || {
            // SAFETY: all are alive, and no other thread uses them.
            unsafe { self.exec.driver().cuGraphExecChildGraphNodeSetParams(self.exec.as_raw(), node, child) }
        };
        let replaced =
            state.change(self.node.key_in_exec(), &mut bundle, || from.without_user_objects(source.id(), set))?;
        released = [replaced, state.take_nodes_of(&inside)];
        drop((locked, from, state, released));
        Ok(())
    }
}

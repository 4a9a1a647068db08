//! Kernel nodes.
#![expect(unsafe_code, reason = "adds kernels to graphs, whose accesses cannot be checked")]

use std::mem::zeroed;

use warploom_driver::sys::types::{
    CUDA_KERNEL_NODE_PARAMS_v2, CUgraphNode, CUlaunchAttributeID, CUlaunchAttributeValue,
};

use super::bundle::{Bundle, Part, Retained};
use super::hierarchy::Locked;
use super::late_report::report_late;
use super::node::{Node, NodeId, NodeKind, TypedNode, sealed, typed_node};
use super::position::Place;
use super::{GraphError, Position};
use crate::diagnostics::Subject;
use crate::kernel::{NodeAttribute, NodeLaunch};
use crate::{Arguments, Context, Dimensions, Driver, Kernel, LaunchConfig, Result, Shape};

/// A node that launches a kernel, added by [`Position::kernel`].
#[derive(Clone)]
pub struct KernelNode {
    node: Node,
    context: NodeContext,
}
typed_node!(KernelNode);

/// The context that a kernel node runs in, which never changes.
#[derive(Clone)]
enum NodeContext {
    /// The graph's.
    OfGraph,
    Other(Context),
    /// To be found among the owners of the node.
    Unknown,
}

impl TypedNode for KernelNode {}
impl sealed::TypedNode for KernelNode {
    const KIND: NodeKind = NodeKind::Kernel;

    fn over(node: Node) -> Result<KernelNode> {
        let context = node.other_context().map_or(NodeContext::Unknown, NodeContext::Other);
        Ok(KernelNode { node, context })
    }
}

impl Position<'_> {
    /// Adds a node that launches a kernel, with a tuple of arguments as [`Kernel::launch`] takes them. The
    /// graph keeps the kernel's library and the memory of all arguments.
    ///
    /// Besides those, a [`Condition`](super::Condition) of the graph can be passed, and memory that the
    /// [graph allocates](Position::allocate).
    ///
    /// ```
    /// use warploom::{DevicePool, Driver, GraphDef, LaunchConfig};
    ///
    /// # const SCALE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scale.ptx"));
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let stream = context.stream()?;
    /// let mut values = DevicePool::new(&context)?.upload(&[1.0_f32, 2.0, 3.0], &stream)?;
    ///
    /// let graph = GraphDef::new(&context)?;
    /// let scale = context.load(SCALE)?.kernel("scale")?;
    /// let shape = LaunchConfig::cover(values.len(), 128);
    /// // SAFETY: it reads and writes as many values as it is told.
    /// let step = unsafe { graph.entry().kernel(&scale, &shape, (2.0_f32, &mut values, 3_u32)) }?;
    /// let exec = graph.instantiate()?;
    /// exec.launch(&stream)?;
    /// // SAFETY: as above.
    /// unsafe { exec.node(&step).set_arguments((0.5_f32, &mut values, 3_u32)) }?;
    /// exec.launch(&stream)?;
    /// assert_eq!(values.download(&stream)?, [1.0, 2.0, 3.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Kernel::launch`] for the kernel, its configuration and its arguments,
    /// [`GraphError::OutsideGraph`] for arguments of another graph, [`GraphError::Overlap`] for a
    /// configuration with [`LaunchConfig::overlap_previous`], and as [`Position::empty`].
    ///
    /// # Safety
    ///
    /// As [`Kernel::launch`], for every launch of the graph, of its clones and of graphs that it is embedded
    /// in.
    #[doc(alias = "cuGraphAddKernelNode")]
    #[inline]
    pub unsafe fn kernel(self, kernel: &Kernel, shape: &impl Shape, arguments: impl Arguments) -> Result<KernelNode> {
        // SAFETY: the caller vouches for it.
        let node = self.node(|position| unsafe { position.add_kernel(kernel, shape, &arguments) })?;
        let context = self.other_context().map_or(NodeContext::OfGraph, NodeContext::Other);
        Ok(KernelNode { node, context })
    }

    /// # Safety
    ///
    /// As [`Position::kernel`].
    unsafe fn add_kernel(&self, kernel: &Kernel, shape: &impl Shape, arguments: &impl Arguments) -> Result<NodeId> {
        let (graph, context) = (self.graph(), self.context());
        graph.same_driver(context.driver())?;
        let launch = NodeLaunch::new(kernel, context, shape, arguments, graph.hierarchy().number())?;
        let mut bundle = owners(kernel, context, arguments)?;
        let mut locked = graph.lock();
        let node = launch.pass(arguments, |params| {
            self.add_to(&mut locked, &mut bundle, |driver: &Driver, (node, graph, after, count): Place| {
                // SAFETY: the place is one to add a node at; the kernel and the context are held, and the
                // arguments are as the kernel takes them. The caller vouches for its accesses.
                unsafe { driver.cuGraphAddKernelNode_v2(node, graph, after, count, params) }
            })
        })?;
        if launch.has_attributes()
            && let Err(error) = set_attributes(locked.driver(), node.raw.raw(), &launch.attributes())
        {
            report_late(|| Subject::GraphOwners, locked.take_back(graph.id(), node.raw));
            return Err(error);
        }
        Ok(node)
    }
}

/// The kernel and the memory of its arguments, in a context that was not reset.
#[inline]
pub(super) fn owners(kernel: &Kernel, context: &Context, arguments: &impl Arguments) -> Result<Bundle> {
    let mut bundle = Bundle::default();
    bundle.keep(Part::Kernel, Retained::Kernel(kernel.clone(), context.clone()));
    arguments.each_operand(|operand| {
        let (allocation, access) = operand.use_in_graph(context)?;
        bundle.keep(Part::Argument, Retained::Memory(allocation.clone(), access));
        Ok(())
    })?;
    Ok(bundle)
}

fn set_attributes(driver: &Driver, node: CUgraphNode, attributes: &[NodeAttribute]) -> Result<()> {
    for (id, value) in attributes {
        // SAFETY: the caller's node is alive and launches a kernel, and the value is one of the attribute.
        unsafe { driver.cuGraphKernelNodeSetAttribute(node, *id, value) }?;
    }
    Ok(())
}

impl KernelNode {
    /// The kernel that it launches; `None` if the node was captured or made by other code.
    ///
    /// # Errors
    ///
    /// [`GraphError::NodeDestroyed`].
    pub fn kernel(&self) -> Result<Option<Kernel>> {
        let locked = self.node.lock();
        locked.node(&self.node)?;
        Ok(locked.bundle(self.node.graph_id(), self.node.raw()).and_then(kernel_of).map(|(kernel, _)| kernel.clone()))
    }

    /// The launch configuration, as the driver has it.
    ///
    /// # Errors
    ///
    /// [`GraphError::NodeDestroyed`], and the driver's error.
    #[doc(alias = "cuGraphKernelNodeGetParams")]
    pub fn config(&self) -> Result<LaunchConfig> {
        let locked = self.node.lock();
        let (driver, node) = (locked.driver(), locked.node(&self.node)?);
        let mut config = LaunchConfig::of_node(&params_of(driver, node)?);
        let attribute = |id| attribute_of(driver, node, id);
        // SAFETY: the value is that of the attribute.
        let cluster = unsafe { attribute(CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)?.clusterDim };
        if cluster.x != 0 {
            config = config.cluster(Dimensions { x: cluster.x, y: cluster.y, z: cluster.z });
        }
        // SAFETY: as above.
        if unsafe { attribute(CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE)?.cooperative } != 0 {
            config = config.cooperative();
        }
        // SAFETY: as above.
        let priority = unsafe { attribute(CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY)?.priority };
        Ok(if priority == 0 { config } else { config.priority(priority) })
    }

    /// Replaces the arguments; kernel and configuration stay. Executables keep what they have.
    ///
    /// # Errors
    ///
    /// As [`Position::kernel`], and [`GraphError::Opaque`] for a node whose kernel is not known here. Then
    /// the node is as before.
    ///
    /// # Safety
    ///
    /// As [`Position::kernel`].
    #[doc(alias = "cuGraphKernelNodeSetParams")]
    pub unsafe fn set_arguments(&self, arguments: impl Arguments) -> Result<()> {
        let mut locked = self.node.lock();
        let Known { kernel, context, params } = self.known_in(&locked)?;
        // SAFETY: the caller vouches for it.
        unsafe { self.set_all(&mut locked, &kernel, &context, &LaunchConfig::of_node(&params), &arguments) }
    }

    /// Replaces grid, block and shared memory; kernel, arguments and attributes stay. Executables keep what
    /// they have.
    ///
    /// # Errors
    ///
    /// As [`KernelNode::set_arguments`]; [`GraphError::Attributes`] for a configuration with a cluster, a
    /// priority or cooperation, which are set when the node is added.
    ///
    /// # Safety
    ///
    /// As [`Position::kernel`].
    pub unsafe fn set_config(&self, shape: &impl Shape) -> Result<()> {
        // Held from the look at the kernel until the call: another thread may give the node another one.
        let locked = self.node.lock();
        let Known { kernel, context, params } = self.known_in(&locked)?;
        let launch = NodeLaunch::with_shape(&kernel, &context, shape)?;
        if launch.has_attributes() {
            return Err(GraphError::Attributes.into());
        }
        let (driver, node) = (locked.driver(), locked.node(&self.node)?);
        // SAFETY: these are the arguments of the node, which has this kernel while the lock is held.
        unsafe { launch.pass_again(params.kernelParams, |params| set(driver, node, params)) }
    }

    /// Replaces kernel, configuration and arguments. Executables keep what they have.
    ///
    /// # Errors
    ///
    /// As [`KernelNode::set_config`].
    ///
    /// # Safety
    ///
    /// As [`Position::kernel`].
    pub unsafe fn set_kernel(&self, kernel: &Kernel, shape: &impl Shape, arguments: impl Arguments) -> Result<()> {
        let mut locked = self.node.lock();
        let context = self.known_in(&locked)?.context;
        if NodeLaunch::with_shape(kernel, &context, shape)?.has_attributes() {
            return Err(GraphError::Attributes.into());
        }
        // SAFETY: the caller vouches for it.
        unsafe { self.set_all(&mut locked, kernel, &context, shape, &arguments) }
    }

    /// Replaces everything, with the hierarchy locked.
    ///
    /// # Safety
    ///
    /// As [`Position::kernel`].
    unsafe fn set_all(
        &self,
        locked: &mut Locked<'_>,
        kernel: &Kernel,
        context: &Context,
        shape: &impl Shape,
        arguments: &impl Arguments,
    ) -> Result<()> {
        let hierarchy = self.node.hierarchy().number();
        let launch = NodeLaunch::new(kernel, context, shape, arguments, hierarchy)?;
        let bundle = owners(kernel, context, arguments)?;
        self.node.change_in(
            locked,
            |_| Some(bundle),
            |locked, node| launch.pass(arguments, |params| set(locked.driver(), node, params)),
        )
    }

    /// The context that it runs in, if its kernel is known here. The node is not destroyed.
    #[inline]
    pub(super) fn context_in<'l>(&'l self, locked: &'l Locked<'_>) -> Option<&'l Context> {
        match &self.context {
            NodeContext::OfGraph => Some(self.node.graph().context()),
            NodeContext::Other(context) => Some(context),
            NodeContext::Unknown => {
                let bundle = locked.bundle(self.node.graph_id(), self.node.raw());
                bundle.and_then(kernel_of).map(|(_, context)| context)
            }
        }
    }

    /// The kernel, its context and the sizes of its launch, which an executable's node takes.
    pub(super) fn known(&self) -> Result<(Kernel, LaunchConfig, Context)> {
        let Known { kernel, context, params } = self.known_in(&self.node.lock())?;
        Ok((kernel, LaunchConfig::of_node(&params), context))
    }

    /// The kernel and the parameters of the node, which stay together while the hierarchy is locked.
    fn known_in(&self, locked: &Locked<'_>) -> Result<Known> {
        let node = locked.node(&self.node)?;
        let known = locked.bundle(self.node.graph_id(), self.node.raw()).and_then(kernel_of);
        let known = known.map(|(kernel, context)| (kernel.clone(), context.clone()));
        let (kernel, context) = known.ok_or(GraphError::Opaque { kind: NodeKind::Kernel })?;
        Ok(Known { kernel, context, params: params_of(locked.driver(), node)? })
    }
}

/// The parameters of a node whose kernel is known here.
struct Known {
    kernel: Kernel,
    context: Context,
    params: CUDA_KERNEL_NODE_PARAMS_v2,
}

/// The kernel that a bundle keeps, and its context.
fn kernel_of(bundle: &Bundle) -> Option<(&Kernel, &Context)> {
    bundle.retained(|part| part == Part::Kernel).find_map(|(_, retained)| match retained {
        Retained::Kernel(kernel, context) => Some((kernel, context)),
        _ => None,
    })
}

/// The parameters of a kernel node, which the driver keeps until they are changed.
fn params_of(driver: &Driver, node: CUgraphNode) -> Result<CUDA_KERNEL_NODE_PARAMS_v2> {
    // SAFETY: all of it are numbers and pointers, for which 0 is a value.
    let mut params: CUDA_KERNEL_NODE_PARAMS_v2 = unsafe { zeroed() };
    // SAFETY: the caller's node is alive and launches a kernel, and `params` is writable.
    unsafe { driver.cuGraphKernelNodeGetParams_v2(node, &raw mut params) }?;
    Ok(params)
}

fn attribute_of(driver: &Driver, node: CUgraphNode, id: CUlaunchAttributeID) -> Result<CUlaunchAttributeValue> {
    // SAFETY: 0 is a value of every attribute.
    let mut value: CUlaunchAttributeValue = unsafe { zeroed() };
    // SAFETY: the caller's node is alive and launches a kernel, and `value` is writable.
    unsafe { driver.cuGraphKernelNodeGetAttribute(node, id, &raw mut value) }?;
    Ok(value)
}

fn set(driver: &Driver, node: CUgraphNode, params: &CUDA_KERNEL_NODE_PARAMS_v2) -> Result<()> {
    // SAFETY: the caller's node is alive and launches a kernel; the parameters are complete.
    Ok(unsafe { driver.cuGraphKernelNodeSetParams_v2(node, params) }?)
}

//! Fill nodes.
#![expect(unsafe_code, reason = "adds raw nodes")]

use std::mem::zeroed;

use warploom_driver::sys::types::{CUDA_MEMSET_NODE_PARAMS_v1, CUdeviceptr, CUgraphNode};

use super::bundle::{Bundle, Part};
use super::copy_node::{keep_other_context, size_of_values};
use super::node::{Node, NodeId, NodeKind, TypedNode, sealed, typed_node};
use super::operand::{Memory, OperandMut};
use super::position::Place;
use super::{GraphDef, GraphError, Position};
use crate::memory::{self, Pattern, pattern};
use crate::{Context, DeviceCopy, Driver, MemoryError, Result, RowsMut};

/// A node that sets memory to a value, added by [`Position::fill`] or [`Position::fill_rows`].
#[derive(Clone)]
pub struct FillNode {
    node: Node,
    /// The context that it runs in, unless it is the graph's.
    other_context: Option<Context>,
}
typed_node!(FillNode);

impl TypedNode for FillNode {}
impl sealed::TypedNode for FillNode {
    const KIND: NodeKind = NodeKind::Fill;

    fn over(node: Node) -> Result<FillNode> {
        let other_context = node.other_context();
        Ok(FillNode { node, other_context })
    }
}

/// The parameters of a [`FillNode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct FillParameters {
    /// The address of the first byte.
    pub address: CUdeviceptr,
    /// The value of each element.
    pub value: u32,
    /// The bytes of an element: 1, 2 or 4.
    pub element_size: u32,
    /// The elements of a row.
    pub width: usize,
    /// The number of rows.
    pub height: usize,
    /// The bytes from the start of a row to the start of the next.
    pub pitch: usize,
}

/// A fill that is checked: the memory, and the parameters of the node.
pub(super) struct Fill<'a> {
    to: Memory<'a>,
    pub(super) params: CUDA_MEMSET_NODE_PARAMS_v1,
}

impl<'a> Fill<'a> {
    /// Of all values of an operand.
    pub(super) fn linear<T: DeviceCopy>(to: OperandMut<'a, T>, value: &T) -> Result<Fill<'a>> {
        let to = to.into_memory();
        let bytes = size_of_values::<T>(to.len())?;
        Fill::new(to, repeated(value)?, (bytes, 1, bytes))
    }

    /// Of all values of rows.
    pub(super) fn of_rows<T: DeviceCopy>(to: RowsMut<'a, T>, value: &T) -> Result<Fill<'a>> {
        let (width, pitch, height) = (size_of_values::<T>(to.width())?, size_of_values::<T>(to.pitch())?, to.height());
        let to = Memory::held(memory::Operand::rows_mut(to), width);
        Fill::new(to, repeated(value)?, (width, height, pitch))
    }

    fn new(to: Memory<'a>, pattern: Pattern, (width, height, pitch): (usize, usize, usize)) -> Result<Fill<'a>> {
        if width == 0 || height == 0 {
            return Err(GraphError::NoBytes.into());
        }
        let (value, size) = pattern.to_raw();
        check_alignment(to.address(), (height, pitch), size)?;
        let params = CUDA_MEMSET_NODE_PARAMS_v1 {
            dst: to.address(),
            pitch,
            value,
            elementSize: size,
            width: width / size as usize,
            height,
        };
        Ok(Fill { to, params })
    }

    /// The memory, for a graph to keep, and the context of the node if that is not the graph's.
    pub(super) fn owners(&self, place: (&GraphDef, &Context)) -> Result<Bundle> {
        let mut owners = Bundle::default();
        self.to.keep_in(&mut owners, Part::Destination, place)?;
        keep_other_context(&mut owners, place);
        Ok(owners)
    }
}

/// The pattern of a value that the driver can repeat.
fn repeated<T: DeviceCopy>(value: &T) -> Result<Pattern> {
    Ok(pattern(value).ok_or(MemoryError::Fill { size: size_of::<T>() })?)
}

/// Refuses memory, or rows of it, that are not aligned for the numbers that they are filled with.
fn check_alignment(address: CUdeviceptr, (height, pitch): (usize, usize), size: u32) -> Result<()> {
    let second_row = if height > 1 { address.wrapping_add(pitch as CUdeviceptr) } else { address };
    match [address, second_row].into_iter().find(|address| !address.is_multiple_of(size.into())) {
        Some(address) => Err(MemoryError::FillAlignment { address, align: size as usize }.into()),
        None => Ok(()),
    }
}

impl Position<'_> {
    /// Adds a node that sets all values of a piece of memory, which the graph keeps. Values are as for
    /// [`SliceMut::fill`](crate::SliceMut::fill).
    ///
    /// # Errors
    ///
    /// [`MemoryError::Fill`] for a value that cannot be repeated, [`MemoryError::FillAlignment`] for memory
    /// that is not aligned to 2 or 4 bytes, as the value needs it, [`GraphError::NoBytes`] for no values, and
    /// as [`Position::copy`].
    #[doc(alias = "cuGraphAddMemsetNode")]
    pub fn fill<'a, T: DeviceCopy>(self, to: impl Into<OperandMut<'a, T>>, value: T) -> Result<FillNode> {
        let fill = Fill::linear(to.into(), &value)?;
        let node = self.node(|position| position.add_fill(&fill))?;
        Ok(FillNode { node, other_context: self.other_context() })
    }

    /// Adds a node that sets all values of rows, and leaves the gaps between them.
    ///
    /// # Errors
    ///
    /// As [`Position::fill`].
    pub fn fill_rows<T: DeviceCopy>(self, to: RowsMut<'_, T>, value: T) -> Result<FillNode> {
        let fill = Fill::of_rows(to, &value)?;
        let node = self.node(|position| position.add_fill(&fill))?;
        Ok(FillNode { node, other_context: self.other_context() })
    }

    fn add_fill(&self, fill: &Fill<'_>) -> Result<NodeId> {
        self.check_context()?;
        let (graph, context, params) = (self.graph(), self.context(), &raw const fill.params);
        let call = |driver: &Driver, (node, graph, after, count): Place| {
            // SAFETY: the place is one to add a node at; the memory has as many elements, and the graph keeps
            // it, or the caller vouches for it. The context is held.
            unsafe { driver.cuGraphAddMemsetNode(node, graph, after, count, params, context.as_raw()) }
        };
        self.add(&mut fill.owners((graph, context))?, call)
    }
}

impl FillNode {
    /// The context that it runs in.
    pub(super) fn context(&self) -> &Context {
        self.other_context.as_ref().unwrap_or(self.node.graph().context())
    }

    /// Its parameters, as the driver has them.
    ///
    /// # Errors
    ///
    /// [`GraphError::NodeDestroyed`], and the driver's error.
    #[doc(alias = "cuGraphMemsetNodeGetParams")]
    pub fn parameters(&self) -> Result<FillParameters> {
        let locked = self.node.lock();
        let params = params_of(locked.driver(), locked.node(&self.node)?)?;
        Ok(FillParameters {
            address: params.dst,
            value: params.value,
            element_size: params.elementSize,
            width: params.width,
            height: params.height,
            pitch: params.pitch,
        })
    }

    /// Replaces memory and value. Executables keep what they have.
    ///
    /// # Errors
    ///
    /// As [`Position::fill`], and [`GraphError::NodeDestroyed`]. Then the node is as before.
    #[doc(alias = "cuGraphMemsetNodeSetParams")]
    pub fn set<'a, T: DeviceCopy>(&self, to: impl Into<OperandMut<'a, T>>, value: T) -> Result<()> {
        self.replace(&Fill::linear(to.into(), &value)?)
    }

    /// Replaces memory and value by rows, all values of which are set; the gaps between them are left. Executables
    /// keep what they have.
    ///
    /// ```
    /// use warploom::{DevicePool, Driver, GraphDef};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let stream = context.stream()?;
    /// let mut image = DevicePool::new(&context)?.zeroed::<u8>(2 * 4, &stream)?;
    /// let graph = GraphDef::new(&context)?;
    /// let node = graph.entry().fill(&mut image, 1)?;
    /// node.set_rows(image.rows_mut(4, 3, 2)?, 7)?;
    /// graph.instantiate()?.launch(&stream)?;
    /// assert_eq!(image.download(&stream)?, [7, 7, 7, 0, 7, 7, 7, 0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`FillNode::set`].
    pub fn set_rows<T: DeviceCopy>(&self, to: RowsMut<'_, T>, value: T) -> Result<()> {
        self.replace(&Fill::of_rows(to, &value)?)
    }

    fn replace(&self, fill: &Fill<'_>) -> Result<()> {
        let owners = fill.owners((self.node.graph(), self.context()))?;
        let _current = self.context().current()?;
        self.node.change(|_| Some(owners), |locked, node| set(locked.driver(), node, &fill.params))
    }

    /// Replaces the value; the memory stays. Executables keep what they have.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Fill`] for a value that cannot be repeated, [`MemoryError::FillAlignment`] for memory
    /// that is not aligned for it, [`GraphError::OtherSize`] if a row is not a whole number of such values,
    /// [`GraphError::NodeDestroyed`], and the driver's error.
    pub fn set_value<T: DeviceCopy>(&self, value: T) -> Result<()> {
        let (value, size) = repeated(&value)?.to_raw();
        let _current = self.context().current()?;
        self.node.change(
            |_| None,
            |locked, node| {
                let mut params = params_of(locked.driver(), node)?;
                let bytes = params.width * params.elementSize as usize;
                if !bytes.is_multiple_of(size_of::<T>()) {
                    return Err(GraphError::OtherSize { bytes, given: size_of::<T>() }.into());
                }
                check_alignment(params.dst, (params.height, params.pitch), size)?;
                (params.value, params.elementSize, params.width) = (value, size, bytes / size as usize);
                set(locked.driver(), node, &params)
            },
        )
    }

    /// Replaces the memory; the value stays. Executables keep what they have.
    ///
    /// # Errors
    ///
    /// [`GraphError::OtherSize`] for another size than the node fills, [`GraphError::Opaque`] for a node that
    /// fills rows, whose memory [`FillNode::set_rows`] replaces, and as [`FillNode::set`].
    pub fn set_destination<'a, T: DeviceCopy>(&self, to: impl Into<OperandMut<'a, T>>) -> Result<()> {
        let to = to.into().into_memory();
        let given = size_of_values::<T>(to.len())?;
        let (mut owners, place) = (Bundle::default(), (self.node.graph(), self.context()));
        to.keep_in(&mut owners, Part::Destination, place)?;
        keep_other_context(&mut owners, place);
        let _current = self.context().current()?;
        self.node.change(
            |_| Some(owners),
            |locked, node| {
                let mut params = params_of(locked.driver(), node)?;
                if params.height != 1 {
                    return Err(GraphError::Opaque { kind: NodeKind::Fill }.into());
                }
                let bytes = params.width * params.elementSize as usize;
                if bytes != given {
                    return Err(GraphError::OtherSize { bytes, given }.into());
                }
                check_alignment(to.address(), (1, bytes), params.elementSize)?;
                params.dst = to.address();
                set(locked.driver(), node, &params)
            },
        )
    }
}

fn params_of(driver: &Driver, node: CUgraphNode) -> Result<CUDA_MEMSET_NODE_PARAMS_v1> {
    // SAFETY: all of it are numbers, for which 0 is a value.
    let mut params: CUDA_MEMSET_NODE_PARAMS_v1 = unsafe { zeroed() };
    // SAFETY: the caller's node is alive and fills, and `params` is writable.
    unsafe { driver.cuGraphMemsetNodeGetParams(node, &raw mut params) }?;
    Ok(params)
}

fn set(driver: &Driver, node: CUgraphNode, params: &CUDA_MEMSET_NODE_PARAMS_v1) -> Result<()> {
    // SAFETY: the caller's node is alive and fills; the memory has as many elements, and the graph keeps it,
    // or its owner vouches for it.
    Ok(unsafe { driver.cuGraphMemsetNodeSetParams(node, params) }?)
}

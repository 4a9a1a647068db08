//! Copy nodes.
#![expect(unsafe_code, reason = "adds raw nodes")]

use std::mem::zeroed;
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

use warploom_driver::sys::types::{CUDA_MEMCPY3D_v2, CUdeviceptr, CUgraphNode, CUmemorytype};

use super::bundle::{Bundle, PaddedType, Part, Retained};
use super::node::{Node, NodeId, NodeKind, TypedNode, sealed, typed_node};
use super::operand::{Memory, Operand, OperandMut};
use super::position::Place;
use super::{GraphDef, GraphError, Position};
use crate::memory::{self, OperandKind, bytes_of};
use crate::{Context, CopyError, DeviceCopy, Driver, MemoryError, Result, Rows, RowsMut};

/// A node that copies memory, added by [`Position::copy`] or [`Position::copy_rows`].
#[derive(Clone)]
pub struct CopyNode {
    node: Node,
    /// The context that it runs in, unless it is the graph's.
    other_context: Option<Context>,
}
typed_node!(CopyNode);

impl TypedNode for CopyNode {}
impl sealed::TypedNode for CopyNode {
    const KIND: NodeKind = NodeKind::Copy;

    fn over(node: Node) -> Result<CopyNode> {
        let other_context = node.other_context();
        Ok(CopyNode { node, other_context })
    }
}

/// The parameters of a [`CopyNode`], in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CopyParameters {
    /// The address of the first byte that is read; 0 for an array.
    pub source: CUdeviceptr,
    /// The address of the first byte that is written; 0 for an array.
    pub destination: CUdeviceptr,
    /// The bytes of a row.
    pub width: usize,
    /// The number of rows.
    pub height: usize,
    /// The number of planes of rows.
    pub depth: usize,
}

/// A copy that is checked: both ends.
pub(super) struct Copy {
    from: CopyOperand,
    to: CopyOperand,
    /// The bytes of a row, and the number of rows.
    shape: (usize, usize),
}

/// An operand of a copy: an address, the kind of its memory, and the distance of rows in bytes.
#[derive(Clone, Copy)]
struct CopyOperand {
    address: CUdeviceptr,
    kind: OperandKind,
    pitch: usize,
}

impl Copy {
    /// Of as many values as both operands have; their owners are added to `owners`.
    #[inline]
    pub(super) fn linear<T: DeviceCopy>(
        (graph, context): (&GraphDef, &Context),
        from: Operand<'_, T>,
        to: OperandMut<'_, T>,
        owners: &mut Bundle,
    ) -> Result<Copy> {
        let (from, to) = (from.into_memory(), to.into_memory());
        let bytes = linear_bytes::<T>(&from, &to)?;
        let copy = Copy::new(CopyOperand::new(&from, bytes), CopyOperand::new(&to, bytes), (bytes, 1))?;
        keep_ends(owners, (&from, &to), PaddedType::of::<T>(), (graph, context))?;
        Ok(copy)
    }

    /// Of rows: their bytes, and how many there are.
    #[inline]
    fn new(from: CopyOperand, to: CopyOperand, (width, height): (usize, usize)) -> Result<Copy> {
        if width == 0 || height == 0 {
            return Err(GraphError::NoBytes.into());
        }
        if height == 1 {
            check_apart(from.address, to.address, width)?;
        }
        Ok(Copy { from, to, shape: (width, height) })
    }

    /// The parameters of the node.
    #[inline]
    pub(super) fn params(&self) -> CUDA_MEMCPY3D_v2 {
        // SAFETY: all of it are numbers and pointers, for which 0 is a value.
        let mut params: CUDA_MEMCPY3D_v2 = unsafe { zeroed() };
        self.from.read_by(&mut params);
        self.to.written_by(&mut params);
        let (width, height) = self.shape;
        (params.srcHeight, params.dstHeight) = (height, height);
        (params.WidthInBytes, params.Height, params.Depth) = (width, height, 1);
        params
    }
}

/// Refuses pieces of memory that overlap.
#[inline]
fn check_apart(from: CUdeviceptr, to: CUdeviceptr, bytes: usize) -> Result<()> {
    if from.abs_diff(to) < bytes as u64 { Err(CopyError::Overlap { from, to, bytes }.into()) } else { Ok(()) }
}

/// Has a bundle keep both ends of a copy, with the type of their values if it has padding, and the context of its
/// node if that is not the graph's.
fn keep_ends(
    owners: &mut Bundle,
    (from, to): (&Memory<'_>, &Memory<'_>),
    padded: Option<PaddedType>,
    place: (&GraphDef, &Context),
) -> Result<()> {
    to.keep_in(owners, Part::Destination, place)?;
    from.keep_in(owners, Part::Source, place)?;
    owners.keep(Part::Destination, padded.map(Retained::Padded));
    owners.keep(Part::Source, padded.map(Retained::Padded));
    keep_other_context(owners, place);
    Ok(())
}

/// The bytes of a copy of as many values as both operands have.
#[inline]
fn linear_bytes<T: DeviceCopy>(from: &Memory<'_>, to: &Memory<'_>) -> Result<usize> {
    if from.len() != to.len() {
        return Err(CopyError::LengthMismatch { source_len: from.len(), destination_len: to.len() }.into());
    }
    size_of_values::<T>(from.len())
}

/// Has a bundle keep the context of a node, if it is not the graph's.
#[inline]
pub(super) fn keep_other_context(owners: &mut Bundle, (graph, context): (&GraphDef, &Context)) {
    if graph.context() != context {
        keep_context(owners, context);
    }
}

#[cold]
fn keep_context(owners: &mut Bundle, context: &Context) {
    owners.keep(Part::Whole, Retained::Context(context.clone()));
}

#[inline]
pub(super) fn size_of_values<T: DeviceCopy>(len: usize) -> Result<usize> {
    Ok(bytes_of::<T>(len).ok_or(MemoryError::TooLarge { len, element: size_of::<T>() })?)
}

impl CopyOperand {
    #[inline]
    fn new(memory: &Memory<'_>, pitch: usize) -> CopyOperand {
        CopyOperand { address: memory.address(), kind: memory.kind(), pitch }
    }

    #[inline]
    fn read_by(self, params: &mut CUDA_MEMCPY3D_v2) {
        (params.srcMemoryType, params.srcPitch) = (self.raw_kind(), self.pitch);
        (params.srcHost, params.srcDevice) = match self.kind {
            OperandKind::Host => (with_exposed_provenance(address(self.address)), 0),
            OperandKind::Device | OperandKind::Unified => (std::ptr::null(), self.address),
        };
    }

    #[inline]
    fn written_by(self, params: &mut CUDA_MEMCPY3D_v2) {
        (params.dstMemoryType, params.dstPitch) = (self.raw_kind(), self.pitch);
        (params.dstHost, params.dstDevice) = match self.kind {
            OperandKind::Host => (with_exposed_provenance_mut(address(self.address)), 0),
            OperandKind::Device | OperandKind::Unified => (std::ptr::null_mut(), self.address),
        };
    }

    fn raw_kind(self) -> CUmemorytype {
        match self.kind {
            OperandKind::Host => CUmemorytype::CU_MEMORYTYPE_HOST,
            OperandKind::Device => CUmemorytype::CU_MEMORYTYPE_DEVICE,
            OperandKind::Unified => CUmemorytype::CU_MEMORYTYPE_UNIFIED,
        }
    }
}

/// An address of the host's own memory, which fits.
fn address(raw: CUdeviceptr) -> usize {
    raw as usize
}

impl Position<'_> {
    /// Adds a node that copies all values of one piece of memory to another. The graph keeps both.
    ///
    /// ```
    /// # use warploom::{DevicePool, Driver, GraphDef};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// # let context = driver.device(0)?.context()?;
    /// # let stream = context.stream()?;
    /// # let pool = DevicePool::new(&context)?;
    /// let (from, mut to) = (pool.upload(&[1_u32, 2, 3, 4], &stream)?, pool.zeroed::<u32>(4, &stream)?);
    /// let graph = GraphDef::new(&context)?;
    /// graph.entry().copy(from.slice(..2)?, to.slice_mut(2..)?)?;
    /// drop(from); // the graph keeps the memory
    /// graph.instantiate()?.launch(&stream)?;
    /// assert_eq!(to.download(&stream)?, [0, 0, 1, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Copy`](crate::Error::Copy) if the two have different lengths or overlap,
    /// [`GraphError::NoBytes`] for no values, [`PeerError::NotEnabled`](crate::PeerError::NotEnabled) for
    /// memory that is not open to the device of the node, [`GraphError::OutsideGraph`] for memory of another
    /// graph, and as [`Position::empty`].
    #[doc(alias = "cuGraphAddMemcpyNode")]
    #[inline]
    pub fn copy<'a, T: DeviceCopy>(
        self,
        from: impl Into<Operand<'a, T>>,
        to: impl Into<OperandMut<'a, T>>,
    ) -> Result<CopyNode> {
        let (from, to) = (from.into().into_memory(), to.into().into_memory());
        let bytes = linear_bytes::<T>(&from, &to)?;
        let (from, to) = ((&from, bytes), (&to, bytes));
        let node = self.node(|position| position.add_copy(from, to, (bytes, 1), PaddedType::of::<T>()))?;
        Ok(CopyNode { node, other_context: self.other_context() })
    }

    /// Adds a node that copies rows. The graph keeps both memories.
    ///
    /// # Errors
    ///
    /// As [`Position::copy`].
    pub fn copy_rows<T: DeviceCopy>(self, from: Rows<'_, T>, to: RowsMut<'_, T>) -> Result<CopyNode> {
        let (source_shape, destination_shape) = ((from.width(), from.height()), (to.width(), to.height()));
        if source_shape != destination_shape {
            return Err(CopyError::ShapeMismatch { source_shape, destination_shape }.into());
        }
        let (width, height) = source_shape;
        let (from_pitch, to_pitch) = (size_of_values::<T>(from.pitch())?, size_of_values::<T>(to.pitch())?);
        let from = Memory::held(memory::Operand::rows(from), width);
        let to = Memory::held(memory::Operand::rows_mut(to), width);
        let (shape, padded) = ((size_of_values::<T>(width)?, height), PaddedType::of::<T>());
        let node = self.node(|position| position.add_copy((&from, from_pitch), (&to, to_pitch), shape, padded))?;
        Ok(CopyNode { node, other_context: self.other_context() })
    }

    /// Adds a copy of rows, each end with the distance of its rows.
    fn add_copy(
        &self,
        from: (&Memory<'_>, usize),
        to: (&Memory<'_>, usize),
        shape: (usize, usize),
        padded: Option<PaddedType>,
    ) -> Result<NodeId> {
        self.check_context()?;
        let params = Copy::new(CopyOperand::new(from.0, from.1), CopyOperand::new(to.0, to.1), shape)?.params();
        let (graph, context) = (self.graph(), self.context());
        let mut owners = Bundle::default();
        keep_ends(&mut owners, (from.0, to.0), padded, (graph, context))?;
        // SAFETY: the graph keeps both ends, or the caller vouches for them.
        self.add(&mut owners, unsafe { adding(&params, context) })
    }
}

/// The call that adds a copy.
///
/// # Safety
///
/// Both ends have as many bytes as are copied, for as long as the node can run.
#[inline]
unsafe fn adding(
    params: &CUDA_MEMCPY3D_v2,
    context: &Context,
) -> impl FnOnce(&Driver, Place) -> warploom_driver::Result<()> {
    move |driver, (node, graph, after, count)| {
        // SAFETY: the place is one to add a node at, the context is held, and the caller vouches for both ends.
        unsafe { driver.cuGraphAddMemcpyNode(node, graph, after, count, params, context.as_raw()) }
    }
}

impl CopyNode {
    /// The context that it runs in.
    pub(super) fn context(&self) -> &Context {
        self.other_context.as_ref().unwrap_or(self.node.graph().context())
    }

    /// Its parameters, as the driver has them.
    ///
    /// # Errors
    ///
    /// [`GraphError::NodeDestroyed`], and the driver's error.
    #[doc(alias = "cuGraphMemcpyNodeGetParams")]
    pub fn parameters(&self) -> Result<CopyParameters> {
        let locked = self.node.lock();
        let params = params_of(locked.driver(), locked.node(&self.node)?)?;
        Ok(CopyParameters {
            source: source(&params),
            destination: destination(&params),
            width: params.WidthInBytes,
            height: params.Height,
            depth: params.Depth,
        })
    }

    /// Replaces both ends. Executables keep what they have.
    ///
    /// # Errors
    ///
    /// As [`Position::copy`], and [`GraphError::NodeDestroyed`]. Then the node is as before.
    #[doc(alias = "cuGraphMemcpyNodeSetParams")]
    pub fn set<'a, T: DeviceCopy>(
        &self,
        from: impl Into<Operand<'a, T>>,
        to: impl Into<OperandMut<'a, T>>,
    ) -> Result<()> {
        let mut owners = Bundle::default();
        let copy = Copy::linear((self.node.graph(), self.context()), from.into(), to.into(), &mut owners)?;
        let _current = self.context().current()?;
        let params = copy.params();
        self.node.change(|_| Some(owners), |locked, node| set(locked.driver(), node, &params))
    }

    /// Replaces the memory that is read; the other end stays, and what is kept for it. Executables keep what
    /// they have.
    ///
    /// # Errors
    ///
    /// [`GraphError::OtherSize`] for another size than the node copies, [`GraphError::Opaque`] for a node
    /// that copies rows, planes or arrays, [`MemoryError::CastPadding`] if values with padding would be copied
    /// to memory of another type, and as [`CopyNode::set`].
    pub fn set_source<'a, T: DeviceCopy>(&self, from: impl Into<Operand<'a, T>>) -> Result<()> {
        let from = from.into().into_memory();
        let bytes = size_of_values::<T>(from.len())?;
        self.set_end((&from, PaddedType::of::<T>()), bytes, Part::Source, |params, end| end.read_by(params))
    }

    /// Replaces the memory that is written; the other end stays, and what is kept for it. Executables keep
    /// what they have.
    ///
    /// # Errors
    ///
    /// As [`CopyNode::set_source`], and [`GraphError::Opaque`] for a captured node whose source may have values with
    /// padding, since a copy of such values was captured, or the capture goes on; [`CopyNode::set`] replaces both.
    pub fn set_destination<'a, T: DeviceCopy>(&self, to: impl Into<OperandMut<'a, T>>) -> Result<()> {
        let to = to.into().into_memory();
        let bytes = size_of_values::<T>(to.len())?;
        self.set_end((&to, PaddedType::of::<T>()), bytes, Part::Destination, |params, end| end.written_by(params))
    }

    fn set_end(
        &self,
        (memory, padded): (&Memory<'_>, Option<PaddedType>),
        given: usize,
        part: Part,
        change: impl FnOnce(&mut CUDA_MEMCPY3D_v2, CopyOperand),
    ) -> Result<()> {
        let mut bundle = Bundle::default();
        memory.keep_in(&mut bundle, part, (self.node.graph(), self.context()))?;
        bundle.keep(part, padded.map(Retained::Padded));
        let _current = self.context().current()?;
        let mut locked = self.node.lock();
        locked.node(&self.node)?;
        if let Some(present) = locked.bundle(self.node.graph_id(), self.node.raw()) {
            bundle.keep_parts_of(present, |kept| kept != part);
        }
        let is_source_known = bundle.retained(|kept| kept == Part::Source).next().is_some();
        if part == Part::Destination && !is_source_known && locked.may_copy_padding(self.node.graph_id()) {
            return Err(GraphError::Opaque { kind: NodeKind::Copy }.into());
        }
        if let Some(source) = bundle.padded(Part::Source) {
            source.expect(bundle.padded(Part::Destination))?;
        }
        self.node.change_in(
            &mut locked,
            |_| Some(bundle),
            |locked, node| {
                let mut params = params_of(locked.driver(), node)?;
                if !is_linear(&params) {
                    return Err(GraphError::Opaque { kind: NodeKind::Copy }.into());
                }
                let bytes = params.WidthInBytes;
                if bytes != given {
                    return Err(GraphError::OtherSize { bytes, given }.into());
                }
                change(&mut params, CopyOperand::new(memory, given));
                let (from, to) = (source(&params), destination(&params));
                check_apart(from, to, bytes)?;
                set(locked.driver(), node, &params)
            },
        )
    }
}

/// `true` if bytes are copied in one piece between addresses.
fn is_linear(params: &CUDA_MEMCPY3D_v2) -> bool {
    let array = CUmemorytype::CU_MEMORYTYPE_ARRAY;
    let offsets = [params.srcXInBytes, params.srcY, params.srcZ, params.dstXInBytes, params.dstY, params.dstZ];
    (params.Height, params.Depth) == (1, 1)
        && params.srcMemoryType != array
        && params.dstMemoryType != array
        && offsets == [0; 6]
}

fn source(params: &CUDA_MEMCPY3D_v2) -> CUdeviceptr {
    match params.srcMemoryType {
        CUmemorytype::CU_MEMORYTYPE_HOST => params.srcHost.addr() as CUdeviceptr,
        _ => params.srcDevice,
    }
}

fn destination(params: &CUDA_MEMCPY3D_v2) -> CUdeviceptr {
    match params.dstMemoryType {
        CUmemorytype::CU_MEMORYTYPE_HOST => params.dstHost.addr() as CUdeviceptr,
        _ => params.dstDevice,
    }
}

fn params_of(driver: &Driver, node: CUgraphNode) -> Result<CUDA_MEMCPY3D_v2> {
    // SAFETY: all of it are numbers and pointers, for which 0 is a value.
    let mut params: CUDA_MEMCPY3D_v2 = unsafe { zeroed() };
    // SAFETY: the caller's node is alive and copies, and `params` is writable.
    unsafe { driver.cuGraphMemcpyNodeGetParams(node, &raw mut params) }?;
    Ok(params)
}

fn set(driver: &Driver, node: CUgraphNode, params: &CUDA_MEMCPY3D_v2) -> Result<()> {
    // SAFETY: the caller's node is alive and copies; both ends have as many bytes, which the graph keeps, or
    // for which their owner vouches.
    Ok(unsafe { driver.cuGraphMemcpyNodeSetParams(node, params) }?)
}

//! Alloc and free nodes: memory that a graph allocates for itself.
#![expect(unsafe_code, reason = "adds raw nodes")]

use std::marker::PhantomData;
use std::mem::zeroed;
use std::ptr::null;
use std::slice;

use warploom_driver::sys::types::{
    CUDA_MEM_ALLOC_NODE_PARAMS, CUdeviceptr, CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationType, CUmemLocation,
    CUmemLocationType, CUresult,
};

use super::bundle::Bundle;
use super::hierarchy::Locked;
use super::node::{Node, NodeKind, TypedNode, sealed, typed_node};
use super::position::Place;
use super::{GraphError, Position};
use crate::device::peer_capability;
use crate::memory::bytes_of;
use crate::{Device, DeviceCopy, Driver, Error, Location, LocationError, MemoryError, PeerError, Result};

/// A node that allocates memory in each launch, added by [`Position::allocate`], and the memory: kernel nodes
/// of the same graph take it or a [slice](AllocNode::slice) of it as an argument, copies and fills by
/// [`Operand::of_graph`](super::Operand::of_graph).
///
/// ```
/// use warploom::graph::{Operand, OperandMut};
/// use warploom::{DevicePool, Driver, GraphDef};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let mut result = DevicePool::new(&context)?.zeroed::<u32>(4, &stream)?;
///
/// let graph = GraphDef::new(&context)?;
/// let scratch = graph.entry().allocate::<u32>(4)?;
/// // SAFETY: both nodes come after the allocation and before the free, which is the only one.
/// unsafe {
///     let fill = scratch.then().fill(OperandMut::of_graph(&scratch), 7)?;
///     let copy = fill.then().copy(Operand::of_graph(&scratch), &mut result)?;
///     copy.then().free(&scratch)?;
/// }
/// graph.instantiate()?.launch(&stream)?;
/// assert_eq!(result.download(&stream)?, [7, 7, 7, 7]);
/// # Ok(())
/// # }
/// ```
///
/// The memory is there from this node on until a [free node](Position::free), in the order of the edges. The
/// driver does not check that nodes which use it come in between, so using and freeing it is `unsafe`.
pub struct AllocNode<T: DeviceCopy = u8> {
    node: Node,
    address: CUdeviceptr,
    len: usize,
    of: PhantomData<T>,
}
typed_node!(AllocNode<T: DeviceCopy>);

impl<T: DeviceCopy> TypedNode for AllocNode<T> {}
impl<T: DeviceCopy> sealed::TypedNode for AllocNode<T> {
    const KIND: NodeKind = NodeKind::Alloc;

    fn over(node: Node) -> Result<AllocNode<T>> {
        let params = params_of(&node.lock(), &node)?;
        let (bytes, address, size, align) = (params.bytesize, params.dptr, size_of::<T>(), align_of::<T>());
        if size == 0 || !bytes.is_multiple_of(size) || !address.is_multiple_of(align as CUdeviceptr) {
            return Err(MemoryError::Cast { bytes, address, size, align }.into());
        }
        Ok(AllocNode { node, address, len: bytes / size, of: PhantomData })
    }
}

impl<T: DeviceCopy> Clone for AllocNode<T> {
    fn clone(&self) -> AllocNode<T> {
        AllocNode { node: self.node.clone(), ..*self }
    }
}

impl<T: DeviceCopy> AllocNode<T> {
    /// The address that the memory has in each launch.
    #[must_use]
    pub fn address(&self) -> CUdeviceptr {
        self.address
    }

    /// The number of values.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "no allocation is empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of bytes.
    #[must_use]
    pub fn size_in_bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// The other devices that may use the memory, as [`Position::allocate_at`] was given them.
    ///
    /// ```
    /// use warploom::{Driver, GraphDef};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("pcie-pair")?)?;
    /// let graph = GraphDef::new(&driver.device(0)?.context()?)?;
    /// let memory = graph.entry().allocate_at::<f32>(driver.device(0)?, 1000, &driver.devices()?)?;
    /// assert_eq!(memory.peers()?, [driver.device(1)?]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`GraphError::NodeDestroyed`], and the driver's error.
    #[doc(alias = "cuGraphMemAllocNodeGetParams")]
    pub fn peers(&self) -> Result<Vec<Device>> {
        let locked = self.node.lock();
        let params = params_of(&locked, &self.node)?;
        let access = match params.accessDescCount {
            0 => &[],
            // SAFETY: the driver has as many descriptors there for as long as the node lives, and nothing changes
            // or destroys it while the graph is locked.
            count => unsafe { slice::from_raw_parts(params.accessDescs, count) },
        };
        let owner = params.poolProps.location;
        let is_peer = |location: &CUmemLocation| {
            location.type_ == CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE
                && (location.type_, location.id()) != (owner.type_, owner.id())
        };
        let peers: Vec<_> = access.iter().map(|description| description.location).filter(is_peer).collect();
        drop(locked);
        let driver = self.node.graph().driver();
        peers.iter().map(|location| driver.device(location.id().cast_unsigned())).collect()
    }
}

/// The parameters of an alloc node. The driver keeps the descriptors in them for as long as the node lives.
fn params_of(locked: &Locked<'_>, node: &Node) -> Result<CUDA_MEM_ALLOC_NODE_PARAMS> {
    // SAFETY: all of it are numbers and pointers, for which 0 is a value.
    let mut params: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { zeroed() };
    // SAFETY: the node is alive and allocates memory, and `params` is writable.
    unsafe { locked.driver().cuGraphMemAllocNodeGetParams(locked.node(node)?, &raw mut params) }?;
    Ok(params)
}

/// A node that frees memory of the graph, added by [`Position::free`].
#[derive(Clone)]
pub struct FreeNode {
    node: Node,
}
typed_node!(FreeNode);

impl TypedNode for FreeNode {}
impl sealed::TypedNode for FreeNode {
    const KIND: NodeKind = NodeKind::Free;

    fn over(node: Node) -> Result<FreeNode> {
        Ok(FreeNode { node })
    }
}

impl FreeNode {
    /// The address of the memory that it frees.
    ///
    /// # Errors
    ///
    /// [`GraphError::NodeDestroyed`], and the driver's error.
    #[doc(alias = "cuGraphMemFreeNodeGetParams")]
    pub fn address(&self) -> Result<CUdeviceptr> {
        let locked = self.node.lock();
        let (node, mut address) = (locked.node(&self.node)?, 0);
        // SAFETY: the node is alive and frees memory, and `address` is writable.
        unsafe { locked.driver().cuGraphMemFreeNodeGetParams(node, &raw mut address) }?;
        Ok(address)
    }
}

impl Position<'_> {
    /// Adds a node that allocates `len` uninitialised values on the device of the context.
    ///
    /// A graph with memory nodes can be instantiated once at a time, and neither embedded nor cloned; its
    /// nodes cannot be destroyed. Memory that no node frees stays until the next launch, which needs
    /// [`InstantiateOptions::auto_free`](super::InstantiateOptions::auto_free).
    ///
    /// # Errors
    ///
    /// [`MemoryError::EmptyBuffer`] for no bytes, [`MemoryError::TooLarge`] for more than a size can say, and
    /// as [`Position::empty`].
    #[doc(alias = "cuGraphAddMemAllocNode")]
    pub fn allocate<T: DeviceCopy>(self, len: usize) -> Result<AllocNode<T>> {
        let device = self.context().device();
        self.allocate_at(device, len, &[])
    }

    /// As [`Position::allocate`], at a location of one's own choice, for other devices to use as well.
    ///
    /// Drivers up to 13.0 place memory of graphs on devices alone. Asked for managed memory, they give memory of a
    /// device that the host cannot read, so that it is not offered here.
    ///
    /// # Errors
    ///
    /// As [`Position::allocate`], [`PeerError::Unsupported`] for devices that cannot have access,
    /// [`LocationError::GraphMemory`] for a location on the host that the driver refuses, and
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) for a device of another driver.
    pub fn allocate_at<T: DeviceCopy>(
        self,
        location: impl Into<Location>,
        len: usize,
        peers: &[Device],
    ) -> Result<AllocNode<T>> {
        let location = location.into();
        let bytes = bytes_of::<T>(len).ok_or(MemoryError::TooLarge { len, element: size_of::<T>() })?;
        if bytes == 0 {
            return Err(MemoryError::EmptyBuffer.into());
        }
        self.check_context()?;
        if let Location::Device(device) = &location {
            self.graph().same_driver(device.driver())?;
        }
        let access = access(&location, peers)?;
        // SAFETY: all of it are numbers and pointers, for which 0 is a value; the driver wants 0 in the rest.
        let mut params: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { zeroed() };
        params.poolProps.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        params.poolProps.location = location.to_raw();
        params.accessDescs = if access.is_empty() { null() } else { access.as_ptr() };
        params.accessDescCount = access.len();
        params.bytesize = bytes;
        let _current = self.context().current()?;
        let graph = self.graph();
        let mut locked = graph.lock();
        let add = |driver: &Driver, (node, graph, after, count): Place| {
            // SAFETY: the place is one to add a node at, and the parameters are complete and writable.
            unsafe { driver.cuGraphAddMemAllocNode(node, graph, after, count, &raw mut params) }
        };
        let added = self.node(|position| position.add_to(&mut locked, &mut Bundle::default(), add));
        let node = added.map_err(|error| name_location(error, &location))?;
        locked.add_uncopyable(graph.id(), node.raw(), "memory");
        Ok(AllocNode { node, address: params.dptr, len, of: PhantomData })
    }

    /// Adds a node that frees memory of the graph.
    ///
    /// # Errors
    ///
    /// [`GraphError::OutsideGraph`] for memory of another graph, and as [`Position::empty`]. The driver
    /// refuses to free memory twice, and once an executable of the graph leaves it allocated. Copies and fills
    /// of the memory cannot be added any more.
    ///
    /// # Safety
    ///
    /// The position comes after the alloc node and after all nodes that use the memory, in the order of the
    /// edges.
    #[doc(alias = "cuGraphAddMemFreeNode")]
    pub unsafe fn free<T: DeviceCopy>(self, memory: &AllocNode<T>) -> Result<FreeNode> {
        if memory.hierarchy().number() != self.graph().hierarchy().number() {
            return Err(GraphError::OutsideGraph.into());
        }
        // SAFETY: the memory was allocated by a node of this graph; the caller vouches for the order.
        unsafe { self.free_raw(memory.address) }
    }

    /// Adds a node that frees memory that a graph has allocated.
    ///
    /// # Errors
    ///
    /// As [`Position::empty`].
    ///
    /// # Safety
    ///
    /// The memory is allocated by a node of this graph, or of another that is launched before; nothing else
    /// frees it, and no work uses it afterwards.
    pub unsafe fn free_raw(self, address: CUdeviceptr) -> Result<FreeNode> {
        let graph = self.graph();
        let mut locked = graph.lock();
        let add = |driver: &Driver, (node, graph, after, count): Place| {
            // SAFETY: the place is one to add a node at; the driver refuses an address that it does not know.
            unsafe { driver.cuGraphAddMemFreeNode(node, graph, after, count, address) }
        };
        let node = self.node(|position| position.add_to(&mut locked, &mut Bundle::default(), add))?;
        locked.add_uncopyable(graph.id(), node.raw(), "memory");
        Ok(FreeNode { node })
    }
}

/// The access of other devices; all that cannot have it are named in the error. Every device reaches the host.
fn access(location: &Location, peers: &[Device]) -> Result<Vec<CUmemAccessDesc>> {
    let owner = if let Location::Device(device) = location { Some(device) } else { None };
    let (mut access, mut refused) = (Vec::new(), Vec::new());
    for peer in peers.iter().filter(|peer| Some(*peer) != owner) {
        if let Some(owner) = owner
            && !peer_capability(peer, owner)?
        {
            refused.push(peer.ordinal());
            continue;
        }
        let flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        access.push(CUmemAccessDesc { location: Location::from(peer).to_raw(), flags });
    }
    refused.sort_unstable();
    match owner {
        Some(owner) if !refused.is_empty() => {
            Err(PeerError::Unsupported { owner: owner.ordinal(), peers: refused }.into())
        }
        _ => Ok(access),
    }
}

/// The error of an allocation, which names a location on the host that the driver refuses.
fn name_location(error: Error, location: &Location) -> Error {
    match (location, error.code()) {
        (Location::Host(host), Some(CUresult::CUDA_ERROR_NOT_SUPPORTED | CUresult::CUDA_ERROR_INVALID_VALUE)) => {
            LocationError::GraphMemory { host: *host }.into()
        }
        _ => error,
    }
}

//! Operands of copy and fill nodes: buffers, memory of the graph, and raw addresses.
#![expect(unsafe_code, reason = "takes addresses that the caller vouches for")]

use std::fmt;
use std::marker::PhantomData;

use warploom_driver::sys::types::CUdeviceptr;

use super::bundle::{Bundle, Part, Retained};
use super::{AllocSlice, GraphDef, GraphError, Owner};
use crate::memory::{self, OperandKind};
use crate::{Buffer, Context, DeviceCopy, ManagedBuffer, Result, Slice, SliceMut};

/// Memory that a node reads: a buffer or a slice, [memory that the graph allocates](Operand::of_graph), or a
/// [raw address](Operand::raw).
///
/// Of a buffer, the graph keeps the allocation, so that the buffer may be dropped or closed.
pub struct Operand<'a, T: DeviceCopy = u8> {
    memory: Memory<'a>,
    of: PhantomData<&'a [T]>,
}

/// Memory that a node writes; see [`Operand`].
pub struct OperandMut<'a, T: DeviceCopy = u8> {
    memory: Memory<'a>,
    of: PhantomData<&'a mut [T]>,
}

/// Memory, and its owner.
pub(super) struct Memory<'a> {
    address: CUdeviceptr,
    /// The number of values.
    len: usize,
    owner: Source<'a>,
}

enum Source<'a> {
    /// An allocation.
    Held(memory::Operand<'a>),
    /// Memory of a graph, by the number of its hierarchy.
    Graph(u64),
    /// Memory that the caller vouches for.
    Raw(Option<Owner>),
}

impl<'a> Memory<'a> {
    pub(super) fn held(operand: memory::Operand<'a>, len: usize) -> Memory<'a> {
        Memory { address: operand.address(), len, owner: Source::Held(operand) }
    }

    fn of_graph<T: DeviceCopy>(slice: AllocSlice<'_, T>) -> Memory<'static> {
        Memory { address: slice.address(), len: slice.len(), owner: Source::Graph(slice.hierarchy()) }
    }

    #[inline]
    pub(super) fn address(&self) -> CUdeviceptr {
        self.address
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn kind(&self) -> OperandKind {
        match &self.owner {
            Source::Held(operand) => operand.kind(),
            Source::Graph(_) => OperandKind::Device,
            Source::Raw(_) => OperandKind::Unified,
        }
    }

    /// Has a bundle keep the owner, if nodes of the graph in the context can use the memory.
    pub(super) fn keep_in(
        &self,
        owners: &mut Bundle,
        part: Part,
        (graph, context): (&GraphDef, &Context),
    ) -> Result<()> {
        match &self.owner {
            Source::Held(operand) => {
                let (allocation, access) = operand.retain(context)?;
                owners.keep(part, Retained::Memory(allocation, access));
            }
            Source::Graph(hierarchy) if *hierarchy == graph.hierarchy().number() => {}
            Source::Graph(_) => return Err(GraphError::OutsideGraph.into()),
            Source::Raw(Some(owner)) => {
                owner.check(graph.driver())?;
                owners.keep(part, owner.0.clone());
            }
            Source::Raw(None) => {}
        }
        Ok(())
    }
}

macro_rules! operands {
    ($($name:ident $verb:literal)*) => {$(
        impl<'a, T: DeviceCopy> $name<'a, T> {
            #[doc = concat!("`len` values at an address, to be ", $verb, ". The driver finds out which kind of memory it is.")]
            ///
            /// The graph keeps the owner, if there is one. That of a buffer is its allocation.
            ///
            /// # Safety
            ///
            /// There are `len` values at the address, which nodes in their context can use, in every launch;
            /// with an owner, for as long as that exists, and without one, for as long as the graph, its
            /// clones, its executables and their launches. No other work writes them at that time.
            #[must_use]
            #[inline]
            pub unsafe fn raw(address: CUdeviceptr, len: usize, owner: Option<Owner>) -> $name<'a, T> {
                $name { memory: Memory { address, len, owner: Source::Raw(owner) }, of: PhantomData }
            }

            #[doc = concat!("Memory that the graph allocates, to be ", $verb, ": all of it, or a")]
            /// [slice](super::AllocNode::slice). Nodes of other graphs refuse it.
            ///
            /// # Safety
            ///
            /// The node that uses it comes after the alloc node in the order of the edges, and before the
            /// node that frees the memory, if there is one. The driver checks neither, and may give freed
            /// memory to another graph.
            #[must_use]
            pub unsafe fn of_graph(memory: impl Into<AllocSlice<'a, T>>) -> $name<'a, T> {
                $name { memory: Memory::of_graph(memory.into()), of: PhantomData }
            }

            /// The number of values.
            #[must_use]
            pub fn len(&self) -> usize {
                self.memory.len
            }

            /// `true` if there are none.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.memory.len == 0
            }

            #[inline]
            pub(super) fn into_memory(self) -> Memory<'a> {
                self.memory
            }
        }


        impl<T: DeviceCopy> fmt::Debug for $name<'_, T> {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                let address = format_args!("{:#x}", self.memory.address);
                formatter.debug_struct(stringify!($name)).field("address", &address).field("len", &self.memory.len).finish()
            }
        }
    )*};
}
operands!(Operand "read" OperandMut "written");

impl<'a, T: DeviceCopy> From<Slice<'a, T>> for Operand<'a, T> {
    fn from(slice: Slice<'a, T>) -> Self {
        Operand { memory: Memory::held(memory::Operand::read(slice), slice.len()), of: PhantomData }
    }
}

impl<'a, T: DeviceCopy> From<&'a Buffer<T>> for Operand<'a, T> {
    fn from(buffer: &'a Buffer<T>) -> Self {
        buffer.as_slice().into()
    }
}

impl<'a, T: DeviceCopy> From<&'a ManagedBuffer<T>> for Operand<'a, T> {
    fn from(buffer: &'a ManagedBuffer<T>) -> Self {
        buffer.as_slice().into()
    }
}

impl<'a, T: DeviceCopy> From<SliceMut<'a, T>> for OperandMut<'a, T> {
    fn from(slice: SliceMut<'a, T>) -> Self {
        let len = slice.len();
        OperandMut { memory: Memory::held(memory::Operand::written(slice), len), of: PhantomData }
    }
}

impl<'a, T: DeviceCopy> From<&'a mut Buffer<T>> for OperandMut<'a, T> {
    fn from(buffer: &'a mut Buffer<T>) -> Self {
        buffer.as_slice_mut().into()
    }
}

impl<'a, T: DeviceCopy> From<&'a mut ManagedBuffer<T>> for OperandMut<'a, T> {
    fn from(buffer: &'a mut ManagedBuffer<T>) -> Self {
        buffer.as_slice_mut().into()
    }
}

//! Slices of memory that a graph allocates.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use warploom_driver::sys::types::CUdeviceptr;

use super::AllocNode;
use crate::memory::bounds;
use crate::{DeviceCopy, Result};

/// A part of the memory that a graph allocates: [`AllocNode::slice`].
///
/// Nodes of the same graph take it where they take the whole: kernels as an argument, copies and fills by
/// [`Operand::of_graph`](super::Operand::of_graph).
pub struct AllocSlice<'a, T: DeviceCopy = u8> {
    address: CUdeviceptr,
    len: usize,
    /// The number of the graph's hierarchy.
    hierarchy: u64,
    of: PhantomData<&'a AllocNode<T>>,
}

impl<T: DeviceCopy> AllocNode<T> {
    /// A part of the memory.
    ///
    /// ```
    /// use warploom::graph::{Operand, OperandMut};
    /// use warploom::{DevicePool, Driver, GraphDef};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// # let context = driver.device(0)?.context()?;
    /// # let stream = context.stream()?;
    /// let mut result = DevicePool::new(&context)?.zeroed::<u32>(4, &stream)?;
    /// let graph = GraphDef::new(&context)?;
    /// let scratch = graph.entry().allocate::<u32>(6)?;
    /// // SAFETY: all nodes come after the allocation and before the free, which is the only one.
    /// unsafe {
    ///     let ones = scratch.then().fill(OperandMut::of_graph(scratch.slice(..3)?), 1)?;
    ///     let twos = scratch.then().fill(OperandMut::of_graph(scratch.slice(3..)?), 2)?;
    ///     let copy = graph.after([&ones, &twos]).copy(Operand::of_graph(scratch.slice(1..5)?), &mut result)?;
    ///     copy.then().free(&scratch)?;
    /// }
    /// graph.instantiate()?.launch(&stream)?;
    /// assert_eq!(result.download(&stream)?, [1, 1, 2, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`](crate::MemoryError::OutOfRange) if the range is not inside.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<AllocSlice<'_, T>> {
        AllocSlice::from(self).slice(range)
    }
}

impl<'a, T: DeviceCopy> AllocSlice<'a, T> {
    /// A part of it.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`](crate::MemoryError::OutOfRange) if the range is not inside.
    pub fn slice(self, range: impl RangeBounds<usize>) -> Result<AllocSlice<'a, T>> {
        let (start, end) = bounds(range, self.len)?;
        let address = self.address + (start * size_of::<T>()) as CUdeviceptr;
        Ok(AllocSlice { address, len: end - start, ..self })
    }

    /// The address that it has in each launch.
    #[must_use]
    pub fn address(&self) -> CUdeviceptr {
        self.address
    }

    /// The number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// `true` if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn hierarchy(&self) -> u64 {
        self.hierarchy
    }
}

impl<T: DeviceCopy> Clone for AllocSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: DeviceCopy> Copy for AllocSlice<'_, T> {}

impl<'a, T: DeviceCopy> From<&'a AllocNode<T>> for AllocSlice<'a, T> {
    /// All of the memory.
    fn from(node: &'a AllocNode<T>) -> AllocSlice<'a, T> {
        let hierarchy = node.graph().hierarchy().number();
        AllocSlice { address: node.address(), len: node.len(), hierarchy, of: PhantomData }
    }
}

impl<T: DeviceCopy> fmt::Debug for AllocSlice<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = format_args!("{:#x}", self.address);
        formatter.debug_struct("AllocSlice").field("address", &address).field("len", &self.len).finish()
    }
}

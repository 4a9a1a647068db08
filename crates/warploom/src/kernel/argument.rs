//! Kernel arguments.

use warploom_driver::sys::types::CUdeviceptr;

use super::UsedMemory;
use crate::graph::{AllocNode, AllocSlice, Condition};
use crate::memory::Operand;
use crate::{Buffer, DeviceCopy, ManagedBuffer, Slice, SliceMut};

/// The type of a kernel parameter; see [`TypedKernel`](super::TypedKernel).
///
/// | in C++ | here | is given |
/// |---|---|---|
/// | `float`, `unsigned`, a struct | `f32`, `u32`, a `#[repr(C)]` struct with [`DeviceCopy`] | such a value |
/// | `bool` | `bool` | such a value |
/// | `__half`, `__nv_bfloat16` | `half::f16`, `half::bf16`, with the feature `half` | such a value |
/// | `cuFloatComplex` | `num_complex::Complex<f32>`, with the feature `num-complex` | such a value |
/// | `const T *` | `&[T]` | `&`[`Buffer`], [`Slice`], `&`[`ManagedBuffer`] |
/// | `T *` | `&mut [T]` | `&mut` [`Buffer`], [`SliceMut`], `&mut` [`ManagedBuffer`] |
/// | an address of your own | `u64` | such a value, for whose memory you care |
/// | `cudaGraphConditionalHandle` | `u64` | `&`[`Condition`], in the graph that it was made for |
/// | memory of a graph | `&[T]`, `&mut [T]` | `&`[`AllocNode`], [`AllocSlice`], in the same graph |
pub trait Parameter: private::Sealed {
    /// The number of bytes on a device.
    const SIZE: usize;
}

/// A value that can be passed to a kernel: a number, a `#[repr(C)]` struct with [`DeviceCopy`], or memory,
/// which is passed as its address and stays until the kernel is done.
pub trait Argument: private::Passed {}

/// An [`Argument`] for an [`ArgumentList`](super::ArgumentList) that may be used as long as `'a`.
pub trait ListArgument<'a>: Argument + private::Listed<'a> {}

impl<'a, A: Argument + private::Listed<'a>> ListArgument<'a> for A {}

/// An [`Argument`] for a [`Parameter`], of the same size: launches of a [`TypedKernel`](super::TypedKernel)
/// rely on that.
pub trait Fits<P>: Argument + private::Fitting<P> {}

impl<P, A: Argument + private::Fitting<P>> Fits<P> for A {}

pub(super) mod private {
    use super::Operand;

    #[expect(unnameable_types, reason = "only this crate knows how things are passed")]
    pub trait Sealed {}

    #[expect(unnameable_types, reason = "only this crate knows how things are passed")]
    pub trait Passed {
        /// The bytes that the kernel gets.
        type Value: Copy;

        fn value(&self) -> Self::Value;

        /// The memory that the kernel gets with it.
        fn operand(&self) -> Option<Operand<'_>>;

        /// `true` if it belongs to a graph, and only kernels of that graph may have it.
        const IS_SCOPED: bool = false;

        /// The number of the graph's hierarchy that it belongs to.
        fn scope(&self) -> Option<u64> {
            None
        }
    }

    #[expect(unnameable_types, reason = "only this crate knows how things are passed")]
    pub trait Fitting<P> {}

    #[expect(unnameable_types, reason = "only this crate knows how things are passed")]
    pub trait Listed<'a> {
        /// The memory that the kernel gets, for as long as it is borrowed.
        fn into_operand(self) -> Option<Operand<'a>>;
    }
}
use private::{Fitting, Listed, Passed, Sealed};

impl<T: DeviceCopy> Sealed for T {}
impl<T: DeviceCopy> Parameter for T {
    const SIZE: usize = size_of::<T>();
}
impl<T: DeviceCopy> Argument for T {}
impl<T: DeviceCopy> Fitting<T> for T {}
impl<T: DeviceCopy> Passed for T {
    type Value = T;

    #[inline]
    fn value(&self) -> T {
        *self
    }

    #[inline]
    fn operand(&self) -> Option<Operand<'_>> {
        None
    }
}

impl<T: DeviceCopy> Listed<'_> for T {
    fn into_operand(self) -> Option<Operand<'static>> {
        None
    }
}

impl Sealed for bool {}
impl Parameter for bool {
    const SIZE: usize = 1;
}
impl Argument for bool {}
impl Fitting<bool> for bool {}
impl Passed for bool {
    type Value = bool;

    #[inline]
    fn value(&self) -> bool {
        *self
    }

    #[inline]
    fn operand(&self) -> Option<Operand<'_>> {
        None
    }
}

impl Listed<'_> for bool {
    fn into_operand(self) -> Option<Operand<'static>> {
        None
    }
}

impl<T: DeviceCopy> Sealed for &[T] {}
impl<T: DeviceCopy> Parameter for &[T] {
    const SIZE: usize = size_of::<CUdeviceptr>();
}
impl<T: DeviceCopy> Sealed for &mut [T] {}
impl<T: DeviceCopy> Parameter for &mut [T] {
    const SIZE: usize = size_of::<CUdeviceptr>();
}

macro_rules! memory {
    ($($of:ty => $parameter:ty, |$this:ident| $operand:expr;)*) => {$(
        impl<'a, T: DeviceCopy> Argument for $of {}
        impl<'a, T: DeviceCopy> Fitting<$parameter> for $of {}
        impl<'a, T: DeviceCopy> Listed<'a> for $of {
            fn into_operand(self) -> Option<Operand<'a>> {
                Some(UsedMemory::from(self).into())
            }
        }
        impl<'a, T: DeviceCopy> Passed for $of {
            type Value = CUdeviceptr;

            #[inline]
            fn value(&self) -> CUdeviceptr {
                self.as_raw()
            }

            #[inline]
            fn operand(&self) -> Option<Operand<'_>> {
                let $this = self;
                Some($operand)
            }
        }
    )*};
}
memory! {
    &'a Buffer<T> => &[T], |buffer| Operand::read(buffer.as_slice());
    &'a ManagedBuffer<T> => &[T], |buffer| Operand::read(buffer.as_slice());
    Slice<'a, T> => &[T], |slice| Operand::read(*slice);
    &'a mut Buffer<T> => &mut [T], |buffer| Operand::read(buffer.as_slice()).and_written();
    &'a mut ManagedBuffer<T> => &mut [T], |buffer| Operand::read(buffer.as_slice()).and_written();
    SliceMut<'a, T> => &mut [T], |slice| Operand::read(slice.as_slice()).and_written();
}

impl Argument for &Condition {}
impl Fitting<u64> for &Condition {}
impl Passed for &Condition {
    type Value = u64;
    const IS_SCOPED: bool = true;

    fn value(&self) -> u64 {
        self.as_raw()
    }

    fn operand(&self) -> Option<Operand<'_>> {
        None
    }

    fn scope(&self) -> Option<u64> {
        Some(self.graph().hierarchy().number())
    }
}

impl Listed<'_> for &Condition {
    fn into_operand(self) -> Option<Operand<'static>> {
        None
    }
}

/// Memory of a graph, which arguments of that graph's nodes may point to.
macro_rules! graph_memory {
    ($($Memory:ty, |$this:ident| $hierarchy:expr;)*) => {$(
        impl<T: DeviceCopy> Argument for $Memory {}
        impl<T: DeviceCopy> Fitting<&[T]> for $Memory {}
        impl<T: DeviceCopy> Fitting<&mut [T]> for $Memory {}
        impl<T: DeviceCopy> Passed for $Memory {
            type Value = CUdeviceptr;
            const IS_SCOPED: bool = true;

            fn value(&self) -> CUdeviceptr {
                self.address()
            }

            fn operand(&self) -> Option<Operand<'_>> {
                None
            }

            fn scope(&self) -> Option<u64> {
                let $this = self;
                Some($hierarchy)
            }
        }

        impl<T: DeviceCopy> Listed<'_> for $Memory {
            fn into_operand(self) -> Option<Operand<'static>> {
                None
            }
        }
    )*};
}
graph_memory! {
    &AllocNode<T>, |node| node.graph().hierarchy().number();
    AllocSlice<'_, T>, |slice| slice.hierarchy();
}

//! Memory that a kernel uses although its address is not an argument.

use std::ffi::c_void;
use std::fmt;

use super::arguments::private::PassedAll;
use super::{Arguments, ArgumentsFor};
use crate::memory::Operand;
use crate::{Buffer, DeviceCopy, ManagedBuffer, Result, Slice, SliceMut};

/// Memory that a kernel reads (made from `&`) or reads and writes (made from `&mut`), at an address that it
/// finds in a struct or in a table; see [`Arguments::using`].
pub struct UsedMemory<'a>(Operand<'a>);

macro_rules! used {
    ($($of:ty, |$this:ident| $operand:expr;)*) => {$(
        impl<'a, T: DeviceCopy> From<$of> for UsedMemory<'a> {
            fn from($this: $of) -> UsedMemory<'a> {
                UsedMemory($operand)
            }
        }
    )*};
}
used! {
    &'a Buffer<T>, |buffer| Operand::read(buffer.as_slice());
    &'a ManagedBuffer<T>, |buffer| Operand::read(buffer.as_slice());
    Slice<'a, T>, |slice| Operand::read(slice);
    &'a mut Buffer<T>, |buffer| Operand::written(buffer.as_slice_mut());
    &'a mut ManagedBuffer<T>, |buffer| Operand::written(buffer.as_slice_mut());
    SliceMut<'a, T>, |slice| Operand::written(slice);
}

impl<'a> From<UsedMemory<'a>> for Operand<'a> {
    fn from(used: UsedMemory<'a>) -> Operand<'a> {
        used.0
    }
}

impl fmt::Debug for UsedMemory<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Arguments of a kernel, and memory that it also uses; made by [`Arguments::using`].
#[derive(Debug)]
pub struct Using<'a, A> {
    arguments: A,
    memory: &'a [UsedMemory<'a>],
}

impl<'a, A: Arguments> Using<'a, A> {
    pub(super) fn new(arguments: A, memory: &'a [UsedMemory<'a>]) -> Using<'a, A> {
        Using { arguments, memory }
    }
}

impl<A: Arguments> Arguments for Using<'_, A> {}
impl<P, A: ArgumentsFor<P>> ArgumentsFor<P> for Using<'_, A> {}
impl<A: Arguments> PassedAll for Using<'_, A> {
    const IS_SCOPED: bool = A::IS_SCOPED;

    #[inline]
    fn sizes(&self) -> &[usize] {
        self.arguments.sizes()
    }

    fn each_scope(&self, see: impl FnMut(u64) -> Result<()>) -> Result<()> {
        self.arguments.each_scope(see)
    }

    #[inline]
    fn each_operand(&self, mut see: impl FnMut(Operand<'_>) -> Result<()>) -> Result<()> {
        self.arguments.each_operand(&mut see)?;
        self.memory.iter().try_for_each(|used| see(used.0))
    }

    #[inline]
    fn pass<R>(&self, call: impl FnOnce(*mut *mut c_void) -> R) -> R {
        self.arguments.pass(call)
    }
}

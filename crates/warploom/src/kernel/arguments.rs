//! Tuples of kernel arguments.

use super::{Argument, Fits, Parameter};

/// Kernel arguments: a tuple of up to 24 [`Argument`]s.
pub trait Arguments: private::PassedAll {}

/// Kernel parameters: a tuple of up to 24 [`Parameter`]s.
pub trait Parameters: private::Sized {}

/// [`Arguments`] for [`Parameters`].
pub trait ArgumentsFor<P>: Arguments {}

pub(super) mod private {
    use std::ffi::c_void;

    use crate::Result;
    use crate::memory::Operand;

    #[expect(unnameable_types, reason = "only this crate knows how things are passed")]
    pub trait Sized {
        const SIZES: &'static [usize];
    }

    #[expect(unnameable_types, reason = "only this crate knows how things are passed")]
    pub trait PassedAll {
        const SIZES: &'static [usize];

        /// Calls with each piece of memory, until that fails.
        fn each_operand(&self, see: impl FnMut(Operand<'_>) -> Result<()>) -> Result<()>;

        /// `true` if an argument belongs to a graph.
        const IS_SCOPED: bool;

        /// Calls with the number of each graph's hierarchy that an argument belongs to, until that fails.
        fn each_scope(&self, see: impl FnMut(u64) -> Result<()>) -> Result<()>;

        /// Calls with the addresses of all values, in order.
        fn pass<R>(&self, call: impl FnOnce(*mut *mut c_void) -> R) -> R;
    }
}

macro_rules! tuples {
    ($($argument:ident $parameter:ident $index:tt)*) => {
        impl<$($parameter: Parameter),*> Parameters for ($($parameter,)*) {}
        impl<$($parameter: Parameter),*> private::Sized for ($($parameter,)*) {
            const SIZES: &'static [usize] = &[$($parameter::SIZE),*];
        }

        impl<$($argument: Argument),*> Arguments for ($($argument,)*) {}
        impl<$($argument: Fits<$parameter>, $parameter: Parameter),*> ArgumentsFor<($($parameter,)*)> for ($($argument,)*) {}
        impl<$($argument: Argument),*> private::PassedAll for ($($argument,)*) {
            const SIZES: &'static [usize] = &[$(size_of::<$argument::Value>()),*];
            const IS_SCOPED: bool = false $(|| $argument::IS_SCOPED)*;

            fn each_scope(&self, mut see: impl FnMut(u64) -> crate::Result<()>) -> crate::Result<()> {
                [$(self.$index.scope()),*].into_iter().flatten().try_for_each(&mut see)
            }

            #[inline]
            fn each_operand(
                &self,
                mut see: impl FnMut(crate::memory::Operand<'_>) -> crate::Result<()>,
            ) -> crate::Result<()> {
                $(
                    if let Some(operand) = self.$index.operand() {
                        see(operand)?;
                    }
                )*
                Ok(())
            }

            #[inline]
            fn pass<R>(&self, call: impl FnOnce(*mut *mut std::ffi::c_void) -> R) -> R {
                let values = ($(self.$index.value(),)*);
                let mut addresses = [$((&raw const values.$index).cast_mut().cast::<std::ffi::c_void>()),*];
                call(addresses.as_mut_ptr())
            }
        }
    };
}

/// All tuples up to the given one.
macro_rules! up_to {
    (@ [$($before:tt)*]) => {};
    (@ [$($before:tt)*] $argument:ident $parameter:ident $index:tt $($rest:tt)*) => {
        tuples!($($before)* $argument $parameter $index);
        up_to!(@ [$($before)* $argument $parameter $index] $($rest)*);
    };
    ($($all:tt)*) => { up_to!(@ [] $($all)*); };
}
up_to! {
    A0 P0 0 A1 P1 1 A2 P2 2 A3 P3 3 A4 P4 4 A5 P5 5 A6 P6 6 A7 P7 7 A8 P8 8 A9 P9 9 A10 P10 10 A11 P11 11
    A12 P12 12 A13 P13 13 A14 P14 14 A15 P15 15 A16 P16 16 A17 P17 17 A18 P18 18 A19 P19 19 A20 P20 20 A21 P21 21
    A22 P22 22 A23 P23 23
}

impl Parameters for () {}
impl private::Sized for () {
    const SIZES: &'static [usize] = &[];
}
impl Arguments for () {}
impl ArgumentsFor<()> for () {}
impl private::PassedAll for () {
    const SIZES: &'static [usize] = &[];
    const IS_SCOPED: bool = false;

    fn each_scope(&self, _see: impl FnMut(u64) -> crate::Result<()>) -> crate::Result<()> {
        Ok(())
    }

    fn each_operand(&self, _see: impl FnMut(crate::memory::Operand<'_>) -> crate::Result<()>) -> crate::Result<()> {
        Ok(())
    }

    fn pass<R>(&self, call: impl FnOnce(*mut *mut std::ffi::c_void) -> R) -> R {
        call(std::ptr::null_mut())
    }
}

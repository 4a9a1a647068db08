//! Tuples of kernel arguments.

use super::{Argument, Fits, Parameter, UsedMemory, Using};

/// Kernel arguments: a tuple of up to 24 [`Argument`]s, or an [`ArgumentList`](super::ArgumentList).
pub trait Arguments: private::PassedAll {
    /// The same arguments, for a kernel that also uses memory whose address is not one of them: it lies in a
    /// struct, or in a table of addresses on the device. That memory, too, stays until the kernel is done.
    ///
    /// ```
    /// use warploom::{Arguments, DevicePool, Driver, LaunchConfig};
    ///
    /// # const SCALE_ALL: &str =
    /// #     include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scale_all.ptx"));
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    /// let scale_all = context.load(SCALE_ALL)?.kernel("scale_all")?;
    ///
    /// let mut one = pool.upload(&[1.0_f32, 2.0], &stream)?;
    /// let mut other = pool.upload(&[3.0_f32, 4.0], &stream)?;
    /// let table = pool.upload(&[one.as_raw(), other.as_raw()], &stream)?; // `float **`
    /// let arguments = (2.0_f32, &table, 2_u32);
    /// // SAFETY: it scales two values at each address of the table, one block for each.
    /// unsafe {
    ///     let used = [(&mut one).into(), (&mut other).into()];
    ///     scale_all.launch(&stream, &LaunchConfig::new(2, 32), arguments.using(&used))
    /// }?;
    /// assert_eq!((one.download(&stream)?, other.download(&stream)?), (vec![2.0, 4.0], vec![6.0, 8.0]));
    /// # Ok(())
    /// # }
    /// ```
    fn using<'a>(self, memory: &'a [UsedMemory<'a>]) -> Using<'a, Self>
    where
        Self: Sized,
    {
        Using::new(self, memory)
    }
}

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
        /// The size of each argument.
        fn sizes(&self) -> &[usize];

        /// Calls with each piece of memory, until that fails.
        fn each_operand(&self, see: impl FnMut(Operand<'_>) -> Result<()>) -> Result<()>;

        /// `true` if an argument may belong to a graph.
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
            const IS_SCOPED: bool = false $(|| $argument::IS_SCOPED)*;

            #[inline]
            fn sizes(&self) -> &[usize] {
                const { &[$(size_of::<$argument::Value>()),*] }
            }

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
    const IS_SCOPED: bool = false;

    fn sizes(&self) -> &[usize] {
        &[]
    }

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

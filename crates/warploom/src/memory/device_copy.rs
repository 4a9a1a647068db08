//! `DeviceCopy`: types whose bytes can be copied to a device and back.
#![expect(unsafe_code, reason = "says of types that any bytes are a value of theirs")]

use std::marker::PhantomData;
use std::num::{Saturating, Wrapping};

/// Values that can be copied to a device and back as plain bytes.
///
/// Derive it for structs of such values:
///
/// ```
/// use warploom::DeviceCopy;
///
/// #[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
/// #[repr(C)]
/// struct Particle {
///     position: [f32; 3],
///     charge: i32,
/// }
/// ```
///
/// Where this crate has another name, or is reached through another crate, the derive macro is told:
///
/// ```standalone_crate
/// mod engine {
///     pub extern crate warploom as gpu;
/// }
///
/// #[derive(Clone, Copy, warploom::DeviceCopy)]
/// #[device_copy(crate = crate::engine::gpu)]
/// #[repr(C)]
/// struct Sample {
///     time: u64,
///     value: f64,
/// }
/// # fn main() {}
/// ```
///
/// Numbers of half precision and complex ones are such values by the features `half` and `num-complex`, for
/// the types of the crates of these names. With the feature `bytemuck`, `Plain` makes such values of types
/// that are `Pod` there.
///
/// A type with invalid bit patterns cannot be read back from a device, where any bytes may have been written;
/// so neither `bool` nor `char` nor an enum nor a reference is one:
///
/// ```compile_fail
/// # use warploom::DeviceCopy;
/// #[derive(Clone, Copy, DeviceCopy)]
/// #[repr(C)]
/// struct Flag {
///     is_set: bool,
/// }
/// ```
///
/// Its layout has to be one that a device can know:
///
/// ```compile_fail
/// # use warploom::DeviceCopy;
/// #[derive(Clone, Copy, DeviceCopy)]
/// struct AnyLayout {
///     first: u8,
///     second: u32,
/// }
/// ```
///
/// ```compile_fail
/// # use warploom::DeviceCopy;
/// #[derive(Clone, Copy, DeviceCopy)]
/// #[repr(C)]
/// struct Borrows {
///     other: &'static u32,
/// }
/// ```
///
/// ```compile_fail
/// # use warploom::DeviceCopy;
/// #[derive(Clone, Copy, DeviceCopy)]
/// #[repr(u8)]
/// enum Kind {
///     First,
///     Second,
/// }
/// ```
///
/// # Safety
///
/// Any sequence of bytes of its size is a value of the type, and the type owns and borrows nothing. If
/// [`DeviceCopy::HAS_PADDING`] is false, every byte of a value belongs to a field.
pub unsafe trait DeviceCopy: Copy + Send + Sync + 'static {
    /// `true` if a value may have bytes that belong to no field. These are uninitialised, so that such a
    /// value cannot be repeated by [`fill`](crate::SliceMut::fill). The derive macro sets it; an
    /// implementation by hand may set it to `false`.
    const HAS_PADDING: bool = size_of::<Self>() != 0;

    /// The size in bytes, for the derive macro. Code that the macro writes finds it whatever the program's
    /// paths name, `::core` included; an implementation by hand leaves it alone.
    #[doc(hidden)]
    const SIZE_OF: usize = size_of::<Self>();
}

macro_rules! plain {
    ($($type:ty)*) => {$(
        // SAFETY: every sequence of bytes is a number.
        unsafe impl DeviceCopy for $type {
            const HAS_PADDING: bool = false;
        }
    )*};
}
plain!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);

#[cfg(feature = "half")]
plain!(half::f16 half::bf16);

// SAFETY: has the bytes of its two parts, one after the other.
#[cfg(feature = "num-complex")]
unsafe impl<T: DeviceCopy> DeviceCopy for num_complex::Complex<T> {
    const HAS_PADDING: bool = T::HAS_PADDING;
}

// SAFETY: has no bytes.
unsafe impl DeviceCopy for () {}
// SAFETY: has no bytes.
unsafe impl<T: Copy + Send + Sync + 'static> DeviceCopy for PhantomData<T> {}
// SAFETY: the bytes of an array are those of its elements.
unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for [T; N] {
    const HAS_PADDING: bool = T::HAS_PADDING;
}
// SAFETY: has the bytes of the wrapped value.
unsafe impl<T: DeviceCopy> DeviceCopy for Wrapping<T> {
    const HAS_PADDING: bool = T::HAS_PADDING;
}
// SAFETY: has the bytes of the wrapped value.
unsafe impl<T: DeviceCopy> DeviceCopy for Saturating<T> {
    const HAS_PADDING: bool = T::HAS_PADDING;
}

/// The size of `len` values in bytes; `None` on overflow.
pub(crate) fn bytes_of<T>(len: usize) -> Option<usize> {
    // No allocation is larger than the largest offset.
    len.checked_mul(size_of::<T>()).filter(|bytes| isize::try_from(*bytes).is_ok())
}

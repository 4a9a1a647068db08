//! Element types of collective operations.
#![expect(unsafe_code, reason = "says which number NCCL has for a type")]

use std::fmt;

use super::raw::{ncclDataType_t, ncclRedOp_t};
use crate::DeviceCopy;

/// The types of which NCCL sends and reduces values: `i8`, `u8`, `i32`, `u32`, `i64`, `u64`, `f32` and `f64`,
/// and with the feature `half` also `f16` and `bf16` of the crate of that name.
///
/// Others can be sent as the bytes that they are ([`Slice::cast`](crate::Slice::cast)), and not reduced.
///
/// # Safety
///
/// NCCL's type of that number has this type's size, and any value of it is one of this type.
pub unsafe trait Element: DeviceCopy + sealed::Sealed {
    /// NCCL's number for it.
    const DATA_TYPE: ncclDataType_t;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($type:ty = $number:literal),*) => {$(
        impl sealed::Sealed for $type {}
        // SAFETY: these are the numbers of `nccl.h` for numbers of as many bits.
        unsafe impl Element for $type {
            const DATA_TYPE: ncclDataType_t = $number;
        }
    )*};
}
elements!(i8 = 0, u8 = 1, i32 = 2, u32 = 3, i64 = 4, u64 = 5, f32 = 7, f64 = 8);
#[cfg(feature = "half")]
elements!(half::f16 = 6, half::bf16 = 9);

/// A reduction of the values of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// Their product.
    Product,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// Their sum, divided by how many there are.
    Average,
}

impl Reduction {
    /// NCCL's number for it.
    pub(super) fn to_raw(self) -> ncclRedOp_t {
        match self {
            Reduction::Sum => 0,
            Reduction::Product => 1,
            Reduction::Max => 2,
            Reduction::Min => 3,
            Reduction::Average => 4,
        }
    }
}

impl fmt::Display for Reduction {
    /// `sum`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Reduction::Sum => "sum",
            Reduction::Product => "product",
            Reduction::Max => "maximum",
            Reduction::Min => "minimum",
            Reduction::Average => "average",
        })
    }
}

//! Reductions on the host, for the stand-in.
#![expect(unsafe_code, reason = "reads and writes memory of the stand-in's own")]

use std::ffi::{c_int, c_void};

/// Values of all ranks, one after the other; the result goes to the place of the first.
pub(crate) struct Values {
    pub(crate) staged: usize,
    pub(crate) bytes: usize,
    pub(crate) ranks: usize,
    pub(crate) reduction: c_int,
    pub(crate) of: c_int,
}

/// The size of one of NCCL's types, in bytes.
pub(crate) fn size_of_type(of: c_int) -> usize {
    match of {
        0 | 1 => 1,
        2 | 3 | 7 => 4,
        6 | 9 => 2,
        _ => 8,
    }
}

macro_rules! reduce {
    ($values:expr, $type:ty, $sum:expr, $product:expr) => {
        reduce!($values, $type, $sum, $product, |ranks| ranks as $type)
    };
    ($values:expr, $type:ty, $sum:expr, $product:expr, $number:expr) => {{
        let Values { staged, bytes, ranks, reduction, .. } = *$values;
        let count = bytes / size_of::<$type>();
        // SAFETY: the stand-in has staged as many values of each rank there, and nobody else uses them.
        let all = unsafe { std::slice::from_raw_parts_mut(staged as *mut $type, count * ranks) };
        for place in 0..count {
            let mut values = (0..ranks).map(|rank| all[rank * count + place]);
            let first = values.next().unwrap_or_default();
            let sum: fn($type, $type) -> $type = $sum;
            let product: fn($type, $type) -> $type = $product;
            let number: fn(usize) -> $type = $number;
            all[place] = match reduction {
                0 => values.fold(first, sum),
                1 => values.fold(first, product),
                2 => values.fold(first, |one, other| if other > one { other } else { one }),
                3 => values.fold(first, |one, other| if other < one { other } else { one }),
                _ => values.fold(first, sum) / number(ranks),
            };
        }
    }};
}

impl Values {
    /// # Safety
    ///
    /// `values` came from a box.
    pub(crate) unsafe extern "C" fn reduce(values: *mut c_void) {
        // SAFETY: as said.
        let values = unsafe { Box::from_raw(values.cast::<Values>()) };
        match values.of {
            0 => reduce!(values, i8, i8::wrapping_add, i8::wrapping_mul),
            1 => reduce!(values, u8, u8::wrapping_add, u8::wrapping_mul),
            2 => reduce!(values, i32, i32::wrapping_add, i32::wrapping_mul),
            3 => reduce!(values, u32, u32::wrapping_add, u32::wrapping_mul),
            4 => reduce!(values, i64, i64::wrapping_add, i64::wrapping_mul),
            5 => reduce!(values, u64, u64::wrapping_add, u64::wrapping_mul),
            #[cfg(feature = "half")]
            6 => reduce!(values, half::f16, |a, b| a + b, |a, b| a * b, |ranks| half::f16::from_f32(ranks as f32)),
            #[cfg(feature = "half")]
            9 => reduce!(values, half::bf16, |a, b| a + b, |a, b| a * b, |ranks| half::bf16::from_f32(ranks as f32)),
            7 => reduce!(values, f32, |one, other| one + other, |one, other| one * other),
            _ => reduce!(values, f64, |one, other| one + other, |one, other| one * other),
        }
    }
}

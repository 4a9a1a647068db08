//! A program with a crate named `core` of its own, in which sizes are 0. The derive macro of `DeviceCopy` does
//! not ask it.

extern crate self as core;

use warploom::{DeviceCopy, DevicePool, Error, MemoryError};
use warploom_testkit::driver_tests;

/// As `core::mem`.
pub mod mem {
    /// A lie.
    #[must_use]
    pub const fn size_of<T>() -> usize {
        0
    }
}

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Padded(u8, u32);

driver_tests! {
    fn padding_is_not_cast_to_bytes_whatever_core_is(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let padded = DevicePool::new(&context)?.upload(&[Padded(1, 2)], &stream)?;
        let refused = padded.as_slice().cast::<u8>().map(drop);
        assert!(matches!(refused, Err(Error::Memory(MemoryError::CastPadding { .. }))), "{refused:?}");
        let values = padded.download(&stream)?;
        assert_eq!((values[0].0, values[0].1), (1, 2));
    }
}

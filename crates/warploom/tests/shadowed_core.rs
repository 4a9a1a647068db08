//! A program with a crate named `core` of its own, in which sizes are 0. The derive macro of `DeviceCopy` does
//! not ask it.

extern crate self as core;

pub mod mem {
    #[must_use]
    pub const fn size_of<T>() -> usize {
        0
    }
}

#[derive(Clone, Copy, warploom::DeviceCopy)]
#[repr(C)]
struct Padded {
    first: u8,
    second: u32,
}

#[test]
fn padding_is_seen_whatever_core_is() {
    assert!(<Padded as warploom::DeviceCopy>::HAS_PADDING);
    let value = Padded { first: 1, second: 2 };
    assert_eq!((value.first, value.second), (1, 2));
}

//! `DeviceCopy` is derived for structs whose layout a device can know.

use warploom::DeviceCopy;

#[derive(Clone, Copy, DeviceCopy)]
struct AnyLayout {
    first: u8,
    second: u32,
}

#[derive(Clone, Copy, DeviceCopy)]
#[repr(u8)]
enum Kind {
    First,
    Second,
}

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
union Either {
    number: f32,
    bits: u32,
}

fn main() {}

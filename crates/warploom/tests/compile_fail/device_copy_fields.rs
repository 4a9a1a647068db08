//! `DeviceCopy` is derived for structs whose fields are valid for all bytes.

use warploom::DeviceCopy;

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Flag {
    is_set: bool,
}

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Letter {
    letter: char,
}

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Borrows {
    other: &'static u32,
}

fn main() {}

//! Traits on whose answers `unsafe` code relies have no implementations elsewhere (S4.3).

use warploom::{DeviceCopy, Fits, Queue, Stream};

/// Has the stream of another driver the second time that it is asked.
struct Changing(Stream, Stream);

impl Queue for Changing {
    fn stream(&self) -> &Stream {
        &self.1
    }
}

/// Larger than the argument that would be passed for it.
#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Large([u64; 64]);

impl Fits<Large> for u8 {}

fn main() {}

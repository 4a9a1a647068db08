//! Our kernels, as NVRTC compiled them, against plain Rust that computes the same.

mod atomics;
mod bits;
mod calls;
mod convert;
mod divergence;
mod half;
mod ieee;
mod libm;
mod matrices;
mod memory;
mod reduce;
mod run;
mod stencil;
mod system;
mod tensor;
mod vector;
mod warp;

//! The commands around kernels: `run`, `ptx` and `bench`.

mod bench;
mod ptx;
mod run;
mod support;

//! The simulated CUDA driver as a shared library, for programs that look for `libcuda.so.1`.
//!
//! The library has one machine, which starts when the first of its functions is called. The environment variable
//! [`MACHINE_VARIABLE`] describes it: a preset such as `dgx-h100`, or the path of a TOML file. Without the variable it is
//! one H200.
//!
//! ```text
//!   program ─▶ exports: one C function per row of the list ─▶ process: the machine's functions ─▶ warploom-sim
//! ```
//!
//! Every function that `warploom-sys` lists is exported, under its own name and, where stream 0 can mean the per-thread
//! default stream, under that variant's name, too. A machine whose driver is older than a function answers
//! `CALL_REQUIRES_NEWER_DRIVER`, where the real library would not have the symbol. A machine that cannot be started
//! says why on standard error, and every function answers `SYSTEM_NOT_READY`.

mod exports;
mod machine;
mod process;

pub use machine::MACHINE_VARIABLE;

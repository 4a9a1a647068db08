//! Preloaded library (`LD_PRELOAD`) with which NVRTC and nvJitLink keep PTX in the cubins they make.
//!
//! A simulated device runs PTX. A cubin has it if it was made with `-lineinfo`, which changes nothing else in
//! the code. Programs find these compilers by `dlopen` and `dlsym`, so it is `dlsym` that this library wraps:
//! asked for `nvrtcCompileProgram` or `nvJitLinkCreate`, it answers with a
//! function that adds the option and calls the one that was found. Every other look-up goes to the C library
//! unchanged, with the caller's return address, on which `RTLD_NEXT` and `RTLD_DEFAULT` depend.
//!
//! ```text
//! program ─▶ symbol: dlsym ─▶ any other name: the C library's dlsym
//!                          └▶ a compiler's: compiler: a wrapper ─▶ options: add -lineinfo ─▶ NVRTC, nvJitLink
//! ```
//!
//! `dlvsym` is not wrapped: the C library's `dlsym` is found by it. Programs that are linked to nvJitLink,
//! whose function has a number in its name then, are not covered; programs that are linked to NVRTC are.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod compiler;
mod options;
mod symbol;

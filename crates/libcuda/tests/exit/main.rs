//! Exits of processes that used the library, and their reports.
//!
//! Each test runs a program in a process of its own: this same file, told by a variable which program it is.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "loads the library, and ends processes as C programs do")]

mod child;
mod fork;
mod left_behind;
mod programs;
mod records;
mod threads;

//! Any bytes in the file of a shared pool and of shared physical memory.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warploom_fuzz::shared::import_file(bytes));

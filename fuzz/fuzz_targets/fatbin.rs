//! Any bytes as a fatbin, its compressed parts included.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warploom_testkit::sys::types::CUjitInputType;

fuzz_target!(|bytes: &[u8]| warploom_fuzz::link(CUjitInputType::CU_JIT_INPUT_FATBINARY, bytes));

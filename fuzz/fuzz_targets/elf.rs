//! Any bytes as a cubin, as a host object and as an archive of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warploom_testkit::sys::types::CUjitInputType;

fuzz_target!(|bytes: &[u8]| {
    warploom_fuzz::link(CUjitInputType::CU_JIT_INPUT_CUBIN, bytes);
    warploom_fuzz::link(CUjitInputType::CU_JIT_INPUT_OBJECT, bytes);
    warploom_fuzz::link(CUjitInputType::CU_JIT_INPUT_LIBRARY, bytes);
});

//! Any bytes as export data of a pool's memory.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warploom_fuzz::shared::import_data(bytes));

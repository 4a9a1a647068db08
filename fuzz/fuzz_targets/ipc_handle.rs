//! Any bytes as handles of events and memory of other processes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warploom_fuzz::shared::open_handles(bytes));

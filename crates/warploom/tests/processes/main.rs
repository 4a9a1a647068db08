//! Memory and events between processes: this test exports, and children that it starts import, or the other
//! way round.
#![cfg(unix)]
#![expect(unsafe_code, reason = "imports memory of other processes")]

mod bad_input;
mod buffers;
mod events;
#[path = "../gate/mod.rs"]
mod gate;
mod pools;
mod shared_weights;
mod soak;
mod support;
mod sweep;
mod virtual_memory;

use warploom_testkit::TestResult;
use warploom_testkit::process::run_part;

/// The parts that children run.
#[test]
fn child() -> TestResult {
    run_part(&[
        ("double", buffers::double),
        ("import_twice", buffers::import_twice),
        ("pass_on", buffers::pass_on),
        ("hold", buffers::hold),
        ("export", support::export),
        ("register", pools::register),
        ("refuse_to_allocate", pools::refuse_to_allocate),
        ("grant", pools::grant),
        ("import_on_threads", pools::import_on_threads),
        ("use_pinned", pools::use_pinned),
        ("add_one_after", events::add_one_after),
        ("forward_event", events::forward_event),
        ("record_event", events::record),
        ("churn", soak::churn),
        ("map", virtual_memory::map),
        ("export_memory", virtual_memory::export),
    ])
}

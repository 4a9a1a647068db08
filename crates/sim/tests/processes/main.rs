//! Memory and events between processes: exported by this one, imported by children, and the other way round.

mod events;
mod fork;
mod handles;
mod memory_handles;
mod order;
mod physical;
mod pool;
mod pool_data;
mod support;

use warploom_testkit::TestResult;
use warploom_testkit::process::run_part;

/// The parts that children run.
#[test]
fn child() -> TestResult {
    run_part(&[
        ("order_reader_of_fill", order::reader_of_fill),
        ("order_reader_of_kernel", order::reader_of_kernel),
        ("order_reader", order::reader),
        ("order_writer", order::writer),
        ("physical_import", physical::import),
        ("physical_export", physical::export_and_wait),
        ("physical_properties", physical::properties),
        ("pool_import", pool::import),
        ("pool_export", pool::export_and_wait),
        ("pool_rules", pool::rules),
        ("pool_host", pool::import_host_memory),
    ])
}

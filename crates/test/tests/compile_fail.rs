//! Wrong arguments of the attribute, and the compiler's messages for them.
//!
//! The messages are those of the toolchain of `rust-toolchain.toml`; write them anew with
//! `TRYBUILD=overwrite cargo test -p warploom-test --test compile_fail` and read the difference.

use warploom_test::sim::topology::Topology;

#[test]
fn wrong_arguments_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}

#[test]
fn the_machines_of_the_attribute_are_the_presets() {
    let names: Vec<&str> = Topology::preset_names().collect();
    let message = include_str!("compile_fail/unknown_machine.stderr");
    assert!(message.contains(&format!("there are {}, or use a file", names.join(", "))), "{message}");
}

use warploom::Driver;

#[warploom_test::test(machine = "hgx-b100")]
fn on_a_machine_that_is_not_there(_: &Driver) {}

#[warploom_test::test(machine = "machines/lab.toml")]
fn on_a_file_that_is_not_there(_: &Driver) {}

#[warploom_test::test(machine = h200)]
fn without_quotes(_: &Driver) {}

fn main() {}

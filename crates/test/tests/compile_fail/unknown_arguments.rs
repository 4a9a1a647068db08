use warploom::Driver;

#[warploom_test::test(machines = "h200")]
fn misspelt(_: &Driver) {}

#[warploom_test::test(seeds = 8, seeds = 9)]
fn given_twice(_: &Driver) {}

#[warploom_test::test(seeds = "8")]
fn seeds_in_quotes(_: &Driver) {}

#[warploom_test::test(seeds = -1)]
fn negative_seeds(_: &Driver) {}

#[warploom_test::test(check = "warn")]
fn unknown_level(_: &Driver) {}

#[warploom_test::test(leaks = true)]
fn level_as_bool(_: &Driver) {}

#[warploom_test::test(orders = "random")]
fn unknown_orders(_: &Driver) {}

#[warploom_test::test(hardware = "run")]
fn unknown_hardware(_: &Driver) {}

#[warploom_test::test(faults = "all")]
fn unknown_faults(_: &Driver) {}

#[warploom_test::test(tolerates = [1])]
fn number_as_call(_: &Driver) {}

fn main() {}

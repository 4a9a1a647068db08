use warploom::Driver;
use warploom_test::sim::Machine;

#[warploom_test::test]
fn takes_nothing() {}

#[warploom_test::test]
fn takes_a_value(_: Driver) {}

#[warploom_test::test]
fn takes_too_much(_: &Machine, _: &Driver, _: &Driver) {}

#[warploom_test::test]
fn takes_a_type<T>(_: &Driver) {}

#[warploom_test::test]
unsafe fn promises(_: &Driver) {}

#[warploom_test::test]
#[test]
fn is_a_test_twice(_: &Driver) {}

#[warploom_test::test(hardware = "ignore")]
fn takes_a_machine_on_hardware(_: &Machine, _: &Driver) {}

#[warploom_test::test(faults = "sweep")]
fn cannot_return_an_error(_: &Driver) {}

fn main() {}

//! The testkit for tests of the core: bodies get a [`warploom::Driver`].
//!
//! Tests of the layers below use `warploom-testkit` itself, whose bodies get a `warploom_driver::Driver`. The
//! core's tests name this crate `warploom_testkit`, and find everything else of it here, too.

use std::fmt;

pub use warploom::Driver;
pub use warploom_testkit as below;
pub use warploom_testkit::*;

use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sim::{Machine, Mode};

/// As [`below::driver_tests!`], with the core's driver.
#[macro_export]
macro_rules! driver_tests {
    ($($tests:tt)*) => {
        $crate::below::driver_tests_of!([$crate::Driver] $($tests)*);
    };
}

/// As [`below::open`], with the core's driver.
pub fn open(topology: Topology, mode: Mode) -> TestResult<(Machine, Driver)> {
    below::open(topology, mode).map(|(machine, driver)| (machine, driver.into()))
}

/// As [`below::in_every_mode`], with the core's driver.
pub fn in_every_mode<T: PartialEq + fmt::Debug>(
    topology: &Topology,
    seeds: u64,
    body: impl Fn(&Machine, &Driver) -> TestResult<T>,
) -> TestResult<T> {
    below::in_every_mode(topology, seeds, |machine, driver| body(machine, &driver.clone().into()))
}

/// As [`below::AccessSpy`], with the core's driver.
#[derive(Debug)]
pub struct AccessSpy(below::AccessSpy);

impl AccessSpy {
    /// As [`below::AccessSpy::open`].
    pub fn open(machine: &Machine) -> TestResult<(Driver, AccessSpy)> {
        below::AccessSpy::open(machine).map(|(driver, spy)| (driver.into(), AccessSpy(spy)))
    }
}

impl std::ops::Deref for AccessSpy {
    type Target = below::AccessSpy;

    fn deref(&self) -> &below::AccessSpy {
        &self.0
    }
}

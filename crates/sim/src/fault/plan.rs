//! Fault plans.

use super::budget::Budget;
use super::calls::{Calls, FunctionSet};
use super::error::FaultError;
use super::rule::{Rule, check_device};
use crate::topology::OLDEST_DRIVER;

/// Faults of a machine, and the calls on which they happen. Rules act in their order; if several select one
/// call, all of them act, and the first answer counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Plan {
    pub(super) rules: Vec<Rule>,
    pub(super) budgets: Vec<Budget>,
    hidden: Vec<Calls>,
    driver_version: Option<i32>,
}

impl Plan {
    /// A plan without faults.
    pub fn new() -> Plan {
        Plan::default()
    }

    /// Adds a rule.
    pub fn rule(mut self, rule: Rule) -> Plan {
        self.rules.push(rule);
        self
    }

    /// Limits the bytes that may be allocated at once.
    pub fn budget(mut self, budget: Budget) -> Plan {
        self.budgets.push(budget);
        self
    }

    /// Hides functions: `cuGetProcAddress` does not find them. Only for plans that a machine is started with.
    pub fn hide(mut self, calls: impl Into<Calls>) -> Plan {
        self.hidden.push(calls.into());
        self
    }

    /// Lowers the driver's version: 12020 is 12.2. Newer functions are missing then. Only for plans that a
    /// machine is started with.
    pub fn driver_version(mut self, version: i32) -> Plan {
        self.driver_version = Some(version);
        self
    }

    /// Its rules; [`Fired::rule`](super::Fired::rule) counts them.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// `true` if it has no faults that happen while a machine runs.
    pub(crate) fn is_quiet(&self) -> bool {
        self.rules.is_empty() && self.budgets.is_empty()
    }

    /// `true` if it has parts that are settled when a machine starts.
    pub(crate) fn has_static_parts(&self) -> bool {
        !self.hidden.is_empty() || self.driver_version.is_some()
    }

    /// The version it leaves a driver.
    pub(crate) fn lowered(&self, have: i32) -> Result<i32, FaultError> {
        match self.driver_version {
            None => Ok(have),
            Some(version) if (OLDEST_DRIVER..=have).contains(&version) => Ok(version),
            Some(asked) => Err(FaultError::DriverVersion { asked, have }),
        }
    }

    /// Functions that `cuGetProcAddress` does not find.
    pub(super) fn hidden(&self) -> FunctionSet {
        let mut all = FunctionSet::NONE;
        for calls in &self.hidden {
            all.join(calls.set());
        }
        all
    }

    /// Refuses faults that could never happen on a machine with so many devices.
    pub(crate) fn check(&self, devices: usize) -> Result<(), FaultError> {
        self.rules.iter().try_for_each(|rule| rule.check(devices))?;
        self.budgets.iter().filter_map(Budget::device).try_for_each(|device| check_device(device, devices))
    }
}

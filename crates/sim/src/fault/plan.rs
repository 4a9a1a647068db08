//! All that goes wrong on a machine.

use std::path::Path;

use super::budget::Budget;
use super::calls::{Calls, FunctionSet};
use super::error::FaultError;
use super::file;
use super::rule::{Rule, check_device};
use crate::topology::OLDEST_DRIVER;

/// What goes wrong, and when. Rules are asked in their order; if several act on one call, all of them do, and the first
/// answer counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Plan {
    pub(super) rules: Vec<Rule>,
    pub(super) budgets: Vec<Budget>,
    hidden: Vec<Calls>,
    driver_version: Option<i32>,
}

impl Plan {
    /// A plan in which nothing goes wrong.
    pub fn new() -> Plan {
        Plan::default()
    }

    /// The plan that a TOML text describes.
    ///
    #[doc = include_str!("format.md")]
    #[doc = concat!("```toml\n", include_str!("example.toml"), "```")]
    ///
    /// # Errors
    ///
    /// [`FaultError::Toml`] with line, column and key.
    pub fn from_toml(text: &str) -> Result<Plan, FaultError> {
        file::read(text, None)
    }

    /// The plan that a TOML file describes; mistakes are reported with the file's name.
    ///
    /// # Errors
    ///
    /// As [`Plan::from_toml`], and [`FaultError::Read`].
    pub fn from_toml_file(path: impl AsRef<Path>) -> Result<Plan, FaultError> {
        file::read_file(path.as_ref())
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

    /// Lowers the driver's version: 12020 is 12.2. What is younger is missing then. Only for plans that a machine is
    /// started with.
    pub fn driver_version(mut self, version: i32) -> Plan {
        self.driver_version = Some(version);
        self
    }

    /// Its rules; [`Fired::rule`](super::Fired::rule) counts them.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether it asks for nothing that happens while a machine runs.
    pub(crate) fn is_quiet(&self) -> bool {
        self.rules.is_empty() && self.budgets.is_empty()
    }

    /// Whether it has parts that are settled when a machine starts.
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

    /// What `cuGetProcAddress` does not find.
    pub(super) fn hidden(&self) -> FunctionSet {
        let mut all = FunctionSet::NONE;
        for calls in &self.hidden {
            all.join(calls.set());
        }
        all
    }

    /// Refuses what could never happen on a machine with so many devices.
    pub(crate) fn check(&self, devices: usize) -> Result<(), FaultError> {
        self.rules.iter().try_for_each(|rule| rule.check(devices))?;
        self.budgets.iter().filter_map(Budget::device).try_for_each(|device| check_device(device, devices))
    }
}

//! Environment variables that repeat or widen a test run.

use std::env::VarError;

use crate::order::RunOrder;
use crate::sweep::Failing;

/// The variable that runs one order alone: a seed, `threads`, `eager` or `lazy`.
pub const SEED_VARIABLE: &str = "WARPLOOM_TEST_SEED";
/// The variable with the number of random orders, in place of the number that a test names.
pub const SEEDS_VARIABLE: &str = "WARPLOOM_TEST_SEEDS";
/// The variable that runs one run of a sweep alone: the number of the failing call, a colon, and `once`,
/// `from_here` or `after_effect`.
pub const FAULT_VARIABLE: &str = "WARPLOOM_TEST_FAULT";

/// The settings in force.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Environment {
    order: Option<RunOrder>,
    seeds: Option<u64>,
    pub(crate) fault: Option<(u64, Failing)>,
}

/// A variable with a value that means nothing.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable}={value:?}: {problem}")]
pub(crate) struct SettingError {
    variable: &'static str,
    value: String,
    problem: String,
}

impl Environment {
    pub(crate) fn read() -> Result<Environment, SettingError> {
        Self::of(|variable| match std::env::var(variable) {
            Ok(value) => Some(value),
            Err(VarError::NotPresent) => None,
            Err(VarError::NotUnicode(value)) => Some(value.to_string_lossy().into_owned()),
        })
    }

    /// Reads the variables; an empty one counts as not set.
    fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Environment, SettingError> {
        fn parsed<T>(
            value: Option<String>,
            variable: &'static str,
            parse: impl Fn(&str) -> Result<T, String>,
        ) -> Result<Option<T>, SettingError> {
            let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
            parse(&value).map(Some).map_err(|problem| SettingError { variable, value, problem })
        }
        let order = |text: &str| text.parse().map_err(|error: crate::UnknownOrder| error.to_string());
        let seeds = |text: &str| text.parse().map_err(|_| "use the number of random orders, such as 100".to_owned());
        Ok(Environment {
            order: parsed(variable(SEED_VARIABLE), SEED_VARIABLE, order)?,
            seeds: parsed(variable(SEEDS_VARIABLE), SEEDS_VARIABLE, seeds)?,
            fault: parsed(variable(FAULT_VARIABLE), FAULT_VARIABLE, fault)?,
        })
    }

    /// The orders of the runs: the one that is asked for, or those of the test. None if one run of a sweep is
    /// asked for.
    pub(crate) fn orders(&self, of_test: impl FnOnce(Option<u64>) -> Vec<RunOrder>) -> Vec<RunOrder> {
        match (self.order, self.fault) {
            (Some(order), _) => vec![order],
            (None, Some(_)) => Vec::new(),
            (None, None) => of_test(self.seeds),
        }
    }

    /// `true` if sweeps take place: not where one order is asked for alone.
    pub(crate) fn sweeps(&self) -> bool {
        self.order.is_none()
    }
}

/// A run of a sweep: `3:once`.
fn fault(text: &str) -> Result<(u64, Failing), String> {
    let parsed = text.split_once(':').and_then(|(call, failing)| Some((call.parse().ok()?, Failing::by_key(failing)?)));
    let form = "use the number of a call and the way it fails, such as 3:once, 3:from_here or 3:after_effect";
    parsed.ok_or_else(|| form.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(settings: &[(&str, &str)]) -> Result<Environment, SettingError> {
        Environment::of(|variable| {
            settings.iter().find(|(name, _)| *name == variable).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_seed_alone_replaces_the_orders_of_the_test_and_its_sweep() -> Result<(), SettingError> {
        let environment = read(&[(SEED_VARIABLE, "7")])?;
        assert_eq!(environment.orders(|_| panic!("not asked")), [RunOrder::Seed(7)]);
        assert!(!environment.sweeps());
        let none = read(&[(SEED_VARIABLE, "")])?;
        assert_eq!(none, Environment::default());
        assert!(none.sweeps());
        Ok(())
    }

    #[test]
    fn more_seeds_and_single_faults_are_read() -> Result<(), SettingError> {
        assert_eq!(
            read(&[(SEEDS_VARIABLE, "100")])?.orders(|seeds| vec![RunOrder::Seed(seeds.unwrap())]),
            [RunOrder::Seed(100)]
        );
        let fault = read(&[(FAULT_VARIABLE, "3:from_here")])?;
        assert_eq!(fault.fault, Some((3, Failing::FromHere)));
        assert!(fault.orders(|_| vec![RunOrder::Lazy]).is_empty() && fault.sweeps());
        Ok(())
    }

    #[test]
    fn values_that_mean_nothing_are_named_with_those_that_do() {
        let text = |variable: &str, value: &str| read(&[(variable, value)]).unwrap_err().to_string();
        assert!(text(SEED_VARIABLE, "x").starts_with("WARPLOOM_TEST_SEED=\"x\": \"x\" is no order of work"));
        assert!(text(SEEDS_VARIABLE, "-1").contains("such as 100"));
        assert!(text(FAULT_VARIABLE, "3:twice").contains("3:once"));
    }
}

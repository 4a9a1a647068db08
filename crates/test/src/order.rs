//! Orders of work: the modes that a test runs in, by the names that reproduce them.

use std::fmt;
use std::str::FromStr;

use warploom_sim::{Mode, Order};

/// The order in which a machine runs the work of one test run.
///
/// ```
/// use warploom_test::RunOrder;
///
/// assert_eq!("5".parse(), Ok(RunOrder::Seed(5)));
/// assert_eq!(RunOrder::Lazy.to_string(), "lazy");
/// assert!("late".parse::<RunOrder>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RunOrder {
    /// Threads of the machine run the work, as hardware does; each run may differ from the one before.
    Threads,
    /// Work runs as soon as it can.
    Eager,
    /// Work runs as late as it can, so that a missing wait shows.
    Lazy,
    /// A random legal order; the same seed gives the same order.
    Seed(u64),
}

impl RunOrder {
    /// The machine's mode for this order.
    #[must_use]
    pub fn mode(self) -> Mode {
        match self {
            RunOrder::Threads => Mode::Threads,
            RunOrder::Eager => Mode::Deterministic(Order::Eager),
            RunOrder::Lazy => Mode::Deterministic(Order::Lazy),
            RunOrder::Seed(seed) => Mode::Deterministic(Order::Seeded(seed)),
        }
    }
}

impl fmt::Display for RunOrder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunOrder::Threads => formatter.write_str("threads"),
            RunOrder::Eager => formatter.write_str("eager"),
            RunOrder::Lazy => formatter.write_str("lazy"),
            RunOrder::Seed(seed) => write!(formatter, "{seed}"),
        }
    }
}

/// A text that names no [`RunOrder`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no order of work; use a seed such as 5, or threads, eager or lazy")]
pub struct UnknownOrder(String);

impl FromStr for RunOrder {
    type Err = UnknownOrder;

    fn from_str(text: &str) -> Result<RunOrder, UnknownOrder> {
        match text {
            "threads" => Ok(RunOrder::Threads),
            "eager" => Ok(RunOrder::Eager),
            "lazy" => Ok(RunOrder::Lazy),
            _ => text.parse().map(RunOrder::Seed).map_err(|_| UnknownOrder(text.to_owned())),
        }
    }
}

/// The orders that a test is run in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Orders {
    /// Eager, lazy, one random order for each seed, and threads. The orders that repeat come first, so that the
    /// first failure can be repeated.
    #[default]
    All,
    /// Threads alone: for tests in which a host thread waits for memory to change, or for another thread.
    Threads,
    /// Eager, lazy, and one random order for each seed: every run repeats exactly.
    Deterministic,
}

impl Orders {
    /// Each of them, with seeds 1 to `seeds`.
    pub(crate) fn list(self, seeds: u64) -> Vec<RunOrder> {
        let repeatable = [RunOrder::Eager, RunOrder::Lazy].into_iter().chain((1..=seeds).map(RunOrder::Seed));
        match self {
            Orders::All => repeatable.chain([RunOrder::Threads]).collect(),
            Orders::Threads => vec![RunOrder::Threads],
            Orders::Deterministic => repeatable.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_named_as_it_is_parsed() {
        for order in Orders::All.list(3) {
            assert_eq!(order.to_string().parse(), Ok(order));
        }
        let error = "-1".parse::<RunOrder>().unwrap_err();
        assert_eq!(error.to_string(), "\"-1\" is no order of work; use a seed such as 5, or threads, eager or lazy");
    }

    #[test]
    fn seeds_are_counted_from_one() {
        assert_eq!(Orders::All.list(0), [RunOrder::Eager, RunOrder::Lazy, RunOrder::Threads]);
        assert_eq!(Orders::Deterministic.list(2)[2..], [RunOrder::Seed(1), RunOrder::Seed(2)]);
        assert_eq!(Orders::Threads.list(8), [RunOrder::Threads]);
    }
}

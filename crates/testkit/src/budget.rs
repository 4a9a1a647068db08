//! Call budgets: which driver functions a piece of code may call, and how often.

use warploom_driver::{Driver, Function};

/// Runs `work` and asserts that on this thread it made exactly these driver calls, and no others.
///
/// ```
/// use warploom_testkit::{budget, open, sim};
/// use warploom_testkit::driver::Function;
///
/// # fn main() -> warploom_testkit::TestResult {
/// let (_machine, driver) = open(sim::topology::Topology::preset("h200")?, sim::Mode::Threads)?;
/// budget(&driver, &[(Function::cuInit, 1)], || driver.initialize())?;
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn budget<R>(driver: &Driver, allowed: &[(Function, u64)], work: impl FnOnce() -> R) -> R {
    let counter = driver.count_calls();
    let result = work();
    let mut made = counter.by_function();
    drop(counter);
    let mut allowed: Vec<_> = allowed.iter().copied().filter(|(_, count)| *count > 0).collect();
    made.sort_unstable();
    allowed.sort_unstable();
    assert_eq!(made, allowed, "driver calls made (left) and allowed (right)");
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TestResult, open};
    use warploom_sim::{Mode, topology::Topology};

    #[test]
    #[should_panic(expected = "driver calls made")]
    fn a_call_too_many_breaks_the_budget() {
        let (_machine, driver) = open(Topology::preset("h200").unwrap(), Mode::Threads).unwrap();
        budget(&driver, &[(Function::cuInit, 1)], || driver.initialize().and_then(|()| driver.initialize()).unwrap());
    }

    #[test]
    fn a_budget_of_nothing_allows_nothing_and_passes_the_result_on() -> TestResult {
        let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
        assert_eq!(budget(&driver, &[(Function::cuInit, 0)], || 7), 7);
        Ok(())
    }
}

//! Report of a sweep.

use std::fmt;

use serde::Serialize;

/// The calls of a run that fail, and the point at which they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Failing {
    /// None of them.
    Nothing,
    /// One, before it has any effect.
    Once,
    /// One, after its effect.
    AfterEffect,
    /// One and all later ones, before they have any effect.
    FromHere,
}

impl Failing {
    const fn name(self) -> &'static str {
        match self {
            Failing::Nothing => "nothing",
            Failing::Once => "once",
            Failing::AfterEffect => "after effect",
            Failing::FromHere => "from here",
        }
    }

    /// The way of failing as one word, as serialised.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Failing::Nothing => "nothing",
            Failing::Once => "once",
            Failing::AfterEffect => "after_effect",
            Failing::FromHere => "from_here",
        }
    }

    /// The way of failing of a [key](Failing::key).
    pub(crate) fn by_key(key: &str) -> Option<Failing> {
        [Failing::Once, Failing::AfterEffect, Failing::FromHere].into_iter().find(|failing| failing.key() == key)
    }
}

/// A problem of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "detail")]
#[non_exhaustive]
pub enum Problem {
    /// The scenario panicked, with this message.
    Panicked(String),
    /// Resources are left over, or the thread's context stack has changed.
    LeftOver(String),
    /// A destroyed or freed resource was used, or freed again: the text of the machine's checks.
    DeadHandle(String),
    /// Another finding of the machine's checks: a race, a read of uninitialised memory, and the like.
    Found(String),
    /// The scenario succeeded, although the call failed.
    Swallowed,
    /// The machine cannot be used any more, and does not say so cleanly.
    Unusable(String),
    /// The scenario fails without any fault.
    FailsAnyway(String),
    /// The scenario did not get as far as the call: it does not make the same calls every time.
    NotReached,
    /// A bug in the simulator.
    Internal(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Panicked(message) => write!(formatter, "panicked: {message}"),
            Problem::LeftOver(what) => write!(formatter, "left over: {what}"),
            Problem::DeadHandle(what) => write!(formatter, "used what was gone: {what}"),
            Problem::Found(what) => write!(formatter, "found: {what}"),
            Problem::Swallowed => formatter.write_str("the scenario succeeded, although the call failed"),
            Problem::Unusable(why) => write!(formatter, "unusable: {why}"),
            Problem::FailsAnyway(error) => write!(formatter, "fails without any fault: {error}"),
            Problem::NotReached => {
                formatter.write_str("the call was not reached; is the scenario the same every time?")
            }
            Problem::Internal(what) => write!(formatter, "a bug in the simulator: {what}"),
        }
    }
}

/// A run in which something went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SweepFailure {
    /// The number of the call that failed, counted from 1; 0 if none did.
    pub call: u64,
    /// Its function.
    pub function: String,
    /// The way in which it failed.
    pub failing: Failing,
    /// The code that it returned, such as `CUDA_ERROR_OUT_OF_MEMORY (2)`.
    pub code: String,
    /// The problem that followed.
    pub problem: Problem,
}

/// The result of a sweep. It prints as a table.
#[derive(Clone, Debug, Serialize)]
pub struct SweepReport {
    /// The functions that the scenario calls, in order.
    pub calls: Vec<String>,
    /// Number of runs.
    pub runs: usize,
    /// Duration of all runs, in seconds.
    pub seconds: f64,
    /// Runs with a problem.
    pub failures: Vec<SweepFailure>,
}

impl SweepReport {
    /// The table alone, without the hint for a caller of [`Sweep`](super::Sweep).
    pub(crate) fn table(&self) -> String {
        let counted = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        let (calls, runs) = (counted(self.calls.len(), "call"), counted(self.runs, "run"));
        let failures = counted(self.failures.len(), "failure");
        let mut lines = vec![format!("sweep: {calls}, {runs} in {:.2} s, {failures}", self.seconds)];
        if self.failures.is_empty() {
            return lines.concat();
        }
        let width = |heading: &str, of: fn(&SweepFailure) -> &str| {
            self.failures.iter().map(|failure| of(failure).len()).max().unwrap_or(0).max(heading.len())
        };
        let function = width("function", |failure| &failure.function);
        let code = width("code", |failure| &failure.code);
        lines.push(format!("{:>5}  {:function$}  {:12}  {:code$}  problem", "call", "function", "failing", "code"));
        lines.extend(self.failures.iter().map(|failure| {
            let SweepFailure { call, function: name, failing, code: answer, problem } = failure;
            format!("{call:>5}  {name:function$}  {:12}  {answer:code$}  {problem}", failing.name())
        }));
        lines.join("\n")
    }
}

impl fmt::Display for SweepReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.table())?;
        if let Some(SweepFailure { call, failing, .. }) = self.failures.iter().find(|failure| failure.call > 0) {
            writeln!(formatter, "to see one alone, add .only({call}, Failing::{failing:?}) to its sweep")?;
        }
        Ok(())
    }
}

//! Running a program and its fixed twin.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use warploom_testkit::TestResult;
use warploom_testkit::driver::Error;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sim::{Backtraces, CheckMode, Checks, Finding, HostOrder, Machine, Mode, Order};
use warploom_testkit::sys::types::CUresult;

use super::bench::Bench;
use super::words::{essentials, line};

const MODES: [Mode; 6] = [
    Mode::Sync,
    Mode::Threads,
    Mode::Deterministic(Order::Eager),
    Mode::Deterministic(Order::Lazy),
    Mode::Deterministic(Order::Seeded(1)),
    Mode::Deterministic(Order::Seeded(2)),
];

/// The result of the call with the bug.
#[derive(Clone, Copy, Debug)]
enum Outcome {
    /// It succeeds where findings are only reported, and answers `CUDA_ERROR_ILLEGAL_STATE` where they fail
    /// calls.
    Stopped,
    /// The driver refuses it anyway, with a code of its own.
    Refused(CUresult),
    /// There is no call that could fail.
    Unstoppable,
}

/// A program with a bug, and what is to be found.
#[must_use = "nothing runs before `check`"]
pub(crate) struct Planted {
    program: fn(&Bench) -> TestResult,
    finds: Vec<&'static str>,
    says: Vec<&'static str>,
    outcome: Outcome,
    topology: &'static str,
    order: HostOrder,
    modes: &'static [Mode],
    /// `true` if the number of its calls depends on the mode.
    varies: bool,
}

/// A program that has a bug unless its bench is `fixed`.
pub(crate) fn planted(program: fn(&Bench) -> TestResult) -> Planted {
    let (finds, says) = Default::default();
    let (outcome, topology, order) = (Outcome::Stopped, "h200", HostOrder::Observed);
    Planted { program, finds, says, outcome, topology, order, modes: &MODES, varies: false }
}

/// A program that has no bug; something close to it would.
pub(crate) fn innocent(program: fn(&Bench) -> TestResult) -> TestResult {
    planted(program).stays_quiet()
}

/// A bench on which calls with a bug fail.
pub(crate) fn failing(mode: Mode) -> TestResult<Bench> {
    Ok(planted(|_| Ok(())).start(mode, CheckMode::Fail, false)?.bench)
}

/// A program that runs, and what was said while it did.
struct Run {
    bench: Bench,
    told: Arc<Mutex<Vec<Finding>>>,
}

impl Planted {
    /// One more finding, as [`line`] puts it.
    pub(crate) fn finds(mut self, finding: &'static str) -> Self {
        self.finds.push(finding);
        self
    }

    /// A phrase that the text of a finding must contain.
    pub(crate) fn says(mut self, words: &'static str) -> Self {
        self.says.push(words);
        self
    }

    /// The driver refuses the call with the bug whether it is checked or not.
    pub(crate) fn refused(mut self, code: CUresult) -> Self {
        self.outcome = Outcome::Refused(code);
        self
    }

    /// The finding is not made in a call that could fail.
    pub(crate) fn unstoppable(mut self) -> Self {
        self.outcome = Outcome::Unstoppable;
        self
    }

    /// Needs a machine with more than a device.
    pub(crate) fn on(mut self, topology: &'static str) -> Self {
        self.topology = topology;
        self
    }

    /// Announces how its threads hand things over.
    pub(crate) fn with_hand_overs(mut self) -> Self {
        self.order = HostOrder::HandOvers;
        self
    }

    /// Cannot run where every call waits for its work: it enqueues a wait before what ends it.
    pub(crate) fn asynchronous(mut self) -> Self {
        self.modes = &MODES[1..];
        self
    }

    /// Asks until something is so, and has the more calls the longer that takes.
    pub(crate) fn varies(mut self) -> Self {
        self.varies = true;
        self
    }

    /// Runs the program and its twin in every mode.
    pub(crate) fn check(self) -> TestResult {
        let mut texts: Option<Vec<String>> = None;
        for mode in self.modes.iter().copied() {
            let found = self.run_buggy(mode)?;
            match &texts {
                None => texts = Some(found),
                Some(_) if self.varies => {}
                Some(first) => assert_eq!(*first, found, "the text depends on the mode; this is {mode:?}"),
            }
            self.run_failing(mode)?;
            self.run_fixed(mode)?;
        }
        Ok(())
    }

    /// Runs the fixed twin alone, in every mode.
    pub(crate) fn stays_quiet(self) -> TestResult {
        self.modes.iter().try_for_each(|mode| self.run_fixed(*mode))
    }

    fn start(&self, mode: Mode, check_mode: CheckMode, fixed: bool) -> TestResult<Run> {
        let told: Arc<Mutex<Vec<Finding>>> = Arc::default();
        let sink = Arc::clone(&told);
        let checks = if check_mode == CheckMode::Fail { Checks::fail() } else { Checks::report() };
        let checks = checks
            .backtraces(Backtraces::Off)
            .host_order(self.order)
            .on_finding(move |finding| sink.lock().expect("nobody panics with it").push(finding.clone()));
        let topology = Topology::preset(self.topology)?;
        let patience = Duration::from_secs(5);
        let machine = Machine::builder().topology(topology).mode(mode).patience(patience).checks(checks).start()?;
        Ok(Run { bench: Bench::new(&machine, fixed)?, told })
    }

    /// Reports what is expected, and nothing else; gives the texts without their addresses.
    fn run_buggy(&self, mode: Mode) -> TestResult<Vec<String>> {
        let run = self.start(mode, CheckMode::Report, false)?;
        let code = code((self.program)(&run.bench))?;
        match self.outcome {
            Outcome::Refused(refusal) => assert_eq!(code, refusal, "{mode:?}"),
            Outcome::Stopped | Outcome::Unstoppable => assert_eq!(code, CUresult::CUDA_SUCCESS, "{mode:?}"),
        }
        self.compare(&run, mode);
        Ok(run.bench.machine.findings().iter().map(|finding| without_addresses(&finding.to_string())).collect())
    }

    /// Fails the call in which it finds something; after that the machine works as if nothing had been.
    fn run_failing(&self, mode: Mode) -> TestResult {
        let run = self.start(mode, CheckMode::Fail, false)?;
        let machine = &run.bench.machine;
        let code = code((self.program)(&run.bench))?;
        match self.outcome {
            Outcome::Refused(refusal) => assert_eq!(code, refusal, "{mode:?}"),
            Outcome::Stopped => assert_eq!(code, CUresult::CUDA_ERROR_ILLEGAL_STATE, "{mode:?}"),
            Outcome::Unstoppable => assert_eq!(code, CUresult::CUDA_SUCCESS, "{mode:?}"),
        }
        if !matches!(self.outcome, Outcome::Unstoppable) {
            let last = Some(machine.calls());
            let found = machine.findings().last().and_then(|finding| finding.call);
            assert_eq!(found, last, "found in the call that failed");
        }
        self.compare(&run, mode);
        machine.take_findings();
        let twin = Bench::new(machine, true)?;
        (self.program)(&twin).map_err(|error| format!("after a failed call, in mode {mode:?}: {error}"))?;
        assert_eq!(lines(&twin), [""; 0], "after a failed call, in mode {mode:?}");
        Ok(())
    }

    /// Is quiet, and leaves nothing behind.
    fn run_fixed(&self, mode: Mode) -> TestResult {
        let Run { bench, .. } = self.start(mode, CheckMode::Report, true)?;
        (self.program)(&bench).map_err(|error| format!("the fixed twin, in mode {mode:?}: {error}"))?;
        assert_eq!(lines(&bench), [""; 0], "the fixed twin, in mode {mode:?}");
        let machine = bench.machine.clone();
        bench.clean_up()?;
        let left: Vec<String> = machine.leaks().iter().map(ToString::to_string).collect();
        assert_eq!(left, [""; 0], "the fixed twin, in mode {mode:?}");
        assert_eq!(machine.findings(), [], "cleaning up in mode {mode:?}");
        Ok(())
    }

    fn compare(&self, Run { bench, told }: &Run, mode: Mode) {
        assert_eq!(lines(bench), self.finds, "{mode:?}");
        let findings = bench.machine.findings();
        assert_eq!(*told.lock().expect("nobody panics with it"), findings, "everything is told once, in {mode:?}");
        let text: Vec<String> = findings.iter().map(ToString::to_string).collect();
        let text = text.join("\n");
        for words in findings.iter().flat_map(|finding| essentials(&finding.kind)) {
            assert!(text.contains(&words), "{words:?} is not in\n{text}");
        }
        for words in &self.says {
            assert!(text.contains(words), "{words:?} is not in\n{text}");
        }
    }
}

fn lines(bench: &Bench) -> Vec<String> {
    bench.machine.findings().iter().map(|finding| line(bench, &finding.kind)).collect()
}

/// The code of the call that ended a program.
fn code(result: TestResult) -> TestResult<CUresult> {
    let Err(error) = result else { return Ok(CUresult::CUDA_SUCCESS) };
    match error.downcast_ref::<Error>().and_then(Error::code) {
        Some(code) => Ok(code),
        None => Err(error),
    }
}

/// A text with every hexadecimal number replaced.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split("0x");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str("0x…");
        plain.push_str(part.trim_start_matches(|digit: char| digit.is_ascii_hexdigit()));
    }
    plain
}

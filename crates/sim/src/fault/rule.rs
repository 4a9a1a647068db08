//! Rules of a plan: the calls that a rule selects, and its action.

use std::fmt;
use std::time::Duration;

use warploom_sys::types::{CUcontext, CUresult};

use super::calls::Calls;
use super::error::{FaultError, MAX_DELAY};
use crate::process::thread::{self, ThreadKey};

/// The answer of a lost device unless its rule has another.
///
/// Of what `cuda.h` describes it is the one that fits: the device cannot be had at present. The codes of
/// faults (`ECC_UNCORRECTABLE`, `LAUNCH_FAILED`, …) say that the whole process is in an inconsistent state,
/// but here the other devices go on; `NO_DEVICE` says that there is none at all, and `UNKNOWN` says nothing.
pub const DEVICE_LOST: CUresult = CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE;

/// The action of a rule on the calls that it selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Nothing; the call is only noted.
    Note,
    /// Answers a code and does nothing.
    Fail {
        /// The answer.
        code: CUresult,
    },
    /// Does what the call does and then answers a code, if the call succeeded.
    FailAfter {
        /// The answer.
        code: CUresult,
    },
    /// Lets the call succeed, and what it enqueues fail: nothing of it is done, its context is poisoned as by
    /// a faulting kernel, and a later wait returns the code.
    FailWork {
        /// The error code of the work.
        code: CUresult,
    },
    /// Poisons the contexts the call is about before it goes on: it and all later calls on them answer the
    /// code.
    Poison {
        /// The sticky code.
        code: CUresult,
    },
    /// Lets time pass before the call goes on.
    Delay(Duration),
    /// Takes a device away for good: every later call on it and on its contexts answers the code.
    LoseDevice {
        /// The device.
        device: u32,
        /// The answer.
        code: CUresult,
    },
}

/// The thread whose calls a rule matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OnThread {
    This(ThreadKey),
    Named(String),
}

/// The context whose calls a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnContext {
    Handle(u64),
    Id(u64),
}

/// Some calls, and what goes wrong with them. Unless told otherwise it meets every one of the calls, and only
/// notes them.
///
/// ```
/// use std::time::Duration;
/// use warploom_sim::fault::{Calls, Class, Rule};
/// use warploom_sys::Function;
/// use warploom_sys::types::CUresult;
///
/// # fn main() -> Result<(), warploom_sim::fault::FaultError> {
/// let third = Rule::on(Class::Alloc).nth(3).fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
/// let slow = Rule::on(Calls::named("cuMemcpy*")?).on_device(1).every(10).delay(Duration::from_millis(5));
/// let copies = Rule::on(Function::cuMemcpyHtoDAsync_v2).from(2);
/// let broken = copies.fail_work(CUresult::CUDA_ERROR_ECC_UNCORRECTABLE);
/// let text = "class alloc, match 3: answer CUDA_ERROR_OUT_OF_MEMORY (2) without any effect";
/// assert_eq!(third.to_string(), text);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Rule {
    pub(super) calls: Calls,
    pub(super) thread: Option<OnThread>,
    pub(super) device: Option<u32>,
    pub(super) context: Option<OnContext>,
    first: Option<u64>,
    step: Option<u64>,
    times: Option<u64>,
    pub(super) action: Action,
}

impl Rule {
    /// A rule about these calls: a [`Function`](warploom_sys::Function), a [`Class`](super::Class), or
    /// [`Calls`].
    pub fn on(calls: impl Into<Calls>) -> Rule {
        Rule {
            calls: calls.into(),
            thread: None,
            device: None,
            context: None,
            first: None,
            step: None,
            times: None,
            action: Action::Note,
        }
    }

    /// Only the calls of the thread that calls this.
    pub fn on_this_thread(mut self) -> Rule {
        self.thread = Some(OnThread::This(thread::key()));
        self
    }

    /// Only the calls of threads with this name. The system knows the first 15 bytes of a thread's name;
    /// those of threads made by other languages are compared as far as that.
    pub fn on_thread_named(mut self, name: impl Into<String>) -> Rule {
        self.thread = Some(OnThread::Named(name.into()));
        self
    }

    /// Only calls on a device. A call is on the devices of the contexts, streams, events, pools, devices and
    /// addresses among its arguments; if there are none, on that of the current context. What stands inside
    /// of structures is not looked at.
    pub fn on_device(mut self, device: u32) -> Rule {
        self.device = Some(device);
        self
    }

    /// Only calls on a context, as [`Rule::on_device`] has it.
    pub fn on_context(mut self, context: CUcontext) -> Rule {
        self.context = Some(OnContext::Handle(context.addr() as u64));
        self
    }

    /// Only calls on the context with this number: contexts are counted from 1 as they are made, and
    /// `cuCtxGetId` shows the number.
    pub fn on_context_id(mut self, id: u64) -> Rule {
        self.context = Some(OnContext::Id(id));
        self
    }

    /// Only the match with this number, counted from 1.
    pub fn nth(self, match_number: u64) -> Rule {
        self.from(match_number).times(1)
    }

    /// The match with this number, counted from 1, and later ones.
    pub fn from(mut self, match_number: u64) -> Rule {
        self.first = Some(match_number);
        self
    }

    /// At most this often.
    pub fn times(mut self, most: u64) -> Rule {
        self.times = Some(most);
        self
    }

    /// Every so many matches: with 3, the matches 3, 6, 9 and so on, or, [from](Rule::from) match 4, the
    /// matches 4, 7, 10.
    pub fn every(mut self, matches: u64) -> Rule {
        self.step = Some(matches);
        self
    }

    /// The action of the rule.
    pub fn act(mut self, action: Action) -> Rule {
        self.action = action;
        self
    }

    /// As [`Action::Fail`].
    pub fn fail(self, code: CUresult) -> Rule {
        self.act(Action::Fail { code })
    }

    /// As [`Action::FailAfter`].
    pub fn fail_after(self, code: CUresult) -> Rule {
        self.act(Action::FailAfter { code })
    }

    /// As [`Action::FailWork`].
    pub fn fail_work(self, code: CUresult) -> Rule {
        self.act(Action::FailWork { code })
    }

    /// As [`Action::Poison`].
    pub fn poison(self, code: CUresult) -> Rule {
        self.act(Action::Poison { code })
    }

    /// As [`Action::Delay`]. Virtual time moves on by this much in every mode; the calling thread sleeps for
    /// as long only on a machine with threads of its own, since the others know no real time.
    pub fn delay(self, time: Duration) -> Rule {
        self.act(Action::Delay(time))
    }

    /// As [`Action::LoseDevice`], with [`DEVICE_LOST`].
    pub fn lose_device(self, device: u32) -> Rule {
        self.act(Action::LoseDevice { device, code: DEVICE_LOST })
    }

    /// `true` if it acts on the match with this number, having acted `before` times.
    pub(super) fn is_due(&self, match_number: u64, before: u64) -> bool {
        let step = self.step.unwrap_or(1);
        let first = self.first.unwrap_or(step);
        let is_its_turn = match_number.checked_sub(first).is_some_and(|since| since.is_multiple_of(step));
        is_its_turn && self.times.is_none_or(|most| before < most)
    }

    /// `true` if it needs the scope of a call.
    pub(super) fn has_scope(&self) -> bool {
        self.device.is_some() || self.context.is_some() || matches!(self.action, Action::Poison { .. })
    }

    /// Refuses what could never happen.
    pub(super) fn check(&self, devices: usize) -> Result<(), FaultError> {
        for (what, count) in [("nth or from", self.first), ("every", self.step), ("times", self.times)] {
            if count == Some(0) {
                return Err(FaultError::Zero { what });
            }
        }
        let lost = if let Action::LoseDevice { device, .. } = self.action { Some(device) } else { None };
        for device in [self.device, lost].into_iter().flatten() {
            check_device(device, devices)?;
        }
        match self.action {
            Action::Fail { code: CUresult::CUDA_SUCCESS }
            | Action::FailAfter { code: CUresult::CUDA_SUCCESS }
            | Action::FailWork { code: CUresult::CUDA_SUCCESS }
            | Action::Poison { code: CUresult::CUDA_SUCCESS }
            | Action::LoseDevice { code: CUresult::CUDA_SUCCESS, .. } => Err(FaultError::Success),
            Action::Delay(time) if time > MAX_DELAY => Err(FaultError::Delay { seconds: time.as_secs() }),
            _ => Ok(()),
        }
    }
}

/// Refuses a device that is not there.
pub(super) fn check_device(device: u32, count: usize) -> Result<(), FaultError> {
    if (device as usize) < count { Ok(()) } else { Err(FaultError::NoSuchDevice { device, count }) }
}

impl fmt::Display for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Note => formatter.write_str("note it"),
            Action::Fail { code } => write!(formatter, "answer {code} without any effect"),
            Action::FailAfter { code } => write!(formatter, "answer {code} after its effect"),
            Action::FailWork { code } => write!(formatter, "let what it enqueues fail with {code}"),
            Action::Poison { code } => write!(formatter, "poison its context with {code}"),
            Action::Delay(time) => write!(formatter, "delay it by {time:?}"),
            Action::LoseDevice { device, code } => write!(formatter, "lose device {device}, which then answers {code}"),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.calls)?;
        match &self.thread {
            Some(OnThread::This(_)) => formatter.write_str(" on one thread")?,
            Some(OnThread::Named(name)) => write!(formatter, " on thread {name:?}")?,
            None => {}
        }
        if let Some(device) = self.device {
            write!(formatter, " on device {device}")?;
        }
        match self.context {
            Some(OnContext::Handle(bits)) => write!(formatter, " on context {bits:#x}")?,
            Some(OnContext::Id(id)) => write!(formatter, " on context {id}")?,
            None => {}
        }
        match (self.first, self.step, self.times) {
            (Some(first), None, Some(1)) => write!(formatter, ", match {first}")?,
            (first, step, times) => {
                first.map_or(Ok(()), |first| write!(formatter, ", from match {first}"))?;
                step.map_or(Ok(()), |step| write!(formatter, ", every {step} matches"))?;
                times.map_or(Ok(()), |times| write!(formatter, ", at most {times} times"))?;
            }
        }
        write!(formatter, ": {}", self.action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The matches out of the first twelve on which a rule acts.
    fn due(rule: &Rule) -> Vec<u64> {
        let mut acted = Vec::new();
        for number in 1..=12 {
            if rule.is_due(number, acted.len() as u64) {
                acted.push(number);
            }
        }
        acted
    }

    #[test]
    fn a_rule_acts_on_the_matches_it_names() {
        let rule = || Rule::on(Calls::all());
        assert_eq!(due(&rule()), (1..=12).collect::<Vec<_>>());
        assert_eq!(due(&rule().nth(3)), [3]);
        assert_eq!(due(&rule().from(11)), [11, 12]);
        assert_eq!(due(&rule().times(2)), [1, 2]);
        assert_eq!(due(&rule().from(5).times(2)), [5, 6]);
        assert_eq!(due(&rule().every(5)), [5, 10]);
        assert_eq!(due(&rule().from(4).every(3)), [4, 7, 10]);
        assert_eq!(due(&rule().from(4).every(3).times(2)), [4, 7]);
    }

    #[test]
    fn impossible_rules_are_refused() {
        let rule = || Rule::on(Calls::all());
        for (rule, expected) in [
            (rule().nth(0), FaultError::Zero { what: "nth or from" }),
            (rule().every(0), FaultError::Zero { what: "every" }),
            (rule().times(0), FaultError::Zero { what: "times" }),
            (rule().fail(CUresult::CUDA_SUCCESS), FaultError::Success),
            (rule().delay(MAX_DELAY * 2), FaultError::Delay { seconds: 7200 }),
            (rule().on_device(2), FaultError::NoSuchDevice { device: 2, count: 2 }),
            (rule().lose_device(7), FaultError::NoSuchDevice { device: 7, count: 2 }),
        ] {
            assert_eq!(rule.check(2), Err(expected), "{rule}");
        }
        assert_eq!(rule().on_device(1).nth(1).lose_device(0).check(2), Ok(()));
    }

    #[test]
    fn a_rule_says_what_it_is() {
        let rule =
            Rule::on(Calls::all()).on_thread_named("worker").on_device(1).on_context_id(2).from(4).every(3).times(2);
        assert_eq!(
            rule.to_string(),
            "every call on thread \"worker\" on device 1 on context 2, from match 4, every 3 matches, at most 2 times: note it"
        );
    }
}

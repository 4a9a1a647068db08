//! Sleeps of host threads between two points in time, as far as the operating system can tell them from load.
//!
//! A thread that a busy machine did not run has not slept. Linux counts for each thread the time on a
//! processor and the time in which it was ready and had to wait for one; the rest is sleep. Time inside of a
//! driver call does not count: there a thread may have to wait for one that the machine does not run.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The shortest sleep that counts; shorter ones cannot be told from hand-overs between threads.
const SHORTEST: Duration = Duration::from_millis(10);
/// Sleeps are counted in whole units, because a sleeping thread is never woken on the nanosecond.
const UNIT: Duration = Duration::from_millis(1);
/// Time on a processor that is taken for part of a sleep: before it, after it, and between its parts.
const BUSY: Duration = Duration::from_millis(5);

/// The system's counts for a thread at a moment.
#[derive(Clone, Copy)]
struct Sample {
    at: Instant,
    on_processor: Duration,
    waiting: Duration,
}

impl Sample {
    /// The counts of a thread; nothing where the system does not count.
    fn of(thread: u32, at: Instant) -> Option<Self> {
        let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
        let numbers = text.split_ascii_whitespace().map_while(|number| number.parse().ok());
        let mut counts = numbers.map(Duration::from_nanos);
        Some(Self { at, on_processor: counts.next()?, waiting: counts.next()? })
    }
}

/// A host thread at a moment from which its sleep is counted.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    thread: u32,
    at: Instant,
    sample: Option<Sample>,
}

thread_local! {
    static MARK: Cell<Option<Mark>> = const { Cell::new(None) };
    /// The thread is in its program, between two driver calls.
    static IS_AWAY: Cell<bool> = const { Cell::new(false) };
    /// Nanoseconds that the thread slept between calls, and that no machine has counted.
    static SLEPT: Cell<u64> = const { Cell::new(0) };
}

/// A driver call of this thread, from its begin until it is dropped.
pub(crate) struct Visit(());

impl Visit {
    pub(crate) fn begin() -> Self {
        let now = Instant::now();
        if IS_AWAY.replace(false)
            && let Some(mark) = MARK.get()
        {
            SLEPT.set(SLEPT.get().saturating_add(mark.slept_until(now)));
        }
        Mark::set_at(now);
        Self(())
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        Mark::set();
        IS_AWAY.set(true);
    }
}

impl Mark {
    /// Marks this moment of this thread.
    pub(crate) fn set() -> Self {
        Self::set_at(Instant::now())
    }

    /// The newest mark of this thread, and the nanoseconds that it slept between its calls since this was
    /// last asked.
    pub(crate) fn of_visit() -> (Self, u64) {
        (MARK.get().unwrap_or_else(Self::set), SLEPT.take())
    }

    fn set_at(at: Instant) -> Self {
        let before = MARK.get();
        let thread = before.map_or_else(this_thread, |mark| mark.thread);
        let recent = before.and_then(|mark| mark.sample).filter(|sample| at - sample.at < SHORTEST);
        let mark = Self { thread, at, sample: recent.or_else(|| Sample::of(thread, at)) };
        MARK.set(Some(mark));
        mark
    }

    /// Nanoseconds that its thread has slept since.
    pub(crate) fn slept(&self) -> u64 {
        self.slept_until(Instant::now())
    }

    fn slept_until(&self, now: Instant) -> u64 {
        let passed = now - self.at;
        if passed < SHORTEST {
            return 0;
        }
        let slept = match (self.sample, Sample::of(self.thread, now)) {
            (Some(before), Some(after)) => {
                let waiting = after.waiting.saturating_sub(before.waiting);
                let busy = after.on_processor.saturating_sub(before.on_processor);
                passed.saturating_sub(waiting).saturating_sub(if busy > BUSY { busy } else { Duration::ZERO })
            }
            _ => passed,
        };
        if slept < SHORTEST {
            return 0;
        }
        let units = slept.as_nanos() / UNIT.as_nanos();
        u64::try_from(units * UNIT.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// The system's number of this thread; 0 where it has none.
fn this_thread() -> u32 {
    let path = std::fs::read_link("/proc/thread-self").unwrap_or_default();
    path.file_name().and_then(|name| name.to_str()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_is_counted_and_work_is_not() {
        let mark = Mark::set();
        std::thread::sleep(Duration::from_millis(60));
        let slept = Duration::from_nanos(mark.slept());
        assert!(slept >= Duration::from_millis(60) && slept < Duration::from_millis(600), "{slept:?}");
        let (mark, began) = (Mark::set(), Instant::now());
        let mut rounds = 0u64;
        while began.elapsed() < Duration::from_millis(60) {
            rounds = std::hint::black_box(rounds + 1);
        }
        // Where the system does not tell work from sleep, both count.
        if mark.sample.is_some() {
            assert_eq!(mark.slept(), 0);
        }
    }

    #[test]
    fn sleeps_between_calls_count_and_those_in_calls_do_not() {
        let call = |sleep| {
            let visit = Visit::begin();
            std::thread::sleep(Duration::from_millis(sleep));
            let slept = Mark::of_visit().1;
            drop(visit);
            Duration::from_nanos(slept)
        };
        assert_eq!(call(60), Duration::ZERO);
        assert_eq!(call(0), Duration::ZERO);
        std::thread::sleep(Duration::from_millis(60));
        let slept = call(60);
        assert!(slept >= Duration::from_millis(60) && slept < Duration::from_millis(600), "{slept:?}");
        assert_eq!(call(0), Duration::ZERO);
    }

    #[test]
    fn the_sleep_of_another_thread_is_known() {
        let mark = Mark::set();
        let slept = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(60));
            mark.slept()
        });
        // This thread waits for the other, so it sleeps as long.
        let slept = Duration::from_nanos(slept.join().unwrap_or(0));
        assert!(slept >= Duration::from_millis(55), "{slept:?}");
    }

    #[test]
    fn short_sleeps_do_not_count() {
        let mark = Mark::set();
        std::thread::sleep(Duration::from_millis(1));
        assert_eq!(mark.slept(), 0);
    }
}

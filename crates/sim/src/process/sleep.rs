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

/// The number of a thread for which the system does not count.
const UNCOUNTED: u32 = 0;

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
    static HOST: Host = const { Host::new() };
}

/// A host thread, as its own calls left it.
struct Host {
    /// The system's number of the thread.
    thread: Cell<Option<u32>>,
    /// The moment of the newest mark.
    at: Cell<Option<Instant>>,
    /// The coarse clock at that moment.
    tick: Cell<Duration>,
    sample: Cell<Option<Sample>>,
    /// The thread is in its program, between two driver calls.
    is_away: Cell<bool>,
    /// Nanoseconds that the thread slept between calls, and that no machine has counted.
    slept: Cell<u64>,
}

impl Host {
    const fn new() -> Self {
        Self {
            thread: Cell::new(None),
            at: Cell::new(None),
            tick: Cell::new(Duration::ZERO),
            sample: Cell::new(None),
            is_away: Cell::new(false),
            slept: Cell::new(0),
        }
    }

    /// Marks a moment. The system's counts are read again if they are old.
    #[inline]
    fn mark(&self, at: Instant) {
        self.at.set(Some(at));
        self.tick.set(tick());
        if self.sample.get().is_none_or(|sample| at - sample.at >= SHORTEST) && self.thread.get() != Some(UNCOUNTED) {
            self.read_counts(at);
        }
    }

    #[cold]
    fn read_counts(&self, at: Instant) {
        let thread = self.thread.get().unwrap_or_else(this_thread);
        let sample = Sample::of(thread, at);
        self.thread.set(Some(if sample.is_some() { thread } else { UNCOUNTED }));
        self.sample.set(sample);
    }

    fn newest(&self) -> Option<Mark> {
        Some(Mark { thread: self.thread.get()?, at: self.at.get()?, sample: self.sample.get() })
    }

    #[cold]
    fn count_sleep(&self, now: Instant) {
        let slept = self.newest().map_or(0, |mark| mark.slept_until(now));
        self.slept.set(self.slept.get().saturating_add(slept));
    }
}

/// A driver call of this thread, from its begin until it is dropped.
pub(crate) struct Visit(());

impl Visit {
    #[inline]
    pub(crate) fn begin() -> Self {
        let now = Instant::now();
        HOST.with(|host| {
            if host.is_away.replace(false) && host.at.get().is_some_and(|at| now - at >= SHORTEST) {
                host.count_sleep(now);
            }
            host.mark(now);
        });
        Self(())
    }
}

impl Drop for Visit {
    /// The mark of the begin stands for the end, too, if the coarse clock has not moved in between: reading
    /// that takes a few nanoseconds, and every call pays for it.
    #[inline]
    fn drop(&mut self) {
        HOST.with(|host| {
            if tick() != host.tick.get() {
                host.mark(Instant::now());
            }
            host.is_away.set(true);
        });
    }
}

/// A clock that moves every few milliseconds; reading it takes less time than reading [`Instant::now`].
#[inline]
fn tick() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    Duration::try_from(time).unwrap_or_default()
}

impl Mark {
    /// Marks this moment of this thread.
    pub(crate) fn set() -> Self {
        let now = Instant::now();
        HOST.with(|host| {
            host.mark(now);
            host.newest().unwrap_or(Self { thread: UNCOUNTED, at: now, sample: None })
        })
    }

    /// The newest mark of this thread, and the nanoseconds that it slept between its calls since this was
    /// last asked.
    pub(crate) fn of_visit() -> (Self, u64) {
        HOST.with(|host| (host.newest().unwrap_or_else(Self::set), host.slept.take()))
    }

    /// Nanoseconds from a mark of any thread to this one, counted as sleeps are.
    pub(crate) fn since(&self, earlier: &Self) -> u64 {
        counted(self.at.saturating_duration_since(earlier.at))
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
        counted(slept)
    }
}

/// Nanoseconds of a sleep in whole units; none if it is too short to count.
fn counted(slept: Duration) -> u64 {
    if slept < SHORTEST {
        return 0;
    }
    let units = slept.as_nanos() / UNIT.as_nanos();
    u64::try_from(units * UNIT.as_nanos()).unwrap_or(u64::MAX)
}

/// The system's number of this thread.
fn this_thread() -> u32 {
    let path = std::fs::read_link("/proc/thread-self").unwrap_or_default();
    path.file_name().and_then(|name| name.to_str()?.parse().ok()).unwrap_or(UNCOUNTED)
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

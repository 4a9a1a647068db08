//! Sleeps of host threads between two points in time, as far as the operating system can tell them from load.
//!
//! A thread that a busy machine did not run has not slept. Linux counts for each thread the time on a
//! processor and the time in which it was ready and had to wait for one; the rest is sleep. Time inside of a
//! driver call does not count: there a thread may have to wait for one that the machine does not run.
//!
//! Every driver call asks whether its thread has slept, so asking has to be quick. A call reads a coarse clock
//! at its begin and at its end, which takes 5 ns. Only when that has moved, every few milliseconds, does the
//! thread get a new mark, with the exact time and its time on a processor.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The shortest sleep that counts; shorter ones cannot be told from hand-overs between threads. The coarse
/// clock moves at least once in this time.
const SHORTEST: Duration = Duration::from_millis(10);
/// Sleeps are counted in whole units, because a sleeping thread is never woken on the nanosecond.
const UNIT: Duration = Duration::from_millis(1);

/// Part of a sleep that a thread may be on a processor: it sets the timer before it is off.
const SETTING_OUT: Duration = Duration::from_micros(200);
/// The time for which a thread's count of waiting is good enough. Reading it takes some microseconds.
const FRESH: Duration = Duration::from_millis(2);

/// The number of a thread for which the system does not count.
const UNCOUNTED: u32 = 0;

/// The system's counts for a thread at a moment.
#[derive(Clone, Copy)]
struct Counts {
    on_processor: Duration,
    waiting: Duration,
}

impl Counts {
    /// The counts of a thread; nothing where the system does not count.
    fn of(thread: u32) -> Option<Self> {
        let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
        let numbers = text.split_ascii_whitespace().map_while(|number| number.parse().ok());
        let mut counts = numbers.map(Duration::from_nanos);
        let (on_processor, waiting) = (counts.next()?, counts.next()?);
        // Of a running thread, the file has the time on a processor as of the last interrupt.
        let is_own = Some(thread) == HOST.with(|host| host.thread.get());
        Some(Self { on_processor: if is_own { on_processor_of_this_thread() } else { on_processor }, waiting })
    }
}

fn on_processor_of_this_thread() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// A host thread at a moment from which its sleep is counted.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    /// No other of the process has the number.
    number: u64,
    thread: u32,
    at: Instant,
    /// Its time on a processor.
    on_processor: Duration,
    /// Its time in which it waited for a processor, at this moment or less than [`FRESH`] before.
    waiting: Duration,
}

thread_local! {
    static HOST: Host = const { Host::new() };
}

/// A host thread, as its own calls left it.
struct Host {
    /// The system's number of the thread.
    thread: Cell<Option<u32>>,
    mark: Cell<Option<Mark>>,
    /// The number of the mark; 0 if there is none.
    number: Cell<u64>,
    /// The coarse clock at the moment of the mark.
    tick: Cell<Duration>,
    /// The time until which the mark's count of waiting is good enough.
    counted_until: Cell<Option<Instant>>,
    /// The thread is in its program, between two driver calls.
    is_away: Cell<bool>,
    /// Nanoseconds that the thread slept between calls, and that no machine has counted.
    slept: Cell<u64>,
}

impl Host {
    const fn new() -> Self {
        Self {
            thread: Cell::new(None),
            mark: Cell::new(None),
            number: Cell::new(0),
            tick: Cell::new(Duration::ZERO),
            counted_until: Cell::new(None),
            is_away: Cell::new(false),
            slept: Cell::new(0),
        }
    }

    /// Marks this moment.
    #[cold]
    fn mark(&self, at: Instant) -> Mark {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        self.tick.set(tick());
        let thread = self.thread.get().unwrap_or_else(this_thread);
        self.thread.set(Some(thread));
        let mark = match self.mark.get() {
            Some(last) if self.counted_until.get().is_some_and(|until| at < until) => {
                Mark { at, on_processor: on_processor_of_this_thread(), ..last }
            }
            _ => self.count(thread, at),
        };
        let mark = Mark { number: NUMBERS.fetch_add(1, Ordering::Relaxed) + 1, ..mark };
        self.number.set(mark.number);
        self.mark.set(Some(mark));
        mark
    }

    /// A mark with counts that are read anew.
    fn count(&self, thread: u32, at: Instant) -> Mark {
        self.counted_until.set(Some(at + FRESH));
        match (thread != UNCOUNTED).then(|| Counts::of(thread)).flatten() {
            Some(Counts { on_processor, waiting }) => Mark { number: 0, thread, at, on_processor, waiting },
            None => {
                self.thread.set(Some(UNCOUNTED));
                Mark { number: 0, thread: UNCOUNTED, at, on_processor: Duration::ZERO, waiting: Duration::ZERO }
            }
        }
    }

    /// The coarse clock has moved since the last mark.
    #[cold]
    fn is_back(&self, was_away: bool) {
        let now = Instant::now();
        if was_away && let Some(mark) = self.mark.get() {
            self.slept.set(self.slept.get().saturating_add(mark.slept_until(now)));
        }
        self.mark(now);
    }
}

/// A driver call of this thread, from its begin until it is dropped.
pub(crate) struct Visit(());

impl Visit {
    #[inline]
    pub(crate) fn begin() -> Self {
        HOST.with(|host| {
            let was_away = host.is_away.replace(false);
            if tick() != host.tick.get() {
                host.is_back(was_away);
            }
        });
        Self(())
    }
}

impl Drop for Visit {
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
    Duration::try_from(clock_gettime(ClockId::MonotonicCoarse)).unwrap_or_default()
}

impl Mark {
    /// Marks this moment of this thread.
    pub(crate) fn set() -> Self {
        HOST.with(|host| host.mark(Instant::now()))
    }

    /// The newest mark of this thread, and the nanoseconds that the thread slept between its calls since this
    /// was last asked; nothing if the mark is the `known` one, after which it has not slept.
    #[inline]
    pub(crate) fn of_visit(known: Option<&Self>) -> Option<(Self, u64)> {
        HOST.with(|host| {
            if known.is_some_and(|mark| mark.number == host.number.get()) {
                return None;
            }
            Some((host.mark.get().unwrap_or_else(Self::set), host.slept.take()))
        })
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
        counted(match (self.thread != UNCOUNTED).then(|| Counts::of(self.thread)).flatten() {
            Some(Counts { on_processor, waiting }) => passed
                .saturating_sub(waiting.saturating_sub(self.waiting))
                .saturating_sub(on_processor.saturating_sub(self.on_processor)),
            None => passed,
        })
    }
}

/// Nanoseconds of a sleep in whole units; none if it is too short to count.
fn counted(slept: Duration) -> u64 {
    let slept = slept + SETTING_OUT;
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
        if mark.thread != UNCOUNTED {
            assert_eq!(mark.slept(), 0);
        }
    }

    #[test]
    fn sleeps_between_calls_count_and_those_in_calls_do_not() {
        let call = |sleep| {
            let visit = Visit::begin();
            std::thread::sleep(Duration::from_millis(sleep));
            let slept = Mark::of_visit(None).map_or(0, |(_, slept)| slept);
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

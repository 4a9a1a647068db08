//! Virtual time: how long work would take on the modelled machine.
//!
//! Host time moves a little with every call, and jumps when a host thread has waited for something that ended
//! later. An op starts when its predecessors, its queue and the parts of the device that it needs are free. A
//! transfer takes a start-up, the link's latency, and its bytes at the link's bandwidth; two over one link in
//! one direction follow each other. A kernel takes a start-up and the cycles of its blocks, and shares the
//! multiprocessors with others if they do not all fit. Plausible and reproducible, not predictive.
//!
//! Real time does not count, so the same calls give the same times on every run and under any load. The
//! exception are sleeps of host threads, on a machine with threads of its own: a program that sleeps between
//! two records sees it.

mod bookings;
mod lines;

use bookings::Bookings;
use lines::Lines;
use rustc_hash::FxHashMap;
use warploom_engine::{Mode, Period};
use warploom_record::Link;

use crate::machine::work::Work;
use crate::memory::{MemoryOp, Residence, Side, Transfer};
use crate::process::sleep::Mark;
use crate::topology::Topology;

/// Host time of one driver call.
const HOST_CALL_NS: u64 = 500;
/// Device time to start an op.
const START_NS: u64 = 1_000;
/// Time of an event record, and the resolution of its timestamp.
pub(crate) const TICK_NS: u64 = 500;
/// Words whose last write is remembered.
const REMEMBERED: usize = 4096;

/// An op, as the clock sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timed {
    /// The place of its call, where ends are booked in the order of calls.
    pub(crate) number: Option<u64>,
    pub(crate) device: u16,
    /// The time at which its predecessors and its queue are done.
    pub(crate) earliest: u64,
    /// `true` if it had to wait for memory to change.
    pub(crate) has_parked: bool,
}

pub(crate) struct Clock {
    now: u64,
    /// `true` if sleeps of host threads count.
    sees_sleep: bool,
    /// The host thread that made the last call.
    host: Option<Mark>,
    lines: Lines,
    /// The multiprocessors of each device.
    processors: Vec<Bookings>,
    /// Ops that were booked.
    booked: u64,
    /// The time of each word's last write by an op that a wait could be waiting for.
    written: FxHashMap<u64, u64>,
}

impl Clock {
    pub(crate) fn new(topology: &Topology, mode: Mode) -> Self {
        Self {
            now: 1_000,
            sees_sleep: mode == Mode::Threads,
            host: None,
            lines: Lines::new(topology),
            processors: topology.devices.iter().map(|_| Bookings::default()).collect(),
            booked: 0,
            written: FxHashMap::default(),
        }
    }

    /// A host thread made a call; the time it is now.
    #[inline]
    pub(crate) fn host_call(&mut self) -> u64 {
        self.host_is_back();
        self.now += HOST_CALL_NS;
        self.now
    }

    /// A host thread that may have slept is in a call again.
    #[inline]
    pub(crate) fn host_is_back(&mut self) {
        if self.sees_sleep {
            let Some((mark, slept)) = Mark::of_visit(self.host.as_ref()) else { return };
            // A thread that slept while others made calls, such as one that frees in the background, adds nothing.
            let quiet = self.host.map_or(u64::MAX, |host| mark.since(&host));
            self.now = self.now.saturating_add(slept.min(quiet));
            self.host = Some(mark);
        }
    }

    /// A host thread is done with waiting.
    pub(crate) fn host_leaves(&mut self) {
        if self.sees_sleep {
            self.host = Some(Mark::set());
        }
    }

    /// A host thread was busy with something else for a while.
    pub(crate) fn host_spends(&mut self, nanoseconds: u64) {
        self.now = self.now.saturating_add(nanoseconds);
    }

    /// The links of the machine, with the bytes that went over them.
    pub(crate) fn links(&self, topology: &Topology) -> Vec<Link> {
        self.lines.links(topology)
    }

    /// The host's time.
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// A host thread saw something that ended at `time`.
    pub(crate) fn host_saw(&mut self, time: u64) {
        self.now = self.now.max(time);
    }

    /// The time at which a record that is reached at `time` is done.
    pub(crate) fn record(time: u64) -> u64 {
        (time / TICK_NS + 1) * TICK_NS
    }

    /// The start of a kernel that is reached at `time`.
    pub(crate) fn kernel_start(time: u64) -> u64 {
        time + START_NS
    }

    /// The end of work of a device if nothing else ran, or of the part that has been done.
    pub(crate) fn alone<S>(&self, work: &Work<S>, device: u16, earliest: u64) -> u64 {
        let begin = Self::kernel_start(earliest);
        match work {
            Work::Task(task) => begin.saturating_add(task.demand().alone()),
            _ => match work.transfer() {
                Some(Transfer { from, to, bytes }) => {
                    let from = from.unwrap_or(Side::Device(device));
                    begin.saturating_add(self.lines.duration(from, to, bytes))
                }
                None => earliest,
            },
        }
    }

    /// Runs work: when it starts and when it ends.
    pub(crate) fn run<S>(&mut self, work: &Work<S>, op: Timed) -> Period {
        let Timed { number, device, earliest, has_parked } = op;
        self.booked += 1;
        let number = number.unwrap_or(self.booked);
        match work.transfer() {
            Some(Transfer { from: Some(from), to, bytes }) => {
                return self.transfer(number, from, to, bytes, earliest);
            }
            Some(Transfer { from: None, to, bytes }) => {
                return self.fill(number, Side::Device(device), to, bytes, earliest);
            }
            None => {}
        }
        let end = match work {
            Work::Join | Work::Release(_) | Work::Hook(_) => earliest,
            Work::Record { .. } => Self::record(earliest),
            Work::Task(task) => {
                let (demand, begin) = (task.demand(), Self::kernel_start(earliest));
                let Some(processors) = self.processors.get_mut(usize::from(device)).filter(|_| demand.share > 0) else {
                    return Period { start: earliest, end: begin };
                };
                let Period { start, end } = processors.kernel(number, begin, demand);
                return Period { start: start - START_NS, end };
            }
            Work::HostFunction { slept, .. } if self.sees_sleep => earliest + START_NS + slept,
            Work::Away | Work::HostFunction { .. } | Work::Callback { .. } | Work::Destructors(_) => {
                earliest + START_NS
            }
            Work::Memory(MemoryOp::WriteValue { to, .. }) => {
                let end = earliest + START_NS;
                if self.written.len() == REMEMBERED {
                    self.written.clear();
                }
                self.written.insert(to.address(), end);
                end
            }
            // The clocks of two processes are not related; the record is seen now.
            Work::AwaitRecords { .. } => earliest.max(self.now),
            Work::Memory(MemoryOp::WaitValue { at, .. }) => {
                let written = self.written.get(&at.address()).copied().unwrap_or(0);
                // The host wrote it, after a sleep that no call has told of yet.
                let slept = self.host.map_or(0, |host| host.slept());
                let seen = if has_parked { self.now.saturating_add(slept) } else { 0 };
                (earliest + START_NS).max(written).max(seen)
            }
            Work::Migrate(migration) => {
                let Some(to) = migration.to.map(Residence::side).filter(|_| !migration.moved.is_empty()) else {
                    return Period { start: earliest, end: earliest + START_NS };
                };
                let moves = migration.moved.iter();
                let periods = moves.map(|(from, bytes)| self.transfer(number, *from, to, *bytes, earliest));
                return periods.fold(Period { start: u64::MAX, end: 0 }, |all, one| Period {
                    start: all.start.min(one.start),
                    end: all.end.max(one.end),
                });
            }
            // A transfer is above.
            Work::Memory(_) | Work::Staged { .. } | Work::StagedBlock(_) => earliest,
        };
        Period { start: earliest, end }
    }

    /// The start-up ends just when the way is free.
    fn transfer(&mut self, number: u64, from: Side, to: Side, bytes: u64, earliest: u64) -> Period {
        let Period { start, end } = self.lines.transfer(number, from, to, bytes, earliest + START_NS);
        Period { start: start - START_NS, end }
    }

    fn fill(&mut self, number: u64, own: Side, to: Side, bytes: u64, earliest: u64) -> Period {
        if own != to {
            return self.transfer(number, own, to, bytes, earliest);
        }
        let Period { start, end } = self.lines.fill(number, own, bytes, earliest + START_NS);
        Period { start: start - START_NS, end }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::time::Duration;

    use parking_lot::Mutex;
    use warploom_engine::Order;

    use super::*;
    use crate::memory::SimAddress;
    use crate::process::sleep::Visit;

    const MIB: u64 = 1 << 20;

    fn work(op: MemoryOp) -> Work<()> {
        op.into()
    }

    fn place(side: Side) -> SimAddress {
        SimAddress::nowhere(0x1000, side)
    }

    fn clock(preset: &str) -> Result<(Clock, Topology), crate::topology::TopologyError> {
        let topology = Topology::preset(preset)?;
        Ok((Clock::new(&topology, Mode::Deterministic(Order::Eager)), topology))
    }

    /// The next op, numbered in the order of the test.
    fn at(clock: &mut Clock, earliest: u64) -> Timed {
        Timed { number: Some(clock.host_call()), device: 0, earliest, has_parked: false }
    }

    fn copy(clock: &mut Clock, from: Side, to: Side, bytes: u64, earliest: u64) -> u64 {
        let op = at(clock, earliest);
        clock.run(&work(MemoryOp::Copy { to: place(to), from: place(from), bytes }), op).end
    }

    #[test]
    fn a_copy_takes_latency_and_bytes_over_bandwidth() -> Result<(), crate::topology::TopologyError> {
        let (mut clock, topology) = clock("h200")?;
        let link = topology.devices[0].host_link;
        let end = copy(&mut clock, Side::Host, Side::Device(0), 512 * MIB, 10_000);
        let moving = u128::from(512 * MIB) * 1_000_000_000 / u128::from(link.bandwidth);
        assert_eq!(u128::from(end), u128::from(10_000 + START_NS + link.latency_ns) + moving);
        Ok(())
    }

    #[test]
    fn copies_over_one_link_follow_each_other_and_the_other_direction_is_free()
    -> Result<(), crate::topology::TopologyError> {
        let (mut clock, _) = clock("h200")?;
        let alone = copy(&mut clock, Side::Host, Side::Device(0), 64 * MIB, 0);
        let back = copy(&mut clock, Side::Device(0), Side::Host, 64 * MIB, 0);
        let second = copy(&mut clock, Side::Host, Side::Device(0), 64 * MIB, 0);
        assert_eq!(alone, back);
        assert!(second > alone + alone / 2, "{second} after {alone}");
        Ok(())
    }

    #[test]
    fn ports_of_a_switch_are_shared_by_everything_that_leaves_a_device() -> Result<(), crate::topology::TopologyError> {
        let (mut clock, _) = clock("dgx-h100")?;
        let first = copy(&mut clock, Side::Device(0), Side::Device(1), 512 * MIB, 0);
        let elsewhere = copy(&mut clock, Side::Device(2), Side::Device(3), 512 * MIB, 0);
        let same_port = copy(&mut clock, Side::Device(0), Side::Device(3), 512 * MIB, 0);
        assert_eq!(first, elsewhere);
        assert!(same_port > first);
        Ok(())
    }

    #[test]
    fn a_copy_inside_a_device_is_faster_than_one_between_devices_and_that_than_one_to_the_host()
    -> Result<(), crate::topology::TopologyError> {
        let (mut clock, _) = clock("dgx-h100")?;
        let inside = copy(&mut clock, Side::Device(4), Side::Device(4), 512 * MIB, 0);
        let between = copy(&mut clock, Side::Device(5), Side::Device(6), 512 * MIB, 0);
        let host = copy(&mut clock, Side::Host, Side::Device(7), 512 * MIB, 0);
        assert!(inside < between && between < host, "{inside} {between} {host}");
        Ok(())
    }

    #[test]
    fn a_wait_does_not_end_before_the_write_that_ends_it() -> Result<(), crate::topology::TopologyError> {
        let (mut clock, _) = clock("h200")?;
        let word = place(Side::Device(0));
        let write = at(&mut clock, 9_000_000);
        let written = clock.run(&work(MemoryOp::WriteValue { to: word, value: 1, wide: false }), write);
        let (compare, wait) = (crate::memory::Compare::Equal, at(&mut clock, 1_000));
        let waited = clock.run(&work(MemoryOp::WaitValue { at: word, value: 1, wide: false, compare }), wait);
        assert_eq!(waited.end, written.end);
        Ok(())
    }

    #[test]
    fn records_in_a_row_are_a_tick_apart() {
        let first = Clock::record(12_345);
        assert_eq!(first % TICK_NS, 0);
        assert_eq!(Clock::record(first), first + TICK_NS);
    }

    #[test]
    fn threads_that_sleep_at_the_same_time_add_it_once() -> Result<(), crate::topology::TopologyError> {
        let sleep = Duration::from_millis(200);
        let clock = Mutex::new(Clock::new(&Topology::preset("h200")?, Mode::Threads));
        let call = || {
            let _visit = Visit::begin();
            clock.lock().host_call()
        };
        let together = Barrier::new(2);
        let calls = || {
            call();
            together.wait();
            std::thread::sleep(sleep);
            call()
        };
        let mut ends = std::thread::scope(|scope| {
            let other = scope.spawn(calls);
            [calls(), other.join().unwrap_or(0)].map(Duration::from_nanos)
        });
        ends.sort();
        assert!(ends[0] >= sleep && ends[1] < sleep * 2, "{ends:?}");
        Ok(())
    }
}

//! Random programs against a plain model of a pool.
//!
//! The model keeps what a program may know: every allocation's address and size, who freed what, and what the
//! host has seen done. From these alone it says what the statistics are, which addresses an allocation may
//! have, and that no byte of a live allocation changes.

use std::collections::BTreeSet;
use std::ptr::null_mut;

use proptest::prelude::*;
use warploom_testkit::driver::Driver;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sim::{Mode, Order};
use warploom_testkit::{Primary, Stream, TestResult, call, open};

use crate::fixture::{CHUNK, FOLLOW, MIB, OPPORTUNISTIC, Pool, THRESHOLD};

#[derive(Clone, Debug)]
enum Step {
    Take { size: u64, stream: usize },
    Free { which: usize, stream: usize },
    FreeNow { which: usize },
    Synchronize(usize),
    SynchronizeAll,
    Trim(u64),
    Threshold(u64),
    Opportunistic(bool),
}

const STREAMS: usize = 3;

fn step() -> impl Strategy<Value = Step> {
    let size = prop_oneof![4 => 1..5000u64, 2 => 1..MIB, 2 => MIB..24 * MIB, 1 => 24 * MIB..80 * MIB];
    let bytes = prop_oneof![Just(0), Just(CHUNK), Just(50 * MIB), Just(2 * CHUNK), Just(u64::MAX >> 1)];
    let stream = || 0..STREAMS;
    prop_oneof![
        8 => (size, stream()).prop_map(|(size, stream)| Step::Take { size, stream }),
        6 => (any::<usize>(), stream()).prop_map(|(which, stream)| Step::Free { which, stream }),
        1 => any::<usize>().prop_map(|which| Step::FreeNow { which }),
        2 => stream().prop_map(Step::Synchronize),
        1 => Just(Step::SynchronizeAll),
        1 => bytes.clone().prop_map(Step::Trim),
        1 => bytes.prop_map(Step::Threshold),
        1 => any::<bool>().prop_map(Step::Opportunistic),
    ]
}

/// A stretch of addresses, and for freed ones the stream that did it.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: u64,
    end: u64,
    stream: usize,
}

impl Stretch {
    fn overlaps(&self, other: &Stretch) -> bool {
        self.start < other.end && other.start < self.end
    }
}

struct Live {
    address: u64,
    size: u64,
    fill: u8,
}

impl Live {
    fn stretch(&self) -> Stretch {
        Stretch { start: self.address, end: self.address + room(self.size), stream: 0 }
    }
}

/// The bytes that a machine that checks sets apart for an allocation: small ones have a gap of 64 bytes or more
/// behind them.
fn room(size: u64) -> u64 {
    let gap = if size < CHUNK / 64 { 64 } else { 0 };
    (size + gap).next_multiple_of(512)
}

#[derive(Default)]
struct Model {
    live: Vec<Live>,
    /// Freed, and not seen done by the host.
    freed: Vec<Stretch>,
    /// Numbers of chunks with memory behind them.
    backed: BTreeSet<u64>,
    threshold: u64,
    used: u64,
    used_high: u64,
    reserved_high: u64,
    opportunistic: bool,
}

impl Model {
    fn statistics(&self) -> [u64; 4] {
        [self.reserved(), self.reserved_high, self.used, self.used_high]
    }

    fn reserved(&self) -> u64 {
        self.backed.len() as u64 * CHUNK
    }

    /// Chunks that may be trimmed: unused, and known to the host to be unused.
    fn idle(&self) -> Vec<u64> {
        let busy = |stretch: Stretch| (stretch.start / CHUNK..=(stretch.end - 1) / CHUNK).collect::<Vec<_>>();
        let live = self.live.iter().map(Live::stretch);
        let busy: BTreeSet<u64> = live.chain(self.freed.iter().copied()).flat_map(busy).collect();
        self.backed.iter().rev().copied().filter(|chunk| !busy.contains(chunk)).collect()
    }

    fn shrink(&mut self, goes_on: impl Fn(u64) -> bool) {
        for chunk in self.idle() {
            if !goes_on(self.reserved()) {
                break;
            }
            self.backed.remove(&chunk);
        }
    }

    fn apply_threshold(&mut self) {
        let threshold = self.threshold;
        self.shrink(|reserved| reserved > threshold);
    }

    /// `true` if an allocation would fit into backed memory that it surely may use.
    fn fits(&self, size: u64, stream: usize) -> bool {
        let mut taken: Vec<Stretch> = self.live.iter().map(Live::stretch).collect();
        taken.extend(self.freed.iter().filter(|freed| freed.stream != stream));
        taken.sort_by_key(|stretch| stretch.start);
        let mut runs: Vec<Stretch> = Vec::new();
        for chunk in &self.backed {
            match runs.last_mut() {
                Some(run) if run.end == chunk * CHUNK => run.end += CHUNK,
                _ => runs.push(Stretch { start: chunk * CHUNK, end: (chunk + 1) * CHUNK, stream }),
            }
        }
        runs.iter().any(|run| {
            let mut from = run.start;
            for stretch in taken.iter().filter(|stretch| stretch.overlaps(run)) {
                if stretch.start >= from + size {
                    return true;
                }
                from = from.max(stretch.end);
            }
            run.end >= from + size
        })
    }

    /// Books an allocation after checking that it may be where it is.
    fn take(&mut self, address: u64, size: u64, stream: usize, fill: u8) {
        let new = Live { address, size, fill };
        let stretch = Stretch { stream, ..new.stretch() };
        for other in &self.live {
            assert!(!other.stretch().overlaps(&stretch), "{address:#x}+{size} overlaps {:#x}", other.address);
        }
        for freed in self.freed.iter().filter(|freed| freed.overlaps(&stretch)) {
            assert!(freed.stream == stream || self.opportunistic, "{address:#x} is stream {}'s", freed.stream);
        }
        let fits = self.fits(room(size), stream);
        let before = self.reserved();
        self.backed.extend(stretch.start / CHUNK..=(stretch.end - 1) / CHUNK);
        assert!(!fits || self.reserved() == before, "{size} bytes would have fitted into what there was");
        // What is taken is no longer freed memory; the rest of it is.
        let rest = self.freed.iter().flat_map(|freed| {
            let head = Stretch { end: freed.end.min(stretch.start), ..*freed };
            let tail = Stretch { start: freed.start.max(stretch.end), ..*freed };
            [head, tail].into_iter().filter(|part| part.start < part.end)
        });
        self.freed = rest.collect();
        self.live.push(new);
        self.used += size;
        self.used_high = self.used_high.max(self.used);
        self.reserved_high = self.reserved_high.max(self.reserved());
    }
}

struct Run<'a> {
    driver: &'a Driver,
    pool: Pool,
    streams: Vec<Stream>,
    /// The first address, once known: the model counts from there.
    base: Option<u64>,
    model: Model,
    next_fill: u8,
}

impl Run<'_> {
    fn apply(&mut self, step: &Step) -> TestResult {
        let driver = self.driver;
        match *step {
            Step::Take { size, stream } => {
                let address = self.pool.take(size, self.streams[stream].raw)?;
                let base = *self.base.get_or_insert(address);
                self.next_fill = self.next_fill.wrapping_add(1);
                let fill = self.next_fill;
                let [first, last] = self.ends(address, size);
                for (at, bytes) in [first, last] {
                    call!(driver.cuMemcpyHtoD_v2(at, vec![fill; bytes].as_ptr().cast(), bytes))?;
                }
                self.model.take(address - base, size, stream, fill);
            }
            Step::Free { which, stream } => {
                if let Some(live) = self.pick(which)? {
                    self.pool.free(live.address + self.base(), self.streams[stream].raw)?;
                    self.model.used -= live.size;
                    self.model.freed.push(Stretch { stream, ..live.stretch() });
                }
            }
            Step::FreeNow { which } => {
                if let Some(live) = self.pick(which)? {
                    call!(driver.cuMemFree_v2(live.address + self.base()))?;
                    self.model.apply_threshold();
                }
            }
            Step::Synchronize(stream) => {
                self.streams[stream].synchronize()?;
                self.model.freed.retain(|freed| freed.stream != stream);
                self.model.apply_threshold();
            }
            Step::SynchronizeAll => {
                call!(driver.cuCtxSynchronize())?;
                self.model.freed.clear();
                self.model.apply_threshold();
            }
            Step::Trim(keep) => {
                call!(driver.cuMemPoolTrimTo(self.pool.raw, keep as usize))?;
                self.model.shrink(|reserved| reserved >= keep.saturating_add(CHUNK));
            }
            Step::Threshold(bytes) => {
                self.pool.set(THRESHOLD, bytes)?;
                self.model.threshold = bytes;
            }
            Step::Opportunistic(switch) => {
                self.pool.set(OPPORTUNISTIC, switch.into())?;
                self.model.opportunistic = switch;
            }
        }
        assert_eq!(self.pool.statistics()?, self.model.statistics(), "after {step:?}");
        Ok(())
    }

    fn base(&self) -> u64 {
        self.base.unwrap_or(0)
    }

    /// The first and the last bytes of an allocation: those that a neighbour would disturb.
    fn ends(&self, address: u64, size: u64) -> [(u64, usize); 2] {
        let bytes = size.min(256);
        [(address, bytes as usize), (address + size - bytes, bytes as usize)]
    }

    /// Takes one of the live allocations, after a look at its bytes.
    fn pick(&mut self, which: usize) -> TestResult<Option<Live>> {
        if self.model.live.is_empty() {
            return Ok(None);
        }
        let live = self.model.live.swap_remove(which % self.model.live.len());
        self.check(&live)?;
        Ok(Some(live))
    }

    fn check(&self, live: &Live) -> TestResult {
        let driver = self.driver;
        for (at, bytes) in self.ends(live.address + self.base(), live.size) {
            let mut found = vec![0; bytes];
            call!(driver.cuMemcpyDtoH_v2(found.as_mut_ptr().cast(), at, bytes))?;
            assert!(found.iter().all(|byte| *byte == live.fill), "{:#x}+{} was disturbed", live.address, live.size);
        }
        Ok(())
    }
}

fn run(mode: Mode, steps: &[Step]) -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, mode)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let pool = Pool::new(driver)?;
    // Copies of the test's own go through the default stream; what it orders is not this test's matter.
    pool.set(FOLLOW, 0)?;
    let streams = (0..STREAMS).map(|_| Stream::new(driver)).collect::<Result<_, _>>()?;
    let model = Model { opportunistic: true, ..Model::default() };
    let mut run = Run { driver, pool, streams, base: None, model, next_fill: 0 };
    for step in steps {
        run.apply(step)?;
    }
    for live in std::mem::take(&mut run.model.live) {
        run.check(&live)?;
        run.pool.free(live.address + run.base(), null_mut())?;
    }
    call!(driver.cuCtxSynchronize())?;
    Ok(())
}

#[test]
fn the_gap_behind_a_small_allocation_is_freed_with_it() -> TestResult {
    let steps = [
        Step::Take { size: 513, stream: 0 },
        Step::Take { size: 13, stream: 2 },
        Step::Opportunistic(false),
        Step::Free { which: 0, stream: 2 },
        Step::Take { size: 479, stream: 2 }, // with its gap, all that was freed
        Step::Take { size: 467, stream: 2 },
        Step::Free { which: 1, stream: 0 },
        Step::Take { size: 849, stream: 0 }, // so that stream 0 may have all of it
    ];
    run(Mode::Threads, &steps)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_pool_does_what_its_model_does(
        steps in proptest::collection::vec(step(), 1..60),
        mode in prop_oneof![
            Just(Mode::Threads),
            Just(Mode::Deterministic(Order::Eager)),
            Just(Mode::Deterministic(Order::Lazy)),
            any::<u64>().prop_map(|seed| Mode::Deterministic(Order::Seeded(seed))),
        ],
    ) {
        run(mode, &steps).map_err(|error| TestCaseError::fail(format!("in mode {mode:?}: {error}")))?;
    }
}

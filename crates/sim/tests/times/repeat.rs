//! Times that repeat: on every run, in every mode with the same order, under any load.

use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sim::{Checks, Machine, Mode, Order};
use warploom_testkit::{TestResult, call};

use crate::arguments;
use crate::support::Rig;

/// Times of kernels and copies on two streams that share the device, by event and by `%globaltimer`.
fn times(driver: &Driver) -> TestResult<Vec<u32>> {
    let mut rig = Rig::new(driver)?;
    let [first, second] = rig.streams;
    let (work, spin) = (rig.function("work")?, rig.function("spin")?);
    let (few, many, cycles, times) = (1_u32, 2_u32, rig.cycles(50)?, rig.memory + 2048);
    let shared = rig.fill_processor(work)?;
    let (mut sums, mut host) = (0, null_mut());
    call!(driver.cuMemAlloc_v2(&mut sums, 1 << 20))?;
    call!(driver.cuMemHostAlloc(&mut host, 1 << 20, 0))?;
    let half = sums + (256 << 10);
    let mut events = vec![rig.record(first)?];
    for round in 0..2 {
        // A long kernel, whose blocks take turns, and short ones beside it, some of which have no room.
        rig.launch(work, (50, 32, shared), first, &mut arguments!(many, sums))?;
        events.push(rig.record(first)?);
        rig.launch(work, (2, 64, 0), second, &mut arguments!(few, rig.memory))?;
        events.push(rig.record(second)?);
        call!(driver.cuMemcpyHtoDAsync_v2(sums + (512 << 10), host, 512 << 10, second))?;
        events.push(rig.record(second)?);
        rig.launch(work, (20, 32, shared), second, &mut arguments!(few, half))?;
        events.push(rig.record(second)?);
        let joined = events[events.len() - 1];
        if round == 0 {
            rig.wait(first, joined)?;
        } else {
            call!(driver.cuEventSynchronize(joined))?;
        }
        rig.launch(spin, (1, 32, 0), first, &mut arguments!(cycles, times))?;
        events.push(rig.record(first)?);
    }
    rig.synchronize()?;
    let mut found = Vec::new();
    for event in &events {
        found.push(rig.elapsed(events[0], *event)?.to_bits());
    }
    let [begin, end, spun, _] = rig.read(times, 4)?[..] else { panic!("four words") };
    found.extend([(end - begin) as u32, spun as u32]);
    call!(driver.cuMemFree_v2(sums))?;
    call!(driver.cuMemFreeHost(host))?;
    Ok(found)
}

fn run(mode: Mode) -> TestResult<Vec<u32>> {
    let machine = Machine::builder().topology(Topology::preset("pcie-t4")?).mode(mode).checks(Checks::off()).start()?;
    let driver = Driver::open(&machine)?;
    driver.initialize()?;
    times(&driver)
}

/// Two threads that keep two cores busy, until it is dropped.
struct Load(Arc<AtomicBool>);

impl Load {
    fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        for _ in 0..2 {
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Self(is_over)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn times_are_the_same_on_every_run_under_load_and_in_every_mode_with_that_order() -> TestResult {
    let expected = run(Mode::Deterministic(Order::Eager))?;
    assert_eq!(run(Mode::Sync)?, run(Mode::Sync)?);
    for seed in 0..2 {
        let order = Mode::Deterministic(Order::Seeded(seed));
        assert_eq!(run(order)?, run(order)?, "{order:?}");
    }
    let _load = Load::start();
    for time in 0..20 {
        assert_eq!(run(Mode::Threads)?, expected, "time {time}");
    }
    Ok(())
}

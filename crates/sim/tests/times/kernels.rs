//! Clocks of kernels, next to events around them.

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sim::{Mode, Order};
use warploom_testkit::{TestResult, driver_tests, open};

use crate::arguments;
use crate::support::Rig;

/// Milliseconds between the events around a kernel that waits for so many microseconds of `%clock64`.
fn spin(driver: &Driver, microseconds: u64) -> TestResult<f32> {
    let mut rig = Rig::new(driver)?;
    let (spin, cycles, none) = (rig.function("spin")?, rig.cycles(microseconds)?, 0_u64);
    let [stream, _] = rig.streams;
    let start = rig.record(stream)?;
    rig.launch(spin, (1, 1, 0), stream, &mut arguments!(cycles, none))?;
    let end = rig.record(stream)?;
    rig.synchronize()?;
    rig.elapsed(start, end)
}

driver_tests! {
    fn a_kernel_that_spins_for_20_ms_of_clock64_takes_20_ms(driver) {
        let time = spin(driver, 20_000)?;
        // A device may run below its clock rate, and then takes longer.
        assert!((19.9..40.0).contains(&time), "{time} ms");
    }

    fn globaltimer_and_events_tell_the_same_time(driver) {
        let mut rig = Rig::new(driver)?;
        let (spin, short, long) = (rig.function("spin")?, rig.cycles(1_000)?, rig.cycles(3_000)?);
        let ([stream, _], [one, two]) = (rig.streams, [rig.memory, rig.memory + 64]);
        // The first launch of a kernel takes longer.
        rig.launch(spin, (1, 1, 0), stream, &mut arguments!(short, one))?;
        let first = rig.record(stream)?;
        rig.launch(spin, (1, 1, 0), stream, &mut arguments!(short, one))?;
        let second = rig.record(stream)?;
        rig.launch(spin, (1, 1, 0), stream, &mut arguments!(long, two))?;
        let third = rig.record(stream)?;
        rig.synchronize()?;
        let ([begin, end, cycles, ..], [later, last, ..]) = (&rig.read(one, 4)?[..], &rig.read(two, 4)?[..]) else {
            panic!("four words")
        };
        assert!(*cycles >= short && begin < end && end <= later && later < last, "{begin} {end} {later} {last}");
        let near = |nanoseconds: u64, milliseconds: f32| {
            let difference = nanoseconds as f32 / 1e6 - milliseconds;
            assert!(difference.abs() < 0.1, "{nanoseconds} ns, {milliseconds} ms");
        };
        near(end - begin, rig.elapsed(first, second)?);
        near(last - later, rig.elapsed(second, third)?);
        near(last - begin, rig.elapsed(first, third)?);
    }

    fn nanosleep_takes_time(driver) {
        let mut rig = Rig::new(driver)?;
        let (naps, rounds, nanoseconds) = (rig.function("naps")?, 100_u32, 20_000_u32);
        let ([stream, _], times) = (rig.streams, rig.memory);
        rig.launch(naps, (1, 1, 0), stream, &mut arguments!(rounds, nanoseconds, times))?;
        let start = rig.record(stream)?;
        rig.launch(naps, (1, 1, 0), stream, &mut arguments!(rounds, nanoseconds, times))?;
        let end = rig.record(stream)?;
        rig.synchronize()?;
        let [slept, cycles] = rig.read(times, 2)?[..] else { panic!("two words") };
        // Each may take anything up to twice as long as it is told.
        assert!((200_000..8_000_000).contains(&slept), "{slept} ns");
        assert!(cycles > 200_000, "{cycles} cycles");
        let elapsed = rig.elapsed(start, end)?;
        assert!((slept as f32 / 1e6 - elapsed).abs() < 0.1, "{slept} ns, {elapsed} ms");
    }
}

#[test]
fn a_spin_takes_its_time_on_every_preset_in_every_mode() -> TestResult {
    for preset in Topology::preset_names() {
        for mode in [Mode::Threads, Mode::Deterministic(Order::Eager), Mode::Deterministic(Order::Lazy)] {
            let (_machine, driver) = open(Topology::preset(preset)?, mode)?;
            let time = spin(&driver, 20_000)?;
            assert!((20.0..20.3).contains(&time), "{preset}, {mode:?}: {time} ms");
        }
    }
    Ok(())
}

#[test]
fn a_sleep_takes_as_long_as_it_is_told_and_at_most_a_millisecond() -> TestResult {
    let (_machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
    let rig = Rig::new(&driver)?;
    let (naps, [stream, _], times) = (rig.function("naps")?, rig.streams, rig.memory);
    for (rounds, nanoseconds, expected) in [(1_u32, 700_000_u32, 700_000), (3, 5_000_000, 3_000_000)] {
        rig.launch(naps, (1, 1, 0), stream, &mut arguments!(rounds, nanoseconds, times))?;
        rig.synchronize()?;
        let [slept, _] = rig.read(times, 2)?[..] else { panic!("two words") };
        assert!((expected..expected + 1_000).contains(&slept), "{slept} ns");
    }
    Ok(())
}

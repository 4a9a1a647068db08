//! Batches of prefetches.

use warploom::sys::types::CUresult;
use warploom::{
    DeviceError, DeviceMemory, Error, Function, Host, Location, LocationError, Locations, ManagedBuffer, ManagedError,
    ManagedPool, ManagedRange, ManagedRangeMut, MemoryError, NumaId, discard_batch, discard_prefetch_batch,
    prefetch_batch,
};
use warploom_sim::Mode;
use warploom_sim::fault::{Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_testkit::{TestResult, budget, driver_tests, open};

use super::{LARGE, on_driver, setup, with_driver};

const BATCH: Function = Function::cuMemPrefetchBatchAsync;
const NOTHING: [&ManagedBuffer; 0] = [];

fn not_managed(what: &'static str, index: usize) -> Error {
    Error::Managed(ManagedError::NotManaged { what, index: Some(index) })
}

driver_tests! {
    /// S1.28, S1.29, S1.34: all to one place, or each to its own, with one call either way.
    fn many_ranges_move_with_one_call(driver) {
        let (_context, stream, memory) = setup(driver)?;
        let here = Location::from(driver.device(0)?);
        let buffers: Vec<ManagedBuffer<u8>> =
            (1..=5).map(|byte| memory.upload(&vec![byte; LARGE], &stream)).collect::<Result<_, _>>()?;
        let mut pages: Vec<u64> = buffers.iter().map(|buffer| buffer.as_raw() / LARGE as u64).collect();
        pages.sort_unstable();
        pages.dedup();
        assert_eq!(pages.len(), 5, "no two on one page");
        budget(driver, &[(BATCH, 1)], || prefetch_batch(&buffers, &here, &stream))?;
        for buffer in &buffers {
            assert_eq!(buffer.last_prefetch_location()?.as_ref(), Some(&here));
        }
        let host = Location::from(Host::Any);
        let each = [here.clone(), host.clone(), host.clone(), here.clone(), here.clone()];
        budget(driver, &[(BATCH, 1)], || prefetch_batch(&buffers, each.clone(), &stream))?;
        for ((buffer, place), byte) in buffers.iter().zip(each).zip(1..) {
            assert_eq!(buffer.last_prefetch_location()?, Some(place));
            assert_eq!(buffer.host()?, vec![byte; LARGE]);
        }
    }

    /// S1.27: a batch of one is a batch.
    fn a_batch_of_one_is_a_batch(driver) {
        let (_context, stream, memory) = setup(driver)?;
        let buffer = memory.zeroed::<u8>(LARGE, &stream)?;
        budget(driver, &[(BATCH, 1)], || prefetch_batch([&buffer], Host::Any, &stream))?;
        assert_eq!(buffer.last_prefetch_location()?, Some(Host::Any.into()));
    }

    /// Buffers of several types, and parts of them, are ranges alike; the same range may be told twice.
    fn ranges_are_of_any_type(driver) {
        let (_context, stream, memory) = setup(driver)?;
        let (small, large) = (memory.zeroed::<u8>(LARGE, &stream)?, memory.zeroed::<u64>(LARGE, &stream)?);
        let part = ManagedRange::from(large.slice(LARGE / 2..)?);
        prefetch_batch([ManagedRange::from(&small), part, part], Host::Any, &stream)?;
        assert_eq!(small.last_prefetch_location()?, part.last_prefetch_location()?);
        assert_eq!(large.last_prefetch_location()?, None);
    }

    /// S1.33: empty ranges are left out, and a batch of nothing else makes no call.
    fn empty_ranges_are_left_out(driver) {
        let (_context, stream, memory) = setup(driver)?;
        let (mut one, other) = (memory.zeroed::<u8>(LARGE, &stream)?, memory.zeroed::<u8>(LARGE, &stream)?);
        let nothing = one.slice(7..7)?;
        let here = Location::from(driver.device(0)?);
        let each = [here.clone(), Host::Any.into(), here.clone()];
        let ranges = [nothing.into(), ManagedRange::from(&other), nothing.into()];
        budget(driver, &[(BATCH, 1)], || prefetch_batch(ranges, each, &stream))?;
        assert_eq!(other.last_prefetch_location()?, Some(Host::Any.into()));
        budget(driver, &[], || prefetch_batch([nothing, nothing], here.clone(), &stream))?;
        budget(driver, &[], || discard_batch([one.slice_mut(3..3)?], &stream))?;
        budget(driver, &[], || discard_prefetch_batch([one.slice_mut(..0)?], here.clone(), &stream))?;
    }

    /// S1.27, S1.28: nothing at all, and too few or too many places, are errors before anything else is.
    fn the_number_of_places_must_fit(driver) {
        let (context, stream, memory) = setup(driver)?;
        let mut buffer = memory.zeroed::<u8>(LARGE, &stream)?;
        let device = DeviceMemory::new(&context).allocate::<u8>(LARGE)?;
        let places = |count: usize| Locations::Each(vec![Host::NumaCurrent.into(); count]);
        budget(driver, &[], || {
            assert_eq!(prefetch_batch(NOTHING, Host::Any, &stream), Err(Error::Managed(ManagedError::EmptyBatch)));
            assert_eq!(discard_batch(Vec::<&mut ManagedBuffer>::new(), &stream), Err(Error::Managed(ManagedError::EmptyBatch)));
            let nowhere = discard_prefetch_batch(Vec::<&mut ManagedBuffer>::new(), places(1), &stream);
            assert_eq!(nowhere, Err(Error::Managed(ManagedError::EmptyBatch)));
            for locations in [0, 1, 3] {
                let refused = prefetch_batch([&*buffer, &device], places(locations), &stream);
                assert_eq!(refused, Err(Error::Managed(ManagedError::LocationCount { ranges: 2, locations })));
            }
            let refused = discard_prefetch_batch([&mut buffer], places(2), &stream);
            assert_eq!(refused, Err(Error::Managed(ManagedError::LocationCount { ranges: 1, locations: 2 })));
        });
    }

    /// S1.10, S1.32: then whether all are managed, with the number of the first that is not.
    fn one_that_is_not_managed_is_named(driver) {
        let (context, stream, memory) = setup(driver)?;
        let buffer = memory.zeroed::<u8>(LARGE, &stream)?;
        let mut device = DeviceMemory::new(&context).allocate::<u8>(LARGE)?;
        let nowhere = Host::Numa(NumaId::try_from(4000_u32)?);
        let refused = prefetch_batch([&*buffer, &device], nowhere, &stream);
        assert_eq!(refused, Err(not_managed("prefetch", 1)));
        assert_eq!(buffer.last_prefetch_location()?, None);
        budget(driver, &[], || {
            assert_eq!(discard_batch([&mut device], &context.legacy_stream()), Err(not_managed("discard", 0)));
            let refused = discard_prefetch_batch([&mut device], nowhere, &context.legacy_stream());
            assert_eq!(refused, Err(not_managed("discard", 0)));
        });
        assert_eq!(
            not_managed("prefetch", 1).to_string(),
            "prefetch: the memory of item 1 is not managed; allocate it from ManagedMemory or a ManagedPool"
        );
    }

    /// S1.26: memory of a pool moves on other streams than its own, when it is there and before it goes.
    fn batches_come_after_the_allocation_and_before_the_end(driver) {
        let (context, stream, _memory) = setup(driver)?;
        let (pool, other, last) = (ManagedPool::new(&context)?, context.stream()?, context.stream()?);
        let mut buffers: Vec<ManagedBuffer<u8>> =
            (0..3).map(|_| pool.allocate(LARGE, &stream)).collect::<Result<_, _>>()?;
        prefetch_batch(&buffers, driver.device(0)?, &other)?;
        last.wait_for(&other)?;
        discard_batch(&mut buffers[..1], &last)?;
        discard_prefetch_batch(&mut buffers[1..], Host::Any, &last)?;
        drop(buffers);
        // The next owner of the memory is not affected.
        assert_eq!(pool.upload(&vec![7_u8; LARGE], &stream)?.download(&stream)?, vec![7; LARGE]);
    }

    /// The legacy default stream takes no batches: prefetches are calls of their own there.
    fn the_legacy_stream_prefetches_one_by_one(driver) {
        let (context, stream, memory) = setup(driver)?;
        let buffers = [memory.zeroed::<u8>(LARGE, &stream)?, memory.zeroed::<u8>(LARGE, &stream)?];
        stream.synchronize()?;
        let legacy = context.legacy_stream();
        let allowed = [
            (Function::cuMemPrefetchAsync_v2, 2), (Function::cuCtxGetCurrent, 2), (Function::cuCtxSetCurrent, 4)
        ];
        budget(driver, &allowed, || prefetch_batch(&buffers, Host::Any, &legacy))?;
        assert_eq!(buffers[1].last_prefetch_location()?, Some(Host::Any.into()));
        prefetch_batch(&buffers, driver.device(0)?, &context.per_thread_stream())?;
        context.synchronize()?;
    }
}

/// S1.9, S1.31: drivers before 13.0 have no batches; prefetches are calls of their own there, by either of
/// the older forms.
#[test]
fn older_drivers_prefetch_one_by_one() -> TestResult {
    for (minor, function) in [(1, Function::cuMemPrefetchAsync), (9, Function::cuMemPrefetchAsync_v2)] {
        on_driver(12, minor, |driver| {
            let (_context, stream, memory) = setup(driver)?;
            let buffers = [memory.zeroed::<u8>(LARGE, &stream)?, memory.zeroed::<u8>(LARGE, &stream)?];
            let each = [Location::from(driver.device(0)?), Host::Any.into()];
            budget(driver, &[(function, 2)], || prefetch_batch(&buffers, each.clone(), &stream))?;
            for (buffer, place) in buffers.iter().zip(each) {
                assert_eq!(buffer.last_prefetch_location()?, Some(place));
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// S1.31: until one fails, which is named by its number.
#[test]
fn one_that_fails_on_an_older_driver_is_named() -> TestResult {
    let (machine, driver) = open(with_driver("h200", 12, 8)?, Mode::Sync)?;
    let (_context, stream, memory) = setup(&driver)?;
    let buffers: Vec<_> = (0..4).map(|_| memory.zeroed::<u8>(LARGE, &stream)).collect::<Result<_, _>>()?;
    let rule = Rule::on(Function::cuMemPrefetchAsync_v2).nth(3).fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    let _scope = machine.inject(Plan::new().rule(rule))?;
    let error = prefetch_batch(&buffers, Host::Any, &stream).expect_err("the plan says so");
    assert!(
        matches!(error, Error::Memory(MemoryError::InBatch { index: 2, .. })) && error.is_out_of_memory(),
        "{error:?}"
    );
    let moved: Vec<bool> = buffers
        .iter()
        .map(|buffer| buffer.last_prefetch_location().map(|place| place.is_some()))
        .collect::<Result<_, _>>()?;
    assert_eq!(moved, [true, true, false, false]);
    Ok(())
}

/// S1.7, S1.32: a NUMA node that the driver cannot be told is refused with nothing moved, after what is not
/// managed.
#[test]
fn older_drivers_refuse_a_batch_with_a_numa_node() -> TestResult {
    on_driver(12, 1, |driver| {
        let (context, stream, memory) = setup(driver)?;
        let mut buffers = [memory.zeroed::<u8>(LARGE, &stream)?, memory.zeroed::<u8>(LARGE, &stream)?];
        let device = DeviceMemory::new(&context).allocate::<u8>(LARGE)?;
        let each = [Host::Any, Host::NumaCurrent];
        let refused = Err(Error::Location(LocationError::NumaUnsupported { host: Host::NumaCurrent }));
        budget(driver, &[], || {
            assert_eq!(prefetch_batch(&buffers, each, &stream), refused);
            assert_eq!(discard_prefetch_batch(&mut buffers, each, &stream), refused, "before the driver is too old");
        });
        let refused = prefetch_batch([&*buffers[0], &device], each, &stream);
        assert_eq!(refused, Err(not_managed("prefetch", 1)));
        Ok(())
    })
}

/// S1.32: memory that is not managed wins over a driver without discards.
#[test]
fn memory_that_is_not_managed_is_refused_before_the_driver_is_too_old() -> TestResult {
    on_driver(12, 8, |driver| {
        let (context, stream, memory) = setup(driver)?;
        let mut buffer = memory.zeroed::<u8>(LARGE, &stream)?;
        let mut device = DeviceMemory::new(&context).allocate::<u8>(LARGE)?;
        let not_alone = |what| Error::Managed(ManagedError::NotManaged { what, index: None });
        assert_eq!(ManagedRangeMut::from(&mut device).discard(&stream), Err(not_alone("discard")));
        let refused = ManagedRangeMut::from(&mut device).discard_prefetch(Host::Any, &stream);
        assert_eq!(refused, Err(not_alone("discard")));
        let both = [ManagedRangeMut::from(&mut buffer), ManagedRangeMut::from(&mut device)];
        assert_eq!(discard_batch(both, &stream), Err(not_managed("discard", 1)));
        let both = [ManagedRangeMut::from(&mut buffer), ManagedRangeMut::from(&mut device)];
        assert_eq!(discard_prefetch_batch(both, Host::Any, &stream), Err(not_managed("discard", 1)));
        let refused = discard_batch([&mut buffer], &stream);
        assert!(matches!(refused, Err(Error::Driver(warploom::driver::Error::Unsupported { .. }))), "{refused:?}");
        Ok(())
    })
}

/// A stream or device of another driver is refused before anything is moved.
#[test]
fn streams_and_devices_of_another_driver_are_refused() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (_other, other) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (_context, stream, memory) = setup(&driver)?;
    let (_, foreign, foreign_memory) = setup(&other)?;
    let buffer = memory.zeroed::<u8>(LARGE, &stream)?;
    let elsewhere = foreign_memory.zeroed::<u8>(LARGE, &foreign)?;
    budget(&driver, &[], || {
        for refused in [
            prefetch_batch([&buffer], Host::Any, &foreign),
            prefetch_batch([&buffer], other.device(0).expect("it has one"), &stream),
            prefetch_batch([&buffer, &elsewhere], Host::Any, &stream),
        ] {
            assert!(matches!(refused, Err(Error::Device(DeviceError::DriverMismatch { .. }))), "{refused:?}");
        }
    });
    Ok(())
}

//! Virtual memory: options, access and growth (MR-16, MR-17, MR-18, PEER-4).

use warploom::{
    AccessLevel, ContextError, Counted, DeviceError, DeviceMemory, Driver, Error, Function, Granularity, Limited,
    MemoryError, PeerError, Stream, SynchronousResource, VirtualMemory, VirtualMemoryError, VirtualOptions,
};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode, Order, Resource};
use warploom_testkit::sys::types::{CUmemLocation, CUmemLocationType, CUresult};
use warploom_testkit::{TestResult, assert_sound, budget, call, driver_tests, open};

use crate::sweeps::everywhere;

fn setup(driver: &Driver) -> TestResult<(VirtualMemory, Stream)> {
    let context = driver.device(0)?.context()?;
    Ok((VirtualMemory::new(&context)?, context.stream()?))
}

/// The access of a device to an address, as the driver reports it.
fn access(driver: &Driver, device: i32, address: u64) -> TestResult<u64> {
    let location = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, device);
    let mut flags = 0;
    call!(driver.cuMemGetAccess(&mut flags, &location, address))?;
    Ok(flags)
}

/// Addresses that nothing else can have while they are taken.
fn take(driver: &Driver, bytes: usize, hint: u64) -> TestResult<u64> {
    let mut address = 0;
    call!(driver.cuMemAddressReserve(&mut address, bytes, 0, hint, 0))?;
    Ok(address)
}

driver_tests! {
    /// S4.5: no stream, and no context that would have to be current.
    fn it_is_allocated_and_freed_with_no_context_current(driver) {
        let (memory, stream) = setup(driver)?;
        let made = [Function::cuMemAddressReserve, Function::cuMemCreate, Function::cuMemMap, Function::cuMemSetAccess];
        let mut buffer = budget(driver, &made.map(|call| (call, 1)), || memory.allocate::<u32>(1000))?;
        assert!(buffer.as_raw().is_multiple_of(memory.granularity() as u64));
        buffer.fill(7, &stream)?;
        // Unlike that of other memory, the end of a mapping waits for nobody; each stream is waited for by
        // name.
        let ended = [Function::cuStreamSynchronize, Function::cuMemUnmap, Function::cuMemAddressFree, Function::cuMemRelease];
        budget(driver, &ended.map(|call| (call, 1)), || drop(buffer));
    }

    fn values_stay_when_it_grows_where_it_is_and_nothing_waits(driver) {
        let (memory, stream) = setup(driver)?;
        let piece = memory.granularity();
        // Addresses that were free a moment ago are free behind the first part of them.
        let place = take(driver, 4 * piece, 0)?;
        call!(driver.cuMemAddressFree(place, 4 * piece))?;
        let memory = VirtualMemory::with(memory.context(), VirtualOptions::new().address(place))?;
        let mut buffer = memory.allocate::<u8>(piece)?;
        buffer.fill(1, &stream)?;
        let buffer = {
            let made = [Function::cuMemAddressReserve, Function::cuMemCreate, Function::cuMemMap, Function::cuMemSetAccess];
            budget(driver, &made.map(|call| (call, 1)), || memory.grow(buffer, 2 * piece))?
        };
        assert_eq!((buffer.as_raw(), buffer.len()), (place, 2 * piece));
        let mut buffer = memory.grow(buffer, 3 * piece + 5)?;
        assert_eq!((buffer.as_raw(), buffer.size_in_bytes()), (place, 3 * piece + 5));
        // One copy and one fill across all that it was made of.
        assert_eq!(buffer.slice(piece - 2..piece)?.download(&stream)?, [1, 1]);
        buffer.slice_mut(piece - 1..)?.fill(2, &stream)?;
        let found = buffer.slice(piece - 2..3 * piece + 5)?.download(&stream)?;
        assert_eq!((found[0], found[1..].iter().all(|value| *value == 2)), (1, true));
    }

    fn values_stay_when_it_moves_and_its_streams_are_waited_for(driver) {
        let (memory, stream) = setup(driver)?;
        let (piece, other) = (memory.granularity(), stream.context().stream()?);
        let mut buffer = memory.allocate::<u32>(piece / 4)?;
        buffer.fill(5, &stream)?;
        buffer.slice_mut(1..2)?.fill(6, &stream)?;
        other.wait_for(&stream)?;
        let mut copy = memory.allocate::<u32>(piece / 4)?;
        buffer.copy_to(&mut copy, &other)?;
        let old = buffer.as_raw();
        let taken = take(driver, piece, old + piece as u64)?;
        let calls = driver.record_calls();
        let buffer = memory.grow(buffer, 3 * piece / 4)?;
        let made: Vec<Function> = calls.take().iter().map(|(function, _)| *function).collect();
        drop(calls);
        if taken == old + piece as u64 {
            let waits = made.iter().filter(|made| **made == Function::cuStreamSynchronize).count();
            assert_eq!(waits, 2, "{made:?}");
            assert_ne!(buffer.as_raw(), old);
        }
        assert_eq!(buffer.slice(..3)?.download(&stream)?, [5, 6, 5]);
        assert_eq!(copy.slice(..3)?.download(&other)?, [5, 6, 5]);
        // And once more, now that it is in two pieces.
        let next = take(driver, piece, buffer.as_raw() + 3 * piece as u64)?;
        let mut buffer = memory.grow(buffer, piece)?;
        assert_eq!(buffer.slice(..3)?.download(&stream)?, [5, 6, 5]);
        buffer.fill(9, &stream)?;
        assert_eq!(buffer.slice(piece - 2..)?.download(&stream)?, [9, 9]);
        drop(buffer);
        call!(driver.cuMemAddressFree(taken, piece))?;
        call!(driver.cuMemAddressFree(next, piece))?;
    }

    fn with_no_more_bytes_to_map_only_its_access_is_set_again(driver) {
        let (memory, stream) = setup(driver)?;
        let mut buffer = memory.upload(&[1_u8, 2, 3], &stream)?;
        for len in [3, 4, memory.granularity()] {
            let address = buffer.as_raw();
            buffer = budget(driver, &[(Function::cuMemSetAccess, 1)], || memory.grow(buffer, len))?;
            assert_eq!((buffer.as_raw(), buffer.len()), (address, len));
        }
        assert_eq!(buffer.slice(..3)?.download(&stream)?, [1, 2, 3]);
    }

    fn a_buffer_that_cannot_grow_comes_back_as_it_was(driver) {
        let (memory, stream) = setup(driver)?;
        let buffer = memory.upload(&[1_u64, 2, 3], &stream)?;
        let (address, len) = (buffer.as_raw(), buffer.len());
        let refused = memory.grow(buffer, 1 << 50).expect_err("more than there is");
        assert!(refused.error.is_out_of_memory() && !refused.error.is_context_fatal(), "{refused}");
        assert_eq!((refused.buffer.as_raw(), refused.buffer.len()), (address, len));
        let buffer = memory.grow(refused.buffer, 4)?;
        assert_eq!(buffer.slice(..3)?.download(&stream)?, [1, 2, 3]);
    }

    fn invalid_options_are_refused_before_the_driver_is_called(driver) {
        let (memory, _stream) = setup(driver)?;
        let context = memory.context();
        let buffer = memory.allocate::<u16>(10)?;
        let plain = DeviceMemory::new(context).allocate::<u16>(10)?;
        let counted = Counted::synchronous(&memory).allocate::<u16>(10)?;
        let twin = VirtualMemory::new(context)?;
        let kept = budget(driver, &[], || {
            let odd = VirtualMemory::with(context, VirtualOptions::new().alignment(3 << 20)).map(drop);
            assert_eq!(odd, Err(Error::VirtualMemory(VirtualMemoryError::Alignment { alignment: 3 << 20 })));
            let refused = memory.grow(buffer, 9).expect_err("fewer");
            assert_eq!(refused.error, Error::VirtualMemory(VirtualMemoryError::Shrinking { from: 10, to: 9 }));
            let refused = memory.grow(refused.buffer, usize::MAX).expect_err("too many");
            assert_eq!(refused.error, Error::Memory(MemoryError::TooLarge { len: usize::MAX, element: 2 }));
            let refused = twin.grow(refused.buffer, 20).expect_err("of another");
            assert_eq!(refused.error, Error::Memory(MemoryError::OtherResource));
            let others = [plain, counted].map(|other| memory.grow(other, 20).expect_err("of another"));
            assert!(others.iter().all(|refused| refused.error == Error::Memory(MemoryError::OtherResource)));
            (refused, others) // freeing them makes calls
        });
        drop(kept);
        let hint = VirtualOptions::new().address(0x7000_0000_1000);
        let misaligned = VirtualMemory::with(context, hint).map(drop);
        assert_eq!(misaligned, Err(Error::VirtualMemory(VirtualMemoryError::Misaligned { address: 0x7000_0000_1000, multiple: memory.granularity() })));
    }

    fn it_is_made_as_it_is_asked_for(driver) {
        let (memory, _stream) = setup(driver)?;
        let context = memory.context();
        let least = VirtualMemory::with(context, VirtualOptions::new().granularity(Granularity::Minimum))?;
        assert!(least.granularity() <= memory.granularity() && least.granularity() > 0);
        let aligned = VirtualMemory::with(context, VirtualOptions::new().alignment(1 << 30))?;
        let buffers = [aligned.allocate::<u8>(1)?, aligned.allocate::<u8>(1)?];
        assert!(buffers.iter().all(|buffer| buffer.as_raw().is_multiple_of(1 << 30)), "{buffers:?}");
        for (level, flags) in [(AccessLevel::ReadWrite, 3), (AccessLevel::Read, 1), (AccessLevel::None, 0)] {
            let memory = VirtualMemory::with(context, VirtualOptions::new().own_access(level))?;
            assert_eq!(access(driver, 0, memory.allocate::<u8>(1)?.as_raw())?, flags);
        }
    }
}

/// PEER-4, M.1.
#[test]
fn peers_have_the_access_they_were_given_also_where_it_has_grown() -> TestResult {
    let (_machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
    let context = driver.device(0)?.context()?;
    let options = VirtualOptions::new()
        .peer(&driver.device(1)?, AccessLevel::Read)
        .peer(&driver.device(2)?, AccessLevel::ReadWrite)
        .peer(&driver.device(3)?, AccessLevel::None)
        .peer(&driver.device(0)?, AccessLevel::None); // its own, which this does not concern
    let memory = VirtualMemory::with(&context, options)?;
    let piece = memory.granularity();
    let mut buffer = memory.allocate::<u8>(piece)?;
    let between = take(&driver, piece, buffer.as_raw() + piece as u64)?;
    for len in [piece, 2 * piece, 3 * piece] {
        buffer = memory.grow(buffer, len)?;
        let last = buffer.as_raw() + len as u64 - 1;
        for (device, flags) in [(0, 3), (1, 1), (2, 3), (3, 0), (4, 0)] {
            assert_eq!(access(&driver, device, buffer.as_raw())?, flags, "device {device} of {len} bytes");
            assert_eq!(access(&driver, device, last)?, flags, "device {device} of {len} bytes");
        }
    }
    call!(driver.cuMemAddressFree(between, piece))?;
    Ok(())
}

/// M.1: the peer is who accesses, and the memory is its owner's.
#[test]
fn peers_that_cannot_access_the_memory_are_refused_by_name() -> TestResult {
    let (_machine, driver) = open(Topology::preset("asymmetric")?, Mode::Threads)?;
    let mut answers = [0, 0];
    for owner in driver.devices()? {
        for peer in driver.devices()?.into_iter().filter(|peer| *peer != owner) {
            let options = VirtualOptions::new().peer(&peer, AccessLevel::Read);
            let made = VirtualMemory::with(&owner.context()?, options).and_then(|memory| memory.allocate::<u8>(1));
            let refused = Error::Peer(PeerError::Unsupported { owner: owner.ordinal(), peers: vec![peer.ordinal()] });
            let can = peer.can_access(&owner)?;
            assert_eq!(made.map(drop), if can { Ok(()) } else { Err(refused) });
            answers[usize::from(can)] += 1;
        }
    }
    assert!(answers.iter().all(|answers| *answers > 0), "{answers:?}");
    let (_other, stranger) = open(Topology::preset("h200")?, Mode::Threads)?;
    let refused = {
        let options = VirtualOptions::new().peer(&stranger.device(0)?, AccessLevel::Read);
        VirtualMemory::with(&driver.device(0)?.context()?, options).map(drop)
    };
    assert!(matches!(refused, Err(Error::Device(DeviceError::DriverMismatch { .. }))), "{refused:?}");
    Ok(())
}

/// MR-18.
#[test]
fn a_device_without_it_is_an_error_that_names_it() -> TestResult {
    let device = "[[device]]\nmodel = \"h200\"\nattributes = ";
    for (attributes, options, what) in [
        ("{ virtual_memory_management_supported = 0 }", VirtualOptions::new(), "virtual memory"),
        (
            "{ gpu_direct_rdma_with_cuda_vmm_supported = 0 }",
            VirtualOptions::new().remote_access(),
            "virtual memory for other hardware to access",
        ),
    ] {
        let (_machine, driver) = open(Topology::from_toml(&format!("{device}{attributes}\n"))?, Mode::Threads)?;
        let context = driver.device(0)?.context()?;
        let refused = budget(&driver, &[(Function::cuDeviceGetAttribute, 1 + u64::from(what.len() > 14))], || {
            VirtualMemory::with(&context, options).map(drop)
        });
        assert_eq!(refused, Err(Error::VirtualMemory(VirtualMemoryError::Unsupported { device: 0, what })));
    }
    Ok(())
}

/// Memory whose streams could not be waited for may be in use still, and work on unmapped addresses faults.
#[test]
fn memory_whose_streams_cannot_be_waited_for_stays_mapped() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(Order::Lazy))?;
    let (memory, stream) = setup(&driver)?;
    let piece = memory.granularity();
    let mut buffer = memory.allocate::<u8>(piece)?;
    buffer.fill(3, &stream)?;
    let behind = take(&driver, piece, buffer.as_raw() + piece as u64)?;
    let before = machine.census();
    let fails =
        |name| Ok::<_, Box<dyn std::error::Error>>(Rule::on(Calls::named(name)?).fail(CUresult::CUDA_ERROR_UNKNOWN));
    let plan = Plan::new().rule(fails("cuStreamSynchronize")?).rule(fails("cuCtxSynchronize")?);
    let scope = machine.inject(plan)?;
    let refused = memory.grow(buffer, 2 * piece).expect_err("it would have to move");
    assert_eq!(refused.error.code(), Some(CUresult::CUDA_ERROR_UNKNOWN));
    assert_eq!(machine.census(), before);
    let closed = refused.buffer.close().map_err(|error| error.code());
    assert_eq!(closed, Err(Some(CUresult::CUDA_ERROR_UNKNOWN)));
    drop(memory);
    assert_eq!(machine.census(), before);
    drop(scope);
    stream.synchronize()?;
    call!(driver.cuMemAddressFree(behind, piece))?;
    Ok(())
}

/// On the simulator, such memory stays through a reset of the context.
#[test]
fn memory_of_a_context_that_was_reset_is_given_back() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (memory, stream) = setup(&driver)?;
    let mut buffer = memory.zeroed::<u8>(100, &stream)?;
    buffer.fill(1, &stream)?;
    let limited = Limited::synchronous(&memory, 1 << 30).allocate::<u8>(100)?;
    call!(driver.cuDevicePrimaryCtxReset_v2(0))?;
    assert!(matches!(memory.context().check(), Err(Error::Context(ContextError::Stale { .. }))));
    let stale = memory.grow(buffer, 200).expect_err("it is of an old life");
    assert!(matches!(stale.error, Error::Context(ContextError::Stale { .. })), "{stale}");
    drop((stale, limited, memory, stream));
    let census = machine.census();
    for kind in [Resource::Physical, Resource::Reservation, Resource::Mapping] {
        assert_eq!((census.live(kind), census.abandoned(kind)), (0, 0), "{kind:?}");
    }
    assert_sound(&machine);
    Ok(())
}

/// An error at the old addresses of a buffer that has moved goes to the hook; a refused reservation behind
/// the buffer only means that it moves.
const PARTING: &[&str] = &["cuStreamSynchronize", "cuMemAddressReserve"];

/// MR-17: transactional.
#[test]
fn growing_leaves_nothing_behind_after_any_failure() -> TestResult {
    everywhere(PARTING, |driver| {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let memory = VirtualMemory::with(&context, VirtualOptions::new().granularity(Granularity::Minimum))?;
        let piece = memory.granularity();
        let mut first = memory.zeroed::<u8>(piece, &stream)?;
        let second = memory.allocate::<u8>(piece)?;
        for len in [piece, 2 * piece, 3 * piece] {
            let (address, before) = (first.as_raw(), first.len());
            first = match memory.grow(first, len) {
                Ok(grown) => grown,
                Err(refused) => {
                    assert_eq!((refused.buffer.as_raw(), refused.buffer.len()), (address, before));
                    let kept = refused.buffer.slice(..1)?.download(&stream)?;
                    assert_eq!(kept, [0]);
                    return Err(refused.error);
                }
            };
        }
        assert_eq!(first.slice(..1)?.download(&stream)?, [0]);
        drop(second);
        first.close()
    })
}

#[test]
fn buffers_are_used_and_dropped_by_many_threads_while_others_grow() -> TestResult {
    let machine = Machine::preset("h200")?;
    let driver = Driver::open(&machine)?;
    let (memory, _stream) = setup(&driver)?;
    std::thread::scope(|scope| {
        let work = |seed: u8| {
            let memory = memory.clone();
            scope.spawn(move || -> warploom::Result<()> {
                let stream = memory.context().stream()?;
                let mut buffer = memory.allocate::<u8>(100)?;
                buffer.fill(seed, &stream)?;
                for pieces in 1..5 {
                    buffer = memory.grow(buffer, pieces * memory.granularity())?;
                    assert_eq!(buffer.slice(..100)?.download(&stream)?, [seed; 100]);
                }
                Ok(())
            })
        };
        let all: Vec<_> = (1..5).map(work).collect();
        all.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?.map_err(Into::into))
    })
}

//! The host reads and writes managed memory when the devices are done with it.

use std::collections::HashSet;

use warploom::{Error, Function, ManagedBuffer, ManagedError, ManagedMemory, ManagedPool, MemoryError};
use warploom_sim::topology::Topology;
use warploom_sim::{FindingKind, Mode, Order};
use warploom_testkit::{ASYNCHRONOUS, TestResult, budget, driver_tests, open};

use super::{setup, without_concurrent_access};

driver_tests! {
    fn host_and_device_take_turns(driver) {
        let (context, stream, memory) = setup(driver)?;
        let pool = ManagedPool::new(&context)?;
        for mut buffer in [memory.allocate::<u32>(100_000)?, pool.allocate(100_000, &stream)?] {
            for (value, number) in buffer.host_mut()?.iter_mut().zip(0..) {
                *value = number;
            }
            let copy = buffer.duplicate(&stream)?;
            buffer.slice_mut(50_000..)?.fill(7, &stream)?;
            assert_eq!(buffer.host()?[49_999..50_001], [49_999, 7]);
            assert_eq!(copy.host()?[99_999], 99_999);
            buffer.host_mut()?[0] = 5;
            assert_eq!(buffer.slice(..2)?.download(&stream)?, [5, 1]);
        }
    }

    fn every_stream_that_wrote_is_waited_for(driver) {
        let (context, stream, memory) = setup(driver)?;
        let streams = [context.stream()?, context.stream()?, context.legacy_stream(), context.per_thread_stream()];
        let mut buffer = memory.zeroed::<u8>(4 << 20, &stream)?;
        for (part, writer) in streams.iter().enumerate() {
            writer.wait_for(&stream)?;
            buffer.slice_mut(part << 20..(part + 1) << 20)?.fill(part as u8 + 1, writer)?;
        }
        let host = buffer.host()?;
        assert_eq!([0, 1, 2, 3].map(|part| host[((part + 1) << 20) - 1]), [1, 2, 3, 4]);
    }

    /// Streams read while the host does, and both see the same.
    fn streams_may_read_while_the_host_reads(driver) {
        let (_context, stream, memory) = setup(driver)?;
        let buffer = memory.upload(&[3_u8; 1000], &stream)?;
        let host = buffer.host()?;
        let device = std::thread::scope(|scope| scope.spawn(|| buffer.download(&stream)).join());
        assert_eq!(host, device.map_err(|_| "the download panicked")??);
    }

    /// Work enqueued while the host reads still keeps the memory alive.
    fn reads_enqueued_while_the_host_reads_come_before_the_free(driver) {
        let (context, stream, memory) = setup(driver)?;
        let other = context.stream()?;
        let buffer = ManagedPool::new(&context)?.upload(&[3_u8; 1 << 20], &stream)?;
        let mut copy = memory.allocate::<u8>(1 << 20)?;
        let host = buffer.host()?;
        buffer.copy_to(&mut copy, &other)?;
        assert_eq!(host[0], 3);
        drop(host);
        drop(buffer);
        assert_eq!(copy.host()?[(1 << 20) - 1], 3);
    }

    fn only_the_streams_that_used_it_are_waited_for(driver) {
        let (context, stream, memory) = setup(driver)?;
        let mut buffer = memory.zeroed::<u8>(64, &stream)?;
        buffer.host()?;
        let once = [(Function::cuStreamSynchronize, 1)];
        budget(driver, &once, || buffer.host().map(drop))?;
        budget(driver, &once, || buffer.host_mut().map(drop))?;
        budget(driver, &[], || buffer.host_mut().map(drop))?;
        let pooled = ManagedPool::new(&context)?.allocate::<u8>(64, &stream)?;
        budget(driver, &once, || pooled.host().map(drop))?;
    }

    fn misaligned_memory_is_refused(driver) {
        let (context, stream, memory) = setup(driver)?;
        let bytes = memory.zeroed::<u8>(64, &stream)?;
        let address = bytes.as_raw() + 1;
        #[expect(unsafe_code, reason = "wraps what the host cannot read")]
        // SAFETY: there are more than 8 bytes at the address for as long as `bytes` is held.
        let odd = unsafe { ManagedBuffer::<u32>::borrowed(address, 2, &context) }?;
        assert_eq!(odd.host(), Err(Error::Memory(MemoryError::Cast { bytes: 8, address, size: 4, align: 4 })));
    }
}

/// Without concurrent managed access, host access needs the caller's promise; one such device is enough.
#[test]
#[expect(unsafe_code, reason = "promises that no device works")]
fn without_concurrent_access_the_host_is_refused() -> TestResult {
    for (preset, device) in [("h200", 0), ("pcie-pair", 1)] {
        for mode in ASYNCHRONOUS {
            let (machine, driver) = open(without_concurrent_access(preset, device)?, *mode)?;
            let (context, stream, memory) = setup(&driver)?;
            let mut buffer = memory.zeroed::<u8>(64, &stream)?;
            let refused = Error::Managed(ManagedError::HostAccessUnsupported { device: u32::try_from(device)? });
            assert_eq!(buffer.host(), Err(refused.clone()));
            budget(&driver, &[], || assert_eq!(buffer.host_mut(), Err(refused)));
            context.stream()?.record()?;
            // SAFETY: nothing else uses this machine.
            unsafe {
                buffer.host_mut_while_idle()?[5] = 1;
                assert_eq!(buffer.host_while_idle()?[..6], [0, 0, 0, 0, 0, 1]);
            }
            let waits = [Function::cuCtxSynchronize, Function::cuStreamSynchronize];
            let calls = driver.record_calls();
            buffer.fill(2, &stream)?;
            // SAFETY: as above.
            assert_eq!(unsafe { buffer.host_while_idle() }?, [2; 64]);
            let made: HashSet<_> = calls.take().into_iter().map(|(function, _)| function).collect();
            assert!(waits.iter().all(|wait| made.contains(wait)), "{made:?}");
            warploom_testkit::assert_sound(&machine);
        }
    }
    Ok(())
}

/// Work enqueued in a context that was reset counts as finished.
#[test]
#[expect(unsafe_code, reason = "resets a context")]
fn a_stream_whose_context_was_reset_is_not_waited_for() -> TestResult {
    let (_machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Threads)?;
    let (_context, stream, memory) = setup(&driver)?;
    let mut buffer = memory.upload(&[7_u8; 64], &stream)?;
    let elsewhere = driver.device(1)?.context()?.stream()?;
    buffer.prefetch(driver.device(1)?, &elsewhere)?;
    elsewhere.synchronize()?;
    // SAFETY: nothing was made there but a stream, which is not used again but to find that out.
    unsafe { driver.device(1)?.reset_context() }?;
    assert_eq!(buffer.host()?, [7; 64]);
    assert_eq!(buffer.host_mut()?, [7; 64]);
    Ok(())
}

/// The machine is told what the host does. It finds nothing where the buffer is borrowed, and finds the same
/// access without the borrow.
#[test]
fn the_machine_agrees_that_a_borrow_is_in_order() -> TestResult {
    for mode in [Mode::Threads, Mode::Deterministic(Order::Lazy)] {
        for careful in [true, false] {
            let (machine, driver) = open(Topology::preset("h200")?, mode)?;
            let context = driver.device(0)?.context()?;
            let (stream, other) = (context.stream()?, context.stream()?);
            let mut buffer = ManagedMemory::new(&context)?.zeroed::<u8>(4096, &stream)?;
            other.wait_for(&stream)?;
            buffer.fill(7, &other)?;
            if careful {
                buffer.host_mut()?;
            }
            drop(machine.host_access(buffer.as_raw(), 4096, true)?);
            buffer.fill(8, &stream)?;
            stream.synchronize()?;
            let races =
                machine.findings().iter().filter(|found| matches!(found.kind, FindingKind::Race { .. })).count();
            assert_eq!(races > 0, !careful, "{mode:?}: {:?}", machine.findings());
        }
    }
    Ok(())
}

//! Prefetches of managed memory.

use warploom::sys::types::CUresult;
use warploom::{DevicePool, Error, Function, Host, Location, ManagedError, ManagedPool, ManagedRange, NumaId};
use warploom_sim::Mode;
use warploom_sim::topology::{DeviceModel, Topology};
use warploom_testkit::{TestResult, budget, driver_tests, in_every_mode, open};

use super::{LARGE, code, on_driver, setup, without_concurrent_access};

const PREFETCH: Function = Function::cuMemPrefetchAsync_v2;

driver_tests! {
    /// S1.25, S1.26: one call on the stream that is named, and the contents are as they were.
    fn memory_goes_where_it_is_told_to(driver) {
        let (context, stream, memory) = setup(driver)?;
        let pool = ManagedPool::new(&context)?;
        let values: Vec<u32> = (0..LARGE as u32).collect();
        for buffer in [memory.upload(&values, &stream)?, pool.upload(&values, &stream)?] {
            assert_eq!(buffer.last_prefetch_location()?, None);
            for place in [Location::from(driver.device(0)?), Host::Any.into()] {
                budget(driver, &[(PREFETCH, 1)], || buffer.prefetch(place.clone(), &stream))?;
                stream.synchronize()?;
                assert_eq!(buffer.last_prefetch_location()?, Some(place));
                assert_eq!(buffer.host()?[LARGE - 1], values[LARGE - 1]);
            }
            assert_eq!(buffer.download(&stream)?, values);
        }
    }

    /// S1.5, S1.15: the last prefetch is read back as it was told, NUMA nodes included.
    fn numa_nodes_are_places_to_go_to(driver) {
        let (_context, stream, memory) = setup(driver)?;
        let buffer = memory.allocate::<u8>(LARGE)?;
        for host in [Host::Numa(NumaId::try_from(0_u32)?), Host::NumaCurrent] {
            buffer.prefetch(host, &stream)?;
            assert_eq!(buffer.last_prefetch_location()?, Some(host.into()));
        }
        let nowhere = Host::Numa(NumaId::try_from(4000_u32)?);
        assert_eq!(code(buffer.prefetch(nowhere, &stream)), Some(CUresult::CUDA_ERROR_INVALID_VALUE));
    }

    /// S1.26: every stream will do, the default ones and those of other contexts included, and each is waited
    /// for in the end.
    fn any_stream_prefetches(driver) {
        let (context, stream, memory) = setup(driver)?;
        let other = driver.device(0)?.create_context(warploom::ContextOptions::new())?;
        let buffer = ManagedPool::new(&context)?.upload(&vec![7_u8; LARGE], &stream)?;
        let plain = memory.upload(&vec![8_u8; LARGE], &stream)?;
        let streams = [context.stream()?, context.legacy_stream(), context.per_thread_stream(), other.stream()?];
        for queue in &streams {
            buffer.prefetch(driver.device(0)?, queue)?;
            plain.prefetch(Host::Any, queue)?;
        }
        assert_eq!((buffer.host()?[LARGE - 1], plain.host()?[0]), (7, 8));
        drop((buffer, plain));
    }

    /// S1.33: of a part, and of nothing.
    fn a_part_moves_alone(driver) {
        let (_context, stream, memory) = setup(driver)?;
        let buffer = memory.zeroed::<u8>(2 * LARGE, &stream)?;
        let (first, second) = buffer.as_slice().split_at(LARGE)?;
        ManagedRange::from(second).prefetch(Host::Any, &stream)?;
        assert_eq!(ManagedRange::from(second).last_prefetch_location()?, Some(Host::Any.into()));
        assert_eq!(ManagedRange::from(first).last_prefetch_location()?, None);
        let nothing = ManagedRange::from(buffer.slice(LARGE..LARGE)?);
        budget(driver, &[], || nothing.prefetch(Host::Any, &stream))?;
        assert_eq!((nothing.size_in_bytes(), nothing.as_raw()), (0, buffer.as_raw() + LARGE as u64));
    }

    /// S1.10: a device's own memory goes nowhere.
    fn memory_of_a_device_does_not_move(driver) {
        let (context, stream, _memory) = setup(driver)?;
        let buffer = DevicePool::new(&context)?.allocate::<u8>(LARGE, &stream)?;
        let refused = ManagedRange::from(&buffer).prefetch(Host::Any, &stream);
        assert_eq!(refused, Err(Error::Managed(ManagedError::NotManaged { what: "prefetch", index: None })));
    }
}

/// C.2, S1.6, S1.25: drivers before 12.2 have an older call.
#[test]
fn older_drivers_prefetch_by_ordinal() -> TestResult {
    on_driver(12, 0, |driver| {
        let (_context, stream, memory) = setup(driver)?;
        let buffer = memory.upload(&vec![7_u8; LARGE], &stream)?;
        for place in [Location::from(driver.device(0)?), Host::Any.into()] {
            budget(driver, &[(Function::cuMemPrefetchAsync, 1)], || buffer.prefetch(place.clone(), &stream))?;
            assert_eq!(buffer.last_prefetch_location()?, Some(place));
        }
        assert_eq!(buffer.download(&stream)?, vec![7; LARGE]);
        Ok(())
    })
}

driver_tests! {
    /// S1.16: a prefetch to a NUMA node is read back as it was named, on a host of one node, too; there, an
    /// H200 does not remember that the node is preferred.
    fn a_numa_node_is_read_back_as_it_was_named(driver) {
        let (_context, stream, memory) = setup(driver)?;
        let buffer = memory.zeroed::<u8>(LARGE, &stream)?;
        for host in [Host::Numa(NumaId::try_from(0_u32)?), Host::NumaCurrent, Host::Any] {
            buffer.prefetch(host, &stream)?;
            assert_eq!(buffer.last_prefetch_location()?, Some(host.into()));
            buffer.set_preferred_location(host)?;
            let is_remembered = matches!(host, Host::Any);
            assert_eq!(buffer.preferred_location()?, is_remembered.then_some(host.into()));
        }
    }
}

/// S1.16: nodes of a host with several.
#[test]
fn memory_goes_to_nodes_of_a_host_with_several() -> TestResult {
    let (_machine, driver) = open(Topology::builder().device(DeviceModel::H200).numa_nodes(2).build()?, Mode::Threads)?;
    let (_context, stream, memory) = setup(&driver)?;
    let buffer = memory.zeroed::<u8>(LARGE, &stream)?;
    for id in [1_u32, 0] {
        let node = Host::Numa(NumaId::try_from(id)?);
        buffer.prefetch(node, &stream)?;
        assert_eq!(buffer.last_prefetch_location()?, Some(node.into()));
    }
    Ok(())
}

/// A prefetch moves; it neither reads nor writes, and does not disturb the order of what does.
#[test]
fn memory_moves_between_devices_while_it_is_used() -> TestResult {
    in_every_mode(&Topology::preset("hgx-a100-4")?, 4, |_, driver| {
        let (_context, stream, memory) = setup(driver)?;
        let mut buffer = memory.zeroed::<u8>(LARGE, &stream)?;
        for (device, byte) in driver.devices()?.into_iter().zip(1..) {
            let there = device.context()?.stream()?;
            there.wait_for(&stream)?;
            buffer.prefetch(device, &there)?;
            stream.wait_for(&there)?;
            buffer.slice_mut(..usize::from(byte))?.fill(byte, &stream)?;
        }
        Ok(buffer.host()?[..5].to_vec())
    })
    .map(|bytes| assert_eq!(bytes, [4, 4, 4, 4, 0]))
}

/// S1.35: what the driver says without concurrent access is passed on.
#[test]
fn without_concurrent_access_nothing_is_prefetched_to_a_device() -> TestResult {
    let (_machine, driver) = open(without_concurrent_access("h200", 0)?, Mode::Threads)?;
    let (_context, stream, memory) = setup(&driver)?;
    let buffer = memory.zeroed::<u8>(LARGE, &stream)?;
    let refused = buffer.prefetch(driver.device(0)?, &stream);
    assert_eq!(code(refused), Some(CUresult::CUDA_ERROR_INVALID_DEVICE));
    Ok(())
}

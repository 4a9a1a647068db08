//! Device memory that another process opens by a handle.

use std::ptr::null_mut;

use proptest::prelude::*;
use warploom_driver::Driver;
use warploom_sim::topology::Topology;
use warploom_sim::{FindingKind, Mode, Order, Resource};
use warploom_sys::types::{CUpointer_attribute as Attribute, CUresult};
use warploom_testkit::process::{Channel, Child, run_part};
use warploom_testkit::{Gate, MACHINE, Primary, Stream, TestResult, answers, call, driver_tests, open};

use crate::handles::{Bytes, INTERPROCESS, LAZY, code, event, fill, filled, memory_handle, open_memory, read};

const ENTRY: &str = "memory_handles::child";
const MIB: usize = 1 << 20;

#[test]
fn child() -> TestResult {
    run_part(&[
        ("read and write", read_and_write),
        ("count", count),
        ("neighbours", neighbours),
        ("outlive", outlive),
        ("after free", after_free),
        ("attributes", attributes),
        ("export", export),
        ("reset", reset),
        ("write later", write_later),
        ("leak", leak),
        ("leave nothing", leave_nothing),
    ])
}

/// Starts a child with the handle of memory.
fn start(driver: &Driver, part: &str, handle: Bytes) -> TestResult<Child> {
    let child = Child::start(driver, ENTRY, part)?;
    child.channel().send(&handle, &[])?;
    Ok(child)
}

fn read_and_write(driver: &Driver, parent: &Channel) -> TestResult {
    let (_primary, handle) = (Primary::of(driver, 0)?, parent.receive_array()?);
    let memory = open_memory(driver, handle, LAZY)?;
    assert_eq!(read(driver, memory)?, 7);
    assert_eq!(read(driver, memory + 4080)?, 7);
    fill(driver, memory, 4096, 5)?;
    answers!(driver.cuIpcCloseMemHandle(memory), CUDA_SUCCESS);
    parent.signal()
}

fn count(driver: &Driver, parent: &Channel) -> TestResult {
    let (_primary, handle) = (Primary::of(driver, 0)?, parent.receive_array()?);
    let memory = open_memory(driver, handle, LAZY)?;
    assert_eq!(open_memory(driver, handle, LAZY)?, memory, "it is open already");
    answers!(driver.cuMemFree_v2(memory), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuIpcCloseMemHandle(memory + 256), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuIpcCloseMemHandle(memory), CUDA_SUCCESS);
    assert_eq!(read(driver, memory)?, 7);
    assert_eq!(code(memory_handle(driver, memory)), CUresult::CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuIpcCloseMemHandle(memory), CUDA_SUCCESS);
    answers!(driver.cuIpcCloseMemHandle(memory), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuIpcCloseMemHandle(0), CUDA_ERROR_INVALID_VALUE);
    for flags in [0, 2] {
        assert_eq!(code(open_memory(driver, handle, flags)), CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let again = open_memory(driver, handle, LAZY | 2)?;
    assert_eq!(read(driver, again)?, 7);
    Ok(call!(driver.cuIpcCloseMemHandle(again))?)
}

/// Opens two allocations of one block.
fn neighbours(driver: &Driver, parent: &Channel) -> TestResult {
    let (_primary, handles) = (Primary::of(driver, 0)?, [parent.receive_array()?, parent.receive_array()?]);
    let [one, two] = [open_memory(driver, handles[0], LAZY)?, open_memory(driver, handles[1], LAZY)?];
    assert_eq!([read(driver, one)?, read(driver, two)?], [7, 9]);
    call!(driver.cuIpcCloseMemHandle(one))?;
    assert_eq!(read(driver, two)?, 9);
    parent.send(&two.wrapping_sub(one).to_le_bytes(), &[])?;
    Ok(call!(driver.cuIpcCloseMemHandle(two))?)
}

/// Uses memory that its exporter frees meanwhile.
fn outlive(driver: &Driver, parent: &Channel) -> TestResult {
    let (_primary, handle) = (Primary::of(driver, 0)?, parent.receive_array()?);
    let memory = open_memory(driver, handle, LAZY)?;
    parent.signal()?;
    parent.wait()?;
    assert_eq!(read(driver, memory)?, 7);
    assert_eq!(open_memory(driver, handle, LAZY)?, memory, "memory that is open can be opened again");
    for _ in 0..2 {
        call!(driver.cuIpcCloseMemHandle(memory))?;
    }
    Ok(())
}

fn after_free(driver: &Driver, parent: &Channel) -> TestResult {
    let (_primary, handle) = (Primary::of(driver, 0)?, parent.receive_array()?);
    for refused in [handle, [0; 64], [u8::MAX; 64]] {
        assert_eq!(code(open_memory(driver, refused, LAZY)), CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    Ok(())
}

fn attribute(driver: &Driver, attribute: Attribute, address: u64) -> TestResult<u64> {
    let mut value = 0_u64;
    call!(driver.cuPointerGetAttribute((&raw mut value).cast(), attribute, address))?;
    Ok(value)
}

fn attributes(driver: &Driver, parent: &Channel) -> TestResult {
    let (primary, handle) = (Primary::of(driver, 0)?, parent.receive_array()?);
    let memory = open_memory(driver, handle, LAZY)?;
    for (kind, value) in [
        (Attribute::CU_POINTER_ATTRIBUTE_CONTEXT, primary.context.expose_provenance() as u64),
        (Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2),
        (Attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED, 0),
        (Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 0),
        (Attribute::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, 0),
        (Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, memory),
        (Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE, 4096),
        (Attribute::CU_POINTER_ATTRIBUTE_MAPPED, 1),
        (Attribute::CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, 0),
        (Attribute::CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, 3),
        (Attribute::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, 0),
        (Attribute::CU_POINTER_ATTRIBUTE_MAPPING_SIZE, 2 * MIB as u64),
    ] {
        assert_eq!(attribute(driver, kind, memory + 16)?, value, "{kind:?}");
    }
    let (mut base, mut size) = (0, 0);
    call!(driver.cuMemGetAddressRange_v2(&mut base, &mut size, memory + 16))?;
    assert_eq!((base, size), (memory, 4096));
    let mut byte = 0_u8;
    answers!(driver.cuMemcpyDtoH_v2((&raw mut byte).cast(), memory + 4096, 1), CUDA_ERROR_INVALID_VALUE);
    Ok(call!(driver.cuIpcCloseMemHandle(memory))?)
}

/// Exports memory, and waits for its end.
fn export(driver: &Driver, parent: &Channel) -> TestResult {
    let _primary = Primary::of(driver, 0)?;
    let memory = filled(driver, 8 * MIB, 7)?;
    parent.send(&memory_handle(driver, memory)?, &[])?;
    parent.wait()
}

/// Resets the context with memory open in it.
fn reset(driver: &Driver, parent: &Channel) -> TestResult {
    let (_primary, handle) = (Primary::of(driver, 0)?, parent.receive_array()?);
    open_memory(driver, handle, LAZY)?;
    call!(driver.cuDevicePrimaryCtxReset_v2(0))?;
    let _primary = Primary::of(driver, 0)?;
    let memory = open_memory(driver, handle, LAZY)?;
    fill(driver, memory, 16, 5)?;
    Ok(call!(driver.cuIpcCloseMemHandle(memory))?)
}

/// Looks at memory that work in flight of the parent writes after it was shared.
fn write_later(driver: &Driver, parent: &Channel) -> TestResult {
    let (_primary, handle) = (Primary::of(driver, 0)?, parent.receive_array()?);
    let memory = open_memory(driver, handle, LAZY)?;
    assert_eq!(read(driver, memory)?, 7);
    parent.signal()?;
    parent.wait()?;
    assert_eq!(read(driver, memory)?, 3);
    Ok(call!(driver.cuIpcCloseMemHandle(memory))?)
}

/// Leaves memory open.
fn leak(driver: &Driver, parent: &Channel) -> TestResult {
    let (_primary, handle) = (Primary::of(driver, 0)?, parent.receive_array()?);
    let memory = open_memory(driver, handle, LAZY)?;
    parent.signal()?;
    parent.wait()?;
    Ok(call!(driver.cuIpcCloseMemHandle(memory))?)
}

/// The shared objects that this process has open, and the names of shared memory in the system.
fn shared_files() -> TestResult<(usize, usize)> {
    let open = std::fs::read_dir("/proc/self/fd")?.flatten();
    let links = open.filter_map(|file| std::fs::read_link(file.path()).ok());
    let objects = links.filter(|link| link.to_string_lossy().contains("warploom shared object")).count();
    let named = std::fs::read_dir("/dev/shm")?.flatten();
    let ours = named.filter(|file| file.file_name().to_string_lossy().contains("warploom")).count();
    Ok((objects, ours))
}

/// Shares an event and memory, and gives both back.
fn leave_nothing(driver: &Driver, parent: &Channel) -> TestResult {
    let _primary = Primary::of(driver, 0)?;
    let (memory, event) = (filled(driver, 4096, 7)?, event(driver, INTERPROCESS)?);
    parent.send(&memory_handle(driver, memory)?, &[])?;
    parent.wait()?;
    assert_eq!(shared_files()?, (2, 0), "the block and the event");
    call!(driver.cuMemFree_v2(memory))?;
    call!(driver.cuEventDestroy_v2(event))?;
    assert_eq!(shared_files()?, (0, 0));
    let theirs = open_memory(driver, parent.receive_array()?, LAZY)?;
    assert_eq!(shared_files()?, (1, 0));
    call!(driver.cuIpcCloseMemHandle(theirs))?;
    assert_eq!(shared_files()?, (0, 0));
    Ok(())
}

#[test]
fn nothing_is_left_behind_by_what_was_given_back() -> TestResult {
    let (_machine, driver) = open(Topology::preset(MACHINE)?, Mode::Threads)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let child = Child::start(driver, ENTRY, "leave nothing")?;
    let opened = open_memory(driver, child.channel().receive_array()?, LAZY)?;
    child.channel().signal()?;
    let own = filled(driver, 4096, 7)?;
    child.channel().send(&memory_handle(driver, own)?, &[])?;
    child.join()?;
    call!(driver.cuIpcCloseMemHandle(opened))?;
    call!(driver.cuMemFree_v2(own))?;
    Ok(())
}

driver_tests! {
    fn bytes_are_shared_in_both_directions(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = filled(driver, 4096, 7)?;
        let child = start(driver, "read and write", memory_handle(driver, memory)?)?;
        child.channel().wait()?;
        assert_eq!(read(driver, memory)?, 5);
        child.join()?;
        call!(driver.cuMemFree_v2(memory))?;
    }

    fn memory_is_closed_as_often_as_it_was_opened(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = filled(driver, 4096, 7)?;
        start(driver, "count", memory_handle(driver, memory)?)?.join()?;
        call!(driver.cuMemFree_v2(memory))?;
    }

    fn a_handle_is_one_of_the_whole_allocation(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (one, two) = (filled(driver, 4096, 7)?, filled(driver, 4096, 9)?);
        let handle = memory_handle(driver, one)?;
        assert_eq!(memory_handle(driver, one + 100)?, handle);
        assert_ne!(memory_handle(driver, two)?, handle);
        let child = start(driver, "neighbours", handle)?;
        child.channel().send(&memory_handle(driver, two)?, &[])?;
        assert_eq!(u64::from_le_bytes(child.channel().receive_array()?), two.wrapping_sub(one));
        child.join()?;
        for memory in [one, two] {
            call!(driver.cuMemFree_v2(memory))?;
        }
    }

    fn memory_that_is_open_elsewhere_outlives_its_free(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = filled(driver, 8 * MIB, 7)?;
        let child = start(driver, "outlive", memory_handle(driver, memory)?)?;
        child.channel().wait()?;
        call!(driver.cuMemFree_v2(memory))?;
        let other = filled(driver, 8 * MIB, 3)?;
        child.channel().signal()?;
        child.join()?;
        call!(driver.cuMemFree_v2(other))?;
    }

    fn memory_that_was_freed_is_not_opened(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = filled(driver, 8 * MIB, 7)?;
        let handle = memory_handle(driver, memory)?;
        call!(driver.cuMemFree_v2(memory))?;
        start(driver, "after free", handle)?.join()?;
    }

    // An H200 opens it as long as another allocation keeps the block.
    sim fn a_part_of_a_block_that_was_freed_is_not_opened(driver) {
        let _primary = Primary::of(driver, 0)?;
        let other = filled(driver, 64, 3)?;
        let memory = filled(driver, 64, 7)?;
        let handle = memory_handle(driver, memory)?;
        call!(driver.cuMemFree_v2(memory))?;
        start(driver, "after free", handle)?.join()?;
        call!(driver.cuMemFree_v2(other))?;
    }

    fn imported_memory_has_its_own_attributes(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = filled(driver, 4096, 7)?;
        start(driver, "attributes", memory_handle(driver, memory)?)?.join()?;
        let is_capable = attribute(driver, Attribute::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, memory)?;
        assert_eq!(is_capable, 1);
        call!(driver.cuMemFree_v2(memory))?;
    }

    fn memory_of_a_killed_process_stays_where_it_is_open(driver) {
        let _primary = Primary::of(driver, 0)?;
        let child = Child::start(driver, ENTRY, "export")?;
        let handle = child.channel().receive_array()?;
        let memory = open_memory(driver, handle, LAZY)?;
        child.kill()?;
        assert_eq!(read(driver, memory + 8 * MIB as u64 - 16)?, 7);
        fill(driver, memory, 4096, 1)?;
        assert_eq!(read(driver, memory)?, 1);
        answers!(driver.cuIpcCloseMemHandle(memory), CUDA_SUCCESS);
        assert_eq!(code(open_memory(driver, handle, LAZY)), CUresult::CUDA_ERROR_INVALID_HANDLE);
    }

    fn a_killed_importer_does_not_harm_the_exporter(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = filled(driver, 4096, 7)?;
        let child = start(driver, "leak", memory_handle(driver, memory)?)?;
        child.channel().wait()?;
        child.kill()?;
        assert_eq!(read(driver, memory)?, 7);
        start(driver, "count", memory_handle(driver, memory)?)?.join()?;
        call!(driver.cuMemFree_v2(memory))?;
    }

    fn the_end_of_a_context_closes_its_imported_memory(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = filled(driver, 3 * MIB, 7)?;
        start(driver, "reset", memory_handle(driver, memory)?)?.join()?;
        assert_eq!(read(driver, memory)?, 5);
        call!(driver.cuMemFree_v2(memory))?;
    }

    fn work_in_flight_writes_to_memory_that_is_shared_meanwhile(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (memory, stream, gate) = (filled(driver, 4096, 7)?, Stream::new(driver)?, Gate::new(driver)?);
        gate.hold(stream.raw)?;
        call!(driver.cuMemsetD8Async(memory, 3, 4096, stream.raw))?;
        let child = start(driver, "write later", memory_handle(driver, memory)?)?;
        child.channel().wait()?;
        gate.open();
        stream.synchronize()?;
        child.channel().signal()?;
        child.join()?;
        call!(driver.cuMemFree_v2(memory))?;
    }

    fn only_memory_of_cu_mem_alloc_has_a_handle(driver) {
        let _primary = Primary::of(driver, 0)?;
        let refused = |address| code(memory_handle(driver, address)) == CUresult::CUDA_ERROR_INVALID_VALUE;
        let (mut host, mut managed, mut pooled, stream) = (null_mut(), 0, 0, Stream::new(driver)?);
        call!(driver.cuMemHostAlloc(&mut host, 4096, 0))?;
        call!(driver.cuMemAllocManaged(&mut managed, 4096, 1))?;
        call!(driver.cuMemAllocAsync(&mut pooled, 4096, stream.raw))?;
        stream.synchronize()?;
        assert!(refused(host.expose_provenance() as u64));
        assert!(refused(managed) && refused(pooled) && refused(0) && refused(0xdead_b000));
        let plain = filled(driver, 64, 1)?;
        assert_eq!(code(open_memory(driver, memory_handle(driver, plain)?, LAZY)), CUresult::CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuIpcCloseMemHandle(plain), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuIpcGetMemHandle(null_mut(), plain), CUDA_ERROR_INVALID_VALUE);
        for memory in [plain, managed] {
            call!(driver.cuMemFree_v2(memory))?;
        }
        call!(driver.cuMemFreeHost(host))?;
        call!(driver.cuMemFreeAsync(pooled, stream.raw))?;
        stream.synchronize()?;
    }
}

#[test]
fn altered_handles_of_memory_are_refused() -> TestResult {
    let (machine, driver) = open(Topology::preset(MACHINE)?, Mode::Threads)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let child = Child::start(driver, ENTRY, "export")?;
    let handle: Bytes = child.channel().receive_array()?;
    proptest!(ProptestConfig::with_cases(200), |(at in 0..64_usize, change in 1..=u8::MAX)| {
        let mut altered = handle;
        altered[at] ^= change;
        let refused = code(open_memory(driver, altered, LAZY));
        prop_assert!([CUresult::CUDA_ERROR_NOT_PERMITTED, CUresult::CUDA_ERROR_INVALID_VALUE].contains(&refused));
    });
    assert_eq!(machine.census().live(Resource::ImportedMemory), 0);
    child.channel().signal()?;
    child.join()
}

#[test]
fn imported_memory_that_is_never_closed_is_a_leak() -> TestResult {
    let (machine, driver) = open(Topology::preset(MACHINE)?, Mode::Deterministic(Order::Lazy))?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let child = Child::start(driver, ENTRY, "export")?;
    let memory = open_memory(driver, child.channel().receive_array()?, LAZY)?;
    assert_eq!(machine.census().to_string(), "1 retained primary context, 1 imported allocation");
    let leaks = machine.leaks();
    let leak = leaks.iter().find(|leak| matches!(&leak.kind, FindingKind::Leak { .. })).ok_or("there is a leak")?;
    assert!(leaks.iter().any(|leak| leak.to_string().contains("imported")), "{leak}");
    call!(driver.cuIpcCloseMemHandle(memory))?;
    assert_eq!(machine.census().live(Resource::ImportedMemory), 0);
    child.channel().signal()?;
    child.join()
}

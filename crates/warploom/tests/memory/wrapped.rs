//! Memory of a resource that was allocated by its address: wrapped, refused, and freed; and the kinds of
//! memory.
#![expect(unsafe_code, reason = "wraps memory by its address, and gives it back")]

use std::sync::Arc;

use warploom::{
    Buffer, Context, ContextError, ContextOptions, DeviceMemory, DevicePool, Driver, Error, Function, ManagedBuffer,
    ManagedMemory, ManagedPool, MemoryError, MemoryKind, OrderedResource, PinnedBuffer, PinnedMemory, PinnedPool,
    Result, Stream, StreamOrdered, Synchronous, SynchronousResource, VirtualMemory,
};
use warploom_testkit::{TestResult, budget, driver_tests};

use crate::spy::Spy;

fn setup(driver: &Driver) -> TestResult<(Context, Stream, Stream)> {
    let context = driver.device(0)?.context()?;
    let (home, other) = (context.stream()?, context.stream()?);
    Ok((context, home, other))
}

/// Every resource that frees in the order of a stream.
fn ordered(context: &Context) -> Result<[Arc<dyn StreamOrdered>; 4]> {
    Ok([
        DevicePool::new(context)?.resource(),
        DevicePool::default_of(context)?.resource(),
        PinnedPool::new(context)?.resource(),
        ManagedPool::new(context)?.resource(),
    ])
}

/// Every resource that frees at once.
fn synchronous(context: &Context) -> Result<[Arc<dyn Synchronous>; 4]> {
    Ok([
        DeviceMemory::new(context).resource(),
        PinnedMemory::new(context).resource(),
        ManagedMemory::new(context)?.resource(),
        VirtualMemory::new(context)?.resource(),
    ])
}

const EMPTY: Error = Error::Memory(MemoryError::EmptyBuffer);
const TOO_LARGE: Error = Error::Memory(MemoryError::TooLarge { len: usize::MAX / 2, element: 4 });

driver_tests! {
    /// S4.19, S4.21: the stream that a pointer was wrapped with frees it, or the one that was named last;
    /// never another, and once.
    fn a_wrapped_pointer_is_freed_on_the_stream_that_was_given(driver) {
        let (context, home, other) = setup(driver)?;
        for below in ordered(&context)? {
            let spy = Spy::on(&below);
            let wrap = |queue: &Stream| -> Result<Buffer<u32>> {
                let address = spy.allocate_raw(64, queue)?;
                // SAFETY: allocated above, with this size and on this stream, and used by nothing else.
                unsafe { Buffer::from_ordered(address, 16, &spy, queue) }
            };
            let freed_on = || spy.freed().into_iter().map(|(_, stream)| stream).collect::<Vec<_>>();
            drop(wrap(&home)?);
            wrap(&other)?.close()?;
            assert_eq!(freed_on(), [home.clone(), other.clone()], "the one that it was wrapped with");
            wrap(&home)?.close_on(&other)?;
            let mut moved = wrap(&home)?;
            moved.set_free_stream(&other)?;
            drop(moved);
            assert_eq!(freed_on(), [other.clone(), other.clone()], "the one that was named last");
            let mut used = wrap(&home)?;
            used.fill(1, &other)?;
            std::thread::spawn(move || drop(used)).join().expect("it does not panic");
            assert_eq!(freed_on(), std::slice::from_ref(&home), "on whichever thread, whoever else used it");
            context.synchronize()?;
        }
    }

    /// S4.7: a managed buffer is closed on its recorded stream, or on one that the caller names.
    fn a_managed_buffer_is_closed_on_a_stream(driver) {
        let (context, home, other) = setup(driver)?;
        let spy = Spy::on(&ManagedPool::new(&context)?);
        let make = || ManagedBuffer::try_from(spy.allocate::<u32>(16, &home)?);
        make()?.close()?;
        make()?.close_on(&other)?;
        let freed: Vec<Stream> = spy.freed().into_iter().map(|(_, stream)| stream).collect();
        assert_eq!(freed, [home, other.clone()]);
        let at_once = ManagedMemory::new(&context)?.allocate::<u32>(16)?;
        assert_eq!(at_once.close_on(&other), Err(Error::Memory(MemoryError::NotStreamOrdered)));
    }

    /// S4.16: a wrap that fails frees nothing, with every resource and every type of buffer; the address is
    /// still the caller's.
    fn a_failed_wrap_with_a_stream_ordered_resource_frees_nothing(driver) {
        let (context, home, _) = setup(driver)?;
        let created = driver.device(0)?.create_context(ContextOptions::new())?;
        let elsewhere = created.stream()?;
        for resource in ordered(&context)? {
            let address = resource.allocate_raw(64, &home)?;
            home.synchronize()?;
            let mismatch = |error: Option<Error>| matches!(error, Some(Error::Context(ContextError::Mismatch { .. })));
            budget(driver, &[], || {
                // SAFETY: refused, so that nothing is used or given back.
                unsafe {
                    let wrap = |len, queue| Buffer::<u32>::from_ordered(address, len, &resource, queue).err();
                    assert_eq!((wrap(0, &home), wrap(usize::MAX / 2, &home)), (Some(EMPTY), Some(TOO_LARGE)));
                    assert!(mismatch(wrap(16, &elsewhere)));
                    let managed = |len, queue| ManagedBuffer::<u32>::from_ordered(address, len, &resource, queue).err();
                    assert_eq!((managed(0, &home), managed(usize::MAX / 2, &home)), (Some(EMPTY), Some(TOO_LARGE)));
                    assert!(mismatch(managed(16, &elsewhere)));
                    let pinned = |len, queue| PinnedBuffer::<u32>::from_ordered(address, len, &resource, queue).err();
                    assert_eq!((pinned(0, &home), pinned(usize::MAX / 2, &home)), (Some(EMPTY), Some(TOO_LARGE)));
                    if resource.is_pinned() {
                        assert!(mismatch(pinned(16, &elsewhere)));
                    } else {
                        assert_eq!(pinned(16, &home), Some(Error::Memory(MemoryError::NotPinned)));
                    }
                }
            });
            // SAFETY: allocated above, and still the caller's.
            unsafe { resource.deallocate_raw(address, 64, &home) }?;
            home.synchronize()?;
        }
    }

    /// S4.16: the same for resources that free at once.
    fn a_failed_wrap_with_a_synchronous_resource_frees_nothing(driver) {
        let (context, ..) = setup(driver)?;
        for resource in synchronous(&context)? {
            let address = resource.allocate_raw(64)?;
            budget(driver, &[], || {
                // SAFETY: refused, so that nothing is used or given back.
                unsafe {
                    let wrap = |len| Buffer::<u32>::from_synchronous(address, len, &resource).err();
                    assert_eq!((wrap(0), wrap(usize::MAX / 2)), (Some(EMPTY), Some(TOO_LARGE)));
                    let managed = |len| ManagedBuffer::<u32>::from_synchronous(address, len, &resource).err();
                    assert_eq!((managed(0), managed(usize::MAX / 2)), (Some(EMPTY), Some(TOO_LARGE)));
                    let pinned = |len| PinnedBuffer::<u32>::from_synchronous(address, len, &resource).err();
                    assert_eq!((pinned(0), pinned(usize::MAX / 2)), (Some(EMPTY), Some(TOO_LARGE)));
                    if resource.is_pinned() {
                        let unaligned = PinnedBuffer::<u32>::from_synchronous(address + 1, 1, &resource).err();
                        let cast = MemoryError::Cast { bytes: 4, address: address + 1, size: 4, align: 4 };
                        assert_eq!(unaligned, Some(Error::Memory(cast)));
                    } else {
                        assert_eq!(pinned(16), Some(Error::Memory(MemoryError::NotPinned)));
                    }
                }
            });
            // SAFETY: allocated above, and still the caller's.
            unsafe { resource.deallocate_raw(address, 64) }?;
        }
    }

    /// BUF-2: every type of buffer wraps memory of a resource, and gives it back.
    fn wrapped_memory_is_used_and_given_back(driver) {
        let (context, stream, _) = setup(driver)?;
        for (resource, free) in synchronous(&context)?.into_iter().zip([
            Function::cuMemFree_v2,
            Function::cuMemFreeHost,
            Function::cuMemFree_v2,
            Function::cuMemAddressFree,
        ]) {
            let address = resource.allocate_raw(64)?;
            // SAFETY: allocated above, with this size, and used by nothing else.
            let mut buffer = unsafe { Buffer::<u32>::from_synchronous(address, 16, &resource) }?;
            buffer.fill(7, &stream)?;
            assert_eq!(buffer.download(&stream)?, [7; 16]);
            let calls = driver.count_calls();
            buffer.close()?;
            assert_eq!(calls.count(free), 1);
        }
        let (memory, pool) = (PinnedMemory::new(&context), PinnedPool::new(&context)?);
        let (first, second) = (memory.resource().allocate_raw(64)?, pool.resource().allocate_raw(64, &stream)?);
        // SAFETY: as above.
        let mut at_once = unsafe { PinnedBuffer::<u32>::from_synchronous(first, 16, &memory) }?;
        // SAFETY: as above.
        let mut in_order = unsafe { PinnedBuffer::<u32>::from_ordered(second, 16, &pool, &stream) }?;
        at_once.fill(3);
        in_order.copy_from_slice(&at_once);
        assert_eq!(in_order.as_slice(), [3; 16]);
        budget(driver, &[(Function::cuMemFreeHost, 1), (Function::cuMemFreeAsync, 1)], || drop((at_once, in_order)));
    }

    /// BUF-8, BUF-9: the kind of memory is its resource's answer, without a driver call.
    fn the_kind_of_memory_is_known_from_its_resource(driver) {
        let (context, stream, _) = setup(driver)?;
        let kinds = [MemoryKind::Device, MemoryKind::Device, MemoryKind::Pinned, MemoryKind::Managed];
        for (resource, kind) in ordered(&context)?.into_iter().zip(kinds) {
            let buffer = resource.allocate::<u8>(64, &stream)?;
            assert_eq!(budget(driver, &[], || buffer.kind())?, kind, "{}", resource.name());
            assert_eq!(buffer.is_managed()?, kind == MemoryKind::Managed);
        }
        let kinds = [MemoryKind::Device, MemoryKind::Pinned, MemoryKind::Managed, MemoryKind::Device];
        for (resource, kind) in synchronous(&context)?.into_iter().zip(kinds) {
            let buffer = resource.allocate::<u8>(64)?;
            assert_eq!(budget(driver, &[], || buffer.kind())?, kind, "{}", resource.name());
            assert_eq!(buffer.is_managed()?, kind == MemoryKind::Managed);
        }
        let accessible = |kind: MemoryKind| (kind.is_device_accessible(), kind.is_host_accessible());
        assert_eq!(accessible(MemoryKind::Device), (true, false));
        assert_eq!((accessible(MemoryKind::Pinned), accessible(MemoryKind::Managed)), ((true, true), (true, true)));
        assert_eq!(accessible(MemoryKind::Pageable), (false, true));
    }

    /// BUF-8: about memory of other code the driver is asked, once.
    fn the_kind_of_memory_of_others_is_asked_once(driver) {
        let (context, ..) = setup(driver)?;
        let device = DeviceMemory::new(&context).allocate::<u8>(64)?;
        let pinned = PinnedMemory::new(&context).buffer::<u8>(64)?.into_buffer();
        let managed = ManagedMemory::new(&context)?.allocate::<u8>(64)?;
        let pageable = [0_u8; 64];
        for (address, kind) in [
            (device.as_raw(), MemoryKind::Device),
            (pinned.as_raw(), MemoryKind::Pinned),
            (managed.as_raw(), MemoryKind::Managed),
            (pageable.as_ptr().addr() as u64, MemoryKind::Pageable),
        ] {
            // SAFETY: the memory is there until the end of this body, and nothing is done with it.
            let unknown = unsafe { Buffer::<u8>::borrowed(address, 64, &context) }?;
            let asked = budget(driver, &[(Function::cuPointerGetAttributes, 1)], || unknown.slice(8..)?.kind())?;
            assert_eq!((asked, budget(driver, &[], || unknown.kind())?), (kind, kind));
            assert_eq!(unknown.is_managed()?, kind == MemoryKind::Managed);
        }
    }
}

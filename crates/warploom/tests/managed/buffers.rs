//! Managed buffers, and the check that memory is managed.
#![expect(unsafe_code, reason = "wraps memory that others made")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use warploom::{
    Buffer, Counted, DeviceMemory, DevicePool, Error, Function, ManagedBuffer, ManagedError, ManagedPool, MemoryError,
    OrderedResource, PinnedMemory, SynchronousResource, copy_batch,
};
use warploom_testkit::{budget, driver_tests};

use super::setup;

/// Says that it was dropped.
struct Owner(Arc<AtomicBool>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

const REFUSED: Error = Error::Managed(ManagedError::NotManaged { what: "ManagedBuffer", index: None });

driver_tests! {
    /// S1.12, S1.37: both resources give managed buffers, and these are buffers.
    fn managed_resources_give_managed_buffers(driver) {
        let (context, stream, memory) = setup(driver)?;
        let pool = ManagedPool::new(&context)?;
        let mut from_pool: ManagedBuffer<u32> = pool.allocate(4, &stream)?;
        let mut from_memory: ManagedBuffer<u32> = memory.allocate(4)?;
        from_pool.fill(7, &stream)?;
        from_memory.copy_from_host(&[1, 2, 3, 4], &stream)?;
        from_memory.slice(..2)?.copy_to(from_pool.slice_mut(2..)?, &stream)?;
        assert_eq!(from_pool.download(&stream)?, [7, 7, 1, 2]);
        copy_batch([(&from_pool, &mut from_memory)], &stream)?;
        assert_eq!(from_memory.duplicate(&stream)?.download(&stream)?, [7, 7, 1, 2]);
        assert_eq!(pool.zeroed::<u8>(3, &stream)?.download(&stream)?, [0; 3]);
        assert_eq!(memory.upload(b"abc", &stream)?.download(&stream)?, b"abc");
        from_pool.zero(&stream)?;
        from_pool.set_free_stream(&stream)?;
        from_pool.close()?;
        assert_eq!(Buffer::from(from_memory).len(), 4);
    }

    /// S1.11: the resource is asked first, also through others that stand on it, and then the driver is not
    /// asked.
    fn a_buffer_of_a_managed_resource_is_managed_without_asking(driver) {
        let (context, stream, memory) = setup(driver)?;
        let pool = ManagedPool::new(&context)?;
        let ordered: Buffer = OrderedResource::allocate(&Counted::ordered(&pool), 64, &stream)?;
        let synchronous: Buffer = SynchronousResource::allocate(&Counted::synchronous(&memory), 64)?;
        let kept = budget(driver, &[], || [ordered, synchronous].map(ManagedBuffer::try_from));
        assert!(kept.iter().all(Result::is_ok), "{kept:?}");
    }

    /// S1.10, S1.11: other memory is asked about.
    fn other_buffers_are_not_managed(driver) {
        let (context, stream, _memory) = setup(driver)?;
        let pooled = DevicePool::new(&context)?.allocate::<u8>(64, &stream)?;
        let plain = DeviceMemory::new(&context).allocate::<u8>(64)?;
        let pinned = PinnedMemory::new(&context).buffer::<u8>(64)?.into_buffer();
        for buffer in [pooled, plain, pinned] {
            assert_eq!(ManagedBuffer::try_from(buffer).map(drop), Err(REFUSED));
        }
    }

    /// S1.11: the driver is asked about a pointer once, also when the answer is no.
    fn a_pointer_is_asked_about_once(driver) {
        let (context, stream, memory) = setup(driver)?;
        let owner = memory.upload(&[7_u8; 64], &stream)?;
        let device = DeviceMemory::new(&context).allocate::<u8>(64)?;
        // SAFETY: both outlive what borrows them, and nobody else writes them.
        let (wrapped, lie) = unsafe {
            (
                ManagedBuffer::<u8>::borrowed(owner.as_raw(), 64, &context)?,
                ManagedBuffer::<u8>::borrowed(device.as_raw(), 64, &context)?,
            )
        };
        assert_eq!(owner.host()?, [7; 64]);
        budget(driver, &[(Function::cuPointerGetAttribute, 1)], || assert_eq!(wrapped.host().map(|values| values.to_vec()), Ok(vec![7; 64])));
        budget(driver, &[], || assert_eq!(wrapped.host().map(|values| values.to_vec()), Ok(vec![7; 64])));
        let refused = Err(Error::Managed(ManagedError::NotManaged { what: "host access", index: None }));
        budget(driver, &[(Function::cuPointerGetAttribute, 1)], || assert_eq!(lie.host(), refused));
        budget(driver, &[], || assert_eq!(lie.host(), refused));
    }

    /// S1.10, S1.13: memory that the driver has never heard of is not managed, and asking is no error.
    fn memory_of_the_program_s_own_is_not_managed(driver) {
        let (context, _stream, _memory) = setup(driver)?;
        let own = Box::new([0_u8; 64]);
        let address = own.as_ptr().addr() as u64;
        // SAFETY: it is there while it is borrowed, and nothing is enqueued with it.
        let wrapped = unsafe { ManagedBuffer::<u8>::borrowed(address, 64, &context) }?;
        assert_eq!(wrapped.host(), Err(Error::Managed(ManagedError::NotManaged { what: "host access", index: None })));
        drop(wrapped);
        drop(own);
    }

    /// S1.12: with an owner, who stays until the buffer and its work are gone.
    fn foreign_memory_keeps_its_owner(driver) {
        let (context, stream, memory) = setup(driver)?;
        let gone = Arc::new(AtomicBool::new(false));
        let owner = (memory.zeroed::<u32>(16, &stream)?, Owner(Arc::clone(&gone)));
        let address = owner.0.as_raw();
        stream.synchronize()?;
        // SAFETY: the owner owns the memory.
        let mut wrapped = unsafe { ManagedBuffer::<u32>::from_owner(address, 16, &context, owner) }?;
        wrapped.fill(9, &stream)?;
        assert_eq!(wrapped.host()?, [9; 16]);
        assert!(!gone.load(Ordering::SeqCst));
        drop(wrapped);
        assert!(gone.load(Ordering::SeqCst));
    }

    /// S1.12: with a resource and a free order, or with a resource that frees at once.
    fn foreign_memory_goes_back_to_its_resource(driver) {
        let (context, stream, memory) = setup(driver)?;
        let other = context.stream()?;
        let counted = Counted::ordered(&ManagedPool::new(&context)?);
        let address = counted.resource().allocate_raw(64, &stream)?;
        other.wait_for(&stream)?;
        // SAFETY: the address has just come from the resource with that size, and `other` has waited for it.
        let mut ordered = unsafe { ManagedBuffer::<u32>::from_ordered(address, 16, &counted, &other) }?;
        ordered.fill(3, &other)?;
        assert_eq!(ordered.host()?, [3; 16]);
        let freed = budget(driver, &[(Function::cuMemFreeAsync, 1)], || {
            drop(ordered);
            counted.counts().live_bytes
        });
        assert_eq!(freed, 0);
        let address = SynchronousResource::resource(&memory).allocate_raw(64)?;
        // SAFETY: as above.
        let mut synchronous = unsafe { ManagedBuffer::<u32>::from_synchronous(address, 16, &memory) }?;
        synchronous.fill(4, &stream)?;
        assert_eq!(synchronous.host()?, [4; 16]);
        budget(driver, &[(Function::cuMemFree_v2, 1)], || drop(synchronous));
        // SAFETY: nothing is wrapped.
        let refused = unsafe { ManagedBuffer::<u32>::from_synchronous(address, 0, &memory) };
        assert_eq!(refused.map(drop), Err(Error::Memory(MemoryError::EmptyBuffer)));
    }
}

//! The stream on which memory is freed, for every resource and every place of the drop.

use std::sync::Arc;

use warploom::{
    Buffer, Context, DeviceMemory, DevicePool, Driver, Error, Function, ManagedPool, MemoryError, OrderedResource,
    PinnedMemory, PinnedPool, Result, Stream, SynchronousResource, VirtualMemory,
};
use warploom_testkit::{TestResult, budget, driver_tests};

use crate::spy::Spy;

/// The streams on which memory was freed since this was last asked.
fn freed_on(spy: &Spy) -> Vec<Stream> {
    spy.freed().into_iter().map(|(_, stream)| stream).collect()
}

fn setup(driver: &Driver) -> TestResult<(Context, Stream, Stream)> {
    let context = driver.device(0)?.context()?;
    let (home, other) = (context.stream()?, context.stream()?);
    Ok((context, home, other))
}

/// A spy on every resource that frees in the order of a stream.
fn spies(context: &Context) -> Result<[Arc<Spy>; 4]> {
    Ok([
        Spy::on(&DevicePool::new(context)?),
        Spy::on(&DevicePool::default_of(context)?),
        Spy::on(&PinnedPool::new(context)?),
        Spy::on(&ManagedPool::new(context)?),
    ])
}

driver_tests! {
    /// S4.7, S4.9, S4.10, S4.11, S4.19, S4.23: the stream that it was allocated on, or the one that was named
    /// last; never another.
    fn memory_is_freed_on_a_stream_that_was_given(driver) {
        let (context, home, other) = setup(driver)?;
        for spy in spies(&context)? {
            let make = || spy.allocate::<u8>(64, &home);
            drop(make()?);
            make()?.close()?;
            assert_eq!(freed_on(&spy), [home.clone(), home.clone()], "without a word about it");
            make()?.close_on(&other)?;
            let mut moved = make()?;
            moved.set_free_stream(&other)?;
            drop(moved);
            assert_eq!(freed_on(&spy), [other.clone(), other.clone()], "as it was told");
            let mut used = make()?;
            used.zero(&other)?;
            drop(used);
            assert_eq!(freed_on(&spy), std::slice::from_ref(&home), "whoever else used it");
            let elsewhere = make()?;
            std::thread::spawn(move || drop(elsewhere)).join().expect("it does not panic");
            let mine = make()?;
            context.scope(|| drop(mine))?;
            assert_eq!(freed_on(&spy), [home.clone(), home.clone()], "on whichever thread, whatever is current");
            home.synchronize()?;
        }
    }

    /// S4.13, S4.17, S4.19: default streams are bound to their context where they are named, so that nothing
    /// has to be current.
    fn default_streams_are_given_as_they_were_named(driver) {
        let (context, ..) = setup(driver)?;
        let spy = Spy::on(&DevicePool::new(&context)?);
        let (legacy, mine) = (context.legacy_stream(), context.per_thread_stream());
        drop(spy.allocate::<u8>(64, &legacy)?);
        drop(spy.allocate::<u8>(64, &mine)?);
        assert_eq!(freed_on(&spy), [legacy.clone(), mine.clone()]);
        let elsewhere = spy.allocate::<u8>(64, &mine)?;
        std::thread::spawn(move || drop(elsewhere)).join().expect("it does not panic");
        assert_eq!(freed_on(&spy), [legacy], "the one substitution there is");
    }

    /// S4.5, S4.8, S4.19: what is freed at once is given no stream; which of the two a resource is, its trait
    /// says.
    fn memory_that_is_freed_at_once_is_given_no_stream(driver) {
        fn frees_at_once(from: &impl SynchronousResource, driver: &Driver, frees: &[(Function, u64)]) -> Result<()> {
            let buffer = from.allocate::<u8>(64)?;
            assert_eq!(buffer.context(), from.resource().context());
            budget(driver, frees, || buffer.close())
        }
        let (context, ..) = setup(driver)?;
        frees_at_once(&DeviceMemory::new(&context), driver, &[(Function::cuMemFree_v2, 1)])?;
        frees_at_once(&PinnedMemory::new(&context), driver, &[(Function::cuMemFreeHost, 1)])?;
        let unmapped = [Function::cuMemUnmap, Function::cuMemRelease, Function::cuMemAddressFree].map(|call| (call, 1));
        frees_at_once(&VirtualMemory::new(&context)?, driver, &unmapped)?;
    }

    /// S4.20: foreign memory with an owner drops it, without an owner stays as it is; neither makes a driver
    /// call.
    fn memory_of_others_is_not_freed(driver) {
        let (context, home, _) = setup(driver)?;
        let (memory, owner) = (DeviceMemory::new(&context).allocate::<u8>(64)?, Arc::new(()));
        #[expect(unsafe_code, reason = "wraps memory that somebody else owns")]
        // SAFETY: the memory is there until the end of this body, and used by nobody else.
        let (owned, borrowed) = unsafe {
            let owned = Buffer::<u8>::from_owner(memory.as_raw(), 32, &context, Arc::clone(&owner))?;
            (owned, Buffer::<u8>::borrowed(memory.as_raw() + 32, 32, &context)?)
        };
        assert_eq!(Arc::strong_count(&owner), 2);
        budget(driver, &[], || drop((owned, borrowed)));
        assert_eq!(Arc::strong_count(&owner), 1);
        assert_eq!(memory.close_on(&home), Err(Error::Memory(MemoryError::NotStreamOrdered)));
    }

    /// S4.16: memory that cannot be wrapped stays its owner's, with its values, and the refused buffer holds
    /// no part of it.
    fn memory_that_cannot_be_wrapped_is_not_freed(driver) {
        let (context, home, _) = setup(driver)?;
        let memory = Arc::new(DeviceMemory::new(&context).upload(&[7_u8; 64], &home)?);
        let calls = driver.record_calls();
        #[expect(unsafe_code, reason = "wraps memory that somebody else owns")]
        // SAFETY: refused, so that nothing is used.
        let (large, borrowed) = unsafe {
            let large = Buffer::<u64>::from_owner(memory.as_raw(), usize::MAX / 2, &context, Arc::clone(&memory));
            (large, Buffer::<u64>::borrowed(memory.as_raw(), usize::MAX / 2, &context))
        };
        let too_large = Error::Memory(MemoryError::TooLarge { len: usize::MAX / 2, element: 8 });
        assert_eq!(large.map(drop), Err(too_large.clone()));
        assert_eq!(borrowed.map(drop), Err(too_large));
        assert!(calls.take().is_empty(), "nothing is freed or waited for");
        let memory = Arc::into_inner(memory).expect("the refused buffers let go of it");
        assert_eq!(memory.download(&home)?, [7; 64]);
        memory.close()?;
    }
}

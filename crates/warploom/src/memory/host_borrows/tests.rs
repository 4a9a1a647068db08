use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use warploom_driver::sys::Function;
use warploom_sim::Machine;

use crate::memory::{Access, GraphMemory};
use crate::{Buffer, Context, DevicePool, Driver, Error, ManagedMemory, MemoryError, PinnedMemory, Result};

fn context() -> Context {
    let machine = Machine::preset("h200").expect("a machine");
    let driver = Driver::open(&machine).expect("a driver");
    driver.device(0).and_then(|device| device.context()).expect("a context")
}

fn uses(buffer: &Buffer) -> GraphMemory {
    let mut uses = GraphMemory::default();
    uses.add(buffer.allocation(), Access::Write);
    uses
}

fn borrowed(buffer: &Buffer) -> Error {
    MemoryError::HostBorrowed { address: buffer.as_raw(), bytes: buffer.size_in_bytes() }.into()
}

#[test]
fn a_launch_is_refused_while_the_host_borrows() -> Result<()> {
    let context = context();
    let stream = context.stream()?;
    let mut managed = ManagedMemory::new(&context)?.allocate::<u8>(64)?;
    let (uses, refused) = (uses(&managed), borrowed(&managed));
    let launches = || uses.begin_launch(&stream).map(|launching| launching.enqueued());
    launches()?;
    {
        let (_one, _two) = (managed.host()?, managed.host()?);
        assert_eq!(launches(), Err(refused.clone()));
    }
    launches()?;
    let exclusive = managed.host_mut()?;
    assert_eq!(launches(), Err(refused));
    drop(exclusive);
    launches()
}

#[test]
fn a_launch_is_refused_while_the_memory_is_a_pinned_buffer() -> Result<()> {
    let context = context();
    let stream = context.stream()?;
    let buffer = PinnedMemory::new(&context).buffer::<u8>(64)?.into_buffer();
    let (uses, refused) = (uses(&buffer), borrowed(&buffer));
    let launches = || uses.begin_launch(&stream).map(|launching| launching.enqueued());
    launches()?;
    let pinned = buffer.into_pinned()?;
    assert_eq!(launches(), Err(refused.clone()));
    let mut device = DevicePool::new(&context)?.zeroed::<u8>(64, &stream)?;
    let copying = device.as_slice_mut().copy_from_pinned(pinned, &stream)?;
    assert_eq!(launches(), Err(refused.clone()), "the copy has it");
    let pinned = copying.wait()?;
    assert_eq!(launches(), Err(refused));
    let buffer = pinned.into_buffer();
    launches()?;
    drop(buffer.into_pinned()?);
    launches()
}

#[test]
fn a_refused_launch_begins_nothing() -> Result<()> {
    let context = context();
    let stream = context.stream()?;
    let memory = ManagedMemory::new(&context)?;
    let (mut first, second) = (memory.allocate::<u8>(64)?, memory.allocate::<u8>(64)?);
    let mut both = uses(&first);
    both.add(second.allocation(), Access::Read);
    let borrow = second.host()?;
    assert_eq!(both.begin_launch(&stream).map(drop), Err(borrowed(&second)));
    drop(borrow);
    // It would wait for ever for a launch that has begun.
    first.host_mut()?.fill(1);
    both.begin_launch(&stream)?.enqueued();
    Ok(())
}

#[test]
fn a_borrow_waits_for_the_streams_of_launches() -> Result<()> {
    let context = context();
    let stream = context.stream()?;
    let mut managed = ManagedMemory::new(&context)?.allocate::<u8>(64)?;
    uses(&managed).begin_launch(&stream)?.enqueued();
    let calls = context.driver().count_calls();
    drop(managed.host_mut()?);
    assert_eq!(calls.count(Function::cuStreamSynchronize), 1);
    drop(managed.host_mut()?);
    assert_eq!(calls.count(Function::cuStreamSynchronize), 1, "it has been waited for");
    Ok(())
}

#[test]
fn a_borrow_waits_until_a_launch_is_enqueued() -> Result<()> {
    let context = context();
    let stream = context.stream()?;
    let managed = ManagedMemory::new(&context)?.allocate::<u8>(64)?;
    let uses = uses(&managed);
    let is_enqueued = AtomicBool::new(false);
    thread::scope(|scope| {
        let launching = uses.begin_launch(&stream)?;
        let borrow = scope.spawn(|| managed.host().map(|_| is_enqueued.load(Ordering::Acquire)));
        thread::sleep(Duration::from_millis(20));
        is_enqueued.store(true, Ordering::Release);
        launching.enqueued();
        assert!(borrow.join().expect("it does not panic")?, "borrowed while a launch was being enqueued");
        Ok(())
    })
}

#[test]
fn borrows_and_launches_of_many_threads_exclude_each_other() -> Result<()> {
    let context = context();
    let managed = ManagedMemory::new(&context)?.allocate::<u8>(64)?;
    let uses = uses(&managed);
    let is_borrowed = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let stream = context.stream().expect("a stream");
                for _ in 0..500 {
                    if let Ok(launching) = uses.begin_launch(&stream) {
                        assert!(!is_borrowed.load(Ordering::Acquire), "launched while borrowed");
                        launching.enqueued();
                    }
                }
            });
        }
        for _ in 0..500 {
            let borrow = managed.host().expect("a borrow");
            is_borrowed.store(true, Ordering::Release);
            thread::yield_now();
            is_borrowed.store(false, Ordering::Release);
            drop(borrow);
        }
    });
    Ok(())
}

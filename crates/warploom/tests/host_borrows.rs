//! Borrows by the host, and launches of graphs that use the same memory.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use warploom::capture::Relaxed;
use warploom::graph::reclaim;
use warploom::{
    Context, DeviceCopy, DeviceMemory, DevicePool, Driver, Error, Function, GraphDef, ManagedMemory, MemoryError,
    PinnedMemory, Slice, Stream, VirtualMemory,
};
use warploom_testkit::{TestResult, budget, driver_tests};

use crate::gate::Gate;

mod gate;

/// Large enough that no copy of it is done at once.
const LEN: usize = 1 << 20;

fn setup(driver: &Driver) -> TestResult<(Context, Stream)> {
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    Ok((context, stream))
}

fn borrowed<'a, T: DeviceCopy>(memory: impl Into<Slice<'a, T>>) -> Error {
    let memory = memory.into();
    MemoryError::HostBorrowed { address: memory.as_raw(), bytes: memory.size_in_bytes() }.into()
}

/// Calls `wait` on another thread while the stream is held up, and returns `true` if it has waited.
fn waits(stream: &Stream, enqueue: impl FnOnce() -> TestResult, wait: impl FnOnce() + Send) -> TestResult<bool> {
    let gate = Gate::close(stream)?;
    enqueue()?;
    let (is_open, started) = (AtomicBool::new(false), Barrier::new(2));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            started.wait();
            wait();
            is_open.load(Ordering::Acquire)
        });
        started.wait();
        thread::sleep(Duration::from_millis(20));
        is_open.store(true, Ordering::Release);
        gate.open();
        waiting.join().map_err(|_| "the wait panicked".into())
    })
}

driver_tests! {
    fn a_graph_is_not_launched_while_the_host_borrows_managed_memory(driver) {
        let (context, stream) = setup(driver)?;
        let mut managed = ManagedMemory::new(&context)?.zeroed::<u32>(64, &stream)?;
        let graph = GraphDef::new(&context)?;
        graph.entry().fill(&mut managed, 7)?;
        let exec = graph.instantiate()?;
        let refused = borrowed(&managed);
        {
            let values = managed.host()?;
            assert_eq!(exec.launch(&stream), Err(refused.clone()));
            assert_eq!(values, [0; 64]);
        }
        {
            let mut values = managed.host_mut()?;
            assert_eq!(exec.launch(&stream), Err(refused));
            values[0] = 1;
        }
        exec.launch(&stream)?;
        assert_eq!(managed.host()?, [7; 64], "the borrow waits for the launch");
    }

    fn a_captured_graph_is_not_launched_while_the_host_borrows(driver) {
        let (context, stream) = setup(driver)?;
        let mut managed = ManagedMemory::new(&context)?.zeroed::<u32>(64, &stream)?;
        let capture = stream.capture(Relaxed)?;
        managed.fill(7, &capture)?;
        let exec = capture.end()?.instantiate()?;
        let values = managed.host()?;
        assert_eq!(exec.launch(&stream), Err(borrowed(&managed)));
        drop(values);
        exec.launch(&stream)?;
        assert_eq!(managed.host()?, [7; 64]);
    }

    fn a_borrow_waits_for_launches_in_flight(driver) {
        let (context, stream) = setup(driver)?;
        let mut managed = ManagedMemory::new(&context)?.zeroed::<u8>(LEN, &stream)?;
        let graph = GraphDef::new(&context)?;
        graph.entry().fill(&mut managed, 7)?;
        let exec = graph.instantiate()?;
        exec.launch(&stream)?;
        stream.synchronize()?;
        let shared = &managed;
        let borrow = || assert_eq!(shared.host().expect("a borrow")[LEN - 1], 7);
        assert!(waits(&stream, || Ok(exec.launch(&stream)?), borrow)?);
    }

    /// The usual cycle: the host writes the next input into the memory that the graph reads.
    fn a_graph_reads_pinned_memory_that_the_host_writes_in_between(driver) {
        let (context, stream) = setup(driver)?;
        let mut device = DevicePool::new(&context)?.zeroed::<u32>(64, &stream)?;
        let mut input = PinnedMemory::new(&context).buffer::<u32>(64)?.into_buffer();
        let graph = GraphDef::new(&context)?;
        graph.entry().copy(&input, &mut device)?;
        let exec = graph.instantiate()?;
        for round in 1..4 {
            let mut pinned = input.into_pinned()?;
            pinned.fill(round);
            input = pinned.into_buffer();
            exec.launch(&stream)?;
            assert_eq!(device.download(&stream)?, [round; 64]);
        }
        let refused = borrowed(&input);
        let pinned = input.into_pinned()?;
        assert_eq!(exec.launch(&stream), Err(refused));
        drop(pinned.into_buffer());
        exec.launch(&stream)?;
        stream.synchronize()?;
    }

    fn into_pinned_waits_for_launches_in_flight(driver) {
        let (context, stream) = setup(driver)?;
        let device = DevicePool::new(&context)?.upload(&vec![7_u8; LEN], &stream)?;
        let mut output = PinnedMemory::new(&context).buffer::<u8>(LEN)?.into_buffer();
        let graph = GraphDef::new(&context)?;
        graph.entry().copy(&device, &mut output)?;
        let exec = graph.instantiate()?;
        let output = output;
        let wait = || assert_eq!(output.into_pinned().expect("a borrow")[LEN - 1], 7);
        assert!(waits(&stream, || Ok(exec.launch(&stream)?), wait)?);
    }

    fn memory_that_a_graph_uses_does_not_grow(driver) {
        let (context, stream) = setup(driver)?;
        let memory = VirtualMemory::new(&context)?;
        let mut buffer = memory.zeroed::<u8>(64, &stream)?;
        let (address, bytes) = (buffer.as_raw(), buffer.size_in_bytes());
        let graph = GraphDef::new(&context)?;
        graph.entry().fill(&mut buffer, 7)?;
        let exec = graph.instantiate()?;
        drop(graph);
        exec.launch(&stream)?;
        let refused = memory.grow(buffer, LEN).expect_err("a graph has it");
        assert_eq!(refused.error, MemoryError::Held { address, bytes }.into());
        let buffer = refused.buffer;
        assert_eq!(buffer.download(&stream)?, [7; 64]);
        drop(exec);
        let mut grown = memory.grow(buffer, LEN);
        for _ in 0..100 {
            let Err(refused) = grown else { break };
            context.synchronize()?;
            reclaim();
            thread::sleep(Duration::from_millis(10));
            grown = memory.grow(refused.buffer, LEN);
        }
        let grown = grown?;
        assert_eq!(grown.slice(..64)?.download(&stream)?, [7; 64]);
    }

    fn memory_is_closed_when_the_graph_and_its_launches_are_gone(driver) {
        let (context, stream) = setup(driver)?;
        let pool = DevicePool::new(&context)?;
        let mut output = DeviceMemory::new(&context).allocate::<u8>(LEN)?;
        let input = pool.upload(&vec![7_u8; LEN], &stream)?;
        let graph = GraphDef::new(&context)?;
        graph.entry().copy(&input, &mut output)?;
        let exec = graph.instantiate()?;
        stream.synchronize()?;
        let used = pool.statistics()?.used;
        let gate = Gate::close(&stream)?;
        exec.launch(&stream)?;
        input.close()?;
        drop((graph, exec));
        reclaim();
        assert_eq!(pool.statistics()?.used, used, "the launch uses it");
        gate.open();
        assert_eq!(output.download(&stream)?[LEN - 1], 7);
        drop(gate);
        for _ in 0..100 {
            reclaim();
            context.synchronize()?;
            if pool.statistics()?.used == 0 {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(pool.statistics()?.used, 0);
    }

    /// Graphs that use device memory alone do not pay for this.
    fn a_launch_with_device_memory_is_one_call(driver) {
        let (context, stream) = setup(driver)?;
        let mut buffer = DevicePool::new(&context)?.zeroed::<u8>(64, &stream)?;
        let graph = GraphDef::new(&context)?;
        graph.entry().fill(&mut buffer, 7)?;
        let exec = graph.instantiate()?;
        exec.launch(&stream)?;
        budget(driver, &[(Function::cuGraphLaunch, 1)], || exec.launch(&stream))?;
    }

    fn borrows_and_launches_of_two_threads_take_turns(driver) {
        let (context, stream) = setup(driver)?;
        let mut managed = ManagedMemory::new(&context)?.zeroed::<u32>(64, &stream)?;
        let graph = GraphDef::new(&context)?;
        let one = graph.entry().fill(&mut managed, 1)?;
        one.then().fill(&mut managed, 2)?;
        let exec = graph.instantiate()?;
        exec.launch(&stream)?;
        let (managed, is_over) = (&managed, AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    match exec.launch(&stream) {
                        Ok(()) => {}
                        Err(error) => assert_eq!(error, borrowed(managed)),
                    }
                }
            });
            for _ in 0..50 {
                assert_eq!(managed.host().expect("a borrow"), [2; 64]);
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }
}

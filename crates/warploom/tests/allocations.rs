//! Heap allocations of the hot paths: none, but for the one block of an allocation.
//!
//! A program of its own, since it has an allocator of its own. Only the calling thread is counted, and not
//! while it is in the driver: what a simulated machine keeps on the heap, hardware keeps elsewhere.
#![expect(unsafe_code, reason = "an allocator that counts, and a driver in front of another")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Arc, OnceLock};

use warploom::driver::Source;
use warploom::sys::types::{CUdriverProcAddressQueryResult, CUresult, cuuint64_t};
use warploom::sys::{DriverTable, for_each_function};
use warploom::{
    Context, ContextOptions, DeviceMemory, DevicePool, Driver, GraphDef, LaunchConfig, ManagedMemory, Mesh, Result,
    Stream, Topology,
};
use warploom_sim::Machine;
use warploom_testkit::{TestResult, call};

thread_local! {
    static TAKEN: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
    static IN_DRIVER: Cell<bool> = const { Cell::new(false) };
}

struct Counting;

#[global_allocator]
static HEAP: Counting = Counting;

fn count(bytes: usize) {
    if !IN_DRIVER.get() {
        TAKEN.set(TAKEN.get() + 1);
        BYTES.set(BYTES.get() + bytes);
    }
}

// SAFETY: the system's allocator, and counting takes nothing from the heap.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: handed on as it came.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: handed on as it came.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: handed on as it came.
        unsafe { System.dealloc(block, layout) }
    }
}

/// The simulated machine behind the driver.
fn machine() -> &'static DriverTable {
    static MACHINE: OnceLock<Driver> = OnceLock::new();
    let open = || Driver::open(&Machine::preset("h200").expect("is a preset")).expect("is a driver");
    MACHINE.get_or_init(open).table()
}

macro_rules! fronts {
    ($($family:ident $slot:ident $name:literal $version:literal $per_thread:literal $suffix:literal
        ($($argument:ident: $type:ty),*);)*) => {
        /// Each function of the driver: that of the machine, uncounted.
        mod fronts {
            use super::*;
            $(pub(super) unsafe extern "C" fn $slot($($argument: $type),*) -> CUresult {
                let Some(function) = machine().$slot else { return CUresult::CUDA_ERROR_NOT_SUPPORTED };
                IN_DRIVER.set(true);
                // SAFETY: handed on as it came.
                let code = unsafe { function($($argument),*) };
                IN_DRIVER.set(false);
                code
            })*
        }

        unsafe extern "C" fn resolve(
            symbol: *const c_char,
            pfn: *mut *mut c_void,
            version: c_int,
            _flags: cuuint64_t,
            _status: *mut CUdriverProcAddressQueryResult,
        ) -> CUresult {
            // SAFETY: callers pass a terminated name.
            let function: *mut c_void = match (unsafe { CStr::from_ptr(symbol) }.to_str(), version) {
                $((Ok($name), $version) if machine().$slot.is_some() => fronts::$slot as *mut c_void,)*
                _ => return CUresult::CUDA_ERROR_NOT_FOUND,
            };
            // SAFETY: callers pass a writable pointer.
            unsafe { pfn.write(function) };
            CUresult::CUDA_SUCCESS
        }
    };
}
for_each_function!(fronts);

fn setup() -> TestResult<(Context, Stream, DevicePool)> {
    // SAFETY: `resolve` hands out functions with the signatures of their names and versions, which live as
    // long as the program.
    let driver = Driver::open(unsafe { Source::new(resolve, Arc::new(()), "a machine whose heap is not counted") })?;
    driver.initialize()?;
    let context = driver.device(0)?.context()?;
    Ok((context.clone(), context.stream()?, DevicePool::new(&context)?))
}

const TIMES: usize = 100;

/// Heap allocations of a piece of work that is repeated; one that is made only now and then counts as made
/// every time.
fn taken<R>(mut work: impl FnMut() -> Result<R>) -> Result<usize> {
    drop(work()?);
    let before = TAKEN.get();
    for _ in 0..TIMES {
        drop(work()?);
    }
    Ok((TAKEN.get() - before).div_ceil(TIMES))
}

#[test]
fn the_heap_is_counted_and_the_driver_is_not() -> TestResult {
    let (context, ..) = setup()?;
    assert_eq!(taken(|| Ok(Box::new(7)))?, 1);
    assert_eq!(taken(|| Ok([vec![1], vec![2]]))?, 2);
    let before = TAKEN.get();
    // A machine has to remember a stream; of the library there is the block that its clones share.
    drop(context.stream()?);
    assert_eq!(TAKEN.get() - before, 1);
    Ok(())
}

#[test]
fn fills_and_copies_take_nothing() -> TestResult {
    let (context, stream, pool) = setup()?;
    let (mut one, mut other) = (pool.zeroed::<u32>(1024, &stream)?, pool.zeroed::<u32>(1024, &stream)?);
    assert_eq!(taken(|| one.fill(7, &stream))?, 0, "fill");
    assert_eq!(taken(|| one.slice_mut(100..200)?.fill(7, &stream))?, 0, "fill of a part");
    assert_eq!(taken(|| one.copy_to(&mut other, &stream))?, 0, "copy");
    assert_eq!(taken(|| one.rows_mut(32, 16, 32)?.fill(7, &stream))?, 0, "fill of rows");
    assert_eq!(taken(|| one.rows(32, 16, 32)?.copy_to(other.rows_mut(16, 16, 32)?, &stream))?, 0, "copy of rows");
    let second = context.stream()?;
    second.wait(&stream.record()?)?;
    assert_eq!(taken(|| one.fill(7, &second))?, 0, "fill on a stream that it has met");
    let mut plain = DeviceMemory::new(&context).zeroed::<u8>(64, &stream)?;
    assert_eq!(taken(|| plain.fill(7, &stream))?, 0, "fill of plain memory");
    Ok(())
}

/// S3.19, S3.22: copies that order themselves, where there is nothing to wait for.
#[test]
fn copies_of_a_mesh_take_nothing() -> TestResult {
    let (context, stream, pool) = setup()?;
    let topology = Topology::probe(&context.driver().devices()?)?;
    let (mesh, _) = Mesh::enable(&topology, std::slice::from_ref(&context))?;
    let (one, mut other) = (pool.zeroed::<u32>(1024, &stream)?, pool.zeroed::<u32>(1024, &stream)?);
    assert_eq!(taken(|| mesh.copy(&one, &mut other, &stream).map(drop))?, 0, "on the stream of both");
    let second = context.stream()?;
    assert_eq!(taken(|| mesh.copy(&one, &mut other, &second).map(drop))?, 0, "on another that has waited");
    let mut plain = DeviceMemory::new(&context).zeroed::<u32>(1024, &stream)?;
    assert_eq!(taken(|| mesh.copy(&one, &mut plain, &second).map(drop))?, 0, "to memory without a stream");
    assert_eq!(taken(|| mesh.copy(&one, &mut plain, &second)?.synchronize())?, 0, "and waited for");
    Ok(())
}

/// Launches, where the kernel is known and the stream has met the memory.
#[test]
fn launches_take_nothing() -> TestResult {
    let (context, stream, pool) = setup()?;
    let ptx = include_str!("../../ptx/kernels/ptx/compute_75/vector.ptx").replacen(".version 9.4", ".version 8.0", 1);
    let kernel = context.load(&ptx)?.kernel("saxpy")?;
    let typed = kernel.typed::<(f32, &[f32], &mut [f32], u32)>()?;
    let shape = LaunchConfig::cover(32, 32).overlap_previous();
    let checked = kernel.check(&shape.cooperative(), &context)?;
    let (x, mut y) = (pool.zeroed::<f32>(32, &stream)?, pool.zeroed::<f32>(32, &stream)?);
    // SAFETY: 32 values each.
    let untyped = taken(|| unsafe { kernel.launch(&stream, &shape, (1.0_f32, &x, &mut y, 32_u32)) })?;
    assert_eq!(untyped, 0, "with what is looked at each time");
    // SAFETY: as above.
    let known = taken(|| unsafe { typed.launch(&stream, &checked, (1.0, &x, &mut y, 32)) })?;
    assert_eq!(known, 0, "with what was looked at");
    let (second, plain) = (context.stream()?, DeviceMemory::new(&context).zeroed::<f32>(32, &stream)?);
    second.wait(&stream.record()?)?;
    // SAFETY: as above.
    let elsewhere = taken(|| unsafe { typed.launch(&second, &shape, (1.0, &plain, &mut y, 32)) })?;
    assert_eq!(elsewhere, 0, "on a stream that has met the memory");
    Ok(())
}

/// Launches of a graph, on the stream of the launch before.
#[test]
fn launches_of_a_graph_take_nothing() -> TestResult {
    let (context, stream, pool) = setup()?;
    let (mut one, mut other) = (pool.zeroed::<u32>(32, &stream)?, pool.zeroed::<u32>(32, &stream)?);
    let graph = GraphDef::new(&context)?;
    graph.entry().fill(&mut one, 7)?.then().copy(&one, &mut other)?;
    let exec = graph.instantiate()?;
    assert_eq!(taken(|| exec.launch(&stream))?, 0, "on the memory's own stream");
    let second = context.stream()?;
    assert_eq!(taken(|| exec.launch(&second))?, 0, "on another");
    assert_eq!(taken(|| exec.upload(&second))?, 0, "an upload");
    let mut managed = ManagedMemory::new(&context)?.zeroed::<u32>(32, &stream)?;
    stream.wait_for(&second)?;
    graph.entry().fill(&mut managed, 1)?;
    let exec = graph.instantiate()?;
    assert_eq!(taken(|| exec.launch(&stream))?, 0, "with memory that the host can borrow");
    Ok(())
}

/// Changes of nodes of an executable to what it keeps, also in another context than the graph's.
#[test]
fn changes_of_nodes_take_nothing() -> TestResult {
    let (context, stream, _) = setup()?;
    let other = context.device().create_context(ContextOptions::new())?;
    let memory = ManagedMemory::new(&context)?;
    let (mut one, mut two) = (memory.zeroed::<u32>(32, &stream)?, memory.zeroed::<u32>(32, &stream)?);
    let graph = GraphDef::new(&context)?;
    let fill = graph.entry().on(&other).fill(&mut one, 7)?;
    let copy = fill.then().on(&other).copy(&one, &mut two)?;
    let exec = graph.instantiate()?;
    assert_eq!(taken(|| exec.node(&fill).set(&mut one, 8))?, 0, "a fill");
    assert_eq!(taken(|| exec.node(&copy).set(&one, &mut two))?, 0, "a copy");
    Ok(())
}

#[test]
fn a_buffer_takes_the_block_of_one_that_is_gone() -> TestResult {
    let (context, stream, pool) = setup()?;
    let before = TAKEN.get();
    let first = pool.allocate::<u8>(4096, &stream)?;
    assert_eq!(TAKEN.get() - before, 1, "the first has nothing to take");
    drop(first);
    assert_eq!(taken(|| pool.allocate::<u8>(4096, &stream))?, 0, "from a pool");
    let memory = DeviceMemory::new(&context);
    assert_eq!(taken(|| memory.allocate::<u8>(4096))?, 0, "plain");
    Ok(())
}

#[test]
fn recording_waiting_and_asking_take_nothing() -> TestResult {
    let (context, stream, pool) = setup()?;
    let other = context.stream()?;
    let (mut event, mut timed) = (stream.record()?, stream.record_timed()?);
    assert_eq!(taken(|| stream.record_into(&mut event))?, 0, "record again");
    assert_eq!(taken(|| stream.record_into(&mut timed))?, 0, "record again, with a time");
    assert_eq!(taken(|| stream.record())?, 0, "record");
    assert_eq!(taken(|| other.wait(&event))?, 0, "wait");
    assert_eq!(taken(|| other.wait_for(&stream))?, 0, "wait for a stream");
    assert_eq!(taken(|| stream.synchronize())?, 0, "synchronize");
    assert!(stream.is_idle()?);
    assert_eq!(taken(|| stream.is_idle())?, 0, "ask an idle stream");
    assert_eq!(taken(|| event.is_complete())?, 0, "ask about an event that is done");
    let (driver, gate) = (context.driver(), pool.zeroed::<u32>(1, &stream)?);
    stream.synchronize()?;
    call!(driver.cuStreamWaitValue32_v2(stream.as_raw(), gate.as_raw(), 1, 0))?;
    stream.record_into(&mut event)?;
    assert!(!stream.is_idle()? && !event.is_complete()?);
    assert_eq!(taken(|| stream.is_idle())?, 0, "ask a busy stream");
    assert_eq!(taken(|| event.is_complete())?, 0, "ask about an event that is not done");
    call!(driver.cuStreamWriteValue32_v2(other.as_raw(), gate.as_raw(), 1, 0))?;
    Ok(stream.synchronize()?)
}

#[test]
fn uploads_allocate_nothing_and_downloads_only_their_result() -> TestResult {
    let (_context, stream, pool) = setup()?;
    let mut buffer = pool.zeroed::<u8>(64, &stream)?;
    assert_eq!(taken(|| buffer.copy_from_host(&[1; 64], &stream))?, 0, "to the device");
    assert_eq!(taken(|| buffer.download(&stream))?, 1, "to the host");
    Ok(())
}

/// Very large copies are shared by a few threads, and take no more than these need.
#[test]
fn very_large_uploads_and_downloads_take_little() -> TestResult {
    let (_context, stream, pool) = setup()?;
    let mut values = vec![7_u32; 8 << 20];
    let mut buffer = pool.upload(&values, &stream)?;
    let before = BYTES.get();
    buffer.copy_from_host(&values, &stream)?;
    buffer.copy_to_host(&mut values, &stream)?;
    assert!(BYTES.get() - before < 64 << 10, "{} bytes for 32 MiB both ways", BYTES.get() - before);
    Ok(())
}

/// Large copies make no copy of the values: they go through staging memory, which is taken from the driver
/// once.
#[test]
fn large_uploads_and_downloads_take_nothing() -> TestResult {
    let (_context, stream, pool) = setup()?;
    let mut values = vec![7_u32; 1 << 19];
    let mut buffer = pool.upload(&values, &stream)?;
    assert_eq!(taken(|| buffer.copy_from_host(&values, &stream))?, 0, "to the device");
    assert_eq!(taken(|| buffer.copy_to_host(&mut values, &stream))?, 0, "to the host");
    let few = 4 << 10;
    assert_eq!(taken(|| buffer.slice(..few)?.copy_to_host(&mut values[..few], &stream))?, 0, "16 KiB to the host");
    assert_eq!(taken(|| buffer.download(&stream))?, 1, "to the host, as a vector");
    assert_eq!(taken(|| buffer.rows_mut(1024, 1000, 512)?.copy_from_host(&values[..512_000], &stream))?, 0, "rows");
    assert_eq!(taken(|| buffer.rows(1024, 1000, 512)?.copy_to_host(&mut values[..512_000], &stream))?, 0, "rows");
    Ok(())
}

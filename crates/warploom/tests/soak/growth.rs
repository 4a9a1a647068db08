//! Loops that use each kind of value many times, each time with a stream of its own: nothing grows with them.
//!
//! After a tenth of a loop and at its end there are as many objects of the driver, and in the long runs the
//! process is as large.

use std::fs::read_to_string;
use std::sync::Arc;

use warploom::capture::Relaxed;
use warploom::graph::{FillNode, HostNode, reclaim};
use warploom::{
    CacheOptions, Cached, Context, ContextOptions, DeviceMemory, DevicePool, Driver, GraphDef, GraphExec,
    ManagedMemory, Mesh, OtherStreams, Result, Stream, StreamWord, Topology,
};
use warploom_sim::topology::Topology as Machines;
use warploom_sim::{Census, Checks, Machine, Resource};
use warploom_testkit::TestResult;

/// The runs of a loop in the ordinary tests.
const FEW: usize = 400;
/// The same where that is asked for.
const MANY: usize = 100_000;
/// More objects of a kind than after a tenth of the runs: a context keeps up to 64 idle events, and some work
/// is in flight.
const MORE_OBJECTS: u64 = 100;
/// The runs after which a loop waits for its work.
const IN_FLIGHT: usize = 16;
/// Bytes of memory that graphs keep: few, since simulated memory is the process's, and a block may be used that was not
/// before.
const KEPT: usize = 1024;
/// Bytes that a run may add to the process, on average over a long loop. The least that is kept for a run would
/// be a list entry, which is larger.
const MORE_BYTES: usize = 16;

const KERNEL: &str = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry idle() { ret; }\n";

/// A program that does one thing many times.
struct Loop {
    machine: Machine,
    contexts: Vec<Context>,
    runs: usize,
}

impl Loop {
    fn new(runs: usize) -> std::result::Result<Loop, Box<dyn std::error::Error>> {
        let machine = Machine::builder().topology(Machines::preset("pcie-pair")?).checks(Checks::off()).start()?;
        let driver = Driver::open(&machine)?;
        let contexts = driver.devices()?.iter().map(|device| device.context()).collect::<Result<Vec<_>>>()?;
        Ok(Loop { machine, contexts, runs })
    }

    fn run(&self, mut once: impl FnMut() -> TestResult) -> TestResult {
        let mut before = None;
        for run in 0..self.runs {
            once()?;
            if run % IN_FLIGHT == 0 {
                self.contexts.iter().try_for_each(Context::synchronize)?;
            }
            if run == self.runs / 10 {
                before = Some((self.machine.census(), resident()));
            }
        }
        let Some((census, bytes)) = before else { return Err("too few runs".into()) };
        let now = self.machine.census();
        let more = |kind: &Resource| Census::live(&now, *kind) > census.live(*kind) + MORE_OBJECTS;
        let kinds: Vec<_> =
            Resource::ALL.iter().filter(|kind| more(kind)).map(|kind| (kind, now.live(*kind))).collect();
        assert!(kinds.is_empty(), "after {} runs there are {kinds:?}", self.runs);
        let grown = resident().saturating_sub(bytes);
        assert!(self.runs < MANY || grown < self.runs * MORE_BYTES, "{} runs added {grown} bytes", self.runs);
        Ok(())
    }
}

/// The bytes of the process that are in memory; 0 where that is not to be had.
fn resident() -> usize {
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kib.unwrap_or(0) * 1024
}

/// Makes tests of a loop: one with few runs, and one with many that is asked for.
macro_rules! loops {
    ($($(#[$meta:meta])* fn $name:ident($program:ident) $body:block)*) => {$(
        mod $name {
            use super::*;

            fn all(runs: usize) -> TestResult {
                let $program = Loop::new(runs)?;
                $body
            }

            $(#[$meta])*
            #[test]
            fn few() -> TestResult {
                all(FEW)
            }

            $(#[$meta])*
            #[test]
            #[ignore = "takes seconds, and counts memory of the process: run it with one thread"]
            fn many() -> TestResult {
                all(MANY)
            }
        }
    )*};
}

loops! {
    /// A stream that a buffer has met is destroyed with its last handle.
    fn declared_uses_do_not_keep_streams(program) {
        let context = &program.contexts[0];
        let home = context.stream()?;
        let weights = DevicePool::new(context)?.zeroed::<u8>(1024, &home)?;
        program.run(|| {
            let stream = context.stream()?;
            weights.used_by(&stream)?;
            Ok(stream.synchronize()?)
        })
    }

    fn copies_do_not_keep_streams(program) {
        let context = &program.contexts[0];
        let home = context.stream()?;
        let pool = DevicePool::new(context)?;
        let weights = pool.zeroed::<u8>(1024, &home)?;
        program.run(|| {
            let stream = context.stream()?;
            Ok(weights.copy_to(&mut pool.allocate::<u8>(1024, &stream)?, &stream)?)
        })
    }

    /// Memory without a home stream has no order but that of its users.
    fn memory_without_a_stream_keeps_none(program) {
        let context = &program.contexts[0];
        let mut memory = DeviceMemory::new(context).allocate::<u8>(1024)?;
        program.run(|| Ok(memory.fill(1, &context.stream()?)?))
    }

    fn copies_between_devices_do_not_keep_streams(program) {
        let [first, second] = &program.contexts[..] else { return Err("two devices".into()) };
        let driver = first.driver();
        let (mesh, _) = Mesh::enable(&Topology::probe(&driver.devices()?)?, &[first.clone(), second.clone()])?;
        let weights = DeviceMemory::new(first).upload(&[1_u8; 64], &first.stream()?)?;
        let mut copy = DeviceMemory::new(second).allocate::<u8>(64)?;
        program.run(|| {
            mesh.copy(&weights, &mut copy, &second.stream()?)?;
            Ok(())
        })
    }

    fn words_do_not_keep_streams(program) {
        let context = &program.contexts[0];
        let word = StreamWord::<u32>::new(context, 0)?;
        program.run(|| Ok(word.write(1, &context.stream()?)?))
    }

    fn launches_do_not_keep_streams(program) {
        let context = &program.contexts[0];
        let mut buffer = DevicePool::new(context)?.zeroed::<u8>(1024, &context.stream()?)?;
        let graph = GraphDef::new(context)?;
        graph.entry().fill(&mut buffer, 1)?;
        let exec = graph.instantiate()?;
        program.run(|| {
            let stream = context.stream()?;
            exec.launch(&stream)?;
            Ok(stream.synchronize()?)
        })
    }

    /// A launch that is refused changes nothing.
    fn refused_launches_do_not_keep_streams(program) {
        let context = &program.contexts[0];
        let mut buffer = ManagedMemory::new(context)?.allocate::<u8>(64)?;
        let graph = GraphDef::new(context)?;
        graph.entry().fill(&mut buffer, 1)?;
        let exec = graph.instantiate()?;
        let _borrow = buffer.host()?;
        program.run(|| {
            assert!(exec.launch(&context.stream()?).is_err());
            Ok(())
        })
    }

    fn host_borrows_do_not_keep_streams(program) {
        let context = &program.contexts[0];
        let mut buffer = ManagedMemory::new(context)?.allocate::<u8>(64)?;
        program.run(|| {
            buffer.fill(1, &context.stream()?)?;
            buffer.host()?;
            Ok(())
        })
    }

    fn caches_do_not_keep_streams(program) {
        let context = &program.contexts[0];
        let cache = Cached::new(&DevicePool::new(context)?);
        program.run(|| {
            drop(cache.allocate::<u8>(1000, &context.stream()?)?);
            Ok(())
        })
    }

    fn caches_of_idle_memory_do_not_keep_streams(program) {
        let context = &program.contexts[0];
        let options = CacheOptions::new().other_streams(OtherStreams::Idle);
        let cache = Cached::with(&DevicePool::new(context)?, options);
        program.run(|| {
            let stream = context.stream()?;
            drop(cache.allocate::<u8>(1000, &stream)?);
            Ok(stream.synchronize()?)
        })
    }

    fn caches_without_reuse_do_not_keep_streams(program) {
        let context = &program.contexts[0];
        let options = CacheOptions::new().other_streams(OtherStreams::Never);
        let cache = Cached::with(&DevicePool::new(context)?, options);
        program.run(|| {
            drop(cache.allocate::<u8>(1000, &context.stream()?)?);
            Ok(())
        })
    }

    /// The per-thread default stream of a thread that has ended is not remembered for good.
    fn threads_do_not_stay_in_memory(program) {
        let context = &program.contexts[0];
        let memory = DeviceMemory::new(context).allocate::<u8>(64)?;
        program.run(|| {
            let run = || memory.used_by(&context.per_thread_stream());
            let ran = std::thread::scope(|scope| scope.spawn(run).join());
            Ok(ran.map_err(|_| "the thread panicked")??)
        })
    }

    /// The control: the streams themselves, and memory of their own.
    fn streams_with_memory_of_their_own_go(program) {
        let context = &program.contexts[0];
        let pool = DevicePool::new(context)?;
        program.run(|| {
            drop(pool.allocate::<u8>(1024, &context.stream()?)?);
            Ok(())
        })
    }

    fn events_and_host_functions_go(program) {
        let stream = program.contexts[0].stream()?;
        program.run(|| {
            stream.host(|| ())?.wait()?;
            Ok(stream.record()?.synchronize()?)
        })
    }

    fn graphs_and_executables_go(program) {
        let context = &program.contexts[0];
        program.run(|| {
            let graph = GraphDef::new(context)?;
            graph.entry().host(|| ())?.then().empty()?;
            Ok(graph.instantiate()?.launch(&context.stream()?)?)
        })
    }

    fn captures_go(program) {
        let context = &program.contexts[0];
        let mut buffer = DeviceMemory::new(context).allocate::<u8>(64)?;
        program.run(|| {
            let capture = context.stream()?.capture(Relaxed)?;
            buffer.fill(1, &*capture)?;
            drop(capture.end()?);
            Ok(())
        })
    }

    fn contexts_and_libraries_go(program) {
        let device = program.contexts[0].device();
        program.run(|| {
            let context = device.create_context(ContextOptions::new())?;
            drop(context.load(KERNEL)?.kernel("idle")?);
            Ok(context.stream()?.record()?.synchronize()?)
        })
    }

    fn words_and_managed_memory_go(program) {
        let context = &program.contexts[0];
        let memory = ManagedMemory::new(context)?;
        program.run(|| {
            let stream = context.stream()?;
            StreamWord::<u32>::new(context, 0)?.write(1, &stream)?;
            memory.zeroed::<u8>(64, &stream)?.host_mut()?[0] = 1;
            Ok(())
        })
    }

    fn meshes_and_watches_go(program) {
        let driver = program.contexts[0].driver();
        let topology = Topology::probe(&driver.devices()?)?;
        program.run(|| {
            drop((driver.watch_generations()?, Mesh::enable(&topology, &program.contexts)?));
            Ok(())
        })
    }

    fn threads_that_copy_go(program) {
        let context = &program.contexts[0];
        let (stream, pool) = (context.stream()?, DevicePool::new(context)?);
        program.run(|| {
            let copy = || pool.upload(&[1_u8; 100], &stream)?.download(&stream);
            let copied = std::thread::scope(|scope| scope.spawn(copy).join());
            assert_eq!(copied.map_err(|_| "the thread panicked")??, [1; 100]);
            Ok(())
        })
    }

    /// Owners that a change of an executable supersedes go, while launches are in flight as well.
    fn changes_of_an_executable_keep_nothing(program) {
        let Superseding { stream, pool, fill, host, exec, kept } = &Superseding::new(&program.contexts[0])?;
        program.run(|| {
            let value = Arc::clone(kept);
            exec.node(fill).set(&mut pool.allocate::<u8>(KEPT, stream)?, 2)?;
            exec.node(host).set_function(move || _ = &value)?;
            Ok(exec.launch(stream)?)
        })?;
        assert_one_is_left(pool, kept)
    }

    /// The same for whole updates, and for executables that are dropped.
    fn updates_and_dropped_executables_keep_nothing(program) {
        let Superseding { stream, pool, fill, host, exec, kept } = &Superseding::new(&program.contexts[0])?;
        let (graph, mut host) = (host.graph(), host.clone());
        program.run(|| {
            let value = Arc::clone(kept);
            fill.set(&mut pool.allocate::<u8>(KEPT, stream)?, 2)?;
            host.set_function(move || _ = &value)?;
            exec.update(graph)?;
            exec.launch(stream)?;
            Ok(graph.instantiate()?.launch(stream)?)
        })?;
        assert_one_is_left(pool, kept)
    }
}

/// A graph that fills memory and calls a function, and an executable of it.
struct Superseding {
    stream: Stream,
    pool: DevicePool,
    fill: FillNode,
    host: HostNode,
    exec: GraphExec,
    /// A value for functions to keep.
    kept: Arc<()>,
}

impl Superseding {
    fn new(context: &Context) -> Result<Superseding> {
        let (stream, pool) = (context.stream()?, DevicePool::new(context)?);
        let graph = GraphDef::new(context)?;
        let fill = graph.entry().fill(&mut pool.allocate::<u8>(KEPT, &stream)?, 1)?;
        let host = fill.then().host(|| ())?;
        let exec = graph.instantiate()?;
        Ok(Superseding { stream, pool, fill, host, exec, kept: Arc::default() })
    }
}

/// What the last version of the nodes uses is there, in the definition and in the executable, and nothing else.
fn assert_one_is_left(pool: &DevicePool, kept: &Arc<()>) -> TestResult {
    pool.context().synchronize()?;
    reclaim();
    let used = pool.statistics()?.used;
    assert!(used <= 2 * KEPT as u64, "{used} bytes");
    assert_eq!(Arc::strong_count(kept), 2);
    Ok(())
}

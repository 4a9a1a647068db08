//! Subscribers of `tracing` that panic, or use the library, while it makes a call.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use warploom::capture::Relaxed;
use warploom::{
    Buffer, Context, DevicePool, Driver, GraphDef, GraphExec, Kernel, KernelAttribute, LaunchConfig, Limited, LiveSet,
    Logged, Mesh, OrderedResource, StreamWord, Topology,
};
use warploom_sim::topology::Topology as Wiring;
use warploom_sim::{Mode, Order};
use warploom_testkit::events::{self, SeenEvent};
use warploom_testkit::{TestResult, assert_sound, open};

const SCALE: &str = include_str!("../examples/scale.ptx");

/// The time after which a thread counts as waiting for itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a test on a thread of its own, which may come to wait for itself.
fn on_a_thread(body: impl FnOnce() -> TestResult + Send + 'static) -> TestResult {
    let (send, received) = channel();
    thread::spawn(move || send.send(body().map_err(|error| error.to_string())));
    Ok(received.recv_timeout(PATIENCE)??)
}

fn panic_at_once(_: &SeenEvent) {
    panic!("a subscriber panics");
}

/// The scope waits for both streams, and memory of the program is not written after it.
#[test]
fn a_panic_does_not_keep_a_scope_of_registered_memory_from_waiting() -> TestResult {
    let (machine, driver) = open(Wiring::preset("h200")?, Mode::Deterministic(Order::Lazy))?;
    let context = driver.device(0)?.context()?;
    let (one, other) = (context.stream()?, context.stream()?);
    let source = DevicePool::new(&context)?.upload(&[7_u8; 4096], &one)?;
    one.synchronize()?;
    let mut values = vec![0; 8192];
    driver.set_tracing(true);
    events::observe(panic_at_once, || {
        context.with_registered(&mut values, |host| {
            let (first, second) = host.split_at_mut(4096)?;
            source.copy_to(first, &one)?;
            source.copy_to(second, &other)
        })
    })??;
    assert_eq!(values, [7; 8192]);
    assert_sound(&machine);
    Ok(())
}

#[test]
fn a_panic_does_not_free_a_buffer_twice() -> TestResult {
    let (machine, driver) = open(Wiring::preset("h200")?, Mode::Threads)?;
    let context = driver.device(0)?.context()?;
    let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    let logged = Logged::ordered(&pool, "weights");
    driver.set_tracing(true);
    events::observe(panic_at_once, || -> TestResult {
        pool.zeroed::<u8>(4096, &stream)?.close()?;
        drop(pool.zeroed::<u8>(4096, &stream)?);
        logged.zeroed::<u8>(4096, &stream)?.close()?;
        drop(logged.zeroed::<u8>(4096, &stream)?);
        Ok(())
    })?;
    stream.synchronize()?;
    assert_eq!(pool.statistics()?.used, 0);
    assert_sound(&machine);
    Ok(())
}

/// Mutexes of the library are held over calls of the driver; events wait until the thread holds none.
#[test]
fn a_subscriber_may_use_what_the_call_around_it_uses() -> TestResult {
    on_a_thread(|| {
        let (machine, driver) = open(Wiring::preset("pcie-pair")?, Mode::Threads)?;
        let everything = Everything::new(&driver)?;
        let again = everything.clone();
        driver.set_tracing(true);
        // Not at the simulator's own events, which come about inside of its calls.
        let observer = move |event: &SeenEvent| {
            if event.target == "warploom::driver" {
                again.use_all().expect("no call fails");
            }
        };
        events::observe(observer, || everything.use_all())?;
        driver.set_tracing(false);
        assert_sound(&machine);
        Ok(())
    })
}

/// Values whose calls take mutexes.
#[derive(Clone)]
struct Everything {
    driver: Driver,
    context: Context,
    pool: DevicePool,
    mesh: Rc<Mesh>,
    kernel: Kernel,
    word: Rc<StreamWord<u32>>,
    shared: Rc<Buffer<u8>>,
    graph: GraphDef,
    exec: Rc<GraphExec>,
}

impl Everything {
    fn new(driver: &Driver) -> TestResult<Everything> {
        let devices = driver.devices()?;
        let contexts = devices.iter().map(|device| device.context()).collect::<Result<Vec<_>, _>>()?;
        let (mesh, _) = Mesh::enable(&Topology::probe(&devices)?, &contexts)?;
        let context = contexts[0].clone();
        let graph = GraphDef::new(&context)?;
        graph.empty()?;
        let shared = DevicePool::new(&context)?.zeroed(64, &context.stream()?)?;
        Ok(Everything {
            driver: driver.clone(),
            pool: DevicePool::new(&context)?,
            mesh: Rc::new(mesh),
            kernel: context.load(SCALE)?.kernel("scale")?,
            word: Rc::new(StreamWord::new(&context, 0)?),
            exec: Rc::new(graph.instantiate()?),
            graph,
            shared: Rc::new(shared),
            context,
        })
    }

    fn use_all(&self) -> warploom::Result<()> {
        self.pool.peers().len()?;
        self.pool.peers().toggle([1])?;
        self.context.check()?;
        self.driver.device(1)?.context()?;
        self.driver.current_context()?;
        self.mesh.refresh()?;
        drop(self.context.profile()?);
        // Sets an attribute, and so has limits asked for again.
        self.kernel.set_attribute(KernelAttribute::MaxDynamicShared, 1024, self.context.device())?;
        self.kernel.check(&LaunchConfig::cover(100, 32), &self.context)?;
        let stream = self.context.stream()?;
        self.word.write(1, &stream)?;
        // A stream that has not used the buffer, and waits for one that has.
        self.shared.used_by(&stream)?;
        self.exec.launch(&stream)?;
        self.graph.entry().empty()?.destroy()?;
        self.exec.update(&self.graph)?;
        let buffer =
            Logged::ordered(&Limited::ordered(&self.pool, 1 << 20), "all").upload(&[1_u8; 1 << 17], &stream)?;
        buffer.download(&stream)?;
        let events = (0..70).map(|_| stream.record()).collect::<Result<Vec<_>, _>>()?;
        drop(events);
        stream.synchronize()
    }
}

/// A thread that begins a capture waits for calls on the stream, and no event is part of one.
#[test]
fn a_subscriber_may_wait_for_a_thread_that_captures_the_stream() -> TestResult {
    on_a_thread(|| {
        let (_machine, driver) = open(Wiring::preset("h200")?, Mode::Threads)?;
        let stream = driver.device(0)?.context()?.stream()?;
        driver.set_tracing(true);
        let (captured, begun_captures) = (stream.clone(), Rc::new(Cell::new(0)));
        let count = Rc::clone(&begun_captures);
        let observer = move |event: &SeenEvent| {
            if event.target != "warploom::driver" {
                return;
            }
            let (stream, (send, begun)) = (captured.clone(), channel());
            thread::spawn(move || send.send(stream.capture(Relaxed).is_ok()));
            assert_eq!(begun.recv_timeout(PATIENCE / 4), Ok(true), "the capture begins");
            count.set(count.get() + 1);
        };
        let event = stream.record()?;
        events::observe(observer, || stream.record_into(&mut { event }))?;
        assert_eq!(begun_captures.get(), 1);
        Ok(())
    })
}

/// A subscriber would be called for its own calls without an end.
#[test]
fn calls_of_a_subscriber_are_not_reported() -> TestResult {
    let (_machine, driver) = open(Wiring::preset("h200")?, Mode::Threads)?;
    let stream = driver.device(0)?.context()?.stream()?;
    driver.set_tracing(true);
    let (used, count) = (stream.clone(), Rc::new(Cell::new(0)));
    let events = Rc::clone(&count);
    let observer = move |_: &SeenEvent| {
        events.set(events.get() + 1);
        used.synchronize().expect("nothing fails");
    };
    events::observe(observer, || stream.synchronize())?;
    assert_eq!(count.get(), 1);
    Ok(())
}

//! Release of owners outside of the driver's callbacks.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use warploom::graph::Owner;
use warploom::sys::types::CUgraph;
use warploom::{Driver, Error, GraphDef, Stream};
use warploom_sim::Mode;
use warploom_sim::topology::Topology;
use warploom_testkit::{TestResult, alone, driver_tests, open};

use crate::support::{Stage, closure};

/// An owner that calls CUDA when it is dropped, and counts the calls that succeed.
struct Caller {
    stream: Stream,
    calls: Arc<AtomicU32>,
}

impl Drop for Caller {
    fn drop(&mut self) {
        if self.stream.record().is_ok() {
            self.calls.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A copy of a graph that other code has made, which the driver alone keeps owners for.
struct RawClone<'a>(&'a Driver, CUgraph);

impl<'a> RawClone<'a> {
    fn of(graph: &GraphDef, driver: &'a Driver) -> Result<RawClone<'a>, Error> {
        let (raw, mut clone) = (graph.as_raw()?, std::ptr::null_mut());
        #[expect(unsafe_code, reason = "clones the graph as other code does")]
        // SAFETY: the graph is alive, and `clone` is writable.
        unsafe { driver.cuGraphClone(&raw mut clone, raw) }?;
        Ok(RawClone(driver, clone))
    }
}

impl Drop for RawClone<'_> {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "destroys the clone")]
        // SAFETY: it was made above, and this is its end.
        let destroyed = unsafe { self.0.cuGraphDestroy(self.1) };
        assert!(destroyed.is_ok(), "{destroyed:?}");
    }
}

driver_tests! {
    /// S2.29, S2.30: an owner's drop may call CUDA, since it does not run in the driver's callback.
    fn an_owner_may_call_cuda_when_it_is_dropped(driver) {
        let stage = Stage::new(driver)?;
        let calls = Arc::new(AtomicU32::new(0));
        for is_cloned in [false, true] {
            let graph = GraphDef::new(&stage.context)?;
            let caller = Caller { stream: stage.stream.clone(), calls: Arc::clone(&calls) };
            graph.keep_alive(Owner::new(caller))?;
            let clone = is_cloned.then(|| RawClone::of(&graph, driver)).transpose()?;
            let before = calls.load(Ordering::Relaxed);
            graph.close()?;
            warploom::graph::reclaim();
            assert_eq!(calls.load(Ordering::Relaxed), before + u32::from(!is_cloned));
            drop(clone);
            assert!(stage.within_a_while(|| calls.load(Ordering::Relaxed) == before + 1));
        }
    }

    /// S2.30: `reclaim` has released everything of destroyed graphs when it returns.
    fn reclaim_releases_at_once(driver) {
        let stage = Stage::new(driver)?;
        let graph = GraphDef::new(&stage.context)?;
        let (function, watch) = closure();
        graph.entry().host(function)?;
        graph.close()?;
        warploom::graph::reclaim();
        assert_eq!(watch.strong_count(), 0);
    }

    /// S2.29, S2.30: in a host function, `reclaim` returns without a call of CUDA, and owners that the function lets
    /// go of are released by the thread.
    threads fn reclaim_leaves_owners_to_the_thread_in_a_host_function(driver) {
        let stage = Stage::new(driver)?;
        let calls = Arc::new(AtomicU32::new(0));
        let inner = GraphDef::new(&stage.context)?;
        inner.keep_alive(Owner::new(Caller { stream: stage.stream.clone(), calls: Arc::clone(&calls) }))?;
        let (sender, receiver) = std::sync::mpsc::channel();
        let (inner, sender) = (std::sync::Mutex::new(Some(inner)), std::sync::Mutex::new(sender));
        stage.graph.entry().host(move || {
            drop(inner.lock().map(|mut inner| inner.take()));
            let before = std::time::Instant::now();
            while before.elapsed() < std::time::Duration::from_millis(50) {
                warploom::graph::reclaim();
            }
            if let Ok(sender) = sender.lock() {
                sender.send(()).unwrap_or_default();
            }
        })?;
        stage.graph.instantiate()?.launch(&stage.stream)?;
        let returned = receiver.recv_timeout(std::time::Duration::from_secs(20));
        assert!(returned.is_ok(), "reclaim does not return");
        assert!(stage.within_a_while(|| calls.load(Ordering::Relaxed) == 1));
    }

    /// S2.31: 64 graphs that are destroyed at once release all 64 owners.
    fn many_graphs_release_all_owners(driver) {
        let stage = Stage::new(driver)?;
        let (mut graphs, mut clones, mut watches) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..64 {
            let graph = GraphDef::new(&stage.context)?;
            let (function, watch) = closure();
            graph.entry().host(function)?;
            clones.push(RawClone::of(&graph, driver)?);
            graphs.push(graph);
            watches.push(watch);
        }
        drop(graphs);
        watches.iter().for_each(|watch| stage.assert_kept(watch));
        drop(clones);
        assert!(watches.iter().all(|watch| stage.is_released(watch)));
    }

    /// S2.30: an owner whose drop ends another graph is released, and that graph's owners after it.
    fn an_owner_that_holds_another_graph_is_released(driver) {
        let stage = Stage::new(driver)?;
        let (outer, inner) = (GraphDef::new(&stage.context)?, GraphDef::new(&stage.context)?);
        let (function, watch) = closure();
        inner.entry().host(function)?;
        outer.keep_alive(Owner::new(inner))?;
        outer.close()?;
        warploom::graph::reclaim();
        assert!(stage.is_released(&watch));
    }
}

/// The names of the process's threads, of which the system keeps 15 bytes.
#[cfg(target_os = "linux")]
fn threads() -> TestResult<Vec<String>> {
    let threads = std::fs::read_dir("/proc/self/task")?;
    threads.map(|thread| Ok(std::fs::read_to_string(thread?.path().join("comm"))?.trim_end().to_owned())).collect()
}

/// Sends the name of the thread that drops it, then waits for a message.
struct Named(Sender<String>, Option<Receiver<()>>);

impl Drop for Named {
    fn drop(&mut self) {
        self.0.send(std::thread::current().name().unwrap_or_default().to_owned()).unwrap_or_default();
        self.1.take().into_iter().for_each(|message| message.recv().unwrap_or_default());
    }
}

/// S2.29, S2.30: a thread releases owners by itself. It is started by the first of them. The call that destroys a
/// graph does not wait for owners of another that are just being dropped.
#[test]
#[cfg(target_os = "linux")]
fn a_thread_releases_owners_and_no_caller_waits_for_it() -> TestResult {
    const PATIENCE: Duration = Duration::from_secs(20);
    if !alone("reclaim::a_thread_releases_owners_and_no_caller_waits_for_it")? {
        return Ok(());
    }
    let name = "warploom-reclaimer";
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let context = driver.device(0)?.context()?;
    let (first, second) = (GraphDef::new(&context)?, GraphDef::new(&context)?);
    first.empty()?;
    assert!(!threads()?.contains(&name[..15].to_owned()), "{:?}", threads()?);
    let ((dropping, dropped), (go_on, wait)) = (channel(), channel());
    first.keep_alive(Owner::new(Mutex::new(Named(dropping.clone(), Some(wait)))))?;
    second.keep_alive(Owner::new(Mutex::new(Named(dropping, None))))?;
    first.close()?;
    assert_eq!(dropped.recv_timeout(PATIENCE)?, name);
    assert!(threads()?.contains(&name[..15].to_owned()), "{:?}", threads()?);
    // The thread is in the drop of the first owner.
    let (closing, closed) = channel();
    std::thread::spawn(move || closing.send(second.close()));
    closed.recv_timeout(PATIENCE)??;
    assert!(dropped.try_recv().is_err());
    go_on.send(())?;
    assert_eq!(dropped.recv_timeout(PATIENCE)?, name);
    Ok(())
}

/// S2.30: owners that are left when the process ends are not dropped.
#[test]
fn owners_are_left_at_the_end_of_the_process() -> TestResult {
    struct Never;
    impl Drop for Never {
        fn drop(&mut self) {
            std::process::exit(9);
        }
    }
    if !alone("reclaim::owners_are_left_at_the_end_of_the_process")? {
        return Ok(());
    }
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let context = driver.device(0)?.context()?;
    let (dropping, dropped) = channel();
    let (first, second) = (GraphDef::new(&context)?, GraphDef::new(&context)?);
    // The thread is kept busy until the process ends.
    let (_never, wait) = channel();
    first.keep_alive(Owner::new(Mutex::new(Named(dropping, Some(wait)))))?;
    second.keep_alive(Owner::new(Never))?;
    first.close()?;
    dropped.recv()?;
    second.close()?;
    std::process::exit(0);
}

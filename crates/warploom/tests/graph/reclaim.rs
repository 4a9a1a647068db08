//! Release of owners outside of the driver's callbacks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use warploom::graph::Owner;
use warploom::{GraphDef, Stream};
use warploom_testkit::driver_tests;

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

driver_tests! {
    /// S2.29, S2.30: an owner's drop may call CUDA, since it does not run in the driver's callback.
    fn an_owner_may_call_cuda_when_it_is_dropped(driver) {
        let stage = Stage::new(driver)?;
        let calls = Arc::new(AtomicU32::new(0));
        let graph = GraphDef::new(&stage.context)?;
        let caller = Caller { stream: stage.stream.clone(), calls: Arc::clone(&calls) };
        graph.keep_alive(Owner::new(caller))?;
        graph.close()?;
        assert!(stage.within_a_while(|| calls.load(Ordering::Relaxed) == 1));
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
        let (mut graphs, mut watches) = (Vec::new(), Vec::new());
        for _ in 0..64 {
            let graph = GraphDef::new(&stage.context)?;
            let (function, watch) = closure();
            graph.entry().host(function)?;
            graphs.push(graph);
            watches.push(watch);
        }
        drop(graphs);
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

//! Fixtures of the graph tests: a context with streams, and values whose drop is observed.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use warploom::graph::{Owner, reclaim};
use warploom::{Buffer, Context, DevicePool, Driver, Function, GraphDef, Kernel, LaunchConfig, Result, Stream};

/// Sums of vectors.
const VECTOR: &str = include_str!("../../../ptx/kernels/ptx/compute_75/vector.ptx");

/// A context, two streams, a pool and an empty graph.
pub(crate) struct Stage {
    pub(crate) context: Context,
    pub(crate) stream: Stream,
    pub(crate) other: Stream,
    pub(crate) pool: DevicePool,
    pub(crate) graph: GraphDef,
}

impl Stage {
    pub(crate) fn new(driver: &Driver) -> Result<Stage> {
        let context = driver.device(0)?.context()?;
        let (stream, other, pool) = (context.stream()?, context.stream()?, DevicePool::new(&context)?);
        let graph = GraphDef::new(&context)?;
        Ok(Stage { context, stream, other, pool, graph })
    }

    /// A buffer of so many zeroes.
    pub(crate) fn zeroed(&self, len: usize) -> Result<Buffer<u32>> {
        self.pool.zeroed(len, &self.stream)
    }

    /// `y[i] = a * x[i] + y[i]` for `i < n`, with `(a: f32, x: &[f32], y: &mut [f32], n: u32)`.
    pub(crate) fn saxpy(&self) -> Result<Kernel> {
        self.context.load(&VECTOR.replacen(".version 9.4", ".version 8.3", 1))?.kernel("saxpy")
    }

    /// Waits a while until a value is gone; `true` if it is.
    pub(crate) fn is_released<T: ?Sized>(&self, watch: &Weak<T>) -> bool {
        self.within_a_while(|| watch.strong_count() == 0)
    }

    /// Waits until a condition holds, for a limited time, while owners are released.
    pub(crate) fn within_a_while(&self, holds: impl Fn() -> bool) -> bool {
        let start = Instant::now();
        while !holds() && start.elapsed() < Duration::from_secs(5) {
            self.context.synchronize().unwrap_or_default();
            reclaim();
            std::thread::sleep(Duration::from_millis(1));
        }
        holds()
    }

    /// Asserts that a value stays, also when everything has been released that can be.
    #[track_caller]
    pub(crate) fn assert_kept<T: ?Sized>(&self, watch: &Weak<T>) {
        reclaim();
        assert_ne!(watch.strong_count(), 0, "it was released");
    }
}

/// A value that only its owner keeps, and a watch on it.
pub(crate) fn watched() -> (Owner, Weak<()>) {
    let value = Arc::new(());
    let watch = Arc::downgrade(&value);
    (Owner::shared(value), watch)
}

/// A closure that does nothing and keeps a value, and a watch on it.
pub(crate) fn closure() -> (impl Fn() + Send + Sync + 'static, Weak<()>) {
    let value = Arc::new(());
    let watch = Arc::downgrade(&value);
    (move || _ = &value, watch)
}

/// One block that covers a few values.
pub(crate) fn small() -> LaunchConfig {
    LaunchConfig::new(1, 32)
}

/// A user object that is made and retained, and the call of the node.
pub(crate) fn attached(call: Function) -> [(Function, u64); 3] {
    [(Function::cuUserObjectCreate, 1), (Function::cuGraphRetainUserObject, 1), (call, 1)]
}

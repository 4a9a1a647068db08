//! A context with streams and a pool.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use warploom::graph::reclaim;
use warploom::{Context, DevicePool, Driver, Stream};
use warploom_testkit::TestResult;

pub(crate) struct Stage {
    pub(crate) context: Context,
    pub(crate) stream: Stream,
    pub(crate) other: Stream,
    pub(crate) pool: DevicePool,
}

impl Stage {
    pub(crate) fn new(driver: &Driver) -> TestResult<Stage> {
        let context = driver.device(0)?.context()?;
        let (stream, other, pool) = (context.stream()?, context.stream()?, DevicePool::new(&context)?);
        Ok(Stage { context, stream, other, pool })
    }
}

/// `true` if a graph keeps the value.
pub(crate) fn is_kept<T>(value: &Arc<T>) -> bool {
    reclaim();
    Arc::strong_count(value) > 1
}

impl Stage {
    /// `true` if all graphs let go of the value. The driver may do so later than it was told.
    pub(crate) fn is_gone<T>(&self, value: &Arc<T>) -> bool {
        for _ in 0..500 {
            if !is_kept(value) {
                return true;
            }
            self.context.synchronize().unwrap_or_default();
            thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

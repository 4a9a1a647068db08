//! A context with streams and a pool.

use warploom::{Context, DevicePool, Devices, Driver, Stream};
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

//! A buffer travels over all devices and comes home.

use warploom::{DevicePool, Devices as _, Driver, Result};

use super::{Found, noise};
use crate::report::{Check, Findings};

const BYTES: usize = 1 << 20;

pub(super) fn visit(driver: &Driver) -> Found {
    let contexts = driver.devices()?.iter().map(|device| device.context()).collect::<Result<Vec<_>>>()?;
    let pools = contexts.iter().map(DevicePool::new).collect::<Result<Vec<_>>>()?;
    let streams = contexts.iter().map(|context| context.stream()).collect::<Result<Vec<_>>>()?;

    let sent = noise(BYTES);
    let mut route = vec![0];
    let mut traveller = pools[0].upload(&sent, &streams[0])?;
    for stop in (1..contexts.len()).chain([0]) {
        let stream = &streams[stop];
        let mut arrived = pools[stop].allocate(BYTES, stream)?;
        traveller.copy_to(&mut arrived, stream)?;
        traveller = arrived;
        route.push(contexts[stop].device().ordinal());
    }
    let back = traveller.download(&streams[0])?;
    let checks = vec![Check::new("it came home unchanged", back == sent)];
    Ok((Findings::Journey { bytes: BYTES, route }, checks))
}

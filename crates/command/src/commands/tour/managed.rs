//! Managed memory: the host and the device take turns at one address.

use warploom::{Advice, DeviceAttribute, Driver, Function, Host, ManagedMemory, Result, advise, prefetch_batch};

use super::{StepResult, noise};
use crate::report::{Check, Findings};

const BYTES: usize = 2 << 20;
const BUFFERS: usize = 4;

/// `true` if all devices can work while the host uses managed memory; the host can be refused otherwise.
pub(super) fn is_shared(driver: &Driver) -> Result<bool> {
    for device in driver.devices()? {
        if device.attribute(DeviceAttribute::ConcurrentManagedAccess)? == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(super) fn visit(driver: &Driver) -> StepResult {
    let (device, written) = (driver.device(0)?, noise(BYTES));
    let context = device.context()?;
    let (stream, memory) = (context.stream()?, ManagedMemory::new(&context)?);
    let mut buffers = (0..BUFFERS).map(|_| memory.allocate::<u8>(BYTES)).collect::<Result<Vec<_>>>()?;
    advise(&buffers, Advice::PreferredLocation(Some((&device).into())))?;
    for buffer in &mut buffers {
        buffer.host_mut()?.copy_from_slice(&written);
    }
    let calls = driver.count_calls();
    prefetch_batch(&buffers, &device, &stream)?;
    let prefetch_calls = calls.count(Function::cuMemPrefetchBatchAsync) + calls.count(Function::cuMemPrefetchAsync_v2);
    drop(calls);
    for buffer in &mut buffers {
        buffer.slice_mut(..BYTES / 2)?.fill(7, &stream)?;
    }
    prefetch_batch(&buffers, Host::Any, &stream)?;
    let mut both = true;
    for buffer in &buffers {
        let values = buffer.host()?;
        let (first, second) = values.split_at(BYTES / 2);
        both &= first.iter().all(|byte| *byte == 7) && second == &written[BYTES / 2..];
    }
    let preferred = buffers[0].preferred_location()? == Some(device.into());
    let checks = vec![
        Check::new("the host saw what the device wrote, and what it had written itself", both),
        Check::new("the driver knows where the memory would rather be", preferred),
    ];
    Ok((Findings::Managed { buffers: BUFFERS, bytes: BYTES, prefetch_calls }, checks))
}

//! A buffer travels over all devices and comes home, from a pool that all of them may use.

use warploom::{CopyPolicy, DevicePool, Driver, Function, LiveSet as _, Mesh, Result, Topology};

use super::{StepResult, noise};
use crate::report::{Check, Findings};

const BYTES: usize = 1 << 20;

pub(super) fn visit(driver: &Driver) -> StepResult {
    let contexts = driver.devices()?.iter().map(|device| device.context()).collect::<Result<Vec<_>>>()?;
    let pools = contexts.iter().map(DevicePool::new).collect::<Result<Vec<_>>>()?;
    let streams = contexts.iter().map(|context| context.stream()).collect::<Result<Vec<_>>>()?;

    let granted = reaching(&pools[0])?;
    let calls = driver.count_calls();
    pools[0].peers().extend(granted.iter().copied())?;
    let grant_calls = calls.count(Function::cuMemPoolSetAccess);
    drop(calls);
    let members: Vec<u32> = pools[0].peers().iter()?.map(|device| device.ordinal()).collect();
    let live = is_live(&pools[0], &granted)?;

    let topology = Topology::probe(&driver.devices()?)?;
    let (mesh, report) = Mesh::open(&topology, &contexts, &pools.iter().collect::<Vec<_>>())?;
    let pairs = report.contexts.pairs();
    let enabled_pairs = pairs.iter().filter(|pair| pair.outcome.is_enabled()).count();
    let islands = topology.islands().len();

    let sent = noise(BYTES);
    let (mut route, mut direct) = (vec![0], 0);
    let mut traveller = pools[0].upload(&sent, &streams[0])?;
    let calls = driver.count_calls();
    for stop in (1..contexts.len()).chain([0]) {
        let stream = &streams[stop];
        let mut arrived = pools[stop].allocate(BYTES, stream)?;
        let is_direct = mesh.copy(&traveller, &mut arrived, stream).is_ok();
        if !is_direct {
            mesh.copy_with(CopyPolicy::AllowStaged, &traveller, &mut arrived, stream)?;
        }
        direct += usize::from(is_direct);
        traveller = arrived;
        route.push(contexts[stop].device().ordinal());
    }
    let host_waits = calls.count(Function::cuStreamSynchronize) + calls.count(Function::cuEventSynchronize);
    drop(calls);
    // The copies are still on their way.
    pools[0].peers().clear()?;
    let is_closed = pools[0].peers().is_empty()?;
    let back = traveller.download(&streams[0])?;
    let checks = vec![
        Check::new(
            "the driver granted what was asked for, with one call at most",
            members == granted && grant_calls <= 1,
        ),
        Check::new("the set is the driver's: who looks at it elsewhere sees it change", live),
        Check::new("access was enabled wherever the hardware can", report.failures().next().is_none()),
        Check::new(
            "what travelled came home unchanged, and the host waited for no copy",
            back == sent && host_waits == 0,
        ),
        Check::new(
            "access to the pool was taken away when the work that needed it was done",
            is_closed && back == sent,
        ),
    ];
    let (bytes, pairs) = (BYTES, pairs.len());
    Ok((Findings::Journey { granted, grant_calls, islands, pairs, enabled_pairs, bytes, route, direct }, checks))
}

/// `true` if a change through one view of the peers is seen by another that was there before.
fn is_live(pool: &DevicePool, granted: &[u32]) -> Result<bool> {
    let (one, other) = (pool.peers(), pool.peers());
    let Some(first) = granted.first() else { return other.is_empty() };
    one.remove(*first)?;
    let was_seen = !other.contains(*first)?;
    one.insert(*first)?;
    Ok(was_seen && other.contains(*first)?)
}

/// The devices that can be given access to a pool.
fn reaching(pool: &DevicePool) -> Result<Vec<u32>> {
    let owner = pool.context().device();
    let mut found = Vec::new();
    for device in owner.driver().devices()? {
        if device != *owner && device.can_access(owner)? {
            found.push(device.ordinal());
        }
    }
    Ok(found)
}

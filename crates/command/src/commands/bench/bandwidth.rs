//! Bandwidth of copies: host to device, device to host, device to device, one way and both ways at once.

use warploom::{
    Buffer, Comparison, Context, CopyPolicy, DevicePool, Event, Mesh, PinnedMemory, Result, Stream, StreamWord, Timed,
    Topology,
};

use super::Bench;
use crate::human::Progress;
use crate::report::{BandwidthReport, HostBandwidth, PairBandwidth};

const MIB: usize = 1 << 20;

/// Copies in one direction, on a stream of their own.
struct Lane<'b> {
    from: &'b Buffer<u8>,
    to: &'b mut Buffer<u8>,
    stream: Stream,
}

/// A lane on a new stream of the context.
fn lane<'b>(context: &Context, from: &'b Buffer<u8>, to: &'b mut Buffer<u8>) -> Result<Lane<'b>> {
    Ok(Lane { from, to, stream: context.stream()? })
}

/// Bytes of a copy, and the number of copies that are timed together. Virtual time is the same every time.
fn sizes(bench: &Bench) -> (usize, usize) {
    match (bench.is_simulated(), bench.quick) {
        (true, false) => (16 * MIB, 4),
        (true, true) => (4 * MIB, 2),
        (false, false) => (128 * MIB, 8),
        (false, true) => (32 * MIB, 4),
    }
}

pub(super) fn measure(bench: &Bench, progress: &mut Progress) -> Result<BandwidthReport> {
    let (bytes, copies) = sizes(bench);
    let contexts = bench.contexts()?;
    let (mesh, enabled) = Mesh::enable(&Topology::probe(&bench.driver().devices()?)?, &contexts)?;
    let pools = contexts.iter().map(DevicePool::new).collect::<Result<Vec<_>>>()?;
    mesh.grant_pools(&pools.iter().collect::<Vec<_>>())?;
    let meter = Meter { mesh: &mesh, copies };
    let count = contexts.len();
    progress.start("bandwidth", count + count * count);
    let mut host = Vec::new();
    for (context, pool) in contexts.iter().zip(&pools) {
        let stream = context.stream()?;
        let (mut device, other) = (pool.zeroed(bytes, &stream)?, pool.zeroed(bytes, &stream)?);
        stream.synchronize()?;
        let pinned = PinnedMemory::new(context);
        let (mut here, mut there) = (pinned.buffer(bytes)?.into_buffer(), pinned.buffer(bytes)?.into_buffer());
        host.push(HostBandwidth {
            device: context.device().ordinal(),
            to_device: meter.rate(context, vec![lane(context, &here, &mut device)?])?,
            to_host: meter.rate(context, vec![lane(context, &device, &mut here)?])?,
            both: meter.rate(context, vec![lane(context, &here, &mut device)?, lane(context, &other, &mut there)?])?,
        });
        progress.step();
    }
    let mut devices = Vec::new();
    for from in 0..count {
        for to in 0..count {
            let direct = from == to
                || enabled
                    .get(contexts[to].device(), contexts[from].device())
                    .is_some_and(|outcome| outcome.is_enabled());
            devices.push(pair(&meter, [&contexts[from], &contexts[to]], [&pools[from], &pools[to]], bytes, direct)?);
            progress.step();
        }
    }
    Ok(BandwidthReport { copy_bytes: bytes, copies, host, devices })
}

fn pair(
    meter: &Meter<'_>,
    [source, target]: [&Context; 2],
    [source_pool, target_pool]: [&DevicePool; 2],
    bytes: usize,
    direct: bool,
) -> Result<PairBandwidth> {
    let (here, there) = (source.stream()?, target.stream()?);
    let (from, mut to) = (source_pool.zeroed(bytes, &here)?, target_pool.zeroed(bytes, &there)?);
    here.synchronize()?;
    there.synchronize()?;
    // Both lanes are on streams of one context, whose events have one clock.
    let one_way = meter.rate(source, vec![lane(source, &from, &mut to)?])?;
    let both = if source.device() == target.device() {
        None
    } else {
        let (mut back, forth) = (source_pool.zeroed(bytes, &here)?, target_pool.zeroed(bytes, &there)?);
        here.synchronize()?;
        there.synchronize()?;
        Some(meter.rate(source, vec![lane(source, &from, &mut to)?, lane(source, &forth, &mut back)?])?)
    };
    Ok(PairBandwidth { from: source.device().ordinal(), to: target.device().ordinal(), one_way, both, direct })
}

/// A word that holds streams up until the host writes it, at the latest when it is dropped: an error leaves no
/// stream waiting.
struct Gate(StreamWord<u32>);

impl Drop for Gate {
    fn drop(&mut self) {
        self.0.store(1);
    }
}

/// Times copies that start together.
struct Meter<'m> {
    mesh: &'m Mesh,
    copies: usize,
}

impl Meter<'_> {
    /// Bytes per second of all lanes, from the start to the last end. Everything is enqueued behind a word that
    /// the host then writes, so that the cost of the calls is not part of it; the lanes start together.
    fn rate(&self, context: &Context, mut lanes: Vec<Lane<'_>>) -> Result<f64> {
        let gate = Gate(StreamWord::new(context, 0)?);
        let mut start: Option<Event<Timed>> = None;
        let (mut ends, mut bytes) = (Vec::new(), 0);
        for lane in &mut lanes {
            // One copy beforehand: the first one sets up more than the others.
            self.copy(lane)?;
            match &start {
                Some(start) => lane.stream.wait(start)?,
                None => {
                    gate.0.wait(Comparison::AtLeast(1), &lane.stream)?;
                    start = Some(lane.stream.record_timed()?);
                }
            }
            for _ in 0..self.copies {
                self.copy(lane)?;
            }
            ends.push(lane.stream.record_timed()?);
            bytes += lane.from.len() * self.copies;
        }
        gate.0.store(1);
        let mut longest = 0.0_f64;
        for end in &ends {
            end.synchronize()?;
            if let Some(start) = &start {
                longest = longest.max(end.elapsed_ms(start)?.into());
            }
        }
        Ok(bytes as f64 / (longest / 1e3))
    }

    fn copy(&self, lane: &mut Lane<'_>) -> Result<()> {
        let Lane { from, to, stream } = lane;
        if from.context().device() == to.context().device() {
            return from.copy_to(&mut **to, stream);
        }
        self.mesh.copy_with(CopyPolicy::AllowStaged, *from, &mut **to, stream).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::sweep::sweep;
    use super::super::lazy;
    use super::*;
    use crate::choice::Opened;
    use crate::failure::Failure;

    #[test]
    fn every_failing_driver_call_is_reported() -> Result<(), Failure> {
        let calls = sweep(lazy, |opened| {
            let Opened { driver, report, machine } = opened;
            let opened = Opened { driver: driver.clone(), report: report.clone(), machine: machine.clone() };
            Ok(Some(measure(&Bench { opened, quick: true }, &mut Progress::new())?))
        })?;
        assert!(calls > 20, "{calls}");
        Ok(())
    }
}

//! Bandwidth of copies between devices, as a share of each link, on the machine's own clock.

use warploom::{Buffer, DeviceMemory, Driver, Function, Mesh, Result, Stream, Topology};
use warploom_sim::topology::Topology as Wiring;
use warploom_sim::{Machine, Mode, Order};

use crate::measure::Outcome;

const MIB: usize = 1 << 20;

struct Site {
    driver: Driver,
    mesh: Mesh,
    streams: Vec<Stream>,
    /// Bytes per second of the link from the first device to the second.
    link: u64,
}

pub(crate) fn report(preset: &str) -> Outcome {
    let site = Site::open(preset)?;
    println!("{preset}, virtual time, links of {} GB/s in each direction", site.link / 1_000_000_000);
    for bytes in [64 << 10, MIB, 16 * MIB, 256 * MIB] {
        let one_way = site.copies(bytes, &[(0, 1)])?;
        println!("  one copy of {:>9} KiB       {}", bytes >> 10, site.share(bytes, 1, one_way));
    }
    let count = site.streams.len();
    let ring: Vec<_> = (0..count).map(|at| (at, (at + 1) % count)).collect();
    println!("  {count} in a ring, 64 MiB each      {}", site.share(64 * MIB, count, site.copies(64 * MIB, &ring)?));
    let fan_in: Vec<_> = (1..count).map(|at| (at, 0)).collect();
    // All of them go into one device, by one port.
    println!(
        "  {} to one, 64 MiB each       {}",
        count - 1,
        site.share(64 * MIB * (count - 1), 1, site.copies(64 * MIB, &fan_in)?)
    );
    site.calls()
}

impl Site {
    fn open(preset: &str) -> Outcome<Site> {
        let wiring = Wiring::preset(preset)?;
        let link = wiring.peers.link(0, 1).ok_or("a machine with links")?.bandwidth;
        let machine = Machine::builder().topology(wiring).mode(Mode::Deterministic(Order::Eager)).start()?;
        let driver = Driver::open(&machine)?;
        let devices = driver.devices()?;
        let contexts = devices.iter().map(|device| device.context()).collect::<Result<Vec<_>>>()?;
        let (mesh, _) = Mesh::enable_strict(&Topology::probe(&devices)?, &contexts)?;
        let streams = contexts.iter().map(|context| context.stream()).collect::<Result<Vec<_>>>()?;
        Ok(Site { driver, mesh, streams, link })
    }

    fn buffer(&self, at: usize, bytes: usize) -> Result<Buffer<u8>> {
        DeviceMemory::new(self.streams[at].context()).allocate(bytes)
    }

    /// The longest time, in seconds, that one of several copies takes that start together; each is fetched by
    /// its destination.
    fn copies(&self, bytes: usize, pairs: &[(usize, usize)]) -> Outcome<f64> {
        let mut ends = Vec::new();
        for (from, to) in pairs {
            ends.push((self.buffer(*from, bytes)?, self.buffer(*to, bytes)?));
        }
        let starts = pairs.iter().map(|(_, to)| self.streams[*to].record_timed()).collect::<Result<Vec<_>>>()?;
        for ((source, target), (_, to)) in ends.iter_mut().zip(pairs) {
            self.mesh.copy(&*source, target, &self.streams[*to])?;
        }
        let stops = pairs.iter().map(|(_, to)| self.streams[*to].record_timed()).collect::<Result<Vec<_>>>()?;
        let mut longest = 0.0_f64;
        for (start, stop) in starts.iter().zip(&stops) {
            stop.synchronize()?;
            longest = longest.max(f64::from(stop.elapsed_ms(start)?) / 1e3);
        }
        Ok(longest)
    }

    /// The bandwidth reached, and its share of the bandwidth of so many links.
    fn share(&self, bytes: usize, links: usize, seconds: f64) -> String {
        let reached = (bytes * links) as f64 / seconds;
        let possible = self.link as f64 * links as f64;
        format!("{:>8.1} GB/s, {:>5.1} % of the link", reached / 1e9, reached / possible * 100.0)
    }

    /// Counts the driver calls of a peer copy.
    fn calls(&self) -> Outcome {
        let (mut source, mut target) = (self.buffer(0, 4096)?, self.buffer(1, 4096)?);
        for _ in 0..2 {
            source.fill(1, &self.streams[0])?;
            self.mesh.copy(&source, &mut target, &self.streams[1])?;
            self.streams[0].wait_for(&self.streams[1])?;
        }
        source.fill(1, &self.streams[0])?;
        for case in ["after a write on another stream", "on one stream"] {
            let calls = self.driver.count_calls();
            self.mesh.copy(&source, &mut target, &self.streams[1])?;
            let waits = calls.count(Function::cuStreamSynchronize) + calls.count(Function::cuEventSynchronize);
            println!("  a peer copy {case}: {} driver calls, {waits} of them waiting", calls.total());
        }
        Ok(())
    }
}

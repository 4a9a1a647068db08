//! Random copies between eight devices on many streams: every byte is what a plain model says, and no two
//! copies race.
//!
//! Copies say nothing about their order but the order of the calls. Buffers are dropped while they are in
//! use, and come from pools and from elsewhere.

use warploom::{Buffer, Context, DeviceMemory, DevicePool, Mesh, Stream};
use warploom_sim::topology::Topology as Wiring;
use warploom_sim::{Mode, Order};
use warploom_testkit::{Random, TestResult};

use super::Site;

const DEVICES: usize = 8;
const STREAMS: usize = 32;
const BUFFERS: usize = 24;
const LEN: usize = 512;

/// A buffer, and what is in it once everything is done.
struct Cell {
    device: usize,
    buffer: Buffer<u8>,
    model: Vec<u8>,
}

struct Workload<'a> {
    mesh: Mesh,
    contexts: &'a [Context],
    pools: Vec<DevicePool>,
    /// As many of each device.
    streams: Vec<Stream>,
    cells: Vec<Cell>,
    random: Random,
}

impl<'a> Workload<'a> {
    fn new(site: &'a Site, seed: u64) -> TestResult<Workload<'a>> {
        let (mesh, pools) = site.open_pools()?;
        let streams = (0..STREAMS).map(|at| site.contexts[at % DEVICES].stream()).collect::<Result<Vec<_>, _>>()?;
        let mut workload =
            Workload { mesh, contexts: &site.contexts, pools, streams, cells: Vec::new(), random: Random::new(seed) };
        for _ in 0..BUFFERS {
            let cell = workload.new_cell()?;
            workload.cells.push(cell);
        }
        Ok(workload)
    }

    fn stream_of(&mut self, device: usize) -> Stream {
        self.streams[device + DEVICES * self.random.below(STREAMS / DEVICES)].clone()
    }

    fn new_cell(&mut self) -> TestResult<Cell> {
        let device = self.random.below(DEVICES);
        let stream = self.stream_of(device);
        let model: Vec<u8> = (0..LEN).map(|_| self.random.below(256) as u8).collect();
        let buffer = if self.random.below(2) == 0 {
            self.pools[device].upload(&model, &stream)?
        } else {
            DeviceMemory::new(&self.contexts[device]).upload(&model, &stream)?
        };
        Ok(Cell { device, buffer, model })
    }

    fn step(&mut self) -> TestResult {
        let at = self.random.below(BUFFERS);
        match self.random.below(20) {
            0 => self.cells[at] = self.new_cell()?, // the old one may be in use
            1 => self.check(at)?,
            _ => self.copy(at)?,
        }
        Ok(())
    }

    /// A part of one buffer to a part of another, on any stream of either device.
    fn copy(&mut self, from: usize) -> TestResult {
        let to = (from + 1 + self.random.below(BUFFERS - 1)) % BUFFERS;
        let len = self.random.below(LEN + 1);
        let (read, write) = (self.random.below(LEN - len + 1), self.random.below(LEN - len + 1));
        let device = self.cells[if self.random.below(2) == 0 { from } else { to }].device;
        let stream = self.stream_of(device);
        let [source, target] = self.cells.get_disjoint_mut([from, to])?;
        let ticket = self.mesh.copy(
            source.buffer.slice(read..read + len)?,
            target.buffer.slice_mut(write..write + len)?,
            &stream,
        )?;
        target.model[write..write + len].copy_from_slice(&source.model[read..read + len]);
        match self.random.below(50) {
            0 => ticket.synchronize()?,
            1 => _ = ticket.is_complete()?,
            2 => ticket.hold_back(&self.streams[self.random.below(STREAMS)])?,
            _ => {}
        }
        Ok(())
    }

    /// Reads a buffer by way of another, on any stream of its device.
    fn check(&mut self, at: usize) -> TestResult {
        let device = self.cells[at].device;
        let stream = self.stream_of(device);
        let mut reader = self.pools[device].allocate::<u8>(LEN, &stream)?;
        self.mesh.copy(&self.cells[at].buffer, &mut reader, &stream)?;
        assert!(reader.download(&stream)? == self.cells[at].model, "buffer {at}");
        Ok(())
    }
}

fn run(steps: usize, seed: u64, mode: Mode) -> TestResult {
    let site = Site::in_mode(Wiring::preset("dgx-h100")?, mode)?;
    let mut workload = Workload::new(&site, seed)?;
    for step in 0..steps {
        workload.step().map_err(|error| format!("seed {seed}, step {step}, {mode:?}: {error}"))?;
    }
    (0..BUFFERS).try_for_each(|at| workload.check(at))
}

/// S3.17, S3.18: 10,000 steps.
#[test]
fn ten_thousand_random_copies_agree_with_the_model() -> TestResult {
    run(10_000, 1, Mode::Threads)
}

/// S3.17, S3.18: in orders in which hardly anything has run when it is needed.
#[test]
fn random_copies_agree_with_the_model_in_every_order() -> TestResult {
    for (seed, order) in (2..).zip([Order::Eager, Order::Lazy, Order::Seeded(3), Order::Seeded(4)]) {
        run(600, seed, Mode::Deterministic(order))?;
    }
    Ok(())
}

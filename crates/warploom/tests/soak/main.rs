//! Many threads, streams and devices at once, on a machine that checks.
//!
//! Buffers wander between threads. Whoever has one waits for its last event, copies, fills, reads or drops it
//! on a stream of its own, and passes it on with a new event. So there is nothing to be found, and at the end
//! nothing is left.

mod growth;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use warploom::{Buffer, Context, DevicePool, Driver, Event, Result, Stream};
use warploom_sim::topology::Topology;
use warploom_sim::{Checks, Machine};
use warploom_testkit::{Random, TestResult};

const THREADS: u64 = 8;
const STREAMS: usize = 16;

/// A buffer on its way, all bytes of which are the same.
struct Parcel {
    buffer: Buffer<u8>,
    byte: u8,
    last: Event,
}

/// The objects that all threads share.
struct Hall {
    contexts: Vec<Context>,
    pools: Vec<DevicePool>,
    /// Of each device, in turn.
    streams: Vec<Stream>,
    parcels: Mutex<Vec<Parcel>>,
}

impl Hall {
    fn new(driver: &Driver) -> Result<Hall> {
        let contexts = driver.devices()?.iter().map(|device| device.context()).collect::<Result<Vec<_>>>()?;
        let pools = contexts.iter().map(DevicePool::new).collect::<Result<Vec<_>>>()?;
        let streams = (0..STREAMS).map(|at| contexts[at % contexts.len()].stream()).collect::<Result<Vec<_>>>()?;
        Ok(Hall { contexts, pools, streams, parcels: Mutex::default() })
    }

    fn take(&self, random: &mut Random) -> Option<Parcel> {
        let mut parcels = self.parcels.lock().unwrap_or_else(PoisonError::into_inner);
        let len = parcels.len();
        (len > 0).then(|| parcels.swap_remove(random.below(len)))
    }

    fn put(&self, buffer: Buffer<u8>, byte: u8, on: &Stream) -> Result<()> {
        let last = on.record()?;
        self.parcels.lock().unwrap_or_else(PoisonError::into_inner).push(Parcel { buffer, byte, last });
        Ok(())
    }

    /// A stream of the device that a buffer is on.
    fn stream_for(&self, buffer: &Buffer<u8>, random: &mut Random) -> &Stream {
        let device = self.contexts.iter().position(|context| context == buffer.context()).unwrap_or(0);
        let turn = random.below(STREAMS / self.contexts.len());
        &self.streams[device + turn * self.contexts.len()]
    }

    /// One step of a thread.
    fn step(&self, random: &mut Random) -> TestResult {
        let Some(mut parcel) = self.take(random).filter(|_| random.below(4) > 0) else {
            let at = random.below(STREAMS);
            let (pool, stream) = (&self.pools[at % self.pools.len()], &self.streams[at]);
            let byte = random.below(256) as u8;
            let mut buffer = pool.allocate(1 + random.below(10_000), stream)?;
            buffer.fill(byte, stream)?;
            return Ok(self.put(buffer, byte, stream)?);
        };
        let stream = self.stream_for(&parcel.buffer, random);
        stream.wait(&parcel.last)?;
        match random.below(5) {
            0 => drop(parcel),
            1 => {
                let found = parcel.buffer.download(stream)?;
                assert!(found.iter().all(|byte| *byte == parcel.byte), "{} of {found:?}", parcel.byte);
                self.put(parcel.buffer, parcel.byte, stream)?;
            }
            2 => {
                parcel.byte = random.below(256) as u8;
                parcel.buffer.fill(parcel.byte, stream)?;
                self.put(parcel.buffer, parcel.byte, stream)?;
            }
            _ => {
                let at = random.below(STREAMS);
                let (pool, home) = (&self.pools[at % self.pools.len()], &self.streams[at]);
                let mut copy = pool.allocate(parcel.buffer.len(), home)?;
                parcel.buffer.copy_to(&mut copy, stream)?;
                self.put(copy, parcel.byte, stream)?;
                self.put(parcel.buffer, parcel.byte, stream)?;
            }
        }
        Ok(())
    }
}

fn soak(time: Duration) -> TestResult {
    let topology = Topology::preset("hgx-a100-4")?;
    let machine = Machine::builder().topology(topology).checks(Checks::report()).start()?;
    let driver = Driver::open(&machine)?;
    driver.initialize()?;
    let hall = Hall::new(&driver)?;
    let end = Instant::now() + time;
    let run = |seed: u64| {
        let (mut random, mut steps) = (Random::new(seed), 0);
        while Instant::now() < end {
            hall.step(&mut random).map_err(|error| error.to_string())?;
            steps += 1;
        }
        Ok::<u64, String>(steps)
    };
    let steps = std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..THREADS).map(|seed| scope.spawn(move || run(seed))).collect();
        let ends = threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?);
        ends.sum::<Result<u64, String>>()
    })?;
    drop(hall);
    let findings: Vec<String> = machine.findings().iter().chain(&machine.leaks()).map(ToString::to_string).collect();
    assert!(findings.is_empty(), "after {steps} steps: {}", findings.join("\n"));
    assert!(steps > 100, "{steps}");
    Ok(())
}

#[test]
fn eight_threads_pass_buffers_around_and_nothing_is_found_or_left() -> TestResult {
    soak(Duration::from_secs(2))
}

#[test]
#[ignore = "takes a minute"]
fn eight_threads_do_so_for_a_minute() -> TestResult {
    soak(Duration::from_secs(60))
}

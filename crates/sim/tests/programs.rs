//! Random programs over several devices: properly ordered, they give the same bytes in every mode and with
//! every seed.
//!
//! A program is a list of fills and copies between buffers on two devices and in page-locked memory, each on
//! a stream of its own choosing. Before each, its stream is made to wait for the events behind every earlier
//! use that it could disturb; that makes the outcome that of running the list from top to bottom, which is
//! what the model does.

use std::ffi::c_void;
use std::ptr::null_mut;

use proptest::prelude::*;
use warploom_driver::Driver;
use warploom_sim::topology::Topology;
use warploom_sys::types::{CUdeviceptr, CUevent, CUstream};
use warploom_testkit::{Primary, TestResult, call, in_every_mode};

/// Buffers 0 and 1 are on device 0, 2 and 3 on device 1, the last is page-locked host memory.
const BUFFERS: usize = 5;
const HOST: usize = BUFFERS - 1;
const STREAMS: usize = 6;
const SIZE: usize = 256;

#[derive(Clone, Copy, Debug)]
enum Step {
    Fill { buffer: usize, at: usize, len: usize, byte: u8 },
    Copy { from: usize, to: usize, from_at: usize, to_at: usize, len: usize },
}

fn step() -> impl Strategy<Value = (usize, Step)> {
    let fill = (0..HOST, 0..SIZE / 2, 1..=SIZE / 2, any::<u8>()).prop_map(|(buffer, at, len, byte)| Step::Fill {
        buffer,
        at,
        len,
        byte,
    });
    let copy = (0..BUFFERS, 1..BUFFERS, 0..SIZE / 2, 0..SIZE / 2, 1..=SIZE / 2).prop_map(
        |(from, distance, from_at, to_at, len)| Step::Copy {
            from,
            to: (from + distance) % BUFFERS,
            from_at,
            to_at,
            len,
        },
    );
    (0..STREAMS, prop_oneof![1 => fill, 2 => copy])
}

/// The buffers after all steps in program order.
fn model(program: &[(usize, Step)]) -> Vec<[u8; SIZE]> {
    let mut buffers = vec![[0; SIZE]; BUFFERS];
    for (_, step) in program {
        match *step {
            Step::Fill { buffer, at, len, byte } => buffers[buffer][at..at + len].fill(byte),
            Step::Copy { from, to, from_at, to_at, len } => {
                let bytes = buffers[from];
                buffers[to][to_at..to_at + len].copy_from_slice(&bytes[from_at..from_at + len]);
            }
        }
    }
    buffers
}

/// A machine's buffers and streams, and for each buffer the events behind its uses so far.
struct Rig<'d> {
    driver: &'d Driver,
    addresses: Vec<CUdeviceptr>,
    /// With the device that each belongs to.
    streams: Vec<(CUstream, usize)>,
    uses: Vec<Vec<CUevent>>,
}

impl<'d> Rig<'d> {
    fn new(driver: &'d Driver, contexts: &[Primary; 2]) -> TestResult<Self> {
        let mut addresses = Vec::new();
        for context in [0, 0, 1, 1] {
            contexts[context].make_current()?;
            let mut address = 0;
            call!(driver.cuMemAlloc_v2(&mut address, SIZE))?;
            call!(driver.cuMemsetD8_v2(address, 0, SIZE))?;
            call!(driver.cuCtxSynchronize())?;
            addresses.push(address);
        }
        let mut host: *mut c_void = null_mut();
        call!(driver.cuMemHostAlloc(&mut host, SIZE, 0))?;
        addresses.push(host.expose_provenance() as u64);
        let mut streams = Vec::new();
        for index in 0..STREAMS {
            contexts[index % 2].make_current()?;
            let mut stream = null_mut();
            // Blocking and non-blocking ones; nothing here is in a default stream.
            call!(driver.cuStreamCreate(&mut stream, (index / 2 % 2) as u32))?;
            streams.push((stream, index % 2));
        }
        Ok(Self { driver, addresses, streams, uses: vec![Vec::new(); BUFFERS] })
    }

    fn run(&mut self, contexts: &[Primary; 2], (stream, step): (usize, Step)) -> TestResult {
        let driver = self.driver;
        let (touched, stream) = match step {
            // A device fills its own memory; a copy can be made by either.
            Step::Fill { buffer, .. } => (vec![buffer], stream / 2 * 2 + buffer / 2),
            Step::Copy { from, to, .. } => (vec![from, to], stream),
        };
        let (raw, device) = self.streams[stream];
        for buffer in &touched {
            for event in &self.uses[*buffer] {
                call!(driver.cuStreamWaitEvent(raw, *event, 0))?;
            }
        }
        match step {
            Step::Fill { buffer, at, len, byte } => {
                call!(driver.cuMemsetD8Async(self.addresses[buffer] + at as u64, byte, len, raw))?;
            }
            Step::Copy { from, to, from_at, to_at, len } => {
                let (from, to) = (self.addresses[from] + from_at as u64, self.addresses[to] + to_at as u64);
                call!(driver.cuMemcpyAsync(to, from, len, raw))?;
            }
        }
        contexts[device].make_current()?;
        let mut event = null_mut();
        call!(driver.cuEventCreate(&mut event, 2))?;
        call!(driver.cuEventRecord(event, raw))?;
        for buffer in touched {
            // What follows waits for this, and this has waited for what was there: one event is enough.
            self.uses[buffer] = vec![event];
        }
        Ok(())
    }

    fn read(&self, contexts: &[Primary; 2]) -> TestResult<Vec<[u8; SIZE]>> {
        let driver = self.driver;
        for context in contexts {
            context.make_current()?;
            call!(driver.cuCtxSynchronize())?;
        }
        let mut buffers = vec![[0; SIZE]; BUFFERS];
        for (address, bytes) in self.addresses.iter().zip(&mut buffers) {
            call!(driver.cuMemcpy(bytes.as_mut_ptr().expose_provenance() as u64, *address, SIZE))?;
        }
        Ok(buffers)
    }
}

fn run(driver: &Driver, program: &[(usize, Step)]) -> TestResult<Vec<[u8; SIZE]>> {
    let contexts = [Primary::of(driver, 0)?, Primary::of(driver, 1)?];
    let mut rig = Rig::new(driver, &contexts)?;
    for step in program {
        rig.run(&contexts, *step)?;
    }
    rig.read(&contexts)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn properly_ordered_programs_give_the_same_bytes_in_every_mode(program in prop::collection::vec(step(), 1..60)) {
        let topology = Topology::preset("pcie-pair").expect("the preset exists");
        let bytes = in_every_mode(&topology, 8, |_, driver| run(driver, &program)).expect("every call succeeds");
        prop_assert_eq!(bytes, model(&program));
    }
}

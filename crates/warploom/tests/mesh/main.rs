//! Meshes: enabled access, reports, and resets (S3.7 to S3.31,
//! P2P-3 to P2P-5).

mod copying;
mod directness;
mod enabling;
#[path = "../gate/mod.rs"]
mod gate;
mod in_flight;
mod later_work;
mod logs;
mod ordering;
mod pools;
mod random;
mod resets;
mod strict;
mod sweeps;
mod tasks;
mod tickets;
mod watching;

use std::ptr::null_mut;

use warploom::sys::types::CUresult;
use warploom::{Context, DevicePool, Driver, EnableReport, Function, Mesh, PeerOutcome, Result, Stream, Topology};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::{DeviceModel, PeerLink, Topology as Wiring, TopologyBuilder};
use warploom_sim::{Machine, Mode};
use warploom_testkit::{TestResult, assert_sound, call, open};

/// A machine with the primary contexts of all of its devices. When it goes, nothing may have raced on it.
struct Site {
    machine: Machine,
    driver: Driver,
    topology: Topology,
    contexts: Vec<Context>,
}

impl Site {
    fn of(wiring: Wiring) -> TestResult<Site> {
        Site::in_mode(wiring, Mode::Threads)
    }

    fn in_mode(wiring: Wiring, mode: Mode) -> TestResult<Site> {
        let (machine, driver) = open(wiring, mode)?;
        let topology = Topology::probe(&driver.devices()?)?;
        let contexts = contexts(&driver)?;
        Ok(Site { machine, driver, topology, contexts })
    }

    fn preset(name: &str) -> TestResult<Site> {
        Site::of(Wiring::preset(name)?)
    }

    fn mesh(&self) -> Result<Mesh> {
        Ok(Mesh::enable(&self.topology, &self.contexts)?.0)
    }

    /// A stream of each device.
    fn streams(&self) -> Result<Vec<Stream>> {
        self.contexts.iter().map(Context::stream).collect()
    }

    /// A pool of each device, and a mesh to which they are open.
    fn open_pools(&self) -> TestResult<(Mesh, Vec<DevicePool>)> {
        let pools = self.contexts.iter().map(DevicePool::new).collect::<Result<Vec<_>>>()?;
        let (mesh, report) = Mesh::open(&self.topology, &self.contexts, &pools.iter().collect::<Vec<_>>())?;
        assert_eq!(report.failures().next(), None);
        Ok((mesh, pools))
    }

    /// Pairs with peer access enabled, probed by enabling it: the driver refuses to enable it twice.
    fn enabled(&self) -> TestResult<Vec<(u32, u32)>> {
        let driver = &self.driver;
        let mut enabled = Vec::new();
        for accessor in &self.contexts {
            for owner in self.contexts.iter().filter(|owner| *owner != accessor) {
                let answer = accessor.scope(|| {
                    let answer = call!(driver.cuCtxEnablePeerAccess(owner.as_raw(), 0));
                    if answer.is_ok() {
                        call!(driver.cuCtxDisablePeerAccess(owner.as_raw()))?;
                    }
                    answer
                })?;
                if answer.err().and_then(|error| error.code()) == Some(CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
                {
                    enabled.push((accessor.device().ordinal(), owner.device().ordinal()));
                }
            }
        }
        Ok(enabled)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_sound(&self.machine);
        }
    }
}

/// Has the context keep a few events, so that a record is one call from now on.
fn warm(streams: &[Stream]) -> Result<()> {
    streams.iter().try_for_each(|stream| {
        let _both = (stream.record()?, stream.record()?);
        Ok(())
    })
}

fn contexts(driver: &Driver) -> Result<Vec<Context>> {
    driver.devices()?.iter().map(|device| device.context()).collect()
}

/// A machine of so many devices in which exactly these may reach: (accessor, owner of the memory).
fn links(devices: usize, pairs: &[(usize, usize)]) -> TestResult<Wiring> {
    Ok(linked(devices, pairs).build()?)
}

fn linked(devices: usize, pairs: &[(usize, usize)]) -> TopologyBuilder {
    let builder = Wiring::builder().devices(devices, DeviceModel::A100);
    let link = |builder: TopologyBuilder, (from, to): &(usize, usize)| builder.peer(*from, *to, PeerLink::nvlink());
    pairs.iter().fold(builder, link)
}

/// The pairs of a report whose outcome is this one.
fn pairs_that_are(report: &EnableReport, outcome: &PeerOutcome) -> Vec<(u32, u32)> {
    let those = report.pairs().iter().filter(|pair| pair.outcome == *outcome);
    those.map(|pair| (pair.accessor.ordinal(), pair.owner.ordinal())).collect()
}

/// Lets the nth call of a function fail.
fn fail_nth(function: Function, nth: u64, code: CUresult) -> Plan {
    Plan::new().rule(Rule::on(Calls::from(function)).nth(nth).fail(code))
}

/// The handle of what is current on this thread.
fn current(driver: &Driver) -> TestResult<usize> {
    let mut raw = null_mut();
    call!(driver.cuCtxGetCurrent(&mut raw))?;
    Ok(raw.addr())
}

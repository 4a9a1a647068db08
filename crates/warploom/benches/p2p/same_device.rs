//! A copy on one device: by the driver's own function, and by a mesh.
#![expect(unsafe_code, reason = "calls through the bare table, which is what the rest is measured by")]

use std::cell::RefCell;

use warploom::sys::types::CUresult;
use warploom::{DevicePool, Driver, Mesh, Stream, Topology};
use warploom_sim::{Machine, Mode, Order};

use crate::measure::{Outcome, Row, compare, repeat};

const SMALL: usize = 4096;
const LARGE: usize = 256 << 20;
const ROUNDS: usize = 21;

fn success(code: CUresult) -> Result<(), String> {
    if code == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(format!("a call through the table answered {code}")) }
}

pub(crate) fn report() -> Outcome {
    let driver = match Driver::load() {
        Ok(driver) => driver,
        // Work runs where it is waited for, so that the host's side is timed and nothing else.
        Err(_) => Driver::open(&Machine::builder().mode(Mode::Deterministic(Order::Lazy)).start()?)?,
    };
    println!("{}, driver {}", driver.description(), driver.version());
    let context = driver.device(0)?.context()?;
    let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    let (mesh, _) = Mesh::enable(&Topology::probe(&[driver.device(0)?])?, std::slice::from_ref(&context))?;
    let copy = driver.table().cuMemcpyDtoDAsync_v2.ok_or("the driver cannot copy")?;

    let (from, to) = (pool.zeroed::<u8>(SMALL, &stream)?, RefCell::new(pool.zeroed::<u8>(SMALL, &stream)?));
    let (source, target, queue) = (from.as_raw(), to.borrow().as_raw(), stream.as_raw());
    // SAFETY: both buffers have as many bytes, and they and the stream outlive the rounds.
    let raw = repeat(move || success(unsafe { copy(target, source, SMALL, queue) }));
    let ours = repeat(|| mesh.copy(&from, &mut *to.borrow_mut(), &stream).map(drop));
    let row = Row::new("copy 4 KiB on one device", raw, ours);
    compare(&["table", "mesh"], vec![row], || Ok(context.synchronize()?))?;

    let (from, mut to) = (pool.zeroed::<u8>(LARGE, &stream)?, pool.zeroed::<u8>(LARGE, &stream)?);
    let (source, target) = (from.as_raw(), to.as_raw());
    let (mut bare, mut by_mesh) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        // SAFETY: both buffers have as many bytes, and they and the stream outlive the rounds.
        bare.push(timed(&stream, || Ok(success(unsafe { copy(target, source, LARGE, queue) })?))?);
        by_mesh.push(timed(&stream, || Ok(mesh.copy(&from, &mut to, &stream).map(drop)?))?);
    }
    let (bare, by_mesh) = (median(bare), median(by_mesh));
    println!(
        "copy 256 MiB on one device: {:.1} GB/s by the table, {:.1} by the mesh ({:.3})",
        bare,
        by_mesh,
        by_mesh / bare
    );
    Ok(())
}

/// Gigabytes per second, by the device's clock.
fn timed(stream: &Stream, work: impl FnOnce() -> Outcome) -> Outcome<f64> {
    let start = stream.record_timed()?;
    work()?;
    let stop = stream.record_timed()?;
    stop.synchronize()?;
    Ok(LARGE as f64 / f64::from(stop.elapsed_ms(&start)?) / 1e6)
}

fn median(mut rounds: Vec<f64>) -> f64 {
    rounds.sort_by(f64::total_cmp);
    rounds.get(rounds.len() / 2).copied().unwrap_or_default()
}

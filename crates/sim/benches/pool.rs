//! Cost of an allocation and its free, next to the 1269 ns of a real driver.
//!
//! Run it with `cargo bench -p warploom-sim --bench pool`. The pairs are timed early and late in the life of
//! a machine: the cost is not to grow with history.
#![expect(clippy::print_stdout, reason = "a benchmark reports")]

use std::ptr::null_mut;
use std::time::Instant;

use warploom_testkit::sim::Mode;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sys::types::{CUmemLocation, CUmemLocationType, CUmemPool_attribute};
use warploom_testkit::{Primary, TestResult, call, open, pool_properties};

const ROUNDS: usize = 25;
const PAIRS: u32 = 20_000;
/// `cuMemAllocFromPoolAsync` and `cuMemFreeAsync` of 4 KiB on an H200, release threshold at its highest.
const REAL: f64 = 1269.0;

fn main() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let (mut stream, mut pool) = (null_mut(), null_mut());
    call!(driver.cuStreamCreate(&mut stream, 1))?;
    let properties = pool_properties(CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, 0));
    call!(driver.cuMemPoolCreate(&mut pool, &properties))?;
    let mut threshold = u64::MAX;
    let from = (&raw mut threshold).cast();
    call!(driver.cuMemPoolSetAttribute(pool, CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, from))?;

    let pairs = |what: &str| -> TestResult {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let start = Instant::now();
            for _ in 0..PAIRS {
                let mut address = 0;
                call!(driver.cuMemAllocFromPoolAsync(&mut address, 4096, pool, stream))?;
                call!(driver.cuMemFreeAsync(address, stream))?;
            }
            rounds.push(start.elapsed().as_nanos() as f64 / f64::from(PAIRS));
        }
        rounds.sort_by(f64::total_cmp);
        println!("{what}: {:.0} ns a pair, the real driver {REAL:.0}", rounds[ROUNDS / 2]);
        Ok(())
    };
    pairs("empty pool")?;
    let mut live = Vec::new();
    for size in (1..=20_000).map(|index| index % 977 * 64 + 1) {
        let mut address = 0;
        call!(driver.cuMemAllocFromPoolAsync(&mut address, size, pool, stream))?;
        live.push(address);
    }
    pairs("20000 live allocations")?;
    for address in live {
        call!(driver.cuMemFreeAsync(address, stream))?;
    }
    pairs("all of them freed")?;
    call!(driver.cuMemPoolDestroy(pool))?;
    Ok(())
}

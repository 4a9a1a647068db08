//! Physical memory, and the addresses it is at.

use warploom_testkit::sys::types::*;
use warploom_testkit::{TestResult, call, physical_memory};

use super::bench::Bench;
use super::program::{innocent, planted};

/// The granularity of everything.
pub(crate) const SIZE: usize = 2 << 20;

const DEVICE: CUmemLocation = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, 0);

/// Memory of device 0 without an address.
pub(crate) fn create(bench: &Bench) -> TestResult<u64> {
    let (driver, mut handle) = (&bench.driver, 0);
    call!(driver.cuMemCreate(&mut handle, SIZE, &physical_memory(DEVICE), 0))?;
    Ok(handle)
}

/// A stretch of reserved addresses with physical memory at each.
pub(crate) struct Mapped {
    pub(crate) handle: u64,
    pub(crate) addresses: Vec<u64>,
}

impl Mapped {
    /// Memory at one address.
    pub(crate) fn new(bench: &Bench) -> TestResult<Mapped> {
        Mapped::times(bench, 1)
    }

    /// The same memory at several addresses.
    pub(crate) fn times(bench: &Bench, times: usize) -> TestResult<Mapped> {
        let (driver, handle) = (&bench.driver, create(bench)?);
        let access = CUmemAccessDesc { location: DEVICE, flags: CUmemAccess_flags(3) };
        let mut addresses = vec![0; times];
        for address in &mut addresses {
            call!(driver.cuMemAddressReserve(address, SIZE, 0, 0, 0))?;
            call!(driver.cuMemMap(*address, SIZE, 0, handle, 0))?;
            call!(driver.cuMemSetAccess(*address, SIZE, &access, 1))?;
            bench.name(*address);
        }
        Ok(Mapped { handle, addresses })
    }

    /// Ends the mappings and gives the addresses back.
    pub(crate) fn unmap(self, bench: &Bench) -> TestResult {
        let driver = &bench.driver;
        for address in self.addresses {
            call!(driver.cuMemUnmap(address, SIZE))?;
            call!(driver.cuMemAddressFree(address, SIZE))?;
        }
        Ok(())
    }

    pub(crate) fn end(self, bench: &Bench) -> TestResult {
        let driver = &bench.driver;
        call!(driver.cuMemRelease(self.handle))?;
        self.unmap(bench)
    }
}

#[test]
fn two_streams_write_the_same_memory_at_two_addresses() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let mapped = Mapped::times(bench, 2)?;
        bench.fill(mapped.addresses[0], 64, first)?;
        let start = if bench.fixed { 64 } else { 63 };
        bench.fill(mapped.addresses[1] + start, 64, second)?;
        bench.sync(first)?;
        bench.sync(second)?;
        mapped.end(bench)
    })
    .finds("race: cuMemsetD8Async on A writes, cuMemsetD8Async on B writes 63..64 of m1; B after A")
    .check()
}

#[test]
fn memory_is_unmapped_while_it_is_in_use() -> TestResult {
    planted(|bench| {
        let stream = bench.non_blocking()?;
        let mapped = Mapped::new(bench)?;
        bench.fill(mapped.addresses[0], 64, stream)?;
        if bench.fixed {
            bench.sync(stream)?;
        }
        mapped.end(bench)
    })
    .finds("use after free: cuMemsetD8Async on A writes 0..64 of m0, cuMemUnmap frees; host after A")
    .check()
}

#[test]
fn a_mapping_is_freed_as_if_it_were_an_allocation() -> TestResult {
    planted(|bench| {
        let mapped = Mapped::new(bench)?;
        if !bench.fixed {
            bench.free(mapped.addresses[0])?;
        }
        mapped.end(bench)
    })
    .finds("wrong free: cuMemFree_v2 of m0, not cuMemUnmap")
    .refused(CUresult::CUDA_ERROR_INVALID_VALUE)
    .check()
}

#[test]
fn an_address_is_used_after_its_memory_was_unmapped() -> TestResult {
    planted(|bench| {
        let (stream, driver) = (bench.non_blocking()?, &bench.driver);
        let mapped = Mapped::new(bench)?;
        if !bench.fixed {
            call!(driver.cuMemUnmap(mapped.addresses[0], SIZE))?;
        }
        bench.fill(mapped.addresses[0] + 8, 8, stream)?;
        bench.sync(stream)?;
        mapped.end(bench)
    })
    .finds("use after free: cuMemsetD8Async writes 8..16 of m0, cuMemUnmap frees; too late")
    .refused(CUresult::CUDA_ERROR_INVALID_VALUE)
    .check()
}

#[test]
fn a_write_at_one_address_counts_at_the_other() -> TestResult {
    innocent(|bench| {
        let stream = bench.stream()?;
        let mapped = Mapped::times(bench, 2)?;
        bench.fill(mapped.addresses[0], 64, stream)?;
        bench.download(mapped.addresses[1], 64)?;
        mapped.end(bench)
    })
}

#[test]
fn one_of_two_mappings_may_go_while_the_memory_is_in_use() -> TestResult {
    innocent(|bench| {
        let (stream, driver) = (bench.non_blocking()?, &bench.driver);
        let mut mapped = Mapped::times(bench, 2)?;
        bench.fill(mapped.addresses[0], 64, stream)?;
        let other = mapped.addresses.pop().ok_or("there are two")?;
        call!(driver.cuMemUnmap(other, SIZE))?;
        call!(driver.cuMemAddressFree(other, SIZE))?;
        bench.sync(stream)?;
        mapped.end(bench)
    })
}

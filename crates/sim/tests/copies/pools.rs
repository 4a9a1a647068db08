//! Copies and fills of memory from pools that the host can use, too: of page-locked memory, which is the
//! host's to every copy, and of managed memory, which is whatever a call takes it for.

use std::ffi::c_void;
use std::ptr::{null_mut, with_exposed_provenance_mut};

use warploom_testkit::driver::{Driver, Result};
use warploom_testkit::sys::types::{
    CUDA_MEMCPY2D, CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationType, CUmemLocation, CUmemLocationType,
    CUmemPoolProps, CUmemoryPool, CUresult, CUstream,
};
use warploom_testkit::{Primary, Stream, TestResult, call, code_of, driver_tests, pool_properties};

use crate::support::{DEVICE, HOST, Memory, STREAM_ORDER, UNIFIED, attributes, counting, rows};

const BYTES: usize = 1 << 16;

/// A pool, and memory of it.
struct Pooled {
    driver: Driver,
    pool: CUmemoryPool,
    address: u64,
}

impl Pooled {
    fn new(driver: &Driver, kind: u32, place: u32, stream: CUstream) -> TestResult<Pooled> {
        let properties = CUmemPoolProps {
            allocType: CUmemAllocationType(kind),
            ..pool_properties(CUmemLocation::new(CUmemLocationType(place), 0))
        };
        let mut pooled = Pooled { driver: driver.clone(), pool: null_mut(), address: 0 };
        call!(driver.cuMemPoolCreate(&mut pooled.pool, &properties))?;
        call!(driver.cuMemAllocFromPoolAsync(&mut pooled.address, BYTES, pooled.pool, stream))?;
        call!(driver.cuStreamSynchronize(stream))?;
        Ok(pooled)
    }

    /// Opens the pool to device 0.
    fn granted(self) -> TestResult<Pooled> {
        let (driver, access) = (&self.driver, access(CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
        call!(driver.cuMemPoolSetAccess(self.pool, &access, 1))?;
        Ok(self)
    }
}

fn access(flags: CUmemAccess_flags) -> CUmemAccessDesc {
    CUmemAccessDesc { location: CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, 0), flags }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        let driver = &self.driver;
        // Memory of a pool can be freed with any current context, or with none.
        let freed = call!(driver.cuMemFree_v2(self.address));
        let destroyed = call!(driver.cuMemPoolDestroy(self.pool));
        assert!(freed.is_ok() && destroyed.is_ok() || std::thread::panicking(), "{freed:?} {destroyed:?}");
    }
}

/// The ends of the copies: `x` is memory of a pool, `device` and `page` are ordinary memory.
struct Ends {
    x: u64,
    device: u64,
    page: *mut c_void,
    stream: CUstream,
}

impl Ends {
    fn x(&self) -> *mut c_void {
        with_exposed_provenance_mut(self.x as usize)
    }

    fn page(&self) -> u64 {
        self.page.expose_provenance() as u64
    }
}

/// The kind of memory that a call takes `x` for.
#[derive(Clone, Copy, PartialEq)]
enum As {
    /// Memory of the host, or of either.
    Host,
    Device,
    /// Memory that the device writes by itself.
    Filled,
}

/// The result of a call without a current context.
#[derive(Clone, Copy)]
enum Alone {
    /// The same: it has a stream.
    Same,
    NoContext,
    Invalid,
}

struct Operation {
    name: &'static str,
    takes_for: As,
    alone: Alone,
    run: fn(&Driver, &Ends) -> Result<()>,
}

fn copy_rows(
    driver: &Driver,
    ends: &Ends,
    (to, from): (u64, u64),
    change: impl FnOnce(&mut CUDA_MEMCPY2D),
) -> Result<()> {
    let mut copy = rows(to, from);
    change(&mut copy);
    call!(driver.cuMemcpy2DAsync_v2(&copy, ends.stream))
}

fn batch(driver: &Driver, ends: &Ends, mut to: u64, mut from: u64) -> Result<()> {
    let (mut bytes, mut start, mut culprit, mut order) = (64, 0, 0, attributes(STREAM_ORDER));
    call!(driver.cuMemcpyBatchAsync(
        &mut to,
        &mut from,
        &mut bytes,
        1,
        &mut order,
        &mut start,
        1,
        &mut culprit,
        ends.stream
    ))
}

macro_rules! operations {
    ($($name:literal $takes_for:ident $alone:ident |$driver:ident, $ends:ident| $run:expr;)*) => {
        &[$(Operation {
            name: $name,
            takes_for: As::$takes_for,
            alone: Alone::$alone,
            run: |$driver, $ends| $run,
        }),*]
    };
}

const OPERATIONS: &[Operation] = operations! {
    "device <- x, from the host" Host Same |d, e| call!(d.cuMemcpyHtoDAsync_v2(e.device, e.x(), 64, e.stream));
    "x <- page, from the host" Device Same |d, e| call!(d.cuMemcpyHtoDAsync_v2(e.x, e.page, 64, e.stream));
    "page <- x, to the host" Device Same |d, e| call!(d.cuMemcpyDtoHAsync_v2(e.page, e.x, 64, e.stream));
    "x <- device, to the host" Host Same |d, e| call!(d.cuMemcpyDtoHAsync_v2(e.x(), e.device, 64, e.stream));
    "x <- device, on the device" Device Same |d, e| call!(d.cuMemcpyDtoDAsync_v2(e.x, e.device, 64, e.stream));
    "device <- x, on the device" Device Same |d, e| call!(d.cuMemcpyDtoDAsync_v2(e.device, e.x, 64, e.stream));
    "x <- device, of any kind" Host Same |d, e| call!(d.cuMemcpyAsync(e.x, e.device, 64, e.stream));
    "device <- x, of any kind" Host Same |d, e| call!(d.cuMemcpyAsync(e.device, e.x, 64, e.stream));
    "x <- page, of any kind" Host Same |d, e| call!(d.cuMemcpyAsync(e.x, e.page(), 64, e.stream));
    "page <- x, of any kind" Host Same |d, e| call!(d.cuMemcpyAsync(e.page(), e.x, 64, e.stream));
    "device <- x, from the host, now" Host NoContext |d, e| call!(d.cuMemcpyHtoD_v2(e.device, e.x(), 64));
    "x <- device, to the host, now" Host NoContext |d, e| call!(d.cuMemcpyDtoH_v2(e.x(), e.device, 64));
    "device <- x, on the device, now" Device NoContext |d, e| call!(d.cuMemcpyDtoD_v2(e.device, e.x, 64));
    "device <- x, of any kind, now" Host NoContext |d, e| call!(d.cuMemcpy(e.device, e.x, 64));
    "fill with bytes" Filled Same |d, e| call!(d.cuMemsetD8Async(e.x, 1, 64, e.stream));
    "fill with words" Filled Same |d, e| call!(d.cuMemsetD32Async(e.x, 1, 16, e.stream));
    "fill rows" Filled Same |d, e| call!(d.cuMemsetD2D8Async(e.x, 64, 1, 32, 4, e.stream));
    "fill now" Filled NoContext |d, e| call!(d.cuMemsetD8_v2(e.x, 1, 64));
    "rows: device <- x of the host" Host Same |d, e| copy_rows(d, e, (e.device, 0), |copy| {
        (copy.srcMemoryType, copy.srcHost) = (HOST, e.x());
    });
    "rows: device <- x of the device" Device Same |d, e| copy_rows(d, e, (e.device, e.x), |copy| {
        copy.srcMemoryType = DEVICE;
    });
    "rows: device <- x of any kind" Host Same |d, e| copy_rows(d, e, (e.device, e.x), |copy| {
        copy.srcMemoryType = UNIFIED;
    });
    "rows: x of any kind <- device" Host Same |d, e| copy_rows(d, e, (e.x, e.device), |copy| {
        copy.dstMemoryType = UNIFIED;
    });
    "rows: x of the host <- device" Host Same |d, e| copy_rows(d, e, (0, e.device), |copy| {
        (copy.dstMemoryType, copy.dstHost) = (HOST, e.x());
    });
    "batch: device <- x" Host Invalid |d, e| batch(d, e, e.device, e.x);
    "batch: x <- device" Host Invalid |d, e| batch(d, e, e.x, e.device);
    "between contexts: device <- x" Device Same |d, e| {
        call!(d.cuMemcpyPeerAsync(e.device, null_mut(), e.x, null_mut(), 64, e.stream))
    };
};

/// Runs all operations on memory of a pool, with and without a current context; `refused` is what they do not
/// take it for.
fn judge(driver: &Driver, primary: &Primary, pooled: &Pooled, stream: &Stream, refused: &[As]) -> TestResult {
    let device = Memory::of(driver, &counting(BYTES))?;
    let mut page = counting(BYTES);
    let page = page.as_mut_ptr().cast();
    let ends = Ends { x: pooled.address, device: device.address, page, stream: stream.raw };
    for operation in OPERATIONS {
        // Where the device has no access and no context is current, most of them end the process on an H200.
        let currents = if refused.contains(&As::Filled) { &[true][..] } else { &[true, false] };
        for &is_current in currents {
            call!(driver.cuCtxSetCurrent(if is_current { primary.context } else { null_mut() }))?;
            let answer = code_of((operation.run)(driver, &ends));
            primary.make_current()?;
            // The synchronous ones are on the default stream, and need not have waited.
            call!(driver.cuCtxSynchronize())?;
            let expected = match operation.alone {
                Alone::NoContext if !is_current => CUresult::CUDA_ERROR_INVALID_CONTEXT,
                Alone::Invalid if !is_current => CUresult::CUDA_ERROR_INVALID_VALUE,
                _ if refused.contains(&operation.takes_for) => CUresult::CUDA_ERROR_INVALID_VALUE,
                _ => CUresult::CUDA_SUCCESS,
            };
            assert_eq!(answer, expected, "{}; a context is current: {is_current}", operation.name);
        }
    }
    Ok(())
}

const PINNED: u32 = 1;
const MANAGED: u32 = 2;
const NOWHERE: u32 = 0;
const ON_DEVICE: u32 = 1;
const ON_HOST: u32 = 2;
const ON_NODE: u32 = 3;

driver_tests! {
    fn memory_of_a_host_pool_is_the_hosts_to_copies_and_filled_by_devices_with_access(driver) {
        let primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        for place in [ON_HOST, ON_NODE] {
            let pooled = Pooled::new(driver, PINNED, place, stream.raw)?;
            judge(driver, &primary, &pooled, &stream, &[As::Device, As::Filled])?;
            let pooled = pooled.granted()?;
            judge(driver, &primary, &pooled, &stream, &[As::Device])?;
            // A pool that gets the handle next would have the grant.
            call!(driver.cuMemPoolSetAccess(pooled.pool, &access(CUmemAccess_flags(0)), 1))?;
        }
    }

    fn memory_of_a_managed_pool_is_taken_for_anything(driver) {
        let primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        for place in [NOWHERE, ON_DEVICE, ON_HOST] {
            let pooled = Pooled::new(driver, MANAGED, place, stream.raw)?;
            judge(driver, &primary, &pooled, &stream, &[])?;
        }
    }

    fn copies_of_a_host_pool_move_its_bytes(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pooled = Pooled::new(driver, PINNED, ON_HOST, stream.raw)?;
        let (device, sent) = (Memory::new(driver, BYTES)?, counting(BYTES));
        let mut received = vec![0_u8; BYTES];
        call!(driver.cuMemcpyAsync(pooled.address, sent.as_ptr().expose_provenance() as u64, BYTES, stream.raw))?;
        call!(driver.cuMemcpyAsync(device.address, pooled.address, BYTES, stream.raw))?;
        stream.synchronize()?;
        assert_eq!(device.read()?, sent);
        let to = received.as_mut_ptr().expose_provenance() as u64;
        call!(driver.cuMemcpyAsync(to, pooled.address, BYTES, stream.raw))?;
        stream.synchronize()?;
        assert_eq!(received, sent);
    }
}

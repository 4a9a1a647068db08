//! The operations: as calls through the bare table, and with warploom.
#![expect(unsafe_code, reason = "calls through the bare table, which is what the rest is measured by")]

use std::any::Any;
use std::cell::RefCell;
use std::ptr::null_mut;

use warploom::graph::reclaim;
use warploom::sys::types::{
    CUevent, CUevent_flags, CUmemLocation, CUmemLocationType, CUmemcpyAttributes, CUmemcpySrcAccessOrder, CUresult,
};
use warploom::{Buffer, Cached, Context, DevicePool, Driver, Event, Library, Stream};

use crate::launches::TEXT;
use crate::measure::{Outcome, Row, Work, repeat};

/// The bytes of a buffer.
pub(crate) const BYTES: usize = 4096;
/// The bytes of a large buffer.
pub(crate) const LARGE: usize = 4 << 20;
/// The bytes of an upload.
pub(crate) const SMALL: usize = 256;

/// The driver objects that the operations use.
pub(crate) struct Bench {
    pub(crate) driver: Driver,
    pub(crate) context: Context,
    pub(crate) stream: Stream,
    other: Stream,
    pool: DevicePool,
    cache: Cached,
    pub(crate) from: Buffer,
    pub(crate) to: RefCell<Buffer>,
    event: Event,
    pub(crate) library: Library,
    /// Values that are dropped between rounds.
    pub(crate) finished: RefCell<Vec<Box<dyn Any>>>,
}

/// A function of the bare table.
macro_rules! function {
    ($driver:expr, $name:ident) => {
        $driver.table().$name.ok_or(concat!("the driver has no ", stringify!($name)))?
    };
}
pub(crate) use function;

pub(crate) fn success(code: CUresult) -> Result<(), String> {
    if code == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(format!("a call through the table answered {code}")) }
}

impl Bench {
    pub(crate) fn new(driver: &Driver) -> Outcome<Bench> {
        driver.initialize()?;
        let context = driver.device(0)?.context()?;
        let (stream, other) = (context.stream()?, context.stream()?);
        let pool = DevicePool::new(&context)?;
        let (from, to) = (pool.zeroed(BYTES, &stream)?, RefCell::new(pool.zeroed(BYTES, &stream)?));
        let (event, library) = (stream.record()?, context.load(TEXT)?);
        Ok(Bench {
            driver: driver.clone(),
            context,
            stream,
            other,
            cache: Cached::new(&pool),
            pool,
            from,
            to,
            event,
            library,
            finished: RefCell::default(),
        })
    }

    pub(crate) fn settle(&self) -> Outcome {
        self.finished.borrow_mut().clear();
        reclaim();
        Ok(self.context.synchronize()?)
    }

    pub(crate) fn rows(&self) -> Outcome<Vec<Row<'_>>> {
        let mut rows = Vec::from(self.allocate()?);
        rows.extend([self.copy()?, self.fill()?]);
        rows.extend([self.record()?, self.record_new()?, self.wait()?, self.query()?, self.upload()?]);
        rows.extend(self.upload_during_the_call());
        rows.extend(self.launches()?);
        rows.extend(self.graphs()?);
        Ok(rows)
    }

    fn allocate(&self) -> Outcome<[Row<'_>; 4]> {
        let from_pool = |bytes| repeat(move || self.pool.allocate::<u8>(bytes, &self.stream).map(drop));
        let from_cache = |bytes| repeat(move || self.cache.allocate::<u8>(bytes, &self.stream).map(drop));
        Ok([
            Row::new("allocate 4 KiB and drop", self.raw_allocate(BYTES)?, from_pool(BYTES)),
            Row::new("allocate 4 KiB of a cache and drop", self.raw_allocate(BYTES)?, from_cache(BYTES)),
            Row::new("allocate 4 MiB and drop", self.raw_allocate(LARGE)?, from_pool(LARGE)),
            Row::new("allocate 4 MiB of a cache and drop", self.raw_allocate(LARGE)?, from_cache(LARGE)),
        ])
    }

    /// Allocates from the pool, and frees.
    fn raw_allocate(&self, bytes: usize) -> Outcome<Work<'_>> {
        let allocate = function!(self.driver, cuMemAllocFromPoolAsync);
        let free = function!(self.driver, cuMemFreeAsync);
        let (pool, stream) = (self.pool.as_raw(), self.stream.as_raw());
        Ok(repeat(move || {
            let mut address = 0;
            // SAFETY: `address` is writable, and the bench keeps pool and stream alive.
            success(unsafe { allocate(&raw mut address, bytes, pool, stream) })?;
            // SAFETY: allocated above, and used by nobody.
            success(unsafe { free(address, stream) })
        }))
    }

    fn copy(&self) -> Outcome<Row<'_>> {
        let copy = function!(self.driver, cuMemcpyDtoDAsync_v2);
        let (to, from, stream) = (self.to.borrow().as_raw(), self.from.as_raw(), self.stream.as_raw());
        // SAFETY: both have as many bytes, and the bench keeps everything alive.
        let raw = repeat(move || success(unsafe { copy(to, from, BYTES, stream) }));
        let ours = repeat(|| self.from.copy_to(&mut *self.to.borrow_mut(), &self.stream));
        Ok(Row::new("copy 4 KiB on the device", raw, ours))
    }

    fn fill(&self) -> Outcome<Row<'_>> {
        let fill = function!(self.driver, cuMemsetD8Async);
        let (to, stream) = (self.to.borrow().as_raw(), self.stream.as_raw());
        // SAFETY: there are as many bytes, and the bench keeps everything alive.
        let raw = repeat(move || success(unsafe { fill(to, 0, BYTES, stream) }));
        let ours = repeat(|| self.to.borrow_mut().fill(0, &self.stream));
        Ok(Row::new("fill 4 KiB", raw, ours))
    }

    fn record(&self) -> Outcome<Row<'_>> {
        let record = function!(self.driver, cuEventRecord);
        let (event, stream) = (self.event.as_raw(), self.stream.as_raw());
        // SAFETY: the bench keeps both alive.
        let raw = repeat(move || success(unsafe { record(event, stream) }));
        let mut other = self.stream.record()?;
        let ours = repeat(move || self.stream.record_into(&mut other));
        Ok(Row::new("record an event again", raw, ours))
    }

    fn record_new(&self) -> Outcome<Row<'_>> {
        let create = function!(self.driver, cuEventCreate);
        let record = function!(self.driver, cuEventRecord);
        let destroy = function!(self.driver, cuEventDestroy_v2);
        let set_current = function!(self.driver, cuCtxSetCurrent);
        let (context, stream) = (self.context.as_raw(), self.stream.as_raw());
        let raw = repeat(move || {
            let mut event: CUevent = null_mut();
            // SAFETY: the bench keeps the context alive.
            success(unsafe { set_current(context) })?;
            // SAFETY: `event` is writable.
            success(unsafe { create(&raw mut event, CUevent_flags::CU_EVENT_DISABLE_TIMING.0) })?;
            // SAFETY: made above; the bench keeps the stream alive.
            success(unsafe { record(event, stream) })?;
            // SAFETY: made above, and given back once.
            success(unsafe { destroy(event) })
        });
        let ours = repeat(|| self.stream.record().map(drop));
        Ok(Row::new("record a new event and drop", raw, ours))
    }

    fn wait(&self) -> Outcome<Row<'_>> {
        let wait = function!(self.driver, cuStreamWaitEvent);
        let (event, stream) = (self.event.as_raw(), self.other.as_raw());
        // SAFETY: the bench keeps both alive.
        let raw = repeat(move || success(unsafe { wait(stream, event, 0) }));
        let ours = repeat(|| self.other.wait(&self.event));
        Ok(Row::new("make a stream wait", raw, ours))
    }

    fn query(&self) -> Outcome<Row<'_>> {
        let query = function!(self.driver, cuStreamQuery);
        let stream = self.stream.as_raw();
        // SAFETY: the bench keeps it alive.
        let raw = repeat(move || success(unsafe { query(stream) }));
        let ours = repeat(|| self.stream.is_idle().map(drop));
        Ok(Row::new("ask an idle stream", raw, ours))
    }

    /// The driver does not promise to have read pageable memory when the call returns, so the bare call has
    /// to wait.
    fn upload(&self) -> Outcome<Row<'_>> {
        let copy = function!(self.driver, cuMemcpyHtoDAsync_v2);
        let synchronize = function!(self.driver, cuStreamSynchronize);
        let (to, stream) = (self.to.borrow().as_raw(), self.stream.as_raw());
        let values = [7_u8; SMALL];
        let raw = repeat(move || {
            // SAFETY: both have as many bytes, and the bench keeps the device's and the stream alive; the
            // host's are there until the stream is done.
            success(unsafe { copy(to, values.as_ptr().cast(), SMALL, stream) })?;
            // SAFETY: as above.
            success(unsafe { synchronize(stream) })
        });
        let ours = repeat(move || {
            self.to.borrow_mut().slice_mut(..SMALL)?.copy_from_host(&values, &self.stream)?;
            self.stream.synchronize()
        });
        Ok(Row::new("upload 256 B and wait", raw, ours))
    }

    /// The same without the wait, where the driver promises to read the host's memory during the call.
    fn upload_during_the_call(&self) -> Option<Row<'_>> {
        let copy = self.driver.table().cuMemcpyBatchAsync_v2?;
        let (mut to, stream) = (self.to.borrow().as_raw(), self.stream.as_raw());
        let (values, mut size, mut start) = ([7_u8; SMALL], SMALL, 0);
        let nowhere = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_INVALID, 0);
        let mut attributes = CUmemcpyAttributes {
            srcAccessOrder: CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL,
            srcLocHint: nowhere,
            dstLocHint: nowhere,
            flags: 0,
        };
        let raw = repeat(move || {
            let mut from = values.as_ptr().addr() as u64;
            let [to, from] = [&raw mut to, &raw mut from];
            let (size, attributes, start) = (&raw mut size, &raw mut attributes, &raw mut start);
            // SAFETY: one copy with one set of attributes; both ends have as many bytes, and the bench keeps
            // the device's and the stream alive. The host's are read during the call.
            success(unsafe { copy(to, from, size, 1, attributes, start, 1, stream) })
        });
        let ours = repeat(move || self.to.borrow_mut().slice_mut(..SMALL)?.copy_from_host(&values, &self.stream));
        Some(Row::new("upload 256 B, read during the call", raw, ours))
    }
}

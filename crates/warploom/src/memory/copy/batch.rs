//! Batches of copies in one driver call.
#![expect(unsafe_code, reason = "copies between addresses that were checked")]

use warploom_driver::Function;
use warploom_driver::sys::types::{CUdeviceptr, CUmemcpyAttributes};

use super::device::{enqueue, same_length};
use super::options::{check_stream, runs};
use crate::memory::slice::Span;
use crate::memory::uses::Access;
use crate::{CopyOptions, DeviceCopy, Driver, MemoryError, Queue, Result, Slice, SliceMut, Stream};

/// Copies many slices, each to as many values elsewhere, in the order of `queue` and in no order among
/// themselves.
///
/// Their order makes no difference to the result: none of the destinations shares a value with another, or
/// with a source, or there would be no borrowing them all. The copies on the device are one driver call;
/// copies between devices are a call each. A driver before 12.8 has no batches, and the legacy default stream
/// takes none; all are calls of their own there.
///
/// ```
/// use warploom::{DevicePool, Driver, copy_batch};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
/// let numbers = pool.upload(&[1_u32, 2, 3, 4, 5, 6], &stream)?;
/// let (mut one, mut other) = (pool.allocate(2, &stream)?, pool.allocate(3, &stream)?);
/// copy_batch([(numbers.slice(..2)?, &mut one), (numbers.slice(3..)?, &mut other)], &stream)?;
/// assert_eq!((one.download(&stream)?, other.download(&stream)?), (vec![1, 2], vec![4, 5, 6]));
/// # Ok(())
/// # }
/// ```
///
/// Two copies to the same values cannot be written down:
///
/// ```compile_fail,E0499
/// # use warploom::{Buffer, Queue, Result, copy_batch};
/// fn twice(from: &Buffer<u8>, to: &mut Buffer<u8>, queue: &impl Queue) -> Result<()> {
///     copy_batch([(from, to.as_slice_mut()), (from, to.as_slice_mut())], queue)
/// }
/// ```
///
/// Nor can one that reads the destination of another:
///
/// ```compile_fail,E0502
/// # use warploom::{Buffer, Queue, Result, copy_batch};
/// fn chain(a: &Buffer<u8>, b: &mut Buffer<u8>, c: &mut Buffer<u8>, queue: &impl Queue) -> Result<()> {
///     copy_batch([(a.as_slice(), b.as_slice_mut()), (b.as_slice(), c.as_slice_mut())], queue)
/// }
/// ```
///
/// # Errors
///
/// [`MemoryError::InBatch`] with the error of one of the copies, as of [`Slice::copy_to`]; then nothing is
/// copied. And the driver's error; then some may have been, and the destinations are to be taken for
/// overwritten.
#[doc(alias = "cuMemcpyBatchAsync")]
pub fn copy_batch<'s, 'd, T, S, D>(copies: impl IntoIterator<Item = (S, D)>, queue: &impl Queue) -> Result<()>
where
    T: DeviceCopy,
    S: Into<Slice<'s, T>>,
    D: Into<SliceMut<'d, T>>,
{
    let plain = copies.into_iter().map(|(source, destination)| (source, destination, CopyOptions::new()));
    copy_all(plain, queue.stream(), |_| Ok(()))
}

/// As [`copy_batch`], each copy with options of its own.
///
/// Copies whose neighbours have the same options share them in the driver's call, so that giving all of them
/// the same costs nothing. Where a driver has no batches, and between devices, each is a copy like any other,
/// as [`Slice::copy_to_with`] says.
///
/// ```
/// use warploom::{CopyOptions, DeviceMemory, Driver, SourceOrder, copy_batch_with};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let (stream, memory) = (context.stream()?, DeviceMemory::new(&context));
/// let numbers = memory.upload(&[1_u32, 2, 3, 4, 5], &stream)?;
/// let (mut one, mut other) = (memory.allocate(2)?, memory.allocate(3)?);
/// stream.synchronize()?; // sources that are read during the call must be there before
/// let options = CopyOptions::new().source_order(SourceOrder::DuringCall);
/// let (first, rest) = (numbers.slice(..2)?, numbers.slice(2..)?);
/// copy_batch_with([(first, &mut one, options), (rest, &mut other, options)], &stream)?;
/// assert_eq!((one.download(&stream)?, other.download(&stream)?), (vec![1, 2], vec![3, 4, 5]));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// As [`copy_batch`] and [`Slice::copy_to_with`].
#[doc(alias = "cuMemcpyBatchAsync")]
pub fn copy_batch_with<'s, 'd, T, S, D>(
    copies: impl IntoIterator<Item = (S, D, CopyOptions)>,
    queue: &impl Queue,
) -> Result<()>
where
    T: DeviceCopy,
    S: Into<Slice<'s, T>>,
    D: Into<SliceMut<'d, T>>,
{
    copy_all(copies.into_iter(), queue.stream(), check_stream)
}

/// Makes copies if each of them is right, and then the stream is.
fn copy_all<'s, 'd, T, S, D>(
    copies: impl Iterator<Item = (S, D, CopyOptions)>,
    stream: &Stream,
    check_stream: impl FnOnce(&Stream) -> Result<()>,
) -> Result<()>
where
    T: DeviceCopy,
    S: Into<Slice<'s, T>>,
    D: Into<SliceMut<'d, T>>,
{
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for (index, (source, destination, options)) in copies.enumerate() {
        let (source, destination) = (source.into(), destination.into());
        let copy = Checked { to: destination.span, from: source.span, bytes: source.size_in_bytes(), options };
        let checked = same_length(source.len(), destination.len()).and_then(|()| copy.check(stream));
        checked.map_err(|error| MemoryError::InBatch { index, error: Box::new(error) })?;
        match copy.bytes {
            0 => {}
            _ if copy.is_near() => near.push(copy),
            _ => far.push(copy),
        }
    }
    check_stream(stream)?;
    stream.refuse_captured("a batch of copies")?;
    for copy in near.iter().chain(&far) {
        copy.from.allocation.meet(stream)?;
        copy.to.allocation.meet(stream)?;
    }
    let copied = together(&near, stream).and_then(|()| one_by_one(&far, stream));
    // After a failure it is not known which copies were enqueued, so all count.
    for copy in near.iter().chain(&far) {
        copy.from.allocation.did(stream, Access::Read);
        copy.to.allocation.did(stream, Access::Write);
    }
    copied
}

/// A copy, which is checked before anything is enqueued.
pub(super) struct Checked<'s, 'd> {
    pub(super) to: Span<'d>,
    pub(super) from: Span<'s>,
    pub(super) bytes: usize,
    pub(super) options: CopyOptions,
}

pub(super) fn has_batches(driver: &Driver) -> bool {
    driver.supports(Function::cuMemcpyBatchAsync_v2) || driver.supports(Function::cuMemcpyBatchAsync)
}

fn one_by_one(copies: &[Checked<'_, '_>], stream: &Stream) -> Result<()> {
    copies.iter().try_for_each(|copy| enqueue(copy.to, copy.from, copy.bytes, stream))
}

/// Copies within the stream's device, in one call if the driver has one for it.
pub(super) fn together(copies: &[Checked<'_, '_>], stream: &Stream) -> Result<()> {
    let is_plain = |copy: &Checked<'_, '_>| copy.options == CopyOptions::new();
    if !takes_batches(stream) || copies.len() < 2 && copies.iter().all(is_plain) {
        return one_by_one(copies, stream);
    }
    let mut to: Vec<CUdeviceptr> = copies.iter().map(|copy| copy.to.address).collect();
    let mut from: Vec<CUdeviceptr> = copies.iter().map(|copy| copy.from.address).collect();
    let mut sizes: Vec<usize> = copies.iter().map(|copy| copy.bytes).collect();
    let (mut attributes, mut starts) = runs(copies.iter().map(|copy| copy.options));
    // SAFETY: each two ends are that long, and there in the order of the stream; a source that is read out of
    // order is there in any. No destination overlaps with anything: a slice that can be written shares no
    // byte with another, and all of them are borrowed at the same time.
    unsafe { submit((&mut to, &mut from, &mut sizes), (&mut attributes, &mut starts), stream) }
}

/// `true` if the driver has a call for many copies, and it takes the stream: the legacy default stream, by
/// either of its names, has none.
pub(super) fn takes_batches(stream: &Stream) -> bool {
    has_batches(stream.driver()) && !stream.is_legacy()
}

/// Enqueues copies on a stream that [takes them](takes_batches), as many as there are addresses and sizes,
/// with attributes that each hold from their start on. The driver may change the arrays.
///
/// # Safety
///
/// Each two ends are that long, and there when the copies run. A source is there when the attributes say that
/// it is read.
pub(super) unsafe fn submit(
    (to, from, sizes): (&mut [CUdeviceptr], &mut [CUdeviceptr], &mut [usize]),
    (attributes, starts): (&mut [CUmemcpyAttributes], &mut [usize]),
    stream: &Stream,
) -> Result<()> {
    // Alone among the calls that take a stream, this one looks at the current context, and refuses where
    // there is none.
    let _current = stream.context().current()?;
    let (driver, count) = (stream.driver(), to.len().min(from.len()).min(sizes.len()));
    let (run_count, mut culprit) = (attributes.len().min(starts.len()), 0);
    let (to, from, sizes) = (to.as_mut_ptr(), from.as_mut_ptr(), sizes.as_mut_ptr());
    let (attributes, starts) = (attributes.as_mut_ptr(), starts.as_mut_ptr());
    // SAFETY: there are as many addresses and sizes as copies, and as many attributes as starts; the driver
    // reads them during the call. The stream is alive, and the caller vouches for the ends.
    stream.enqueue(|raw| unsafe {
        if driver.supports(Function::cuMemcpyBatchAsync_v2) {
            driver.cuMemcpyBatchAsync_v2(to, from, sizes, count, attributes, starts, run_count, raw)
        } else {
            driver.cuMemcpyBatchAsync(to, from, sizes, count, attributes, starts, run_count, &raw mut culprit, raw)
        }
    })
}

//! Batches of linear copies: cuMemcpyBatchAsync and cuMemcpyWithAttributesAsync.
//!
//! All attributes are checked before any copy is enqueued. The copies are enqueued one by one; those before a
//! refused one stay enqueued. Copies of a batch are ordered with the rest of the stream and not with each
//! other. The host never waits, even for pageable memory: the attributes state when sources are read, and
//! destinations are complete when the stream is.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_engine::QueueId;
use warploom_sys::types::{CUdeviceptr, CUmemcpyAttributes, CUstream_st};

use super::access::{Named, Range, ends};
use super::hint::{self, Order};
use super::queued::Shape;
use crate::api::stream::LEGACY;
use crate::ffi::Ptr;
use crate::ffi::status::{CAPTURE_UNSUPPORTED, INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::world::Work;
use crate::process::thread;

/// The output for the index of a refused copy, in the versions that have one.
#[derive(Clone, Copy)]
pub(super) struct Culprit(pub(super) Option<Ptr<usize>>);

impl Culprit {
    /// The index reported if the failure concerns no single copy.
    const NONE: usize = usize::MAX;

    pub(super) fn is(self, index: usize) -> Status {
        self.0.map_or(Ok(()), |out| out.write_if_wanted(index))
    }
}

/// The queue of a batch. As in the real driver, a null stream is refused before the out-parameter is written.
pub(super) fn queue(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    stream: Ptr<CUstream_st>,
    culprit: Culprit,
) -> Status<QueueId> {
    let legacy = || call.refuse(INVALID_VALUE, "a batch cannot be put in the legacy default stream");
    if stream.is_null() && !call.is_per_thread() {
        return Err(legacy());
    }
    culprit.is(Culprit::NONE)?;
    if stream.address() == LEGACY {
        return Err(legacy());
    }
    call.queue(world, stream)
}

/// Enqueues ops without an order between them.
pub(crate) fn enqueue(call: &Call<'_>, world: &mut Guard<'_>, queue: QueueId, mut works: Vec<Work>) -> Status {
    if world.captures().hold(queue) {
        call.capturing(world, queue)?;
        return Err(match works.first() {
            Some(Work::Migrate(_)) => call.uncapturable(world, queue, "moving managed memory"),
            _ => call.refuse(CAPTURE_UNSUPPORTED, "a batch cannot be captured"),
        });
    }
    match works.pop() {
        Some(only) if works.is_empty() => call.submit(world, queue, only),
        Some(last) => {
            works.push(last);
            call.submit_unordered(world, queue, works.into_iter())
        }
        None => Ok(()),
    }
}

/// The op of one copy of a batch.
fn line(
    call: &Call<'_>,
    world: &Guard<'_>,
    queue: QueueId,
    to: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
    order: Order,
) -> Status<Work> {
    if bytes == 0 {
        return Err(call.refuse(INVALID_VALUE, "a copy in a batch has at least one byte"));
    }
    let device = world.queue(queue).owner.device;
    let bytes = bytes as u64;
    let [to, from] = [to, from].map(|address| Range { named: Named::Any, address, len: bytes });
    let [to, from] = ends(call, world, [device; 2], to, from)?;
    Ok(order.work(&to, &from, Shape::Line(bytes)))
}

/// The arrays of a batch, as C passes them.
struct Batch {
    to: Ptr<CUdeviceptr>,
    from: Ptr<CUdeviceptr>,
    sizes: Ptr<usize>,
    count: usize,
    attributes: Ptr<CUmemcpyAttributes>,
    starts: Ptr<usize>,
    attribute_count: usize,
}

impl Batch {
    /// Reads the attributes: each source access order, with the index of the first copy that it applies to.
    fn orders(&self, call: &Call<'_>, world: &Guard<'_>) -> Status<Vec<(usize, Order)>> {
        let refuse = |reason: String| call.refuse(INVALID_VALUE, reason);
        let (count, attributes) = (self.count, self.attribute_count);
        if count == 0 || attributes == 0 || attributes > count {
            return Err(refuse(format!("{count} copies with {attributes} sets of attributes")));
        }
        self.to.given()?;
        self.from.given()?;
        self.sizes.given()?;
        let mut orders: Vec<(usize, Order)> = Vec::new();
        for index in 0..attributes {
            let start = self.starts.read_at(index)?;
            let ascends = orders.last().map_or(start == 0, |(before, _)| start > *before);
            if !ascends || start >= count {
                return Err(refuse(format!(
                    "attributes {index} start at copy {start} of {count}, which is out of turn"
                )));
            }
            let order = hint::checked(world.devices().len(), &self.attributes.read_at(index)?).map_err(refuse)?;
            orders.push((start, order));
        }
        Ok(orders)
    }

    fn submit(&self, call: &Call<'_>, stream: Ptr<CUstream_st>, culprit: Culprit) -> Status {
        let mut world = call.world();
        let queue = queue(call, &mut world, stream, culprit)?;
        let orders = self.orders(call, &world)?;
        // A batch needs a current context, even with a stream of another one; no other call with a stream
        // does.
        if !thread::has_context(call.core().id) {
            return Err(call.refuse(INVALID_VALUE, "a batch is refused where no context is current"));
        }
        let mut works = Vec::with_capacity(self.count);
        let mut refused = None;
        for index in 0..self.count {
            let following = orders.partition_point(|(start, _)| *start <= index);
            let (_, order) = orders[following - 1];
            let (to, from) = (self.to.read_at(index)?, self.from.read_at(index)?);
            match line(call, &world, queue, to, from, self.sizes.read_at(index)?, order) {
                Ok(work) => works.push(work),
                Err(code) => {
                    culprit.is(index)?;
                    refused = Some(code);
                    break;
                }
            }
        }
        enqueue(call, &mut world, queue, works)?;
        refused.map_or(Ok(()), Err)
    }
}

#[expect(clippy::too_many_arguments, reason = "C's arguments")]
pub(crate) fn cuMemcpyBatchAsync(
    call: &Call<'_>,
    to: Ptr<CUdeviceptr>,
    from: Ptr<CUdeviceptr>,
    sizes: Ptr<usize>,
    count: usize,
    attributes: Ptr<CUmemcpyAttributes>,
    starts: Ptr<usize>,
    attribute_count: usize,
    culprit: Ptr<usize>,
    stream: Ptr<CUstream_st>,
) -> Status {
    let batch = Batch { to, from, sizes, count, attributes, starts, attribute_count };
    batch.submit(call, stream, Culprit(Some(culprit)))
}

#[expect(clippy::too_many_arguments, reason = "C's arguments")]
pub(crate) fn cuMemcpyBatchAsync_v2(
    call: &Call<'_>,
    to: Ptr<CUdeviceptr>,
    from: Ptr<CUdeviceptr>,
    sizes: Ptr<usize>,
    count: usize,
    attributes: Ptr<CUmemcpyAttributes>,
    starts: Ptr<usize>,
    attribute_count: usize,
    stream: Ptr<CUstream_st>,
) -> Status {
    let batch = Batch { to, from, sizes, count, attributes, starts, attribute_count };
    batch.submit(call, stream, Culprit(None))
}

pub(crate) fn cuMemcpyWithAttributesAsync(
    call: &Call<'_>,
    to: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
    attributes: Ptr<CUmemcpyAttributes>,
    stream: Ptr<CUstream_st>,
) -> Status {
    let mut world = call.world();
    let queue = queue(call, &mut world, stream, Culprit(None))?;
    let attributes = attributes.read()?;
    let order =
        hint::checked(world.devices().len(), &attributes).map_err(|reason| call.refuse(INVALID_VALUE, reason))?;
    let work = line(call, &world, queue, to, from, bytes, order)?;
    enqueue(call, &mut world, queue, vec![work])
}

//! Batches of prefetches and discards: cuMemPrefetchBatchAsync, cuMemDiscardBatchAsync.
//!
//! Flags, stream and locations are checked before any op is enqueued. The ranges are enqueued one by one;
//! those before a refused one stay enqueued. Ranges of a batch are ordered with the rest of the stream and
//! not with each other. Unlike batches of copies, these need no current context.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ops::Range;

use warploom_engine::QueueId;
use warploom_sys::types::{CUdeviceptr, CUmemLocation, CUstream_st};

use super::requested_location::shares;
use super::{range, requested_location};
use crate::api::copy::enqueue_batch;
use crate::api::stream::LEGACY;
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::world::Work;
use crate::memory::{Migration, RequestedLocation};

/// The ranges of a batch, as C passes them.
struct Ranges {
    addresses: Ptr<CUdeviceptr>,
    sizes: Ptr<usize>,
    count: usize,
}

/// The locations, each with the index of the first range that it applies to.
struct Places {
    locations: Ptr<CUmemLocation>,
    starts: Ptr<usize>,
    count: usize,
}

impl Places {
    /// Reads the locations, each with the index of its first range.
    fn requested(&self, call: &Call<'_>, ranges: usize) -> Status<Vec<(usize, RequestedLocation)>> {
        let refuse = |reason: String| call.refuse(INVALID_VALUE, reason);
        if self.count == 0 || self.count > ranges {
            return Err(refuse(format!("{} locations for {ranges} ranges", self.count)));
        }
        self.locations.given()?;
        let mut requested: Vec<(usize, RequestedLocation)> = Vec::new();
        for index in 0..self.count {
            let start = self.starts.read_at(index)?;
            let ascends = requested.last().map_or(start == 0, |(before, _)| start >= *before);
            if !ascends || start >= ranges {
                return Err(refuse(format!(
                    "location {index} starts at range {start} of {ranges}, which is out of turn"
                )));
            }
            let location = self.locations.read_at(index)?;
            let request = requested_location::of_location(call, location, INVALID_VALUE)?.with_id(location);
            // Of several locations with the same first range, the first applies.
            if requested.last().is_none_or(|(before, _)| start > *before) {
                requested.push((start, request));
            }
        }
        Ok(requested)
    }
}

/// One range of a batch.
struct Item {
    range: Range<u64>,
    request: Option<RequestedLocation>,
    work: Work,
}

impl Ranges {
    fn item(
        &self,
        call: &Call<'_>,
        world: &Guard<'_>,
        index: usize,
        request: Option<RequestedLocation>,
        discards: bool,
    ) -> Status<Item> {
        let (address, bytes) = (self.addresses.read_at(index)?, self.sizes.read_at(index)?);
        let range = range::managed(call, world.memory(), address, bytes)?;
        let at = range::place(world.memory(), &range)?;
        let migration = Migration::new(at, bytes as u64, request.map(|request| request.place), discards);
        Ok(Item { range, request, work: Work::Migrate(Box::new(migration)) })
    }

    fn submit(
        &self,
        call: &Call<'_>,
        places: Option<&Places>,
        discards: bool,
        flags: u64,
        stream: Ptr<CUstream_st>,
    ) -> Status {
        if flags != 0 {
            return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; there are none")));
        }
        let mut world = call.world();
        let queue = queue(call, &mut world, stream)?;
        if self.count == 0 {
            return Err(call.refuse(INVALID_VALUE, "a batch has at least one range"));
        }
        self.addresses.given()?;
        self.sizes.given()?;
        let requested = places.map(|places| places.requested(call, self.count)).transpose()?.unwrap_or_default();
        let mut items = Vec::with_capacity(self.count);
        let mut refused = None;
        for index in 0..self.count {
            let following = requested.partition_point(|(start, _)| *start <= index);
            let request = following.checked_sub(1).map(|at| requested[at].1);
            match self.item(call, &world, index, request, discards) {
                Ok(item) => items.push(item),
                Err(code) => {
                    refused = Some(code);
                    break;
                }
            }
        }
        let mut works = Vec::with_capacity(items.len());
        let mut asked = Vec::with_capacity(items.len());
        for Item { range, request, work } in items {
            works.push(work);
            asked.extend(request.map(|request| (range, request)));
        }
        enqueue_batch(call, &mut world, queue, works)?;
        for (range, request) in asked {
            world.managed_memory_mut().pages_mut().update(&range, |page, _| page.prefetched = Some(request));
        }
        refused.map_or(Ok(()), Err)
    }
}

/// The queue of a batch, if the driver version has batches of this kind.
fn queue(call: &Call<'_>, world: &mut Guard<'_>, stream: Ptr<CUstream_st>) -> Status<QueueId> {
    if stream.address() == LEGACY || stream.is_null() && !call.is_per_thread() {
        return Err(call.refuse(INVALID_VALUE, "a batch cannot be put in the legacy default stream"));
    }
    let queue = call.queue(world, stream)?;
    let topology = &call.core().topology;
    match (0..topology.devices.len() as u16).find(|device| !shares(topology, *device)) {
        Some(device) => {
            Err(call
                .refuse(NOT_SUPPORTED, format!("device {device} has no concurrent managed access, and all need it")))
        }
        None => Ok(queue),
    }
}

#[expect(clippy::too_many_arguments, reason = "C's arguments")]
pub(crate) fn cuMemPrefetchBatchAsync(
    call: &Call<'_>,
    addresses: Ptr<CUdeviceptr>,
    sizes: Ptr<usize>,
    count: usize,
    locations: Ptr<CUmemLocation>,
    starts: Ptr<usize>,
    location_count: usize,
    flags: u64,
    stream: Ptr<CUstream_st>,
) -> Status {
    let places = Places { locations, starts, count: location_count };
    Ranges { addresses, sizes, count }.submit(call, Some(&places), false, flags, stream)
}

pub(crate) fn cuMemDiscardBatchAsync(
    call: &Call<'_>,
    addresses: Ptr<CUdeviceptr>,
    sizes: Ptr<usize>,
    count: usize,
    flags: u64,
    stream: Ptr<CUstream_st>,
) -> Status {
    Ranges { addresses, sizes, count }.submit(call, None, true, flags, stream)
}

#[expect(clippy::too_many_arguments, reason = "C's arguments")]
pub(crate) fn cuMemDiscardAndPrefetchBatchAsync(
    call: &Call<'_>,
    addresses: Ptr<CUdeviceptr>,
    sizes: Ptr<usize>,
    count: usize,
    locations: Ptr<CUmemLocation>,
    starts: Ptr<usize>,
    location_count: usize,
    flags: u64,
    stream: Ptr<CUstream_st>,
) -> Status {
    let places = Places { locations, starts, count: location_count };
    Ranges { addresses, sizes, count }.submit(call, Some(&places), true, flags, stream)
}

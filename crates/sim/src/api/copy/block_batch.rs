//! Batches of 3D copies: cuMemcpy3DBatchAsync and cuMemcpy3DWithAttributesAsync.
//!
//! Operands are checked first, and an invalid one is reported with its index. Then their memory is looked up;
//! missing memory is reported without an index.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_ulonglong;

use warploom_engine::QueueId;
use warploom_sys::types::{CUDA_MEMCPY3D_BATCH_OP, CUstream_st};

use super::access::{Named, ends};
use super::batch::{Culprit, enqueue, queue};
use super::block::{Extent, Layout, shape};
use super::hint::{self, Order};
use super::operand::Operand;
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::world::Work;

/// A copy with valid operands.
struct Checked {
    to: Layout,
    from: Layout,
    extent: Extent,
    order: Order,
}

fn layout(call: &Call<'_>, world: &Guard<'_>, operand: Operand, extent: Extent) -> Status<Layout> {
    let refuse = |reason: String| call.refuse(INVALID_VALUE, reason);
    let Extent { width, height, .. } = extent;
    let (address, row, rows) = match operand {
        Operand::Pointer { address, row_length, layer_height, location } => {
            hint::location(world.devices().len(), location).map_err(refuse)?;
            let row = if row_length == 0 { width } else { row_length };
            let rows = if layer_height == 0 { height } else { layer_height };
            (address, row, rows)
        }
        Operand::Array => return Err(call.refuse(NOT_SUPPORTED, "arrays are not simulated")),
        Operand::Unknown(kind) => return Err(refuse(format!("{kind} is no kind of operand"))),
    };
    if row < width || rows < height {
        return Err(refuse(format!("{width}×{height} bytes do not fit layers of {row}×{rows}")));
    }
    let layout = || Layout::new((Named::Any, address), row, row.checked_mul(rows)?, extent);
    layout().ok_or_else(|| refuse(format!("{extent:?} does not fit at {address:#x}")))
}

fn checked(call: &Call<'_>, world: &Guard<'_>, given: &CUDA_MEMCPY3D_BATCH_OP) -> Status<Checked> {
    let refuse = |reason: String| call.refuse(INVALID_VALUE, reason);
    let extent = Extent {
        width: given.extent.width as u64,
        height: given.extent.height as u64,
        depth: given.extent.depth as u64,
    };
    if extent.width == 0 || extent.height == 0 || extent.depth == 0 {
        return Err(refuse(format!("{extent:?} has nothing to copy")));
    }
    hint::flags(given.flags).map_err(refuse)?;
    let order = Order::new(given.srcAccessOrder).map_err(refuse)?;
    let from = layout(call, world, given.src.into(), extent)?;
    let to = layout(call, world, given.dst.into(), extent)?;
    Ok(Checked { to, from, extent, order })
}

impl Checked {
    fn work(&self, call: &Call<'_>, world: &Guard<'_>, queue: QueueId) -> Status<Work> {
        let device = world.queue(queue).owner.device;
        let [to, from] = ends(call, world, [device; 2], self.to.range(), self.from.range())?;
        let shape = shape(self.extent, (&to, &self.to), (&from, &self.from));
        Ok(self.order.work(&to, &from, shape))
    }
}

fn submit(
    call: &Call<'_>,
    count: usize,
    list: Ptr<CUDA_MEMCPY3D_BATCH_OP>,
    culprit: Culprit,
    flags: c_ulonglong,
    stream: Ptr<CUstream_st>,
) -> Status {
    let mut world = call.world();
    let queue = queue(call, &mut world, stream, culprit)?;
    if count == 0 || flags != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("{count} copies, flags are {flags:#x}; no flag is known")));
    }
    let mut copies = Vec::with_capacity(count);
    for index in 0..count {
        let copy = checked(call, &world, &list.read_at(index)?);
        copies.push(copy.or_else(|code| culprit.is(index).and(Err(code)))?);
    }
    let works: Status<Vec<Work>> = copies.iter().map(|copy| copy.work(call, &world, queue)).collect();
    enqueue(call, &mut world, queue, works?)
}

pub(crate) fn cuMemcpy3DBatchAsync(
    call: &Call<'_>,
    count: usize,
    list: Ptr<CUDA_MEMCPY3D_BATCH_OP>,
    culprit: Ptr<usize>,
    flags: c_ulonglong,
    stream: Ptr<CUstream_st>,
) -> Status {
    submit(call, count, list, Culprit(Some(culprit)), flags, stream)
}

pub(crate) fn cuMemcpy3DBatchAsync_v2(
    call: &Call<'_>,
    count: usize,
    list: Ptr<CUDA_MEMCPY3D_BATCH_OP>,
    flags: c_ulonglong,
    stream: Ptr<CUstream_st>,
) -> Status {
    submit(call, count, list, Culprit(None), flags, stream)
}

pub(crate) fn cuMemcpy3DWithAttributesAsync(
    call: &Call<'_>,
    copy: Ptr<CUDA_MEMCPY3D_BATCH_OP>,
    flags: c_ulonglong,
    stream: Ptr<CUstream_st>,
) -> Status {
    submit(call, 1, copy, Culprit(None), flags, stream)
}

//! Memory fills: cuMemsetD8, D16 and D32, linear and 2D.
//!
//! Both forms of a function are asynchronous for device memory; the synchronous one waits for host-accessible
//! memory. As with copies, the pointer of an empty fill is not checked.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_engine::QueueId;
use warploom_sys::types::{CUDA_MEMSET_NODE_PARAMS, CUdeviceptr, CUstream_st};

use crate::api::copy::{Form, Memory, ResolvedOperand, filled, reaches};
use crate::ffi::Ptr;
use crate::ffi::handle::ContextHandle;
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::world::Work;
use crate::memory::{MemoryOp, RowFill};

/// The value of a fill.
#[derive(Clone, Copy)]
struct Pattern {
    bits: u32,
    /// Bytes of one element.
    element: u8,
}

/// The destination of a fill. The pitch is ignored for a single row.
#[derive(Clone, Copy)]
struct Rows {
    start: CUdeviceptr,
    pitch: u64,
    columns: u64,
    rows: u64,
}

fn d8(bits: u8) -> Pattern {
    Pattern { bits: bits.into(), element: 1 }
}

fn d16(bits: u16) -> Pattern {
    Pattern { bits: bits.into(), element: 2 }
}

fn d32(bits: u32) -> Pattern {
    Pattern { bits, element: 4 }
}

fn line(start: CUdeviceptr, count: usize) -> Rows {
    Rows { start, pitch: 0, columns: count as u64, rows: 1 }
}

fn rows(start: CUdeviceptr, pitch: usize, width: usize, height: usize) -> Rows {
    Rows { start, pitch: pitch as u64, columns: width as u64, rows: height as u64 }
}

/// The range from the first byte of the fill to the last.
fn span(call: &Call<'_>, to: Rows, pattern: Pattern) -> Status<u64> {
    let refuse = |reason: String| call.refuse(INVALID_VALUE, reason);
    let element = u64::from(pattern.element);
    if !to.start.is_multiple_of(element) {
        return Err(refuse(format!("{:#x} is not aligned to {element} bytes", to.start)));
    }
    let span = || {
        let width = to.columns.checked_mul(element)?;
        Some((width, to.pitch.checked_mul(to.rows - 1)?.checked_add(width)?))
    };
    let (width, span) = span().ok_or_else(|| refuse(format!("{}×{} elements do not fit", to.columns, to.rows)))?;
    if to.rows > 1 && (to.pitch < width || !to.pitch.is_multiple_of(element)) {
        return Err(refuse(format!("a pitch of {} for rows of {width} bytes, {element} at a time", to.pitch)));
    }
    Ok(span)
}

/// The operation of a fill that is not empty, for a context and its device.
fn operation(
    call: &Call<'_>,
    world: &Guard<'_>,
    (context, device): (ContextHandle, u16),
    to: Rows,
    pattern: Pattern,
) -> Status<(MemoryOp, ResolvedOperand)> {
    let span = span(call, to, pattern)?;
    let end = filled(call, world, device, to.start, span)?;
    if !reaches(world, context, &end) {
        let reason = format!("{:#x} is on another device, which the context has no access to", to.start);
        return Err(call.refuse(INVALID_VALUE, reason));
    }
    let Pattern { bits, element } = pattern;
    let Rows { pitch, columns, rows, .. } = to;
    let op = if rows == 1 || pitch == columns * u64::from(element) {
        MemoryOp::Fill { to: end.place, pattern: bits, element, count: columns * rows }
    } else {
        MemoryOp::FillRows(Box::new(RowFill { to: end.place, pitch, pattern: bits, element, columns, rows }))
    };
    Ok((op, end))
}

/// The fill of a node that runs in a context.
pub(crate) fn fill_of_node(
    call: &Call<'_>,
    world: &Guard<'_>,
    owner: (ContextHandle, u16),
    given: &CUDA_MEMSET_NODE_PARAMS,
) -> Status<MemoryOp> {
    let CUDA_MEMSET_NODE_PARAMS { dst, pitch, value, elementSize, width, height } = *given;
    let element = match elementSize {
        1 | 2 | 4 => elementSize as u8,
        _ => return Err(call.refuse(INVALID_VALUE, format!("elements of {elementSize} bytes; 1, 2 and 4 are known"))),
    };
    if width == 0 || height == 0 {
        return Err(call.refuse(INVALID_VALUE, "the fill of a node has at least one element"));
    }
    let pattern = Pattern { bits: value, element };
    operation(call, world, owner, rows(dst, pitch, width, height), pattern).map(|(op, _)| op)
}

fn fill(call: &Call<'_>, world: &mut Guard<'_>, queue: QueueId, form: Form, to: Rows, pattern: Pattern) -> Status {
    if to.columns == 0 || to.rows == 0 {
        return Ok(());
    }
    let owner = &world.queue(queue).owner;
    let (op, end) = operation(call, world, (owner.context, owner.device), to, pattern)?;
    let work = Work::from(op);
    if form == Form::Sync && world.captures().hold(queue) {
        return Err(call.uncapturable(world, queue, "a fill that is waited for"));
    }
    if form == Form::Sync && (end.memory != Memory::Device || end.sync_memops) {
        call.submit_and_wait(world, queue, work)
    } else {
        call.submit(world, queue, work)
    }
}

fn now(call: &Call<'_>, to: Rows, pattern: Pattern) -> Status {
    let mut world = call.world();
    let queue = call.default_queue(&mut world)?;
    fill(call, &mut world, queue, Form::Sync, to, pattern)
}

fn later(call: &Call<'_>, to: Rows, pattern: Pattern, stream: Ptr<CUstream_st>) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    fill(call, &mut world, queue, Form::Async, to, pattern)
}

macro_rules! fills {
    ($($sync:ident $asynchronous:ident $sync_rows:ident $asynchronous_rows:ident $pattern:ident($type:ty);)*) => { $(
        pub(crate) fn $sync(call: &Call<'_>, to: CUdeviceptr, value: $type, count: usize) -> Status {
            now(call, line(to, count), $pattern(value))
        }

        pub(crate) fn $asynchronous(
            call: &Call<'_>,
            to: CUdeviceptr,
            value: $type,
            count: usize,
            stream: Ptr<CUstream_st>,
        ) -> Status {
            later(call, line(to, count), $pattern(value), stream)
        }

        pub(crate) fn $sync_rows(
            call: &Call<'_>,
            to: CUdeviceptr,
            pitch: usize,
            value: $type,
            width: usize,
            height: usize,
        ) -> Status {
            now(call, rows(to, pitch, width, height), $pattern(value))
        }

        pub(crate) fn $asynchronous_rows(
            call: &Call<'_>,
            to: CUdeviceptr,
            pitch: usize,
            value: $type,
            width: usize,
            height: usize,
            stream: Ptr<CUstream_st>,
        ) -> Status {
            later(call, rows(to, pitch, width, height), $pattern(value), stream)
        }
    )* };
}
fills! {
    cuMemsetD8_v2 cuMemsetD8Async cuMemsetD2D8_v2 cuMemsetD2D8Async d8(u8);
    cuMemsetD16_v2 cuMemsetD16Async cuMemsetD2D16_v2 cuMemsetD2D16Async d16(u16);
    cuMemsetD32_v2 cuMemsetD32Async cuMemsetD2D32_v2 cuMemsetD2D32Async d32(u32);
}

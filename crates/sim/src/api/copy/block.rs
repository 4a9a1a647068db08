//! 2D and 3D copies: cuMemcpy2D, cuMemcpy3D, cuMemcpy3DPeer and their asynchronous forms.
//!
//! ```text
//!            ◀──────────── pitch ───────────▶
//!   base ──▶ ┌────────────────────────────────┐ ▲
//!            │        y                       │ │
//!            │   x  ┌─────────┐               │ │ height (rows of a slice; 0: as many as are used)
//!            │      │  width  │ rows          │ │
//!            │      └─────────┘               │ │
//!            └────────────────────────────────┘ ▼   slice = pitch × height; the copy starts in slice z
//! ```
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_engine::QueueId;
use warploom_sys::types::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUarray, CUmemorytype, CUstream_st};

use super::access::{Named, Range, ResolvedOperand, ends};
use super::peer::{party, serialized};
use super::queued::{Form, Shape, copy};
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::ffi::{ConstPtr, Plain, Ptr};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::memory::{BlockCopy, MemoryOp};

/// The extent of a copy: bytes, rows and slices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) width: u64,
    pub(super) height: u64,
    pub(super) depth: u64,
}

impl Extent {
    fn is_empty(self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }
}

/// One end, as in a descriptor.
struct Operand {
    memory: CUmemorytype,
    host: u64,
    device: u64,
    array: CUarray,
    context: u64,
    x: usize,
    y: usize,
    z: usize,
    pitch: usize,
    height: usize,
}

struct Descriptor {
    to: Operand,
    from: Operand,
    extent: Extent,
}

/// The address of an operand's first byte, and the distances between its rows and between its slices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) start: (Named, u64),
    pub(super) pitch: u64,
    pub(super) slice: u64,
    /// The range from the first byte to the last.
    pub(super) span: u64,
}

impl Layout {
    /// The layout; `None` if it exceeds the address space.
    pub(super) fn new(start: (Named, u64), pitch: u64, slice: u64, extent: Extent) -> Option<Layout> {
        let slices = slice.checked_mul(extent.depth - 1)?;
        let rows = pitch.checked_mul(extent.height - 1)?;
        let span = slices.checked_add(rows)?.checked_add(extent.width)?;
        start.1.checked_add(span)?;
        Some(Layout { start, pitch, slice, span })
    }

    /// The range that the copy accesses.
    pub(super) fn range(&self) -> Range {
        let (named, address) = self.start;
        Range { named, address, len: self.span }
    }
}

impl Operand {
    fn layout(&self, call: &Call<'_>, extent: Extent) -> Status<Layout> {
        let refuse = |reason: String| call.refuse(INVALID_VALUE, reason);
        let (named, base) = match self.memory {
            CUmemorytype::CU_MEMORYTYPE_HOST => (Named::Any, self.host),
            CUmemorytype::CU_MEMORYTYPE_DEVICE => (Named::Device, self.device),
            CUmemorytype::CU_MEMORYTYPE_UNIFIED => (Named::Any, self.device),
            CUmemorytype::CU_MEMORYTYPE_ARRAY if self.array.is_null() => return Err(refuse("a null array".to_owned())),
            CUmemorytype::CU_MEMORYTYPE_ARRAY => return Err(call.refuse(NOT_SUPPORTED, "arrays are not simulated")),
            CUmemorytype(kind) => return Err(refuse(format!("{kind} is no kind of memory"))),
        };
        if base == 0 {
            return Err(refuse("a null pointer".to_owned()));
        }
        let [x, y, z, pitch, height] = [self.x, self.y, self.z, self.pitch, self.height].map(|number| number as u64);
        let too_big = || refuse(format!("an offset or a size of this copy does not fit: {extent:?} at {x}, {y}, {z}"));
        let row = x.checked_add(extent.width).ok_or_else(too_big)?;
        let rows = y.checked_add(extent.height).ok_or_else(too_big)?;
        if pitch != 0 && row > pitch {
            return Err(refuse(format!("{} bytes from {x} on do not fit a pitch of {pitch}", extent.width)));
        }
        if height != 0 && rows > height {
            return Err(refuse(format!("{} rows from {y} on do not fit slices of {height}", extent.height)));
        }
        let pitch = if pitch == 0 { row } else { pitch };
        let slice = match height {
            // The slice size of a copy within one slice is not used, so it must not overflow.
            0 if extent.depth == 1 && z == 0 => Some(0),
            0 => pitch.checked_mul(rows),
            _ => pitch.checked_mul(height),
        };
        let layout = || {
            let slice = slice?;
            let offset = slice.checked_mul(z)?.checked_add(pitch.checked_mul(y)?)?.checked_add(x)?;
            Layout::new((named, base.checked_add(offset)?), pitch, slice, extent)
        };
        layout().ok_or_else(too_big)
    }
}

/// Joins two layouts into one copy; contiguous rows become one range.
pub(super) fn shape(extent: Extent, to: (&ResolvedOperand, &Layout), from: (&ResolvedOperand, &Layout)) -> Shape {
    let Extent { width, height, depth } = extent;
    let tight =
        |layout: &Layout| (height == 1 || layout.pitch == width) && (depth == 1 || layout.slice == width * height);
    if tight(to.1) && tight(from.1) {
        return Shape::Line(width * height * depth);
    }
    Shape::Block(BlockCopy {
        to: to.0.place,
        to_pitch: to.1.pitch,
        to_slice: to.1.slice,
        from: from.0.place,
        from_pitch: from.1.pitch,
        from_slice: from.1.slice,
        width,
        height,
        depth,
    })
}

fn block(call: &Call<'_>, world: &mut Guard<'_>, queue: QueueId, form: Form, descriptor: &Descriptor) -> Status {
    let Descriptor { to, from, extent } = descriptor;
    let parties = [party(call, world, queue, to.context)?, party(call, world, queue, from.context)?];
    if extent.is_empty() {
        return Ok(());
    }
    let (to_end, from_end, shape) = descriptor.resolve(call, world, [parties[0].device, parties[1].device])?;
    let enqueue = |world: &mut Guard<'_>| copy(call, world, queue, form, (to_end, from_end), shape);
    match form {
        Form::Sync => serialized(world, queue, parties, enqueue),
        Form::Async => enqueue(world),
    }
}

impl Descriptor {
    /// Both ends of a copy that is not empty, and its shape, for the devices that access the ends.
    fn resolve(
        &self,
        call: &Call<'_>,
        world: &Guard<'_>,
        devices: [u16; 2],
    ) -> Status<(ResolvedOperand, ResolvedOperand, Shape)> {
        let Descriptor { to, from, extent } = self;
        let (to, from) = (to.layout(call, *extent)?, from.layout(call, *extent)?);
        let [to_end, from_end] = ends(call, world, devices, to.range(), from.range())?;
        let shape = shape(*extent, (&to_end, &to), (&from_end, &from));
        Ok((to_end, from_end, shape))
    }
}

/// The copy of a node that runs on a device.
pub(crate) fn copy_of_node(call: &Call<'_>, world: &Guard<'_>, device: u16, given: CUDA_MEMCPY3D) -> Status<MemoryOp> {
    let descriptor = Descriptor::from(given);
    if descriptor.extent.is_empty() {
        return Err(call.refuse(INVALID_VALUE, "the copy of a node has at least one byte"));
    }
    let (to, from, shape) = descriptor.resolve(call, world, [device; 2])?;
    Ok(shape.op(&to, &from))
}

impl From<CUDA_MEMCPY2D> for Descriptor {
    fn from(given: CUDA_MEMCPY2D) -> Self {
        Descriptor {
            to: Operand {
                memory: given.dstMemoryType,
                host: given.dstHost.addr() as u64,
                device: given.dstDevice,
                array: given.dstArray,
                context: 0,
                x: given.dstXInBytes,
                y: given.dstY,
                z: 0,
                pitch: given.dstPitch,
                height: 0,
            },
            from: Operand {
                memory: given.srcMemoryType,
                host: given.srcHost.addr() as u64,
                device: given.srcDevice,
                array: given.srcArray,
                context: 0,
                x: given.srcXInBytes,
                y: given.srcY,
                z: 0,
                pitch: given.srcPitch,
                height: 0,
            },
            extent: Extent { width: given.WidthInBytes as u64, height: given.Height as u64, depth: 1 },
        }
    }
}

// The two descriptors differ in the context fields: one of them has reserved fields there.
macro_rules! from_3d {
    ($type:ty, $to_context:expr, $from_context:expr) => {
        impl From<$type> for Descriptor {
            fn from(given: $type) -> Self {
                Descriptor {
                    to: Operand {
                        memory: given.dstMemoryType,
                        host: given.dstHost.addr() as u64,
                        device: given.dstDevice,
                        array: given.dstArray,
                        context: $to_context(&given),
                        x: given.dstXInBytes,
                        y: given.dstY,
                        z: given.dstZ,
                        pitch: given.dstPitch,
                        height: given.dstHeight,
                    },
                    from: Operand {
                        memory: given.srcMemoryType,
                        host: given.srcHost.addr() as u64,
                        device: given.srcDevice,
                        array: given.srcArray,
                        context: $from_context(&given),
                        x: given.srcXInBytes,
                        y: given.srcY,
                        z: given.srcZ,
                        pitch: given.srcPitch,
                        height: given.srcHeight,
                    },
                    extent: Extent {
                        width: given.WidthInBytes as u64,
                        height: given.Height as u64,
                        depth: given.Depth as u64,
                    },
                }
            }
        }
    };
}
from_3d!(CUDA_MEMCPY3D, |_: &CUDA_MEMCPY3D| 0, |_: &CUDA_MEMCPY3D| 0);
from_3d!(
    CUDA_MEMCPY3D_PEER,
    |given: &CUDA_MEMCPY3D_PEER| given.dstContext.addr() as u64,
    |given: &CUDA_MEMCPY3D_PEER| given.srcContext.addr() as u64
);

fn now<D: Plain + Into<Descriptor>>(call: &Call<'_>, given: ConstPtr<D>) -> Status {
    let mut world = call.world();
    let queue = call.default_queue(&mut world)?;
    block(call, &mut world, queue, Form::Sync, &given.read()?.into())
}

fn later<D: Plain + Into<Descriptor>>(call: &Call<'_>, given: ConstPtr<D>, stream: Ptr<CUstream_st>) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    block(call, &mut world, queue, Form::Async, &given.read()?.into())
}

pub(crate) fn cuMemcpy2D_v2(call: &Call<'_>, given: ConstPtr<CUDA_MEMCPY2D>) -> Status {
    now(call, given)
}

pub(crate) fn cuMemcpy2DUnaligned_v2(call: &Call<'_>, given: ConstPtr<CUDA_MEMCPY2D>) -> Status {
    now(call, given)
}

pub(crate) fn cuMemcpy2DAsync_v2(call: &Call<'_>, given: ConstPtr<CUDA_MEMCPY2D>, stream: Ptr<CUstream_st>) -> Status {
    later(call, given, stream)
}

pub(crate) fn cuMemcpy3D_v2(call: &Call<'_>, given: ConstPtr<CUDA_MEMCPY3D>) -> Status {
    now(call, given)
}

pub(crate) fn cuMemcpy3DAsync_v2(call: &Call<'_>, given: ConstPtr<CUDA_MEMCPY3D>, stream: Ptr<CUstream_st>) -> Status {
    later(call, given, stream)
}

pub(crate) fn cuMemcpy3DPeer(call: &Call<'_>, given: ConstPtr<CUDA_MEMCPY3D_PEER>) -> Status {
    now(call, given)
}

pub(crate) fn cuMemcpy3DPeerAsync(
    call: &Call<'_>,
    given: ConstPtr<CUDA_MEMCPY3D_PEER>,
    stream: Ptr<CUstream_st>,
) -> Status {
    later(call, given, stream)
}

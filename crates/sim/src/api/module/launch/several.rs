//! One cooperative kernel on several devices at once: cuLaunchCooperativeKernelMultiDevice.
//!
//! ```text
//!   stream of device 0 ──┐      ┌── kernel ──┐      ┌──▶ later work
//!                        ├─Join─┤            ├─Join─┤
//!   stream of device 1 ──┘      └── kernel ──┘      └──▶ later work
//! ```
//!
//! A flag leaves out the join before the kernels, another the one behind them.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_uint, c_void};

use warploom_engine::QueueId;
use warploom_sys::types::{CUDA_LAUNCH_PARAMS, CUstream_st};

use super::Place;
use super::arguments::Arguments;
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_HANDLE, INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::launch::{KernelCall, Shape};
use crate::machine::world::Work;

/// `CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC`.
const NO_JOIN_BEFORE: u32 = 1;
/// `CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC`.
const NO_JOIN_BEHIND: u32 = 2;
/// The last handle that means a default stream.
const LAST_DEFAULT_STREAM: u64 = 2;

pub(crate) fn cuLaunchCooperativeKernelMultiDevice(
    call: &Call<'_>,
    list: Ptr<CUDA_LAUNCH_PARAMS>,
    count: c_uint,
    flags: c_uint,
) -> Status {
    let refuse = |reason: String| Err(call.refuse(INVALID_VALUE, reason));
    let devices = call.core().topology.devices.len();
    if count == 0 || count as usize > devices {
        return refuse(format!("{count} kernels; the machine has {devices} devices"));
    }
    if flags & !(NO_JOIN_BEFORE | NO_JOIN_BEHIND) != 0 {
        return refuse(format!("flags are {flags:#x}; only 1 and 2 are known"));
    }
    let mut world = call.world();
    let mut kernels: Vec<(KernelCall, QueueId)> = Vec::new();
    for index in 0..count as usize {
        let (kernel, queue) = one(call, &mut world, list.read_launch_at(index)?)?;
        if let Some((first, _)) = kernels.first()
            && !is_alike(first, &kernel)
        {
            return refuse(format!("kernel {index} is another one than the first, or has another shape"));
        }
        if kernels.iter().any(|(other, _)| other.device == kernel.device) {
            return refuse(format!("two of the kernels are for device {}", kernel.device));
        }
        kernels.push((kernel, queue));
    }
    let queues: Vec<QueueId> = kernels.iter().map(|(_, queue)| *queue).collect();
    if flags & NO_JOIN_BEFORE == 0 {
        join(call, &mut world, &queues)?;
    }
    for (kernel, queue) in &kernels {
        kernel.start(call, &mut world, *queue)?;
    }
    if flags & NO_JOIN_BEHIND == 0 {
        join(call, &mut world, &queues)?;
    }
    Ok(())
}

/// The checked launch of one element of the list.
fn one(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    (params, arguments): (CUDA_LAUNCH_PARAMS, Ptr<*mut c_void>),
) -> Status<(KernelCall, QueueId)> {
    let stream = Ptr::<CUstream_st>::of_handle(params.hStream);
    if stream.address() <= LAST_DEFAULT_STREAM {
        return Err(call.refuse(INVALID_HANDLE, "a default stream takes no kernel of several devices"));
    }
    let queue = call.queue(world, stream)?;
    if world.captures().hold(queue) {
        return Err(call.uncapturable(world, queue, "a launch on several devices"));
    }
    let owner = &world.queue(queue).owner;
    let place = Place { context: owner.context, device: owner.device };
    let grid = [params.gridDimX, params.gridDimY, params.gridDimZ];
    let block = [params.blockDimX, params.blockDimY, params.blockDimZ];
    let shape = Shape { cooperative: true, ..Shape::new(grid, block, params.sharedMemBytes) };
    let function = params.function.addr() as u64;
    let arguments = Arguments::new(arguments, Ptr::null());
    let kernel = KernelCall::new(call, world, place, function, shape, |facts| arguments.pack(call, facts))?;
    Ok((kernel, queue))
}

/// `true` if two launches are of the same kernel and shape.
fn is_alike(one: &KernelCall, other: &KernelCall) -> bool {
    let name = |call: &KernelCall| call.program.kernels().nth(call.index).map(|kernel| kernel.name().to_owned());
    let shape = |call: &KernelCall| (call.shape.grid, call.shape.block, call.shape.shared);
    name(one) == name(other) && shape(one) == shape(other)
}

/// Orders later work of each queue after earlier work of all.
fn join(call: &Call<'_>, world: &mut Guard<'_>, queues: &[QueueId]) -> Status {
    let ends: Vec<_> = queues.iter().filter_map(|queue| world.newest_op(*queue)).collect();
    for queue in queues {
        for other in queues.iter().filter(|other| *other != queue) {
            world.join_clocks(*queue, *other);
        }
        call.submit_after(world, *queue, &ends, Work::Join)?;
    }
    Ok(())
}

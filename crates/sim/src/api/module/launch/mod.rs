//! Kernel launches: checks at the call, and execution as an op.
//!
//! ```text
//!   call ─▶ shape, arguments (checked) ─▶ Task (an op) ─▶ Grid of warps ─▶ View: reachable memory
//!                                           │                               │
//!                                           └── trap: report, sticky code   └── accesses, for the checks
//! ```
//!
//! A machine with checks puts `Watched` between grid and view to find data races among the threads. Other
//! machines pay nothing for it.
#![expect(non_snake_case, reason = "the functions have C's names")]
#![expect(clippy::too_many_arguments, reason = "as many as the C functions have")]

mod arguments;
mod fault;
mod legacy;
mod node;
mod order;
mod overruns;
mod pace;
mod reachable;
mod running;
mod several;
mod shape;
mod task;
mod view;

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use arguments::Arguments;
pub(crate) use legacy::{
    cuFuncSetBlockShape, cuFuncSetSharedSize, cuLaunch, cuLaunchGrid, cuLaunchGridAsync, cuParamSetSize, cuParamSetf,
    cuParamSeti, cuParamSetv,
};
pub(crate) use node::{kernel_node, with_attributes};
use pace::Pace;
pub(crate) use reachable::LaunchedMemory;
use running::Running;
pub(crate) use several::cuLaunchCooperativeKernelMultiDevice;
use shape::LaunchAttributes;
use task::KernelTask;
use view::View;
use warploom_engine::QueueId;
use warploom_ptx::Launch;
use warploom_sys::types::{CUfunc_st, CUlaunchConfig, CUstream_st};

use super::attributes::Limits;
use super::clusters;
use super::functions::described;
use super::kernels::function_in;
use crate::api::context::{stack_for, stack_of};
use crate::ffi::handle::{ContextHandle, Handle, Kind};
use crate::ffi::status::{INVALID_HANDLE, INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::machine::code::Facts;
use crate::machine::conditions::Conditions;
use crate::machine::core::Guard;
use crate::machine::graph::{KernelAttributes, KernelNode};
use crate::machine::launch::{KernelCall, Shape};
use crate::machine::work::Task;
use crate::machine::world::{Work, World};
use crate::topology::number;

/// Number of resident blocks; more would only take more memory.
const RESIDENT: u64 = 16;

pub(crate) fn cuLaunchKernel(
    call: &Call<'_>,
    function: Ptr<CUfunc_st>,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: Ptr<CUstream_st>,
    arguments: Ptr<*mut c_void>,
    extra: Ptr<*mut c_void>,
) -> Status {
    let shape = Shape::new([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared);
    launch(call, function, (shape, LaunchAttributes::default()), stream, Arguments::new(arguments, extra))
}

pub(crate) fn cuLaunchCooperativeKernel(
    call: &Call<'_>,
    function: Ptr<CUfunc_st>,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: Ptr<CUstream_st>,
    arguments: Ptr<*mut c_void>,
) -> Status {
    let mut shape = Shape::new([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared);
    shape.cooperative = true;
    let node = KernelAttributes { cooperative: Some(true), ..KernelAttributes::default() };
    let attributes = LaunchAttributes { node, ..LaunchAttributes::default() };
    launch(call, function, (shape, attributes), stream, Arguments::new(arguments, Ptr::null()))
}

pub(crate) fn cuLaunchKernelEx(
    call: &Call<'_>,
    config: ConstPtr<CUlaunchConfig>,
    function: Ptr<CUfunc_st>,
    arguments: Ptr<*mut c_void>,
    extra: Ptr<*mut c_void>,
) -> Status {
    let (config, attributes) = config.read_with_attributes()?;
    let (shape, attributes) = Shape::of(call, &config, attributes)?;
    let arguments = Arguments::new(arguments, extra);
    launch(call, function, (shape, attributes), Ptr::of_handle(config.hStream), arguments)
}

fn launch(
    call: &Call<'_>,
    function: Ptr<CUfunc_st>,
    (shape, attributes): (Shape, LaunchAttributes),
    stream: Ptr<CUstream_st>,
    arguments: Arguments,
) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    attributes.order.check(call, &world, queue)?;
    let owner = &world.queue(queue).owner;
    let place = Place { context: owner.context, device: owner.device };
    let kernel =
        KernelCall::new(call, &mut world, place, function.address(), shape, |facts| arguments.pack(call, facts));
    let kernel = kernel.inspect_err(|_| world.captures_mut().spoil(queue))?;
    let is_extra = arguments.are_extra()?;
    enqueue(call, &mut world, (queue, stream), kernel, function.address(), attributes, is_extra)
}

/// Enqueues a checked launch, or makes it a node of the graph that the stream is captured into.
fn enqueue(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    (queue, stream): (QueueId, Ptr<CUstream_st>),
    kernel: KernelCall,
    named: u64,
    LaunchAttributes { node: attributes, order }: LaunchAttributes,
    is_extra: bool,
) -> Status {
    if !world.captures().hold(queue) {
        kernel.start(call, world, queue)?;
        return order.record(call, world, stream);
    }
    let attributes = attributes.or_of_stream(&world.queue(queue).owner.traits.attributes);
    let node = KernelNode::new(kernel, named, attributes, is_extra);
    call.capture_kernel(world, queue, node, &order)
}

/// The context that a kernel runs in, and its device.
#[derive(Clone, Copy)]
struct Place {
    context: ContextHandle,
    device: u16,
}

impl KernelCall {
    /// A launch of a function or a library's kernel, by the bits of its handle, if it is valid.
    fn new(
        call: &Call<'_>,
        world: &mut Guard<'_>,
        Place { context, device }: Place,
        named: u64,
        shape: Shape,
        arguments: impl FnOnce(&Facts<'_>) -> Status<Arc<[u8]>>,
    ) -> Status<Self> {
        world.healthy(context)?;
        let kernel = Handle::from_bits(named);
        let handle = match kernel.names_some(Kind::Kernel) {
            true => function_in(call, world, kernel, context)?,
            false => Handle::from_bits(named),
        };
        let found = described(call, world, handle)?;
        if found.context != context {
            return Err(call.refuse(INVALID_HANDLE, "the function is of another context"));
        }
        let facts = found.binary.facts(found.index).ok_or(INVALID_HANDLE)?;
        let limits = Limits::new(call, device);
        let shape = clusters::in_blocks(&facts, shape);
        shape.check(call, &limits, &facts, &found.settings)?;
        let shape = clusters::of_launch(call, &limits, &facts, &found.settings, shape)?;
        clusters::check_most(call, &shape)?;
        let arguments = arguments(&facts)?;
        let program = world.code().modules().get(found.module).ok_or(INVALID_HANDLE)?.program.clone();
        let threads = shape.block.iter().product();
        let active_blocks = limits.active_blocks(&facts, &found.settings, threads, shape.shared.into());
        let index = found.index;
        Ok(Self { function: handle, context, device, program, index, shape, arguments, active_blocks })
    }

    /// Enqueues the kernel.
    pub(crate) fn start(&self, call: &Call<'_>, world: &mut Guard<'_>, queue: QueueId) -> Status {
        reserve_stack(call, world, self)?;
        let task = self.task(call, world, None, None)?;
        call.submit(world, queue, Work::Task(task))
    }

    /// The kernel as a task; its stack has been reserved. It may set the conditions of the graph that it is
    /// launched in.
    pub(crate) fn task(
        &self,
        call: &Call<'_>,
        world: &mut World,
        conditions: Option<&Arc<Conditions>>,
        launched: Option<&LaunchedMemory>,
    ) -> Status<Box<dyn Task<World>>> {
        let Self { context, device, shape, .. } = *self;
        let kernel = self.program.kernels().nth(self.index).ok_or(INVALID_HANDLE)?;
        let stack = stack_of(world, context)?;
        let resident = if shape.cooperative { shape.blocks() } else { RESIDENT };
        let workspace = match shape.cooperative {
            true => Some(world.take_workspace(context, device).ok_or(OUT_OF_MEMORY)?),
            false => None,
        };
        let pace = Pace::new(&Limits::new(call, device), &shape, self.active_blocks);
        let launch = Launch {
            grid: shape.grid,
            block: shape.block,
            cluster: shape.cluster,
            dynamic_shared: shape.shared,
            stack,
            arguments: &self.arguments,
            resident: u32::try_from(resident).unwrap_or(u32::MAX),
            processors: Limits::new(call, device).of(number::MULTIPROCESSOR_COUNT),
            environment: environment(workspace.unwrap_or(0)),
            cycles_per_instruction: pace.cycles_per_instruction(),
            counts_sectors: world.is_traced(),
            ..Launch::default()
        };
        let view = View::new(call.core(), world, (context, device), launched, conditions.cloned(), pace);
        let name = kernel.name().to_owned();
        let checks = call.core().findings.kernel_checks();
        let grid = Running::new(kernel, launch, &view, checks).map_err(|error| {
            workspace.into_iter().for_each(|workspace| world.give_workspace(workspace));
            call.refuse(INVALID_VALUE, format!("a launch of `{name}`: {error}"))
        })?;
        if let Some(function) = world.code_mut().functions_mut().get_mut(self.function) {
            function.is_loaded = true;
            if let Some(state) = &mut function.launch_state {
                state.take_over(shape.block, shape.shared, &self.arguments);
            }
        }
        Ok(Box::new(KernelTask::new(call, name, shape, grid, view, workspace)))
    }
}

/// Makes the stacks of a kernel's context large enough for it, which may wait for running kernels.
pub(crate) fn reserve_stack(call: &Call<'_>, world: &mut Guard<'_>, kernel: &KernelCall) -> Status {
    let found = kernel.program.kernels().nth(kernel.index).ok_or(INVALID_HANDLE)?;
    let bytes = found.local_bytes() as u32;
    stack_for(call, world, kernel.context, bytes).map(drop)
}

/// The special registers of a launch: two of them hold the address of a cooperative launch's workspace.
fn environment(workspace: u64) -> [u32; 32] {
    let mut environment = [0; 32];
    (environment[1], environment[2]) = ((workspace >> 32) as u32, workspace as u32);
    environment
}

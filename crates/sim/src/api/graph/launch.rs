//! Launches of executable graphs: cuGraphLaunch and cuGraphUpload.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::sync::{Arc, Weak};

use warploom_sys::Function;
use warploom_sys::types::{CUgraphExec_st, CUresult, CUstream_st};

use super::executable::named_executable;
use crate::api::module::{LaunchedMemory, reserve_stack};
use crate::ffi::Ptr;
use crate::ffi::status::{CAPTURE_UNSUPPORTED, Status};
use crate::machine::call::Call;
use crate::machine::conditions::Conditions;
use crate::machine::core::{Core, Guard};
use crate::machine::graph::{KernelNode, NodeWork, Plan};
use crate::machine::graph_launch::{BodyMemory, StartsKernels};
use crate::machine::work::Task;
use crate::machine::world::World;
use crate::memory::Claim;

const CAPTURE_INVALIDATED: CUresult = CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;

/// Makes the tasks of kernel nodes. Weak, because an op is part of its machine and must not keep it alive.
struct Kernels {
    core: Weak<Core>,
    function: Function,
}

impl StartsKernels for Kernels {
    fn task(
        &self,
        world: &mut World,
        kernel: &KernelNode,
        conditions: &Arc<Conditions>,
        memory: Option<&BodyMemory>,
    ) -> Status<Box<dyn Task<World>>> {
        let core = self.core.upgrade().ok_or(CUresult::CUDA_ERROR_DEINITIALIZED)?;
        let call = Call::new(&core, self.function, false);
        let launched = memory.and_then(|memory| memory.downcast_ref::<LaunchedMemory>());
        kernel.call.task(&call, world, Some(conditions), launched)
    }

    fn memory(&self, world: &World, bodies: &[Arc<Plan>]) -> Arc<BodyMemory> {
        let mut launched = LaunchedMemory::default();
        for body in bodies {
            body.each(&mut |step| {
                if let NodeWork::Kernel(kernel) = &step.work {
                    launched.add(world, &kernel.call);
                }
            });
        }
        Arc::new(launched)
    }

    fn afford(&self, world: &mut World, body: &Plan) -> Status<Claim> {
        let core = self.core.upgrade().ok_or(CUresult::CUDA_ERROR_DEINITIALIZED)?;
        world.afford_body(&Call::new(&core, self.function, false), body)
    }
}

pub(crate) fn cuGraphLaunch(call: &Call<'_>, raw: Ptr<CUgraphExec_st>, stream: Ptr<CUstream_st>) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    let handle = named_executable(call, &world, raw)?;
    if world.captures().hold(queue) {
        let refused = call.uncapturable(&mut world, queue, "the launch of a graph");
        // Also in a capture that is invalid already.
        return Err(if refused == CAPTURE_INVALIDATED { CAPTURE_UNSUPPORTED } else { refused });
    }
    call.check_legacy(&mut world, queue)?;
    let claim = world.afford_graph(call, handle)?;
    reserve_stacks(call, &mut world, handle)?;
    let kernels = Arc::new(Kernels { core: Arc::downgrade(call.core()), function: call.function() });
    let end = world.launch_graph(call, queue, handle, kernels)?;
    world.claim_host(end, claim);
    call.get_going(&mut world, queue)
}

/// Makes the stacks of all kernels large enough, which may wait for running ones.
fn reserve_stacks(call: &Call<'_>, world: &mut Guard<'_>, handle: crate::ffi::handle::ExecutableHandle) -> Status {
    let Some(executable) = world.graphs().executables.get(handle) else { return Ok(()) };
    let plan = Arc::clone(executable.plan());
    let mut kernels = Vec::new();
    plan.each(&mut |step| {
        if let NodeWork::Kernel(kernel) = &step.work {
            kernels.push(Arc::clone(kernel));
        }
    });
    for kernel in kernels {
        reserve_stack(call, world, &kernel.call)?;
    }
    Ok(())
}

/// Only orders the stream: a launch needs no upload here.
pub(crate) fn cuGraphUpload(call: &Call<'_>, raw: Ptr<CUgraphExec_st>, stream: Ptr<CUstream_st>) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    let handle = named_executable(call, &world, raw)?;
    if world.captures().hold(queue) {
        return Err(call.uncapturable(&mut world, queue, "the upload of a graph"));
    }
    world.upload_graph(queue, handle)?;
    call.get_going(&mut world, queue)
}

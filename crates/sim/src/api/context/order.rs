//! Synchronisation with contexts: cuCtxSynchronize, cuCtxRecordEvent and cuCtxWaitEvent.
//!
//! An event recorded on a context comes after the newest op of each of its queues. A context that waits for
//! an event gets a *gate*: an op that all later work of the context depends on.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::{CUctx_st, CUevent_st};

use super::named;
use crate::ffi::Ptr;
use crate::ffi::handle::{ContextHandle, EventHandle, Handle};
use crate::ffi::status::{CONTEXT_IS_DESTROYED, INVALID_CONTEXT, INVALID_HANDLE, Status};
use crate::machine::call::Call;
use crate::machine::world::World;

pub(crate) fn cuCtxSynchronize(call: &Call<'_>) -> Status {
    cuCtxSynchronize_v2(call, Ptr::null())
}

pub(crate) fn cuCtxSynchronize_v2(call: &Call<'_>, context: Ptr<CUctx_st>) -> Status {
    let mut world = call.world();
    let handle = named(call, world.contexts(), context, CONTEXT_IS_DESTROYED)?;
    world.healthy(handle)?;
    call.check_context(&mut world, handle)?;
    call.wait_for_context(&mut world, handle)?;
    world.saw_context(handle);
    Ok(())
}

/// Both arguments, checked; a null context does not mean the current one here.
fn context_and_event(
    call: &Call<'_>,
    world: &World,
    context: Ptr<CUctx_st>,
    event: Ptr<CUevent_st>,
) -> Status<(ContextHandle, EventHandle)> {
    let handle = Handle::from_bits(context.address());
    let code = if world.contexts().is_past(handle) { CONTEXT_IS_DESTROYED } else { INVALID_CONTEXT };
    call.object(world.contexts(), handle, code)?;
    world.healthy(handle)?;
    let event = Handle::from_bits(event.address());
    let code = if world.events().is_past(event) { CONTEXT_IS_DESTROYED } else { INVALID_HANDLE };
    call.object(world.events(), event, code)?;
    Ok((handle, event))
}

pub(crate) fn cuCtxRecordEvent(call: &Call<'_>, context: Ptr<CUctx_st>, event: Ptr<CUevent_st>) -> Status {
    let mut world = call.world();
    let (context, event) = context_and_event(call, &world, context, event)?;
    call.check_context(&mut world, context)?;
    if world.events().get(event).is_some_and(|event| event.context != context) {
        return Err(call.refuse(INVALID_HANDLE, "the event was made in another context"));
    }
    let queue = world.record_on_context(context, event)?;
    call.get_going(&mut world, queue)?;
    call.publish_record(&mut world, event);
    Ok(())
}

pub(crate) fn cuCtxWaitEvent(call: &Call<'_>, context: Ptr<CUctx_st>, event: Ptr<CUevent_st>) -> Status {
    let mut world = call.world();
    let (context, event) = context_and_event(call, &world, context, event)?;
    call.check_context(&mut world, context)?;
    for queue in world.gate_behind_event(context, event)? {
        call.get_going(&mut world, queue)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;

    use warploom_driver::Driver;
    use warploom_sys::types::{CUcontext, CUevent, CUstream};
    use warploom_testkit::{TestResult, answers, call};

    use super::*;
    use crate::machine::event::Event;
    use crate::{Machine, Mode, Order};

    /// A lazy machine: it runs only the work that a call waits for, so the finished work shows the order.
    fn lazy() -> TestResult<(Machine, Driver)> {
        let machine = Machine::builder().mode(Mode::Deterministic(Order::Lazy)).start()?;
        let driver = Driver::open(&machine)?;
        driver.initialize()?;
        Ok((machine, driver))
    }

    /// A context with an event and with work on two streams; it is left current.
    fn busy(machine: &Machine, driver: &Driver) -> TestResult<(CUcontext, CUevent)> {
        let mut context = null_mut();
        call!(driver.cuCtxCreate_v2(&mut context, 0, 0))?;
        for flags in [0, 1] {
            enqueue(driver, flags)?;
        }
        let handle = Handle::from_bits(context.addr() as u64);
        let event = machine.core().world().events_mut().insert(Event::new(handle, 0)).ok_or("there is room")?;
        Ok((context, event.as_raw()))
    }

    fn enqueue(driver: &Driver, flags: u32) -> TestResult<CUstream> {
        let (mut stream, mut memory) = (null_mut(), 0);
        call!(driver.cuStreamCreate(&mut stream, flags))?;
        call!(driver.cuMemAlloc_v2(&mut memory, 4096))?;
        call!(driver.cuMemsetD8Async(memory, 1, 4096, stream))?;
        Ok(stream)
    }

    fn pending(machine: &Machine, context: CUcontext) -> usize {
        machine.core().world().pending(Handle::from_bits(context.addr() as u64)).len()
    }

    #[test]
    fn an_event_on_a_context_comes_after_all_its_streams() -> TestResult {
        let (machine, driver) = lazy()?;
        let (context, event) = busy(&machine, &driver)?;
        call!(driver.cuCtxRecordEvent(context, event))?;
        assert_eq!(pending(&machine, context), 3);
        // A context of its own that waits for the event only.
        let mut waiting = null_mut();
        call!(driver.cuCtxCreate_v2(&mut waiting, 0, 0))?;
        call!(driver.cuCtxWaitEvent(waiting, event))?;
        assert_eq!(pending(&machine, context), 3, "a wait blocks nobody");
        let stream = enqueue(&driver, 1)?;
        call!(driver.cuStreamSynchronize(stream))?;
        assert_eq!(pending(&machine, context), 0);
        Ok(())
    }

    #[test]
    fn a_context_that_waits_holds_its_idle_streams_up() -> TestResult {
        let (machine, driver) = lazy()?;
        let mut waiting = null_mut();
        call!(driver.cuCtxCreate_v2(&mut waiting, 0, 0))?;
        let stream = enqueue(&driver, 0)?;
        call!(driver.cuStreamSynchronize(stream))?;
        let (context, event) = busy(&machine, &driver)?;
        // A wait for an event without a record has no effect.
        call!(driver.cuCtxWaitEvent(waiting, event))?;
        assert_eq!(pending(&machine, waiting), 0);
        call!(driver.cuCtxRecordEvent(context, event))?;
        call!(driver.cuCtxWaitEvent(waiting, event))?;
        assert_eq!(pending(&machine, waiting), 1);
        call!(driver.cuCtxSynchronize_v2(waiting))?;
        assert_eq!((pending(&machine, waiting), pending(&machine, context)), (0, 0));
        Ok(())
    }

    #[test]
    fn an_event_is_recorded_on_its_own_context_only() -> TestResult {
        let (machine, driver) = lazy()?;
        let (context, event) = busy(&machine, &driver)?;
        let mut other = null_mut();
        call!(driver.cuCtxCreate_v2(&mut other, 0, 0))?;
        answers!(driver.cuCtxRecordEvent(other, event), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuCtxRecordEvent(null_mut(), event), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuCtxRecordEvent(context, null_mut()), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuCtxWaitEvent(null_mut(), event), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuCtxWaitEvent(context, null_mut()), CUDA_ERROR_INVALID_HANDLE);
        call!(driver.cuCtxDestroy_v2(context))?;
        answers!(driver.cuCtxRecordEvent(context, event), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuCtxWaitEvent(other, event), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        Ok(())
    }

    #[test]
    fn destroying_a_context_does_its_work_first() -> TestResult {
        let (machine, driver) = lazy()?;
        let (context, _event) = busy(&machine, &driver)?;
        assert_eq!(machine.unfinished_ops(), 2);
        call!(driver.cuCtxDestroy_v2(context))?;
        assert_eq!(machine.unfinished_ops(), 0);
        Ok(())
    }

    #[test]
    fn a_synchronise_includes_streams_that_were_destroyed() -> TestResult {
        let (machine, driver) = lazy()?;
        let mut context = null_mut();
        call!(driver.cuCtxCreate_v2(&mut context, 0, 0))?;
        let stream = enqueue(&driver, 1)?;
        call!(driver.cuStreamDestroy_v2(stream))?;
        call!(driver.cuCtxSynchronize())?;
        assert_eq!(machine.unfinished_ops(), 0);
        Ok(())
    }

    #[test]
    fn new_stacks_wait_for_running_work_and_other_limits_do_not() -> TestResult {
        use warploom_sys::types::CUlimit;
        let (machine, driver) = lazy()?;
        busy(&machine, &driver)?;
        call!(driver.cuCtxSetLimit(CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE, 16 << 20))?;
        call!(driver.cuCtxSetLimit(CUlimit::CU_LIMIT_STACK_SIZE, 1024))?;
        assert_eq!(machine.unfinished_ops(), 2);
        call!(driver.cuCtxSetLimit(CUlimit::CU_LIMIT_STACK_SIZE, 2048))?;
        assert_eq!(machine.unfinished_ops(), 0);
        Ok(())
    }
}

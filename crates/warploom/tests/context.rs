//! Contexts: alive while held, current only while a call needs it.

use std::ptr::null_mut;
use std::sync::Arc;

use warploom::sys::types::{CUcontext, CUresult};
use warploom::{
    CachePreference, Context, ContextError, ContextOptions, DevicePool, Driver, Error, Function, Limit, Scheduling,
};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::{Machine, Mode, topology::Topology};
use warploom_testkit::{TestResult, answers, budget, call, driver_tests, open};

fn current(driver: &Driver) -> TestResult<CUcontext> {
    let mut context = null_mut();
    call!(driver.cuCtxGetCurrent(&mut context))?;
    Ok(context)
}

/// Everything a context can be asked or told, that leaves it as it was.
fn everything(context: &Context) -> warploom::Result<()> {
    let driver = context.driver();
    context.device().context()?.check()?;
    context.device().create_context(ContextOptions::new())?.close()?;
    context.device().set_primary_options(context.device().primary_options()?)?;
    context.synchronize()?;
    context.priority_range()?;
    context.memory_info()?;
    context.options()?;
    context.set_limit(Limit::StackSize, context.limit(Limit::StackSize)?)?;
    context.set_cache_preference(context.cache_preference()?)?;
    context.reset_persisting_l2_cache()?;
    context.scope(|| driver.current_context())??;
    driver.current_device()?;
    Ok(())
}

driver_tests! {
    fn no_call_leaves_a_context_current(driver) {
        let context = driver.device(0)?.context()?;
        everything(&context)?;
        context.limit(Limit::LaunchSyncDepth).unwrap_or_default();
        let stream = context.stream()?;
        stream.record()?.synchronize()?;
        drop(stream);
        assert!(current(driver)?.is_null());
    }

    fn a_context_that_was_current_is_current_again(driver) {
        let context = driver.device(0)?.context()?;
        call!(driver.cuCtxSetCurrent(context.as_raw()))?;
        everything(&context)?;
        context.stream()?.record()?.synchronize()?;
        assert_eq!(current(driver)?, context.as_raw());
        call!(driver.cuCtxSetCurrent(null_mut()))?;
    }

    fn the_primary_context_is_the_same_for_everyone(driver) {
        let device = driver.device(0)?;
        let (one, other) = (device.context()?, device.context()?);
        assert_eq!(one, other);
        assert_eq!((one.id(), one.generation()), (other.id(), other.generation()));
        assert!(one.id().is_some());
    }

    fn a_context_is_active_while_anything_made_from_it_is_held(driver) {
        let device = driver.device(0)?;
        let context = device.context()?;
        let stream = context.stream()?;
        let event = stream.record()?;
        drop(context);
        drop(stream);
        assert!(device.has_active_context()?);
        event.synchronize()?;
        drop(event);
        assert!(!device.has_active_context()?);
    }

    fn priorities_run_from_the_least_down_to_the_greatest(driver) {
        let range = driver.device(0)?.context()?.priority_range()?;
        assert!(range.greatest < range.least, "{range}");
        assert!(range.contains(range.least) && range.contains(range.greatest));
        assert!(!range.contains(range.least + 1) && !range.contains(range.greatest - 1));
        assert!(current(driver)?.is_null());
    }

    fn a_scope_has_its_context_current_and_restores_the_previous_one(driver) {
        let device = driver.device(0)?;
        let (outer, inner) = (device.context()?, device.create_context(ContextOptions::new())?);
        outer.scope(|| -> TestResult {
            assert_eq!(current(driver)?, outer.as_raw());
            inner.scope(|| current(driver).map(|raw| assert_eq!(raw, inner.as_raw())))??;
            assert_eq!(current(driver)?, outer.as_raw());
            budget(driver, &[(Function::cuCtxGetCurrent, 1)], || outer.scope(|| ()))?;
            Ok(())
        })??;
        assert!(current(driver)?.is_null());
    }

    fn a_scope_that_panics_restores_the_previous_context(driver) {
        let context = driver.device(0)?.context()?;
        let panics = || context.scope(|| std::panic::resume_unwind(Box::new(())));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics));
        assert!(panicked.is_err());
        assert!(current(driver)?.is_null());
    }

    fn the_current_context_is_known_or_refused(driver) {
        let device = driver.device(0)?;
        assert_eq!((driver.current_context()?, driver.current_device()?), (None, None));
        let (primary, created) = (device.context()?, device.create_context(ContextOptions::new())?);
        for context in [&primary, &created] {
            let (found, on) = context.scope(|| (driver.current_context(), driver.current_device()))?;
            assert_eq!((found?.as_ref(), on?.as_ref()), (Some(context), Some(&device)));
        }
    }

    /// A context of others is not taken for one that lives as long as it is held.
    fn a_foreign_context_is_used_only_when_vouched_for(driver) {
        let mut raw = null_mut();
        call!(driver.cuCtxCreate_v2(&mut raw, 0, 0))?;
        assert_eq!(driver.current_context(), Err(Error::Context(ContextError::Untracked { device: 0 })));
        assert_eq!(driver.current_device()?, Some(driver.device(0)?));
        let owner = Arc::new(());
        #[expect(unsafe_code, reason = "vouches for a context that is destroyed below, after its last use")]
        // SAFETY: as said.
        let foreign = unsafe { Context::from_raw(driver, raw, Arc::clone(&owner)) }?;
        assert_eq!((foreign.as_raw(), foreign.device().ordinal()), (raw, 0));
        assert_eq!(driver.current_context()?, Some(foreign.clone()));
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        let stream = foreign.stream()?;
        stream.synchronize()?;
        drop(foreign);
        assert_eq!(Arc::strong_count(&owner), 2);
        drop(stream);
        assert_eq!(Arc::strong_count(&owner), 1);
        call!(driver.cuCtxDestroy_v2(raw))?;
        #[expect(unsafe_code, reason = "null is refused")]
        // SAFETY: null is allowed.
        let null = unsafe { Context::borrow_raw(driver, null_mut()) };
        assert_eq!(null, Err(Error::Context(ContextError::Null)));
    }

    fn a_created_context_is_another_one_and_is_not_current(driver) {
        let device = driver.device(0)?;
        let (primary, created) = (device.context()?, device.create_context(ContextOptions::new())?);
        assert!(current(driver)?.is_null());
        assert_ne!(created, primary);
        assert_ne!(created.id(), primary.id());
        let stream = created.stream()?;
        assert_eq!(stream.context(), &created);
        assert!(created.is_current_generation());
        budget(driver, &[], || created.check())?;
    }

    fn a_created_context_is_destroyed_when_nothing_holds_it(driver) {
        let context = driver.device(0)?.create_context(ContextOptions::new())?;
        let stream = context.stream()?;
        budget(driver, &[], || context.close())?;
        stream.synchronize()?;
        let calls = [(Function::cuStreamDestroy_v2, 1), (Function::cuCtxDestroy_v2, 1)];
        budget(driver, &calls, || drop(stream));
    }

    /// CTX-2: foreign code has it current by its handle; the driver takes it away.
    fn a_context_that_is_destroyed_is_not_current_any_more(driver) {
        let context = driver.device(0)?.create_context(ContextOptions::new())?;
        call!(driver.cuCtxPushCurrent_v2(context.as_raw()))?;
        context.close()?;
        assert!(current(driver)?.is_null());
    }

    fn options_are_those_asked_for(driver) {
        let device = driver.device(0)?;
        for scheduling in [Scheduling::Auto, Scheduling::Spin, Scheduling::Yield, Scheduling::Block] {
            let options = ContextOptions::new().scheduling(scheduling).keep_local_memory(true);
            assert_eq!(device.create_context(options)?.options()?, options);
        }
        assert_eq!(device.create_context(ContextOptions::new())?.options()?, ContextOptions::default());
    }

    fn the_options_of_the_primary_context_last_until_its_end(driver) {
        let device = driver.device(0)?;
        let context = device.context()?;
        device.set_primary_options(ContextOptions::new().scheduling(Scheduling::Block))?;
        assert_eq!(device.primary_options()?.scheduling, Scheduling::Block);
        assert_eq!(context.options()?.scheduling, Scheduling::Block);
        drop(context);
        assert_eq!(device.context()?.options()?.scheduling, Scheduling::Auto);
    }

    fn limits_are_set_and_read(driver) {
        let context = driver.device(0)?.create_context(ContextOptions::new())?;
        for (limit, value) in [(Limit::StackSize, 4096), (Limit::PrintfBuffer, 2 << 20), (Limit::MallocHeap, 16 << 20)] {
            context.set_limit(limit, value)?;
            assert_eq!(context.limit(limit)?, value, "{limit}");
        }
        assert!(context.limit(Limit::SharedMemory).is_ok());
    }

    fn a_limit_the_device_does_not_have_is_named(driver) {
        let context = driver.device(0)?.context()?;
        let unsupported = Error::Context(ContextError::UnsupportedLimit { limit: Limit::LaunchSyncDepth, device: 0 });
        assert_eq!(context.limit(Limit::LaunchSyncDepth), Err(unsupported.clone()));
        assert_eq!(context.set_limit(Limit::LaunchSyncDepth, 4), Err(unsupported));
        assert_eq!(
            context.set_limit(Limit::StackSize, 1 << 30).map_err(|error| error.code()),
            Err(Some(CUresult::CUDA_ERROR_INVALID_VALUE))
        );
    }

    fn memory_that_is_taken_is_not_free(driver) {
        let context = driver.device(0)?.context()?;
        let before = context.memory_info()?;
        assert!(before.free <= before.total && before.total <= driver.device(0)?.total_memory()?);
        let other = driver.device(0)?.create_context(ContextOptions::new())?;
        assert!(context.memory_info()?.free < before.free);
        drop(other);
    }

    fn a_cache_preference_is_kept(driver) {
        let context = driver.device(0)?.create_context(ContextOptions::new())?;
        for preference in [CachePreference::L1, CachePreference::Shared, CachePreference::Equal, CachePreference::None] {
            context.set_cache_preference(preference)?;
            assert_eq!(context.cache_preference()?, preference);
        }
    }

    /// S3.28: a reset by other code, noticed before the context is retained again.
    fn a_context_that_others_reset_is_stale(driver) {
        let device = driver.device(0)?;
        let context = device.context()?;
        context.check()?;
        call!(driver.cuDevicePrimaryCtxReset_v2(0))?;
        assert!(context.is_current_generation(), "nobody has looked yet");
        let expected = context.generation();
        let stale = Err(Error::Context(ContextError::Stale { device: 0, expected, found: expected + 1 }));
        assert_eq!(context.check(), stale);
        assert!(!context.is_current_generation());
        budget(driver, &[], || {
            assert_eq!(context.check(), stale);
            assert_eq!(context.synchronize(), stale);
            assert_eq!(context.scope(|| ()), stale);
            assert_eq!(context.stream().map(drop), stale);
        });
        let next = device.context()?;
        assert_eq!((next.as_raw(), next.generation()), (context.as_raw(), expected + 1));
        assert_ne!(next, context);
        next.check()?;
        next.stream()?.synchronize()?;
        drop(context);
        next.check()?;
        drop(next);
        assert!(!device.has_active_context()?, "every reference has been given back");
    }

    /// S3.28: the same handle names another context, which is active and looks like the old one.
    fn a_context_that_others_reset_and_retained_again_is_stale(driver) {
        let device = driver.device(0)?;
        let context = device.context()?;
        call!(driver.cuDevicePrimaryCtxReset_v2(0))?;
        let mut raw = null_mut();
        call!(driver.cuDevicePrimaryCtxRetain(&mut raw, 0))?;
        assert_eq!(raw, context.as_raw());
        assert!(matches!(context.check(), Err(Error::Context(ContextError::Stale { .. }))));
        assert_eq!(device.context()?.generation(), context.generation() + 1);
        drop(context);
        call!(driver.cuDevicePrimaryCtxRelease_v2(0))?;
        assert!(!device.has_active_context()?);
    }

    /// S3.28: asking for the context again is enough to notice.
    fn asking_for_the_context_notices_a_reset(driver) {
        let device = driver.device(0)?;
        let context = device.context()?;
        call!(driver.cuDevicePrimaryCtxReset_v2(0))?;
        let next = device.context()?;
        assert!(!context.is_current_generation() && next.is_current_generation());
        assert_ne!(next.id(), context.id());
    }

    /// S3.28: a reset made here needs no look.
    fn a_reset_here_makes_contexts_stale_at_once(driver) {
        let device = driver.device(0)?;
        let context = device.context()?;
        #[expect(unsafe_code, reason = "resets a context in which nothing was made")]
        // SAFETY: as said.
        unsafe { device.reset_context() }?;
        assert!(!context.is_current_generation());
        assert!(!device.has_active_context()?);
        assert_eq!(device.context()?.generation(), context.generation() + 1);
    }

    fn a_context_costs_a_retain_and_its_number(driver) {
        let device = driver.device(0)?;
        let calls = [(Function::cuDevicePrimaryCtxRetain, 1), (Function::cuCtxGetId, 1)];
        let context = budget(driver, &calls, || device.context())?;
        budget(driver, &[], || (context.id(), context.generation(), context.clone() == context));
        let calls = [(Function::cuDevicePrimaryCtxGetState, 1), (Function::cuCtxGetId, 1)];
        budget(driver, &calls, || context.check())?;
        budget(driver, &[(Function::cuDevicePrimaryCtxRelease_v2, 1)], || context.close())?;
    }

    /// An operation on a stream needs no current context, and does not query it.
    fn hot_paths_do_not_touch_the_current_context(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, other) = (context.stream()?, context.stream()?);
        let pool = DevicePool::new(&context)?;
        let event = stream.record()?;
        let counter = driver.count_calls();
        let mut buffer = pool.zeroed(64, &stream)?;
        buffer.fill(1, &stream)?;
        other.wait(&event)?;
        event.is_complete()?;
        stream.is_idle()?;
        drop(buffer);
        stream.synchronize()?;
        let touched = [Function::cuCtxGetCurrent, Function::cuCtxSetCurrent].map(|function| counter.count(function));
        assert_eq!(touched, [0, 0]);
    }

    /// S3.28: what belongs to an old life is refused before any driver call.
    sim fn memory_and_streams_of_an_old_life_are_refused(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
        call!(driver.cuDevicePrimaryCtxReset_v2(0))?;
        assert!(context.check().is_err());
        let next = driver.device(0)?.context()?;
        let fresh = next.stream()?;
        budget(driver, &[], || {
            let refused = pool.allocate::<u8>(64, &stream).map(drop);
            assert!(matches!(refused, Err(Error::Context(ContextError::Stale { .. }))), "{refused:?}");
            let refused = pool.allocate::<u8>(64, &fresh).map(drop);
            assert!(refused.is_err(), "{refused:?}");
        });
    }

    /// The handle of a context that is gone is still current on another thread: calls there are told so.
    sim fn another_thread_is_told_that_the_context_is_destroyed(driver) {
        let context = driver.device(0)?.create_context(ContextOptions::new())?;
        let (ready, is_ready) = std::sync::mpsc::channel();
        let (go, may_go) = std::sync::mpsc::channel();
        std::thread::scope(|scope| -> TestResult {
            let raw = context.as_raw().addr();
            let other = scope.spawn(move || {
                let made = call!(driver.cuCtxSetCurrent(std::ptr::without_provenance_mut(raw)));
                ready.send(made).expect("the test waits for it");
                may_go.recv().expect("the test says when");
                answers!(driver.cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
            });
            is_ready.recv()??;
            context.close()?;
            go.send(())?;
            other.join().map_err(|_| "the other thread panicked")?;
            Ok(())
        })?;
    }
}

#[test]
fn another_context_that_was_current_is_current_again() -> TestResult {
    let (_machine, driver) = open(Topology::preset("asymmetric")?, Mode::Threads)?;
    let (first, second) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
    assert_ne!(first, second);
    call!(driver.cuCtxSetCurrent(first.as_raw()))?;
    everything(&second)?;
    second.stream()?.record()?.synchronize()?;
    assert_eq!(current(&driver)?, first.as_raw());
    Ok(())
}

/// The previous context is current again, whichever call of a context fails.
#[test]
fn the_previous_context_is_restored_when_a_call_fails() -> TestResult {
    let (machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Sync)?;
    let (first, second) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
    for was in [null_mut(), first.as_raw(), second.as_raw()] {
        call!(driver.cuCtxSetCurrent(was))?;
        for function in [
            "cuCtxSynchronize",
            "cuCtxGetStreamPriorityRange",
            "cuMemGetInfo",
            "cuCtxGetFlags",
            "cuCtxGetLimit",
            "cuCtxSetLimit",
            "cuCtxGetCacheConfig",
            "cuCtxSetCacheConfig",
            "cuCtxResetPersistingL2Cache",
            "cuCtxGetDevice",
            "cuCtxGetId",
            "cuCtxCreate",
            "cuCtxDestroy",
            "cuDevicePrimaryCtxRetain",
        ] {
            let fresh = driver.device(1)?.context()?; // which has asked for nothing yet
            let rule = Rule::on(Calls::named(function)?).fail(CUresult::CUDA_ERROR_UNKNOWN);
            let scope = machine.inject(Plan::new().rule(rule))?;
            let answer = everything(&fresh);
            let fired = !scope.fired().is_empty();
            drop(scope);
            assert!(fired, "{function} was not called");
            assert_eq!(answer.map_err(|error| error.code()), Err(Some(CUresult::CUDA_ERROR_UNKNOWN)), "{function}");
            assert_eq!(current(&driver)?, was, "after {function} failed");
        }
    }
    Ok(())
}

#[test]
fn a_close_that_fails_says_so() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Sync)?;
    for context in [driver.device(0)?.context()?, driver.device(0)?.create_context(ContextOptions::new())?] {
        let ends = Calls::named("cu*Ctx*Release*")?;
        let plan = Plan::new()
            .rule(Rule::on(ends).fail(CUresult::CUDA_ERROR_UNKNOWN))
            .rule(Rule::on(Calls::named("cuCtxDestroy")?).fail(CUresult::CUDA_ERROR_UNKNOWN));
        let scope = machine.inject(plan)?;
        assert_eq!(context.close().map_err(|error| error.code()), Err(Some(CUresult::CUDA_ERROR_UNKNOWN)));
        assert_eq!(scope.fired().len(), 1, "it is tried once");
    }
    Ok(())
}

/// S3.28: without numbers, a reset shows as long as the context is inactive.
#[test]
fn a_driver_without_context_numbers_still_tells_lives_apart() -> TestResult {
    let hide = Plan::new().hide(Calls::named("cuCtxGetId")?);
    let machine = Machine::builder().topology(Topology::preset("h200")?).faults(hide).start()?;
    let driver = Driver::open(&machine)?;
    let device = driver.device(0)?;
    let context = device.context()?;
    assert_eq!((context.id(), device.context()?.generation()), (None, context.generation()));
    context.check()?;
    call!(driver.cuDevicePrimaryCtxReset_v2(0))?;
    assert!(matches!(context.check(), Err(Error::Context(ContextError::Stale { .. }))));
    let next = device.context()?;
    assert!(next.is_current_generation());
    call!(driver.cuDevicePrimaryCtxReset_v2(0))?;
    assert!(device.context()?.is_current_generation());
    assert!(!next.is_current_generation());
    Ok(())
}

/// S3.26: the other devices' contexts keep their lives.
#[test]
fn a_reset_concerns_one_device() -> TestResult {
    let (_machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Sync)?;
    let (first, second) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
    call!(driver.cuDevicePrimaryCtxReset_v2(0))?;
    assert!(first.check().is_err());
    second.check()?;
    let message = first.check().unwrap_err().to_string();
    assert_eq!(
        message,
        "device 0 was reset: this belongs to generation 0 of its primary context, which is now in generation 1; ask the device \
         for its context again"
    );
    Ok(())
}

#[test]
fn an_older_driver_has_contexts_all_the_same() -> TestResult {
    let topology = Topology::preset("h200")?.into_builder().driver_version(12, 0).build()?;
    let (_machine, driver) = open(topology, Mode::Sync)?;
    everything(&driver.device(0)?.context()?)?;
    Ok(())
}

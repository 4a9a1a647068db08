//! Contexts: how they are made and destroyed, and what is current on a thread.

use std::ptr::null_mut;

use warploom_driver::Driver;
use warploom_sim::topology::Topology;
use warploom_sys::types::{CUcontext, CUctxCreateParams, CUstream};
use warploom_testkit::{ASYNCHRONOUS, Primary, TestResult, answers, call, driver_tests, open};

fn create(driver: &Driver, flags: u32) -> TestResult<CUcontext> {
    let mut context = null_mut();
    call!(driver.cuCtxCreate_v2(&mut context, flags, 0))?;
    Ok(context)
}

fn current(driver: &Driver) -> TestResult<CUcontext> {
    let mut context = null_mut();
    call!(driver.cuCtxGetCurrent(&mut context))?;
    Ok(context)
}

fn pop(driver: &Driver) -> TestResult<CUcontext> {
    let mut context = null_mut();
    call!(driver.cuCtxPopCurrent_v2(&mut context))?;
    Ok(context)
}

driver_tests! {
    fn a_created_context_is_pushed(driver) {
        let (a, b) = (create(driver, 0)?, create(driver, 0)?);
        assert_eq!(current(driver)?, b);
        assert_eq!(pop(driver)?, b);
        assert_eq!(current(driver)?, a);
        call!(driver.cuCtxDestroy_v2(b))?;
        assert_eq!(current(driver)?, a, "it was not current");
        call!(driver.cuCtxDestroy_v2(a))?;
        assert!(current(driver)?.is_null());
    }

    fn set_current_replaces_the_top_and_null_pops_it(driver) {
        let (a, b) = (create(driver, 0)?, create(driver, 0)?);
        call!(driver.cuCtxPushCurrent_v2(b))?;
        call!(driver.cuCtxSetCurrent(a))?;
        assert_eq!([pop(driver)?, pop(driver)?, pop(driver)?], [a, b, a]);
        let mut context = b;
        answers!(driver.cuCtxPopCurrent_v2(&mut context), CUDA_ERROR_INVALID_CONTEXT);
        assert_eq!(context, b);
        call!(driver.cuCtxPushCurrent_v2(a))?;
        call!(driver.cuCtxPushCurrent_v2(b))?;
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        assert_eq!(current(driver)?, a);
        call!(driver.cuCtxPopCurrent_v2(null_mut()))?;
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        answers!(driver.cuCtxPushCurrent_v2(null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuCtxGetCurrent(null_mut()), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuCtxDestroy_v2(a))?;
        call!(driver.cuCtxDestroy_v2(b))?;
    }

    fn a_destroyed_context_stays_where_it_was_below_the_top(driver) {
        let (a, b) = (create(driver, 0)?, create(driver, 0)?);
        call!(driver.cuCtxDestroy_v2(a))?;
        assert_eq!(current(driver)?, b);
        assert_eq!(pop(driver)?, b);
        assert_eq!(current(driver)?, a);
        answers!(driver.cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        assert_eq!(pop(driver)?, a);
        call!(driver.cuCtxDestroy_v2(b))?;
    }

    sim fn a_destroyed_context_can_be_made_current_and_is_of_no_use(driver) {
        let primary = Primary::of(driver, 0)?;
        let dead = create(driver, 0)?;
        call!(driver.cuCtxDestroy_v2(dead))?;
        assert_eq!(current(driver)?, primary.context);
        let (mut id, mut version) = (77, 77);
        answers!(driver.cuCtxDestroy_v2(dead), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuCtxGetId(dead, &mut id), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuCtxGetApiVersion(dead, &mut version), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuCtxSynchronize_v2(dead), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuCtxEnablePeerAccess(dead, 0), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuCtxDetach(dead), CUDA_ERROR_INVALID_CONTEXT);
        assert_eq!((id, version), (77, 77));
        call!(driver.cuCtxPushCurrent_v2(dead))?;
        assert_eq!(current(driver)?, dead);
        let mut memory = 0;
        answers!(driver.cuMemAlloc_v2(&mut memory, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        assert_eq!(pop(driver)?, dead);
        drop(primary);
    }

    sim fn memory_and_streams_die_with_their_context(driver) {
        let primary = Primary::of(driver, 0)?;
        let context = create(driver, 0)?;
        let (mut memory, mut stream) = (0, null_mut());
        call!(driver.cuMemAlloc_v2(&mut memory, 4096))?;
        call!(driver.cuStreamCreate(&mut stream, 0))?;
        call!(driver.cuCtxDestroy_v2(context))?;
        answers!(driver.cuMemFree_v2(memory), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuStreamSynchronize(stream), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuStreamDestroy_v2(stream), CUDA_ERROR_INVALID_CONTEXT);
        drop(primary);
    }

    fn a_context_that_another_thread_destroys_stays_current_and_dead(driver) {
        let context = create(driver, 0)?;
        let address = context.expose_provenance();
        std::thread::scope(|scope| {
            let destroyer = scope.spawn(move || {
                let context: CUcontext = std::ptr::with_exposed_provenance_mut(address);
                assert!(current(driver).is_ok_and(|current| current.is_null()));
                answers!(driver.cuCtxDestroy_v2(context), CUDA_SUCCESS);
            });
            assert!(destroyer.join().is_ok());
        });
        assert_eq!(current(driver)?, context);
        answers!(driver.cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        assert_eq!(pop(driver)?, context);
    }

    fn flags_choose_one_way_to_wait(driver) {
        for (flags, shown) in [(0, 0), (1, 1), (2, 2), (4, 4), (8, 8), (9, 9), (0x10, 0x10), (0x80, 0x80)] {
            let context = create(driver, flags)?;
            let mut found = 77;
            call!(driver.cuCtxGetFlags(&mut found))?;
            assert_eq!(found, shown);
            call!(driver.cuCtxDestroy_v2(context))?;
        }
        let mut context = null_mut();
        for flags in [3, 5, 6, 7, 0x100, 0x200, 1 << 31] {
            answers!(driver.cuCtxCreate_v2(&mut context, flags, 0), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuCtxCreate_v4(&mut context, null_mut(), flags, 0), CUDA_ERROR_INVALID_VALUE);
        }
        answers!(driver.cuCtxCreate_v2(&mut context, 0, 7), CUDA_ERROR_INVALID_DEVICE);
        answers!(driver.cuCtxCreate_v2(null_mut(), 0, 0), CUDA_ERROR_INVALID_VALUE);
        assert!(context.is_null() && current(driver)?.is_null());
    }

    fn the_newer_ways_to_create_make_the_same_context(driver) {
        let mut params = CUctxCreateParams {
            execAffinityParams: null_mut(),
            numExecAffinityParams: 0,
            cigParams: null_mut(),
        };
        let mut contexts = [null_mut(); 4];
        call!(driver.cuCtxCreate_v3(&mut contexts[0], null_mut(), 0, 0, 0))?;
        call!(driver.cuCtxCreate_v3(&mut contexts[1], null_mut(), -1, 0, 0))?;
        call!(driver.cuCtxCreate_v4(&mut contexts[2], null_mut(), 0, 0))?;
        call!(driver.cuCtxCreate_v4(&mut contexts[3], &mut params, 0, 0))?;
        for context in contexts {
            let mut version = 0;
            call!(driver.cuCtxGetApiVersion(context, &mut version))?;
            assert_eq!(version, 3020);
            call!(driver.cuCtxDestroy_v2(context))?;
        }
        let mut context = null_mut();
        answers!(driver.cuCtxCreate_v3(&mut context, null_mut(), 1, 0, 0), CUDA_ERROR_INVALID_VALUE);
        assert!(context.is_null());
        while !current(driver)?.is_null() {
            pop(driver)?;
        }
    }

    fn contexts_are_numbered(driver) {
        let (a, b) = (create(driver, 0)?, create(driver, 0)?);
        let (mut first, mut second, mut own) = (0, 0, 0);
        call!(driver.cuCtxGetId(a, &mut first))?;
        call!(driver.cuCtxGetId(b, &mut second))?;
        call!(driver.cuCtxGetId(null_mut(), &mut own))?;
        assert!(0 < first && first < second && own == second);
        answers!(driver.cuCtxGetId(a, null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuCtxGetApiVersion(a, null_mut()), CUDA_ERROR_INVALID_VALUE);
        let (mut device, mut version) = (77, 0);
        call!(driver.cuCtxGetApiVersion(null_mut(), &mut version))?;
        call!(driver.cuCtxGetDevice_v2(&mut device, a))?;
        assert_eq!((device, version), (0, 3020));
        device = 77;
        call!(driver.cuCtxGetDevice_v2(&mut device, null_mut()))?;
        assert_eq!(device, 0);
        call!(driver.cuCtxSynchronize_v2(a))?;
        call!(driver.cuCtxSynchronize_v2(null_mut()))?;
        call!(driver.cuCtxDestroy_v2(b))?;
        call!(driver.cuCtxDestroy_v2(a))?;
    }

    fn the_last_detach_destroys(driver) {
        let context = create(driver, 0)?;
        let mut attached = null_mut();
        call!(driver.cuCtxAttach(&mut attached, 0))?;
        assert_eq!(attached, context);
        answers!(driver.cuCtxAttach(&mut attached, 1), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuCtxAttach(null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuCtxDetach(context))?;
        assert_eq!(current(driver)?, context);
        call!(driver.cuCtxDetach(context))?;
        assert!(current(driver)?.is_null());
        answers!(driver.cuCtxAttach(&mut attached, 0), CUDA_ERROR_INVALID_CONTEXT);
    }

    fn without_a_current_context_there_is_nothing_to_ask(driver) {
        let (mut a, mut b, mut size, mut id) = (77, 77, 77, 77);
        answers!(driver.cuCtxGetDevice(&mut a), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuCtxGetStreamPriorityRange(&mut a, &mut b), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuCtxGetLimit(&mut size, warploom_sys::types::CUlimit(0)), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuCtxSetLimit(warploom_sys::types::CUlimit(0), 1024), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuCtxGetId(null_mut(), &mut id), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuCtxResetPersistingL2Cache(), CUDA_ERROR_INVALID_CONTEXT);
        let mut flags = 77;
        answers!(driver.cuCtxGetFlags(&mut flags), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuCtxGetApiVersion(null_mut(), &mut flags), CUDA_ERROR_INVALID_CONTEXT);
        assert_eq!((a, b, size, id, flags), (77, 77, 77, 77, 77));
        answers!(driver.cuCtxSetCurrent(null_mut()), CUDA_SUCCESS);
        answers!(driver.cuCtxDestroy_v2(null_mut()), CUDA_ERROR_INVALID_VALUE);
    }
}

/// A real driver follows such handles and crashes.
#[test]
fn invented_handles_name_no_context() -> TestResult {
    for mode in ASYNCHRONOUS {
        let (_machine, driver) = open(Topology::preset("h200")?, *mode)?;
        let primary = Primary::of(&driver, 0)?;
        let mut stream: CUstream = null_mut();
        call!(driver.cuStreamCreate(&mut stream, 0))?;
        for handle in [std::ptr::without_provenance_mut(0xdead_beef), stream.cast()] {
            let (mut id, mut device) = (77, 77);
            answers!(driver.cuCtxSetCurrent(handle), CUDA_ERROR_INVALID_CONTEXT);
            answers!(driver.cuCtxPushCurrent_v2(handle), CUDA_ERROR_INVALID_CONTEXT);
            answers!(driver.cuCtxDestroy_v2(handle), CUDA_ERROR_INVALID_CONTEXT);
            answers!(driver.cuCtxDetach(handle), CUDA_ERROR_INVALID_CONTEXT);
            answers!(driver.cuCtxGetId(handle, &mut id), CUDA_ERROR_INVALID_CONTEXT);
            answers!(driver.cuCtxGetDevice_v2(&mut device, handle), CUDA_ERROR_INVALID_CONTEXT);
            answers!(driver.cuCtxSynchronize_v2(handle), CUDA_ERROR_INVALID_CONTEXT);
            answers!(driver.cuCtxEnablePeerAccess(handle, 0), CUDA_ERROR_INVALID_CONTEXT);
        }
        call!(driver.cuStreamDestroy_v2(stream))?;
        drop(primary);
    }
    Ok(())
}

/// Needs no handle of a real context's size: the device has room for two contexts.
#[test]
fn contexts_take_memory_until_there_is_none() -> TestResult {
    let mut topology = Topology::preset("h200")?;
    let context = topology.devices[0].context_memory;
    topology.devices[0].set_memory(context * 5 / 2);
    let (_machine, driver) = open(topology, ASYNCHRONOUS[0])?;
    let contexts = [create(&driver, 0)?, create(&driver, 0)?];
    let mut third = null_mut();
    answers!(driver.cuCtxCreate_v2(&mut third, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
    answers!(driver.cuDevicePrimaryCtxRetain(&mut third, 0), CUDA_ERROR_OUT_OF_MEMORY);
    assert!(third.is_null());
    call!(driver.cuCtxDestroy_v2(contexts[0]))?;
    answers!(driver.cuDevicePrimaryCtxRetain(&mut third, 0), CUDA_SUCCESS);
    Ok(())
}

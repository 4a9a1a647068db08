//! Queries of a stream, its capture state included.

use std::collections::BTreeSet;
use std::ptr::null_mut;

use warploom_testkit::sys::types::{CUstreamCaptureMode, CUstreamCaptureStatus};
use warploom_testkit::{Primary, answers, call, driver_tests};

use crate::latch::{legacy, per_thread, stream};

driver_tests! {
    fn every_stream_knows_its_context_and_device(driver) {
        let primary = Primary::of(driver, 0)?;
        let made = stream(driver, 0)?;
        for asked in [made, null_mut(), legacy(), per_thread()] {
            let (mut context, mut second, mut green, mut device) = (null_mut(), null_mut(), asked.cast(), 7);
            call!(driver.cuStreamGetCtx(asked, &mut context))?;
            call!(driver.cuStreamGetCtx_v2(asked, &mut second, &mut green))?;
            call!(driver.cuStreamGetDevice(asked, &mut device))?;
            assert_eq!((context, second, device), (primary.context, primary.context, 0));
            assert!(green.is_null());
        }
        call!(driver.cuStreamDestroy_v2(made))?;
    }

    fn default_streams_block_and_have_the_lowest_priority(driver) {
        let _primary = Primary::of(driver, 0)?;
        for default in [null_mut(), legacy(), per_thread()] {
            let (mut flags, mut priority) = (7, 7);
            call!(driver.cuStreamGetFlags(default, &mut flags))?;
            call!(driver.cuStreamGetPriority(default, &mut priority))?;
            assert_eq!((flags, priority), (0, 0));
        }
    }

    fn ids_are_never_used_twice(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut ids = BTreeSet::new();
        let id_of = |asked| {
            let mut id = 0;
            call!(driver.cuStreamGetId(asked, &mut id)).map(|()| id)
        };
        let (zero, one, two) = (id_of(null_mut())?, id_of(legacy())?, id_of(per_thread())?);
        assert_eq!(zero, one);
        assert_eq!(id_of(per_thread())?, two);
        ids.extend([zero, two]);
        for _ in 0..10 {
            let made = stream(driver, 0)?;
            ids.insert(id_of(made)?);
            assert_eq!(id_of(made)?, *ids.last().expect("it has some"));
            call!(driver.cuStreamDestroy_v2(made))?;
        }
        assert_eq!(ids.len(), 12);
    }

    fn each_thread_has_a_default_stream_of_its_own(driver) {
        let primary = Primary::of(driver, 0)?;
        let mut here = 0;
        call!(driver.cuStreamGetId(per_thread(), &mut here))?;
        let context = primary.context.addr();
        let there = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut there = 0;
                call!(driver.cuCtxSetCurrent(std::ptr::without_provenance_mut(context)))?;
                call!(driver.cuStreamGetId(per_thread(), &mut there))?;
                Ok::<_, warploom_testkit::driver::Error>(there)
            }).join()
        }).expect("the thread returns")?;
        assert_ne!(here, there);
    }

    fn nowhere_to_write_is_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        answers!(driver.cuStreamGetFlags(null_mut(), null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuStreamGetPriority(null_mut(), null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuStreamGetId(null_mut(), null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuStreamGetCtx(null_mut(), null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuStreamGetDevice(null_mut(), null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuStreamIsCapturing(null_mut(), null_mut()), CUDA_ERROR_INVALID_VALUE);
    }

    fn no_stream_is_captured(driver) {
        let _primary = Primary::of(driver, 0)?;
        let made = stream(driver, 0)?;
        for asked in [made, null_mut(), legacy(), per_thread()] {
            let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE;
            call!(driver.cuStreamIsCapturing(asked, &mut status))?;
            assert_eq!(status, CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE);
            let (mut older, mut newer) = (CUstreamCaptureStatus(7), CUstreamCaptureStatus(7));
            let (id, graph, nodes, edges, count) = (null_mut(), null_mut(), null_mut(), null_mut(), null_mut());
            call!(driver.cuStreamGetCaptureInfo_v2(asked, &mut older, id, graph, nodes, count))?;
            call!(driver.cuStreamGetCaptureInfo_v3(asked, &mut newer, id, graph, nodes, edges, count))?;
            assert_eq!([older, newer], [status; 2]);
        }
        call!(driver.cuStreamDestroy_v2(made))?;
    }

    fn a_threads_capture_mode_is_handed_back_when_it_is_exchanged(driver) {
        let exchange = |wanted| {
            let mut mode = CUstreamCaptureMode(wanted);
            call!(driver.cuThreadExchangeStreamCaptureMode(&mut mode)).map(|()| mode.0)
        };
        assert_eq!(exchange(1)?, 0);
        assert_eq!(exchange(2)?, 1);
        let elsewhere = std::thread::scope(|scope| scope.spawn(|| exchange(0)).join()).expect("the thread returns")?;
        assert_eq!(elsewhere, 0);
        assert_eq!(exchange(0)?, 2);
        assert_eq!(exchange(0)?, 0);
    }
}

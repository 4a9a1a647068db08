//! Work on two streams: side by side where the device has room, one after the other where it has not.

use std::ptr::null_mut;

use warploom_testkit::sys::types::{CUdevice_attribute, CUstream};
use warploom_testkit::{call, driver_tests};

use crate::arguments;
use crate::support::Rig;

/// Bytes of a copy that takes long next to its start-up.
const BYTES: usize = 32 << 20;

driver_tests! {
    fn kernels_that_fit_side_by_side_take_as_long_as_one(driver) {
        let mut rig = Rig::new(driver)?;
        let (spin, cycles, none) = (rig.function("spin")?, rig.cycles(400)?, 0_u64);
        let shared = rig.fill_processor(spin)?;
        let processors =
            u32::try_from(rig.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?)?;
        let [first, second] = rig.streams;
        let run = |rig: &mut Rig, blocks: u32, streams: &[CUstream]| {
            rig.time(|rig| {
                streams.iter().try_for_each(|stream| {
                    rig.launch(spin, (blocks, 32, shared), *stream, &mut arguments!(cycles, none))
                })
            })
        };
        // The first launch loads the code.
        run(&mut rig, 1, &[first])?;
        let half = processors / 2;
        let one = run(&mut rig, half, &[first])?;
        let beside = run(&mut rig, half, &[first, second])?;
        let behind = run(&mut rig, half, &[first, first])?;
        assert!(one >= 0.4 && beside < 1.4 * one && behind > 1.7 * one, "{one} {beside} {behind}");
        let full = run(&mut rig, processors, &[first])?;
        let both = run(&mut rig, processors, &[first, second])?;
        assert!(full < 1.4 * one && both > 1.7 * full && both < 2.6 * full, "{one} {full} {both}");
    }

    fn copies_run_beside_kernels_and_share_a_direction(driver) {
        let mut rig = Rig::new(driver)?;
        let (spin, none) = (rig.function("spin")?, 0_u64);
        let ([first, second], mut device, mut host) = (rig.streams, [0; 2], [null_mut(); 2]);
        for at in 0..2 {
            call!(driver.cuMemAlloc_v2(&mut device[at], BYTES))?;
            call!(driver.cuMemsetD8_v2(device[at], 0, BYTES))?;
            call!(driver.cuMemHostAlloc(&mut host[at], BYTES, 0))?;
        }
        rig.synchronize()?;
        let down = |at: usize, stream| call!(driver.cuMemcpyHtoDAsync_v2(device[at], host[at], BYTES, stream));
        let up = |at: usize, stream| call!(driver.cuMemcpyDtoHAsync_v2(host[at], device[at], BYTES, stream));
        up(0, first)?;
        up(1, first)?;
        let one = rig.time(|_| Ok(down(0, first)?))?;
        let two = rig.time(|_| down(0, first).and_then(|()| down(1, second)).map_err(Into::into))?;
        assert!(two > 1.7 * one && two < 2.6 * one, "one direction: {one} {two}");
        let ways = rig.time(|_| down(0, first).and_then(|()| up(1, second)).map_err(Into::into))?;
        assert!(ways < 1.6 * one, "both directions: {one} {ways}");
        let cycles = rig.cycles((one * 1000.0) as u64)?;
        rig.launch(spin, (1, 1, 0), first, &mut arguments!(cycles, none))?;
        let kernel = rig.time(|rig| rig.launch(spin, (1, 1, 0), first, &mut arguments!(cycles, none)))?;
        let beside = rig.time(|rig| {
            rig.launch(spin, (1, 1, 0), first, &mut arguments!(cycles, none))?;
            Ok(down(0, second)?)
        })?;
        assert!(beside < 1.5 * kernel.max(one), "a copy beside a kernel: {kernel} {one} {beside}");
        for at in 0..2 {
            call!(driver.cuMemFree_v2(device[at]))?;
            call!(driver.cuMemFreeHost(host[at]))?;
        }
    }
}

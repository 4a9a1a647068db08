use std::ptr::{null, null_mut, without_provenance, without_provenance_mut};

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUmemorytype, CUresult};
use warploom_testkit::{Primary, Stream, answers, call, code_of, driver_tests};

use crate::support::{ARRAY, DEVICE, HOST, Memory, UNIFIED, between, counting, rows, slices};

const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;
const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// Waits for everything: the next copy goes to the same place, from another stream.
fn settle(driver: &Driver) {
    assert_eq!(code_of(call!(driver.cuCtxSynchronize())), SUCCESS);
}

/// Asks every function that takes rows, and that of slices with one slice, for the same copy.
fn rows_answer(driver: &Driver, stream: &Stream, copy: CUDA_MEMCPY2D, expected: CUresult, what: &str) {
    assert_eq!(code_of(call!(driver.cuMemcpy2D_v2(&copy))), expected, "{what}");
    assert_eq!(code_of(call!(driver.cuMemcpy2DUnaligned_v2(&copy))), expected, "{what}, unaligned");
    settle(driver);
    assert_eq!(code_of(call!(driver.cuMemcpy2DAsync_v2(&copy, stream.raw))), expected, "{what}, asynchronously");
    settle(driver);
    let slice = CUDA_MEMCPY3D {
        srcXInBytes: copy.srcXInBytes,
        srcY: copy.srcY,
        srcMemoryType: copy.srcMemoryType,
        srcHost: copy.srcHost,
        srcPitch: copy.srcPitch,
        srcHeight: 0,
        dstXInBytes: copy.dstXInBytes,
        dstY: copy.dstY,
        dstMemoryType: copy.dstMemoryType,
        dstHost: copy.dstHost,
        dstPitch: copy.dstPitch,
        dstHeight: 0,
        WidthInBytes: copy.WidthInBytes,
        Height: copy.Height,
        Depth: 1,
        ..slices(copy.dstDevice, copy.srcDevice)
    };
    assert_eq!(code_of(call!(driver.cuMemcpy3D_v2(&slice))), expected, "{what}, as a slice");
    settle(driver);
}

fn slices_answer(driver: &Driver, stream: &Stream, copy: CUDA_MEMCPY3D, expected: CUresult, what: &str) {
    assert_eq!(code_of(call!(driver.cuMemcpy3D_v2(&copy))), expected, "{what}");
    settle(driver);
    assert_eq!(code_of(call!(driver.cuMemcpy3DAsync_v2(&copy, stream.raw))), expected, "{what}, asynchronously");
    settle(driver);
    let copy = between(copy);
    assert_eq!(code_of(call!(driver.cuMemcpy3DPeer(&copy))), expected, "{what}, between contexts");
    settle(driver);
    assert_eq!(
        code_of(call!(driver.cuMemcpy3DPeerAsync(&copy, stream.raw))),
        expected,
        "{what}, between contexts, asynchronously"
    );
    settle(driver);
}

driver_tests! {
    fn rows_and_offsets_land_where_they_should(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let from = Memory::of(driver, &counting(1024))?;
        let to = Memory::of(driver, &[0; 1024])?;
        let copy = CUDA_MEMCPY2D {
            srcXInBytes: 8,
            srcY: 3,
            dstXInBytes: 16,
            dstY: 5,
            dstPitch: 61,
            WidthInBytes: 31,
            ..rows(to.address, from.address)
        };
        call!(driver.cuMemcpy2DAsync_v2(&copy, stream.raw))?;
        stream.synchronize()?;
        let mut expected = vec![0; 1024];
        for row in 0..4 {
            let (start, end) = ((5 + row) * 61 + 16, (3 + row) * 64 + 8);
            expected[start..start + 31].copy_from_slice(&counting(1024)[end..end + 31]);
        }
        assert_eq!(to.read()?, expected);
    }

    fn slices_land_where_they_should(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let from = Memory::of(driver, &counting(8192))?;
        let to = Memory::of(driver, &[0; 8192])?;
        let copy = CUDA_MEMCPY3D {
            srcZ: 1,
            srcY: 1,
            srcHeight: 6,
            dstZ: 2,
            dstXInBytes: 3,
            dstPitch: 40,
            dstHeight: 5,
            ..slices(to.address, from.address)
        };
        call!(driver.cuMemcpy3DAsync_v2(&copy, stream.raw))?;
        stream.synchronize()?;
        let mut expected = vec![0; 8192];
        for slice in 0..3 {
            for row in 0..4 {
                let start = ((2 + slice) * 5 + row) * 40 + 3;
                let end = ((1 + slice) * 6 + 1 + row) * 64;
                expected[start..start + 32].copy_from_slice(&counting(8192)[end..end + 32]);
            }
        }
        assert_eq!(to.read()?, expected);
    }

    fn blocks_go_to_the_host_and_come_from_it(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let mut host = counting(256);
        let device = Memory::of(driver, &[0; 256])?;
        let up = CUDA_MEMCPY2D { srcMemoryType: HOST, srcHost: host.as_ptr().cast(), ..rows(device.address, 0) };
        call!(driver.cuMemcpy2DAsync_v2(&up, stream.raw))?;
        stream.synchronize()?;
        host.fill(0);
        let down = CUDA_MEMCPY2D { dstMemoryType: HOST, dstHost: host.as_mut_ptr().cast(), ..rows(0, device.address) };
        call!(driver.cuMemcpy2D_v2(&down))?;
        for (index, row) in host.chunks(64).enumerate() {
            assert_eq!(row[..32], counting(256)[index * 64..][..32]);
            assert_eq!(row[32..], [0; 32]);
        }
    }

    fn the_kinds_of_memory_are_told_apart(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let [from, to] = [Memory::of(driver, &[1; 1024])?, Memory::new(driver, 1024)?];
        let mut host = vec![0_u8; 1024];
        let pointer = host.as_mut_ptr();
        let address = pointer.expose_provenance() as u64;
        let ok = rows(to.address, from.address);
        let unified = CUDA_MEMCPY2D { srcMemoryType: UNIFIED, dstMemoryType: UNIFIED, ..ok };
        let device_as_host = without_provenance::<std::ffi::c_void>(from.address as usize);
        for (what, copy, expected) in [
            ("device", ok, SUCCESS),
            ("unified", unified, SUCCESS),
            ("unified from host", CUDA_MEMCPY2D { srcDevice: address, ..unified }, SUCCESS),
            ("unified to host", CUDA_MEMCPY2D { dstDevice: address, ..unified }, SUCCESS),
            ("from host", CUDA_MEMCPY2D { srcMemoryType: HOST, srcHost: pointer.cast(), ..ok }, SUCCESS),
            ("to host", CUDA_MEMCPY2D { dstMemoryType: HOST, dstHost: pointer.cast(), ..ok }, SUCCESS),
            ("device as host", CUDA_MEMCPY2D { srcMemoryType: HOST, srcHost: device_as_host, ..ok }, SUCCESS),
            ("host as device", CUDA_MEMCPY2D { srcDevice: address, ..ok }, INVALID),
            ("no type", CUDA_MEMCPY2D { srcMemoryType: CUmemorytype(0), ..ok }, INVALID),
            ("unknown type", CUDA_MEMCPY2D { dstMemoryType: CUmemorytype(9), ..ok }, INVALID),
            ("null host source", CUDA_MEMCPY2D { srcMemoryType: HOST, srcHost: null(), ..ok }, INVALID),
            ("null host destination", CUDA_MEMCPY2D { dstMemoryType: HOST, dstHost: null_mut(), ..ok }, INVALID),
            ("null device source", CUDA_MEMCPY2D { srcDevice: 0, ..ok }, INVALID),
            ("null device destination", CUDA_MEMCPY2D { dstDevice: 0, ..ok }, INVALID),
            ("null array source", CUDA_MEMCPY2D { srcMemoryType: ARRAY, ..ok }, INVALID),
            ("null array destination", CUDA_MEMCPY2D { dstMemoryType: ARRAY, ..ok }, INVALID),
        ] {
            rows_answer(driver, &stream, copy, expected, what);
        }
        stream.synchronize()?;
    }

    fn rows_must_fit_their_pitch(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let [from, to] = [Memory::new(driver, 1024)?, Memory::new(driver, 1024)?];
        let ok = rows(to.address, from.address);
        for (what, copy, expected) in [
            ("source pitch", CUDA_MEMCPY2D { srcPitch: 16, ..ok }, INVALID),
            ("destination pitch", CUDA_MEMCPY2D { dstPitch: 16, ..ok }, INVALID),
            ("pitch of one row", CUDA_MEMCPY2D { srcPitch: 16, Height: 1, ..ok }, INVALID),
            ("up to the pitch", CUDA_MEMCPY2D { srcXInBytes: 32, ..ok }, SUCCESS),
            ("over the pitch", CUDA_MEMCPY2D { srcXInBytes: 33, ..ok }, INVALID),
            ("no source pitch", CUDA_MEMCPY2D { srcPitch: 0, ..ok }, SUCCESS),
            ("no destination pitch", CUDA_MEMCPY2D { dstPitch: 0, ..ok }, SUCCESS),
            ("huge pitch of one row", CUDA_MEMCPY2D { srcPitch: 1 << 40, Height: 1, ..ok }, SUCCESS),
        ] {
            rows_answer(driver, &stream, copy, expected, what);
        }
        stream.synchronize()?;
    }

    fn slices_must_fit_their_height(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let [from, to] = [Memory::new(driver, 4096)?, Memory::new(driver, 4096)?];
        let ok = slices(to.address, from.address);
        for (what, copy, expected) in [
            ("fits", ok, SUCCESS),
            ("source height", CUDA_MEMCPY3D { srcHeight: 2, ..ok }, INVALID),
            ("destination height", CUDA_MEMCPY3D { dstHeight: 2, ..ok }, INVALID),
            ("no heights", CUDA_MEMCPY3D { srcHeight: 0, dstHeight: 0, ..ok }, SUCCESS),
            ("over the height", CUDA_MEMCPY3D { srcY: 2, ..ok }, INVALID),
            ("over the height of one slice", CUDA_MEMCPY3D { srcY: 2, Depth: 1, ..ok }, INVALID),
            ("source pitch", CUDA_MEMCPY3D { srcPitch: 16, ..ok }, INVALID),
            ("levels of detail", CUDA_MEMCPY3D { srcLOD: 1, dstLOD: 1, ..ok }, SUCCESS),
            ("reserved", CUDA_MEMCPY3D { reserved0: without_provenance_mut(16), ..ok }, SUCCESS),
        ] {
            slices_answer(driver, &stream, copy, expected, what);
        }
        stream.synchronize()?;
    }

    fn without_a_pitch_or_a_height_rows_and_slices_are_packed(driver) {
        let _primary = Primary::of(driver, 0)?;
        let from = Memory::of(driver, &counting(1024))?;
        let to = Memory::of(driver, &[0; 1024])?;
        call!(driver.cuMemcpy2D_v2(&CUDA_MEMCPY2D { srcPitch: 0, ..rows(to.address, from.address) }))?;
        let received = to.read()?;
        for row in 0..4 {
            assert_eq!(received[row * 64..][..32], counting(1024)[row * 32..][..32], "row {row}");
        }
        call!(driver.cuMemcpy3D_v2(&CUDA_MEMCPY3D { dstHeight: 0, srcHeight: 5, ..slices(to.address, from.address) }))?;
        let received = to.read()?;
        for slice in 0..3 {
            for row in 0..4 {
                let (at, source) = ((slice * 4 + row) * 64, (slice * 5 + row) * 64);
                assert_eq!(received[at..at + 32], counting(1024)[source..source + 32], "slice {slice}, row {row}");
            }
        }
    }

    fn a_block_of_nothing_is_not_looked_at(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let wrong = CUDA_MEMCPY2D { srcMemoryType: CUmemorytype(0), dstMemoryType: DEVICE, ..rows(0, 0) };
        rows_answer(driver, &stream, CUDA_MEMCPY2D { WidthInBytes: 0, ..wrong }, SUCCESS, "no width");
        rows_answer(driver, &stream, CUDA_MEMCPY2D { Height: 0, ..wrong }, SUCCESS, "no height");
        slices_answer(driver, &stream, CUDA_MEMCPY3D { Depth: 0, ..slices(0, 0) }, SUCCESS, "no depth");
    }

    fn a_descriptor_is_needed(driver) {
        let _primary = Primary::of(driver, 0)?;
        answers!(driver.cuMemcpy2D_v2(null()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemcpy3D_v2(null()), CUDA_ERROR_INVALID_VALUE);
    }

    fn the_last_row_must_be_inside_the_allocation(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let [from, to] = [Memory::new(driver, 4096)?, Memory::new(driver, 4096)?];
        let exact = CUDA_MEMCPY2D { srcY: 60, dstY: 60, srcXInBytes: 32, ..rows(to.address, from.address) };
        rows_answer(driver, &stream, exact, SUCCESS, "ends with the allocation");
        rows_answer(driver, &stream, CUDA_MEMCPY2D { srcY: 61, ..exact }, INVALID, "a row too far");
        stream.synchronize()?;
    }

    // The real driver's arithmetic wraps, and the copy lands in front of the allocation.
    sim fn an_offset_that_wraps_is_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let [from, to] = [Memory::new(driver, 4096)?, Memory::new(driver, 4096)?];
        let wraps = CUDA_MEMCPY2D { dstY: usize::MAX / 64, ..rows(to.address, from.address) };
        rows_answer(driver, &stream, wraps, INVALID, "no address at all");
    }
}

use std::ptr::null_mut;

use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{Primary, Stream, answers, call, code_of, driver_tests};

use crate::support::{GARBAGE, Memory};

driver_tests! {
    fn elements_of_every_size_are_repeated(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let memory = Memory::of(driver, &[0; 64])?;
        call!(driver.cuMemsetD8_v2(memory.address + 1, 0x11, 7))?;
        call!(driver.cuMemsetD16_v2(memory.address + 8, 0x2221, 4))?;
        call!(driver.cuMemsetD32_v2(memory.address + 16, 0x3433_3231, 2))?;
        call!(driver.cuCtxSynchronize())?;
        call!(driver.cuMemsetD8Async(memory.address + 24, 0x41, 8, stream.raw))?;
        call!(driver.cuMemsetD16Async(memory.address + 32, 0x5251, 3, stream.raw))?;
        call!(driver.cuMemsetD32Async(memory.address + 40, 0x6463_6261, 1, stream.raw))?;
        stream.synchronize()?;
        let mut expected = [0; 64];
        expected[1..8].fill(0x11);
        expected[8..16].copy_from_slice(&[0x21, 0x22].repeat(4));
        expected[16..24].copy_from_slice(&[0x31, 0x32, 0x33, 0x34].repeat(2));
        expected[24..32].fill(0x41);
        expected[32..38].copy_from_slice(&[0x51, 0x52].repeat(3));
        expected[40..44].copy_from_slice(&[0x61, 0x62, 0x63, 0x64]);
        assert_eq!(memory.read()?, expected);
    }

    fn rows_are_filled_and_the_gaps_are_not(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let memory = Memory::of(driver, &[0; 256])?;
        call!(driver.cuMemsetD2D8_v2(memory.address + 1, 7, 9, 3, 2))?;
        call!(driver.cuMemsetD2D16Async(memory.address + 64, 16, 0x0201, 4, 3, stream.raw))?;
        call!(driver.cuMemsetD2D32Async(memory.address + 128, 16, 0x0403_0201, 4, 2, stream.raw))?;
        call!(driver.cuCtxSynchronize())?;
        stream.synchronize()?;
        let mut expected = [0; 256];
        for row in 0..2 {
            expected[1 + 7 * row..][..3].fill(9);
        }
        for row in 0..3 {
            expected[64 + 16 * row..][..8].copy_from_slice(&[1, 2].repeat(4));
        }
        expected[128..160].copy_from_slice(&[1, 2, 3, 4].repeat(8));
        assert_eq!(memory.read()?, expected);
    }

    fn elements_must_be_aligned(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let memory = Memory::new(driver, 64)?;
        for offset in [1, 3] {
            let at = memory.address + offset;
            answers!(driver.cuMemsetD16_v2(at, 1, 4), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemsetD16Async(at, 1, 4, stream.raw), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemsetD32_v2(at, 1, 4), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemsetD32Async(at, 1, 4, stream.raw), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemsetD2D16_v2(at, 16, 1, 4, 2), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemsetD2D32_v2(at, 16, 1, 4, 2), CUDA_ERROR_INVALID_VALUE);
            call!(driver.cuMemsetD32_v2(at, 1, 0))?;
        }
        call!(driver.cuMemsetD16_v2(memory.address + 2, 1, 4))?;
        answers!(driver.cuMemsetD32_v2(memory.address + 2, 1, 4), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuCtxSynchronize())?;
    }

    fn the_pitch_matters_from_the_second_row_on(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, 1024)?;
        let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
        let success = CUresult::CUDA_SUCCESS;
        for (pitch, width, height, d8, d16, d32) in [
            (64, 8, 4, success, success, success),
            (4, 16, 4, invalid, invalid, invalid),
            (4, 16, 1, success, success, success),
            (0, 8, 4, invalid, invalid, invalid),
            (0, 8, 1, success, success, success),
            (65, 8, 4, success, invalid, invalid),
            (66, 8, 4, success, success, invalid),
            (65, 8, 1, success, success, success),
            (1 << 40, 8, 1, success, success, success),
            (1 << 40, 8, 2, invalid, invalid, invalid),
        ] {
            let what = format!("pitch {pitch}, {width}×{height}");
            let at = memory.address;
            assert_eq!(code_of(call!(driver.cuMemsetD2D8_v2(at, pitch, 1, width, height))), d8, "{what}");
            assert_eq!(code_of(call!(driver.cuMemsetD2D16_v2(at, pitch, 1, width, height))), d16, "{what}");
            assert_eq!(code_of(call!(driver.cuMemsetD2D32_v2(at, pitch, 1, width, height))), d32, "{what}");
        }
        call!(driver.cuCtxSynchronize())?;
    }

    fn only_memory_of_the_driver_can_be_filled(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let memory = Memory::of(driver, &[3; 4096])?;
        let freed = Memory::new(driver, 64 << 20)?.address;
        let mut host = [5_u8; 64];
        for bad in [0, GARBAGE, 1 << 50, freed, host.as_mut_ptr().expose_provenance() as u64] {
            answers!(driver.cuMemsetD8_v2(bad, 0, 64), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemsetD8Async(bad, 0, 64, stream.raw), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemsetD2D8_v2(bad, 64, 1, 8, 4), CUDA_ERROR_INVALID_VALUE);
        }
        for over in [1, 2 << 20, 1 << 30] {
            answers!(driver.cuMemsetD8_v2(memory.address, 0, 4096 + over), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemsetD8Async(memory.address, 0, 4096 + over, stream.raw), CUDA_ERROR_INVALID_VALUE);
        }
        assert_eq!(memory.read()?, [3; 4096]);
        assert_eq!(host, [5; 64]);
    }

    // The real driver accepts a count whose bytes wrap, and the fill takes the context down.
    sim fn a_count_that_wraps_is_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::of(driver, &[3; 4096])?;
        answers!(driver.cuMemsetD32_v2(memory.address, 0, usize::MAX / 2), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemsetD16_v2(memory.address, 0, usize::MAX / 2 + 2), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(memory.read()?, [3; 4096]);
    }

    fn a_fill_of_nothing_looks_at_nothing(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        for bad in [0, GARBAGE] {
            call!(driver.cuMemsetD8_v2(bad, 0, 0))?;
            call!(driver.cuMemsetD16_v2(bad, 0, 0))?;
            call!(driver.cuMemsetD32Async(bad, 0, 0, stream.raw))?;
            call!(driver.cuMemsetD2D8_v2(bad, 64, 0, 0, 4))?;
            call!(driver.cuMemsetD2D8_v2(bad, 64, 0, 4, 0))?;
        }
    }

    fn without_a_context_only_a_stream_will_do(driver) {
        let primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let memory = Memory::of(driver, &[3; 64])?;
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        answers!(driver.cuMemsetD8_v2(memory.address, 0, 64), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuMemsetD8Async(memory.address, 0, 64, null_mut()), CUDA_ERROR_INVALID_CONTEXT);
        call!(driver.cuMemsetD8Async(memory.address, 9, 32, stream.raw))?;
        stream.synchronize()?;
        primary.make_current()?;
        assert_eq!(memory.read()?, [[9; 32], [3; 32]].concat());
    }
}

//! Words that streams wait for and write.

use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUstream, CUstreamBatchMemOpParams};
use warploom_testkit::{Primary, TestResult, answers, call, driver_tests};

use crate::latch::{Latch, NOT_READY, SUCCESS, comes, per_thread, read, stays, stream};

/// An element of a batch, by its words.
fn operation(words: [u64; 4]) -> CUstreamBatchMemOpParams {
    CUstreamBatchMemOpParams { pad: [words[0], words[1], words[2], words[3], 0, 0] }
}

const WAIT_32: u64 = 1;
const WRITE_32: u64 = 2;
const FLUSH: u64 = 3;
const WAIT_64: u64 = 4;
const WRITE_64: u64 = 5;
const BARRIER: u64 = 6;

fn batch(driver: &Driver, on: CUstream, operations: &[[u64; 4]]) -> Result<(), warploom_testkit::driver::Error> {
    let mut array: Vec<_> = operations.iter().copied().map(operation).collect();
    call!(driver.cuStreamBatchMemOp_v2(on, array.len() as u32, array.as_mut_ptr(), 0))
}

driver_tests! {
    fn a_write_changes_its_word_and_no_other(driver) {
        let _primary = Primary::of(driver, 0)?;
        let latch = Latch::new(driver)?;
        for on in [latch.writer, null_mut(), per_thread()] {
            call!(driver.cuStreamWriteValue64_v2(on, latch.word, 0x1122_3344_5566_7788, 0))?;
            call!(driver.cuStreamWriteValue64_v2(on, latch.word + 8, 0, 0))?;
            call!(driver.cuStreamWriteValue32_v2(on, latch.word, 7, 0))?;
            call!(driver.cuStreamWriteValue32_v2(on, latch.word + 12, 9, 0))?;
            call!(driver.cuStreamSynchronize(on))?;
            assert_eq!(read(driver, latch.word)?, 0x1122_3344_0000_0007);
            assert_eq!(read(driver, latch.word + 8)? >> 32, 9);
        }
    }

    fn each_comparison_waits_for_what_it_says(driver) {
        let _primary = Primary::of(driver, 0)?;
        let latch = Latch::new(driver)?;
        let waiter = stream(driver, 1)?;
        let (at, minus_one) = (latch.word + 8, u64::MAX);
        // Comparison, value waited for, word that does not do, word that does; of 32 and of 64 bits.
        let narrow = [
            (0, 5, 4, 5), (0, 5, 4, 0x7fff_ffff), (0, 1, 0x8000_0001, 1), (0, 0xffff_ffff, 0xffff_fffe, 0),
            (1, 5, 6, 5), (2, 6, 9, 4), (3, 0xffff_fffe, 1, 0),
        ];
        let wide = [
            (0, 5, 4, 5), (0, 1, 1 << 63 | 1, 1), (0, minus_one, minus_one - 1, 0), (0, 1 << 40, 1 << 39, 1 << 40),
            (1, 1 << 33, 1 << 34, 1 << 33), (2, 6 << 40, 9 << 40, 4 << 40), (3, minus_one - 1, 1, 0),
        ];
        for (flags, value, not_yet, enough) in narrow {
            call!(driver.cuStreamWriteValue32_v2(latch.writer, at, not_yet, 0))?;
            call!(driver.cuStreamSynchronize(latch.writer))?;
            call!(driver.cuStreamWaitValue32_v2(waiter, at, value, flags))?;
            stays(NOT_READY, &format!("{not_yet:#x} for {flags} {value:#x}"), || call!(driver.cuStreamQuery(waiter)));
            call!(driver.cuStreamWriteValue32_v2(latch.writer, at, enough, 0))?;
            call!(driver.cuStreamSynchronize(latch.writer))?;
            comes(SUCCESS, &format!("{enough:#x} for {flags} {value:#x}"), || call!(driver.cuStreamQuery(waiter)));
        }
        for (flags, value, not_yet, enough) in wide {
            call!(driver.cuStreamWriteValue64_v2(latch.writer, at, not_yet, 0))?;
            call!(driver.cuStreamSynchronize(latch.writer))?;
            call!(driver.cuStreamWaitValue64_v2(waiter, at, value, flags))?;
            stays(NOT_READY, &format!("{not_yet:#x} for {flags} {value:#x}"), || call!(driver.cuStreamQuery(waiter)));
            call!(driver.cuStreamWriteValue64_v2(latch.writer, at, enough, 0))?;
            call!(driver.cuStreamSynchronize(latch.writer))?;
            comes(SUCCESS, &format!("{enough:#x} for {flags} {value:#x}"), || call!(driver.cuStreamQuery(waiter)));
        }
        call!(driver.cuStreamDestroy_v2(waiter))?;
    }

    fn flags_that_mean_nothing_are_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let latch = Latch::new(driver)?;
        for flags in [1, 2, 3, 4, 7, 1 << 30] {
            answers!(driver.cuStreamWriteValue32_v2(latch.writer, latch.word, 5, flags), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuStreamWriteValue64_v2(latch.writer, latch.word, 5, flags), CUDA_ERROR_INVALID_VALUE);
        }
        for flags in [4, 5, 6, 7, 8, 1 << 31] {
            answers!(driver.cuStreamWaitValue32_v2(latch.writer, latch.word, 0, flags), CUDA_ERROR_INVALID_VALUE);
        }
        answers!(driver.cuStreamWaitValue32_v2(latch.writer, latch.word, 0, 1 << 30), CUDA_ERROR_NOT_SUPPORTED);
        call!(driver.cuStreamQuery(latch.writer))?;
    }

    fn a_word_is_aligned_and_in_memory_that_devices_reach(driver) {
        let _primary = Primary::of(driver, 0)?;
        let latch = Latch::new(driver)?;
        let pageable = Box::new([0_u64; 4]);
        let on = latch.writer;
        let nowhere = [0, 0xdead_0000, 1 << 60, pageable.as_ptr().addr() as u64];
        for address in nowhere.into_iter().chain([latch.word + 1, latch.word + 2]) {
            answers!(driver.cuStreamWriteValue32_v2(on, address, 0, 0), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuStreamWaitValue32_v2(on, address, 0, 0), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuStreamWriteValue64_v2(on, address, 0, 0), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuStreamWaitValue64_v2(on, address, 0, 0), CUDA_ERROR_INVALID_VALUE);
        }
        answers!(driver.cuStreamWriteValue64_v2(on, latch.word + 4, 0, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuStreamWaitValue64_v2(on, latch.word + 4, 0, 0), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuStreamWriteValue32_v2(on, latch.word + 4, 0, 0))?;
        call!(driver.cuStreamSynchronize(on))?;
    }

    fn the_first_abi_is_switched_off(driver) {
        let _primary = Primary::of(driver, 0)?;
        let latch = Latch::new(driver)?;
        let (on, word) = (latch.writer, latch.word);
        answers!(driver.cuStreamWriteValue32(on, word, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
        answers!(driver.cuStreamWriteValue64(on, word, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
        answers!(driver.cuStreamWaitValue32(on, word, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
        answers!(driver.cuStreamWaitValue64(on, word, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
        let mut write = operation([WRITE_32, word, 1, 0]);
        answers!(driver.cuStreamBatchMemOp(on, 1, &mut write, 0), CUDA_ERROR_NOT_SUPPORTED);
    }

    fn a_batch_runs_in_order(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut latch = Latch::new(driver)?;
        let made = stream(driver, 1)?;
        let (first, second) = (latch.word + 8, latch.word + 16);
        batch(driver, made, &[[WRITE_64, first, 0, 0], [WRITE_64, second, 0, 0]])?;
        latch.block(made)?;
        batch(driver, made, &[
            [WRITE_32, first, 1, 0],
            [WAIT_32, first, 1, 1],
            [WRITE_64, second, 5 << 40, 0],
            [BARRIER, 0, 0, 0],
            [WAIT_64, second, 5 << 40, 0],
            [WRITE_32, first, 2, 0],
        ])?;
        stays(NOT_READY, "a blocked batch", || call!(driver.cuStreamQuery(made)));
        latch.open();
        call!(driver.cuStreamSynchronize(made))?;
        assert_eq!((read(driver, first)?, read(driver, second)?), (2, 5 << 40));
        call!(driver.cuStreamDestroy_v2(made))?;
    }

    fn a_batch_with_a_mistake_does_nothing(driver) {
        let _primary = Primary::of(driver, 0)?;
        let latch = Latch::new(driver)?;
        let (on, word) = (latch.writer, latch.word + 8);
        let good = [WRITE_32, word, 0x77, 0];
        batch(driver, on, &[[WRITE_64, word, 1, 0]])?;
        for (bad, code) in [
            ([0, word, 1, 0], "INVALID_VALUE"),
            ([7, word, 1, 0], "INVALID_VALUE"),
            ([8, word, 1, 0], "INVALID_VALUE"),
            ([99, word, 1, 0], "INVALID_VALUE"),
            ([WRITE_32, 0, 1, 0], "INVALID_VALUE"),
            ([WRITE_64, word + 4, 1, 0], "INVALID_VALUE"),
            ([WRITE_32, word, 1, 1], "INVALID_VALUE"),
            ([WAIT_32, word, 1, 8], "INVALID_VALUE"),
            ([FLUSH, 0, 0, 0], "NOT_SUPPORTED"),
        ] {
            let refused = warploom_testkit::code_of(batch(driver, on, &[good, bad]));
            assert!(refused.to_string().contains(code), "{bad:?}: {refused}");
        }
        let mut array = [operation(good)];
        answers!(driver.cuStreamBatchMemOp_v2(on, 1, array.as_mut_ptr(), 1), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuStreamSynchronize(on))?;
        assert_eq!(read(driver, word)?, 1);
    }

    fn a_batch_has_fewer_than_256_operations(driver) {
        let _primary = Primary::of(driver, 0)?;
        let latch = Latch::new(driver)?;
        let write = [WRITE_32, latch.word, 0, 0];
        for count in [0, 1, 255] {
            batch(driver, latch.writer, &vec![write; count])?;
        }
        for count in [256, 257, 1000] {
            let refused = warploom_testkit::code_of(batch(driver, latch.writer, &vec![write; count]));
            assert!(refused.to_string().contains("INVALID_VALUE"), "{count}: {refused}");
        }
        call!(driver.cuStreamSynchronize(latch.writer))?;
    }

    fn managed_memory_is_attached_whole_and_not_to_the_legacy_stream_alone(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (mut managed, on) = (0, stream(driver, 1)?);
        call!(driver.cuMemAllocManaged(&mut managed, 4096, 1))?;
        for length in [0, 4096] {
            for flags in [1, 2, 4] {
                call!(driver.cuStreamAttachMemAsync(on, managed, length, flags))?;
            }
            answers!(driver.cuStreamAttachMemAsync(on, managed, length, 8), CUDA_ERROR_INVALID_VALUE);
        }
        answers!(driver.cuStreamAttachMemAsync(on, managed, 1, 1), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuStreamAttachMemAsync(null_mut(), managed, 0, 4), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuStreamAttachMemAsync(on, managed, 0, 1))?;
        call!(driver.cuStreamSynchronize(on))?;
        call!(driver.cuMemFree_v2(managed))?;
        call!(driver.cuStreamDestroy_v2(on))?;
    }

    fn words_are_in_page_locked_memory_and_not_in_managed_memory(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (mut managed, mut pinned, on) = (0, null_mut(), stream(driver, 1)?);
        call!(driver.cuMemAllocManaged(&mut managed, 4096, 1))?;
        call!(driver.cuMemHostAlloc(&mut pinned, 4096, 2))?;
        answers!(driver.cuStreamWriteValue32_v2(on, managed, 1, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuStreamWriteValue64_v2(on, managed, 1, 0), CUDA_ERROR_INVALID_VALUE);
        let word = pinned.addr() as u64;
        answers!(driver.cuStreamWaitValue32_v2(on, word + 1, 0, 0), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuStreamWriteValue64_v2(on, word, 7, 0))?;
        call!(driver.cuStreamWaitValue64_v2(on, word, 7, 1))?;
        call!(driver.cuStreamSynchronize(on))?;
        call!(driver.cuMemFree_v2(managed))?;
        call!(driver.cuMemFreeHost(pinned))?;
        call!(driver.cuStreamDestroy_v2(on))?;
    }

    fn only_managed_memory_is_attached(driver) {
        let _primary = Primary::of(driver, 0)?;
        let latch = Latch::new(driver)?;
        for address in [0, latch.word, 0xdead_0000] {
            for flags in [0, 1, 2, 3, 4, 8] {
                answers!(driver.cuStreamAttachMemAsync(latch.writer, address, 0, flags), CUDA_ERROR_INVALID_VALUE);
            }
        }
    }
}

#[test]
fn an_array_that_is_not_there_is_refused() -> TestResult {
    use warploom_testkit::sim::Mode;
    use warploom_testkit::sim::topology::Topology;
    let (_machine, driver) = warploom_testkit::open(Topology::preset("h200")?, Mode::Threads)?;
    let _primary = Primary::of(&driver, 0)?;
    answers!(driver.cuStreamBatchMemOp_v2(null_mut(), 1, null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
    Ok(())
}

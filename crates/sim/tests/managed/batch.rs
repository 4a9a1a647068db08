//! Prefetches and discards of many ranges.

use std::ptr::{null_mut, without_provenance_mut};

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUmemLocation, CUresult, CUstream};
use warploom_testkit::{Primary, Stream, TestResult, answers, call, code_of, driver_tests};

use crate::support::*;

/// The operation of a batched call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Prefetch,
    Discard,
    Both,
}

const ALL: [Operation; 3] = [Operation::Prefetch, Operation::Discard, Operation::Both];

/// A batch; everything about it can be wrong.
struct Batch<'a> {
    addresses: &'a [u64],
    sizes: &'a [usize],
    locations: &'a [CUmemLocation],
    starts: &'a [usize],
    flags: u64,
}

impl Batch<'_> {
    fn run(&self, driver: &Driver, operation: Operation, stream: CUstream) -> CUresult {
        let (mut addresses, mut sizes) = (self.addresses.to_vec(), self.sizes.to_vec());
        let (mut locations, mut starts) = (self.locations.to_vec(), self.starts.to_vec());
        let (count, places, flags) = (addresses.len(), locations.len(), self.flags);
        let (addresses, sizes) = (addresses.as_mut_ptr(), sizes.as_mut_ptr());
        let (locations, starts) = (locations.as_mut_ptr(), starts.as_mut_ptr());
        code_of(match operation {
            Operation::Prefetch => {
                call!(driver.cuMemPrefetchBatchAsync(addresses, sizes, count, locations, starts, places, flags, stream))
            }
            Operation::Discard => call!(driver.cuMemDiscardBatchAsync(addresses, sizes, count, flags, stream)),
            Operation::Both => {
                call!(driver.cuMemDiscardAndPrefetchBatchAsync(
                    addresses, sizes, count, locations, starts, places, flags, stream
                ))
            }
        })
    }
}

/// A batch of the two halves of some memory, to device 0 and to the host.
fn halves(memory: &Memory) -> ([u64; 2], [usize; 2]) {
    let half = memory.bytes / 2;
    ([memory.address, memory.address + half as u64], [half; 2])
}

const PLACES: [CUmemLocation; 2] = [device(0), HOST];
const OK: CUresult = CUresult::CUDA_SUCCESS;
const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

fn last(memory: &Memory) -> TestResult<[i32; 2]> {
    let half = memory.bytes / 2;
    Ok([memory.get_part(PREFETCHED, 0, half)?, memory.get_part(PREFETCHED, half, half)?])
}

driver_tests! {
    fn a_batch_prefetches_each_range_to_its_place(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        for operation in ALL {
            let memory = Memory::new(driver, MIB)?;
            let (addresses, sizes) = halves(&memory);
            let batch = Batch { addresses: &addresses, sizes: &sizes, locations: &PLACES, starts: &[0, 1], flags: 0 };
            assert_eq!(batch.run(driver, operation, stream.raw), OK, "{operation:?}");
            let expected = if operation == Operation::Discard { [-2, -2] } else { [0, -1] };
            assert_eq!(last(&memory)?, expected, "{operation:?}");
            stream.synchronize()?;
        }
    }

    fn one_place_does_for_all_ranges(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        for operation in [Operation::Prefetch, Operation::Both] {
            let memory = Memory::new(driver, MIB)?;
            let (addresses, sizes) = halves(&memory);
            let batch =
                Batch { addresses: &addresses, sizes: &sizes, locations: &[device(0)], starts: &[0], flags: 0 };
            assert_eq!(batch.run(driver, operation, stream.raw), OK);
            assert_eq!(last(&memory)?, [0, 0]);
            stream.synchronize()?;
        }
    }

    fn a_prefetch_in_a_batch_leaves_the_bytes_as_they_are(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let memory = Memory::new(driver, MIB)?;
        words(memory.address, MIB / 4).fill(7);
        let (addresses, sizes) = halves(&memory);
        let batch = Batch { addresses: &addresses, sizes: &sizes, locations: &PLACES, starts: &[0, 1], flags: 0 };
        assert_eq!(batch.run(driver, Operation::Prefetch, stream.raw), OK);
        stream.synchronize()?;
        assert!(words(memory.address, MIB / 4).iter().all(|word| *word == 7));
    }

    fn discarded_memory_is_as_good_as_new_once_it_is_written(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        for operation in [Operation::Discard, Operation::Both] {
            let memory = Memory::new(driver, MIB)?;
            words(memory.address, MIB / 4).fill(7);
            let (addresses, sizes) = halves(&memory);
            let batch = Batch { addresses: &addresses, sizes: &sizes, locations: &PLACES, starts: &[0, 1], flags: 0 };
            assert_eq!(batch.run(driver, operation, stream.raw), OK);
            call!(driver.cuMemsetD32Async(memory.address, 9, MIB / 8, stream.raw))?;
            stream.synchronize()?;
            words(memory.address + MIB as u64 / 2, MIB / 8).fill(11);
            let mut copy = vec![0_u32; MIB / 4];
            call!(driver.cuMemcpyDtoHAsync_v2(copy.as_mut_ptr().cast(), memory.address, MIB, stream.raw))?;
            stream.synchronize()?;
            assert!(copy[..MIB / 8].iter().all(|word| *word == 9) && copy[MIB / 8..].iter().all(|word| *word == 11));
        }
    }

    fn a_batch_needs_no_current_context(driver) {
        let primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let memory = Memory::new(driver, MIB)?;
        let (addresses, sizes) = halves(&memory);
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        for operation in ALL {
            let batch = Batch { addresses: &addresses, sizes: &sizes, locations: &PLACES, starts: &[0, 1], flags: 0 };
            assert_eq!(batch.run(driver, operation, stream.raw), OK, "{operation:?}");
        }
        stream.synchronize()?;
        primary.make_current()?;
    }

    fn a_batch_is_never_in_the_legacy_stream(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, MIB)?;
        let (addresses, sizes) = halves(&memory);
        for operation in ALL {
            let batch = Batch { addresses: &addresses, sizes: &sizes, locations: &PLACES, starts: &[0, 1], flags: 0 };
            for stream in [null_mut(), without_provenance_mut(1)] {
                assert_eq!(batch.run(driver, operation, stream), INVALID, "{operation:?}");
            }
        }
        assert_eq!(last(&memory)?, [-2, -2]);
    }

    fn a_batch_has_ranges_and_no_flags(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let memory = Memory::new(driver, MIB)?;
        let (addresses, sizes) = halves(&memory);
        for operation in ALL {
            let flagged = Batch { addresses: &addresses, sizes: &sizes, locations: &PLACES, starts: &[0, 1], flags: 1 };
            assert_eq!(flagged.run(driver, operation, stream.raw), INVALID, "{operation:?}");
            let empty = Batch { addresses: &[], sizes: &[], locations: &[], starts: &[], flags: 0 };
            assert_eq!(empty.run(driver, operation, stream.raw), INVALID, "{operation:?}");
            let placed = Batch { addresses: &[], sizes: &[], locations: &[HOST], starts: &[0], flags: 0 };
            assert_eq!(placed.run(driver, operation, stream.raw), INVALID, "{operation:?}");
        }
        answers!(driver.cuMemDiscardBatchAsync(null_mut(), null_mut(), 1, 0, stream.raw), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(last(&memory)?, [-2, -2]);
    }

    fn places_start_at_the_first_range_and_stay_among_them(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let memory = Memory::new(driver, MIB)?;
        let (addresses, sizes) = halves(&memory);
        let three = [device(0), HOST, HOST];
        let wrong: [(&[CUmemLocation], &[usize]); 4] =
            [(&PLACES, &[1, 0]), (&PLACES, &[0, 2]), (&[], &[]), (&three, &[0, 1, 2])];
        for operation in [Operation::Prefetch, Operation::Both] {
            for (locations, starts) in wrong {
                let batch = Batch { addresses: &addresses, sizes: &sizes, locations, starts, flags: 0 };
                assert_eq!(batch.run(driver, operation, stream.raw), INVALID, "{operation:?} {starts:?}");
            }
        }
        assert_eq!(last(&memory)?, [-2, -2]);
    }

    fn of_places_that_start_at_the_same_range_the_first_holds(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let memory = Memory::new(driver, MIB)?;
        let (addresses, sizes) = halves(&memory);
        let batch = Batch { addresses: &addresses, sizes: &sizes, locations: &PLACES, starts: &[0, 0], flags: 0 };
        for operation in [Operation::Prefetch, Operation::Both] {
            assert_eq!(batch.run(driver, operation, stream.raw), OK, "{operation:?}");
            assert_eq!(last(&memory)?, [0, 0]);
        }
        stream.synchronize()?;
    }

    fn a_batch_with_a_place_that_does_not_exist_does_nothing(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let memory = Memory::new(driver, MIB)?;
        let (addresses, sizes) = halves(&memory);
        for operation in [Operation::Prefetch, Operation::Both] {
            for place in [device(1000), device(-1), node(1000), kind(0), kind(5)] {
                let locations = [device(0), place];
                let batch =
                    Batch { addresses: &addresses, sizes: &sizes, locations: &locations, starts: &[0, 1], flags: 0 };
                assert_eq!(batch.run(driver, operation, stream.raw), INVALID, "{operation:?}");
            }
        }
        assert_eq!(last(&memory)?, [-2, -2]);
    }

    fn ranges_before_one_that_is_refused_are_done(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        for operation in [Operation::Prefetch, Operation::Both] {
            let memory = Memory::new(driver, MIB)?;
            let (addresses, _) = halves(&memory);
            for second in [0, 10 * MIB] {
                let sizes = [MIB / 2, second];
                let batch =
                    Batch { addresses: &addresses, sizes: &sizes, locations: &[device(0)], starts: &[0], flags: 0 };
                assert_eq!(batch.run(driver, operation, stream.raw), INVALID, "{operation:?}");
                assert_eq!(last(&memory)?, [0, -2], "{operation:?}");
                stream.synchronize()?;
            }
        }
    }

    fn a_range_may_be_prefetched_or_discarded_twice(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let memory = Memory::new(driver, MIB)?;
        let (addresses, sizes) = ([memory.address; 2], [MIB / 2; 2]);
        for operation in [Operation::Prefetch, Operation::Discard] {
            let batch = Batch { addresses: &addresses, sizes: &sizes, locations: &PLACES, starts: &[0, 1], flags: 0 };
            assert_eq!(batch.run(driver, operation, stream.raw), OK, "{operation:?}");
        }
        assert_eq!(last(&memory)?, [-1, -2], "the last counts");
        stream.synchronize()?;
    }

    fn batches_keep_the_id_of_a_location_as_it_was_given(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let memory = Memory::new(driver, MIB)?;
        let (addresses, sizes) = halves(&memory);
        let batch = Batch { addresses: &addresses, sizes: &sizes, locations: &PLACES, starts: &[0, 1], flags: 0 };
        assert_eq!(batch.run(driver, Operation::Prefetch, stream.raw), OK);
        let half = MIB / 2;
        assert_eq!(memory.get_part(PREFETCHED_TYPE, half, half)?, 2);
        assert_eq!(memory.get_part(PREFETCHED_ID, half, half)?, 0);
        let nodes = [node(0), CURRENT_NODE];
        let batch = Batch { addresses: &addresses, sizes: &sizes, locations: &nodes, starts: &[0, 1], flags: 0 };
        assert_eq!(batch.run(driver, Operation::Prefetch, stream.raw), OK);
        assert_eq!((memory.get_part(PREFETCHED_TYPE, 0, half)?, memory.get_part(PREFETCHED_TYPE, half, half)?), (3, 4));
        stream.synchronize()?;
    }

    fn only_managed_memory_is_prefetched_or_discarded_in_batches(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let (mut plain, mut locked) = (0, null_mut());
        call!(driver.cuMemAlloc_v2(&mut plain, MIB))?;
        call!(driver.cuMemAllocHost_v2(&mut locked, MIB))?;
        for operation in ALL {
            for address in [plain, locked.addr() as u64] {
                let batch =
                    Batch { addresses: &[address], sizes: &[MIB], locations: &[device(0)], starts: &[0], flags: 0 };
                assert_eq!(batch.run(driver, operation, stream.raw), INVALID, "{operation:?}");
            }
        }
        call!(driver.cuMemFree_v2(plain))?;
        call!(driver.cuMemFreeHost(locked))?;
    }
}

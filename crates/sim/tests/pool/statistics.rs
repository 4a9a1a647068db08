//! Reserved and used bytes of a pool.

use warploom_testkit::{Primary, Stream, call, driver_tests};

use crate::fixture::{CHUNK, MIB, Pool, RESERVED, RESERVED_HIGH, THRESHOLD, USED_HIGH};

/// Size, chunks for one, chunks for two, chunks left when the first is freed, distance of the two.
const GROWTH: [(u64, u64, u64, u64, u64); 18] = [
    (1, 1, 1, 1, 512),
    (256, 1, 1, 1, 512),
    (511, 1, 1, 1, 512),
    (512, 1, 1, 1, 512),
    (513, 1, 1, 1, 1024),
    (4096, 1, 1, 1, 4096),
    (65536, 1, 1, 1, 65536),
    (2 * MIB - 1, 1, 1, 1, 2 * MIB),
    (2 * MIB, 1, 1, 1, 2 * MIB),
    (2 * MIB + 1, 1, 1, 1, 2 * MIB + 512),
    (4 * MIB, 1, 1, 1, 4 * MIB),
    (31 * MIB, 1, 2, 2, 31 * MIB),
    (32 * MIB, 1, 2, 1, 32 * MIB),
    (32 * MIB + 1, 2, 3, 2, 32 * MIB + 512),
    (33 * MIB, 2, 3, 2, 33 * MIB),
    (64 * MIB, 2, 4, 2, 64 * MIB),
    (65 * MIB, 3, 5, 3, 65 * MIB),
    (100 * MIB, 4, 7, 4, 100 * MIB),
];

driver_tests! {
    unchecked fn used_counts_bytes_and_reserved_counts_chunks(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        for (size, one, two, rest, distance) in GROWTH {
            let pool = Pool::new(driver)?;
            let first = pool.take(size, stream.raw)?;
            assert_eq!(pool.statistics()?, [one * CHUNK, one * CHUNK, size, size], "{size}: one");
            assert_eq!(first % CHUNK, 0, "{size}: a pool starts at a chunk");
            let second = pool.take(size, stream.raw)?;
            assert_eq!(pool.statistics()?, [two * CHUNK, two * CHUNK, 2 * size, 2 * size], "{size}: two");
            assert_eq!(second - first, distance, "{size}");
            stream.synchronize()?;
            pool.free(first, stream.raw)?;
            assert_eq!(pool.statistics()?, [two * CHUNK, two * CHUNK, size, 2 * size], "{size}: one is freed");
            stream.synchronize()?;
            assert_eq!(pool.statistics()?, [rest * CHUNK, two * CHUNK, size, 2 * size], "{size}: and let go");
            pool.free(second, stream.raw)?;
            assert_eq!(pool.statistics()?, [rest * CHUNK, two * CHUNK, 0, 2 * size], "{size}: both are freed");
            stream.synchronize()?;
            assert_eq!(pool.statistics()?, [0, two * CHUNK, 0, 2 * size], "{size}: and let go");
        }
    }

    fn a_pool_with_the_highest_threshold_keeps_everything_until_trimmed(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        for (size, _, two, _, _) in GROWTH {
            let pool = Pool::hoarding(driver)?;
            let both = [pool.take(size, stream.raw)?, pool.take(size, stream.raw)?];
            for address in both {
                pool.free(address, stream.raw)?;
            }
            stream.synchronize()?;
            assert_eq!(pool.statistics()?, [two * CHUNK, two * CHUNK, 0, 2 * size], "{size}");
            call!(driver.cuMemPoolTrimTo(pool.raw, 0))?;
            assert_eq!(pool.statistics()?, [0, two * CHUNK, 0, 2 * size], "{size}: trimmed");
        }
    }

    unchecked fn allocations_follow_one_another_across_chunks(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = Pool::hoarding(driver)?;
        // Size, offset, chunks.
        let sequence = [
            (512, 0, 1), (1, 512, 1), (513, 1024, 1), (4096, 2048, 1), (MIB, 6144, 1), (20 * MIB, 1_054_720, 1),
            (12 * MIB, 22_026_240, 2), (40 * MIB, 34_609_152, 3), (1, 76_552_192, 3), (512, 76_552_704, 3),
            (100 * MIB, 76_553_216, 6), (2 * MIB, 181_410_816, 6), (2 * MIB, 183_507_968, 6),
        ];
        let mut addresses = Vec::new();
        let mut used = 0;
        for (size, offset, chunks) in sequence {
            let address = pool.take(size, stream.raw)?;
            addresses.push(address);
            used += size;
            assert_eq!(address - addresses[0], offset, "the one of {size}");
            assert_eq!(pool.statistics()?, [chunks * CHUNK, chunks * CHUNK, used, used], "the one of {size}");
        }
        stream.synchronize()?;
        for index in [5, 7, 10, 0, 3, 1] {
            pool.free(addresses[index], stream.raw)?;
        }
        stream.synchronize()?;
        assert_eq!(pool.statistics()?, [6 * CHUNK, 6 * CHUNK, 17_826_818, used]);
        // Two chunks have nothing in use.
        for (keep, chunks) in [(200 * MIB, 6), (100 * MIB, 4), (64 * MIB, 4), (1, 4), (0, 4), (u64::MAX, 4)] {
            call!(driver.cuMemPoolTrimTo(pool.raw, keep as usize))?;
            assert_eq!(pool.get(RESERVED)?, chunks * CHUNK, "trimmed to {keep}");
        }
        for index in [2, 4, 6, 8, 9, 11, 12] {
            pool.free(addresses[index], stream.raw)?;
        }
        call!(driver.cuMemPoolTrimTo(pool.raw, 0))?;
        assert_eq!(pool.statistics()?, [4 * CHUNK, 6 * CHUNK, 0, used], "the host has not seen the frees done");
        stream.synchronize()?;
        call!(driver.cuMemPoolTrimTo(pool.raw, 0))?;
        assert_eq!(pool.statistics()?, [0, 6 * CHUNK, 0, used]);
        pool.set(USED_HIGH, 0)?;
        assert_eq!(pool.statistics()?, [0, 6 * CHUNK, 0, 0]);
        pool.set(RESERVED_HIGH, 0)?;
        assert_eq!(pool.statistics()?, [0, 0, 0, 0]);
    }

    fn a_synchronisation_brings_a_pool_down_to_its_threshold(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        for (threshold, left) in [(1, 0), (16, 0), (32, 1), (40, 1), (64, 2), (96, 3), (200, 3)] {
            let pool = Pool::new(driver)?;
            pool.set(THRESHOLD, if threshold == 1 { 1 } else { threshold * MIB })?;
            let mut three = Vec::new();
            for _ in 0..3 {
                three.push(pool.take(CHUNK, stream.raw)?);
            }
            for address in three {
                pool.free(address, stream.raw)?;
            }
            stream.synchronize()?;
            assert_eq!(pool.statistics()?, [left * CHUNK, 3 * CHUNK, 0, 3 * CHUNK], "threshold {threshold} MiB");
        }
    }

    fn only_who_synchronises_with_the_free_brings_memory_back(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let other = Stream::new(driver)?;
        let mut plain = 0;
        call!(driver.cuMemAlloc_v2(&mut plain, 4096))?;
        let pool = Pool::new(driver)?;
        let address = pool.take(64 * MIB, stream.raw)?;
        stream.synchronize()?;
        pool.free(address, stream.raw)?;
        other.synchronize()?;
        assert_eq!(pool.get(RESERVED)?, 2 * CHUNK, "another stream");
        call!(driver.cuMemcpyHtoD_v2(plain, [0u8; 8].as_ptr().cast(), 8))?;
        assert_eq!(pool.get(RESERVED)?, 2 * CHUNK, "a synchronous copy");
        let small = pool.take(512, stream.raw)?;
        assert_eq!(pool.get(RESERVED)?, 2 * CHUNK, "the next allocation");
        pool.free(small, stream.raw)?;
        call!(driver.cuCtxSynchronize())?;
        assert_eq!(pool.get(RESERVED)?, 0, "the whole context");
        call!(driver.cuMemFree_v2(plain))?;
    }

    fn memory_a_pool_gave_back_can_be_had_again(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = Pool::new(driver)?;
        let first = pool.take(100 * MIB, stream.raw)?;
        let second = pool.take(100 * MIB, stream.raw)?;
        pool.free(first, stream.raw)?;
        stream.synchronize()?;
        assert_eq!(pool.get(RESERVED)?, 4 * CHUNK);
        let sent = [7u8; 4096];
        let third = pool.take(100 * MIB, stream.raw)?;
        stream.synchronize()?;
        assert!(third + 100 * MIB <= second || second + 100 * MIB <= third, "they do not overlap");
        let last = third + 100 * MIB - 4096;
        let mut received = [0u8; 4096];
        call!(driver.cuMemcpyHtoD_v2(last, sent.as_ptr().cast(), sent.len()))?;
        call!(driver.cuMemcpyDtoH_v2(received.as_mut_ptr().cast(), last, received.len()))?;
        assert_eq!(sent, received);
        pool.free(second, stream.raw)?;
        pool.free(third, stream.raw)?;
        stream.synchronize()?;
        assert_eq!(pool.get(RESERVED)?, 0);
    }

    fn a_pool_does_not_grow_beyond_its_maximum(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = Pool::with(driver, |properties| properties.maxSize = 64 << 20)?;
        let both = [pool.take(CHUNK, stream.raw)?, pool.take(CHUNK, stream.raw)?];
        for bytes in [1, 64 << 20, 65 << 20] {
            let mut address = 1;
            let result = call!(driver.cuMemAllocFromPoolAsync(&mut address, bytes, pool.raw, stream.raw));
            assert_eq!(warploom_testkit::code_of(result).0, 2, "{bytes} more are out of memory");
            assert_eq!(address, 0, "a failing allocation leaves null");
            assert_eq!(pool.statistics()?, [2 * CHUNK; 4]);
        }
        for address in both {
            pool.free(address, stream.raw)?;
        }
        call!(driver.cuCtxSynchronize())?;
    }
}

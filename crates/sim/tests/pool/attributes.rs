//! Attributes of a pool, set and queried.

use std::ptr::null_mut;

use warploom_testkit::sim::Mode;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sys::types::CUmemPool_attribute;
use warploom_testkit::{Primary, Stream, TestResult, answers, call, driver_tests, open};

use crate::fixture::{CHUNK, Pool};

driver_tests! {
    fn a_new_pool_reuses_memory_in_every_way_and_keeps_nothing(driver) {
        let _primary = Primary::of(driver, 0)?;
        let pool = Pool::new(driver)?;
        for (attribute, value) in [(1, 1), (2, 1), (3, 1), (4, 0), (5, 0), (6, 0), (7, 0), (8, 0)] {
            assert_eq!(pool.get(attribute)?, value, "attribute {attribute}");
        }
    }

    fn a_switch_is_on_for_any_number_but_zero_and_is_four_bytes_wide(driver) {
        let _primary = Primary::of(driver, 0)?;
        let pool = Pool::new(driver)?;
        for attribute in [1, 2, 3] {
            for (value, shown) in [(0, 0), (1, 1), (0, 0), (2, 1), (0, 0), (u64::MAX, 1)] {
                pool.set(attribute, value)?;
                let mut read = u64::MAX;
                let out = (&raw mut read).cast();
                call!(driver.cuMemPoolGetAttribute(pool.raw, CUmemPool_attribute(attribute), out))?;
                assert_eq!(read, 0xffff_ffff_0000_0000 | shown, "attribute {attribute} set to {value}");
            }
        }
    }

    fn a_threshold_is_any_number(driver) {
        let _primary = Primary::of(driver, 0)?;
        let pool = Pool::new(driver)?;
        for value in [1, 4096, 3 * 1024 * 1024 + 1, u64::MAX, 0] {
            pool.set(4, value)?;
            assert_eq!(pool.get(4)?, value);
        }
    }

    fn watermarks_can_only_be_reset_and_counts_not_at_all(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = Pool::hoarding(driver)?;
        let [first, second] = [pool.take(4096, stream.raw)?, pool.take(CHUNK, stream.raw)?];
        pool.free(second, stream.raw)?;
        stream.synchronize()?;
        call!(driver.cuMemPoolTrimTo(pool.raw, 0))?;
        let before = pool.statistics()?;
        assert_eq!(before, [CHUNK, 2 * CHUNK, 4096, 4096 + CHUNK]);
        for (attribute, value) in [(5, 0), (5, 1), (7, 0), (7, 4096), (6, 1), (6, u64::MAX), (8, 1), (8, 4096)] {
            let mut value = value;
            let from = (&raw mut value).cast();
            answers!(
                driver.cuMemPoolSetAttribute(pool.raw, CUmemPool_attribute(attribute), from),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        assert_eq!(pool.statistics()?, before);
        pool.set(6, 0)?;
        assert_eq!(pool.statistics()?, [CHUNK, CHUNK, 4096, 4096 + CHUNK]);
        pool.set(8, 0)?;
        assert_eq!(pool.statistics()?, [CHUNK, CHUNK, 4096, 4096]);
        pool.free(first, stream.raw)?;
        stream.synchronize()?;
    }

    fn unknown_attributes_are_refused_and_leave_the_value_alone(driver) {
        let _primary = Primary::of(driver, 0)?;
        let pool = Pool::new(driver)?;
        for attribute in [u32::MAX, 0, 20, 21, 1000] {
            let mut value = 77u64;
            let out = (&raw mut value).cast();
            let attribute = CUmemPool_attribute(attribute);
            answers!(driver.cuMemPoolGetAttribute(pool.raw, attribute, out), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemPoolSetAttribute(pool.raw, attribute, out), CUDA_ERROR_INVALID_VALUE);
            assert_eq!(value, 77);
        }
        answers!(
            driver.cuMemPoolGetAttribute(pool.raw, CUmemPool_attribute(7), null_mut()),
            CUDA_ERROR_INVALID_VALUE
        );
        let mut value = 0u64;
        answers!(
            driver.cuMemPoolGetAttribute(null_mut(), CUmemPool_attribute(7), (&raw mut value).cast()),
            CUDA_ERROR_INVALID_VALUE
        );
    }
}

#[test]
fn properties_of_a_pool_are_told_by_later_drivers_only() -> TestResult {
    for (version, known) in [(12040, false), (13000, false), (13020, true)] {
        let mut topology = Topology::preset("h200")?;
        topology.driver_version = version;
        let (_machine, driver) = open(topology, Mode::Threads)?;
        let driver = &driver;
        let pool = Pool::with(driver, |properties| properties.maxSize = 1)?;
        for (attribute, expected) in [(9, 1), (10, 0), (11, 0), (12, 1), (13, CHUNK), (14, 0)] {
            if known {
                assert_eq!(pool.get(attribute)?, expected, "attribute {attribute}");
            } else {
                let mut value = 0u64;
                let out = (&raw mut value).cast();
                let attribute = CUmemPool_attribute(attribute);
                answers!(driver.cuMemPoolGetAttribute(pool.raw, attribute, out), CUDA_ERROR_INVALID_VALUE);
            }
        }
    }
    Ok(())
}

#[test]
fn a_null_value_is_refused_where_the_driver_would_follow_it() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let driver = &driver;
    let pool = Pool::new(driver)?;
    answers!(driver.cuMemPoolSetAttribute(pool.raw, CUmemPool_attribute(4), null_mut()), CUDA_ERROR_INVALID_VALUE);
    Ok(())
}

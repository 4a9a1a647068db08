//! Creation of pools: valid and invalid properties.

use std::ptr::{null, null_mut};

use warploom_testkit::sim::Mode;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sys::types::{
    CUdeviceptr, CUmemAllocationHandleType, CUmemAllocationType, CUmemLocation, CUmemLocationType, CUmemPoolProps,
    CUresult,
};
use warploom_testkit::{Primary, Stream, TestResult, answers, call, code_of, driver_tests, open};

use crate::fixture::{CHUNK, MIB, Pool, invented, properties};

fn location(kind: i32, id: i32) -> CUmemLocation {
    CUmemLocation::new(CUmemLocationType(kind.cast_unsigned()), id)
}

/// The code of a creation; a pool that was created is tried and destroyed.
fn creation(driver: &warploom_testkit::driver::Driver, properties: &CUmemPoolProps) -> TestResult<CUresult> {
    let mut raw = null_mut();
    let code = code_of(call!(driver.cuMemPoolCreate(&mut raw, properties)));
    if code == CUresult::CUDA_SUCCESS {
        let mut address = 0;
        call!(driver.cuMemAllocFromPoolAsync(&mut address, 4096, raw, null_mut()))?;
        call!(driver.cuMemFreeAsync(address, null_mut()))?;
        call!(driver.cuStreamSynchronize(null_mut()))?;
        call!(driver.cuMemPoolDestroy(raw))?;
    }
    Ok(code)
}

/// Writes the first byte of memory that the host can touch, and reads it back.
fn touch(address: CUdeviceptr, value: u8) -> u8 {
    let byte: *mut u8 = std::ptr::with_exposed_provenance_mut(address as usize);
    #[expect(unsafe_code, reason = "host memory that a driver allocated")]
    // SAFETY: an allocation that the host may touch, which nobody else uses.
    unsafe {
        byte.write_volatile(value);
        byte.read_volatile()
    }
}

const OK: CUresult = CUresult::CUDA_SUCCESS;
const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

driver_tests! {
    fn a_pool_is_somewhere(driver) {
        let _primary = Primary::of(driver, 0)?;
        let places = [
            ((1, 0), OK), ((2, 0), OK), ((2, -1), OK), ((2, 99), OK), ((3, 0), OK),
            ((-1, 0), INVALID), ((0, 0), INVALID), ((4, 0), INVALID), ((5, 0), INVALID), ((6, 0), INVALID),
            ((7, 0), INVALID), ((1, -1), INVALID), ((1, 99), INVALID), ((3, -1), INVALID), ((3, 99), INVALID),
        ];
        for ((kind, id), expected) in places {
            let properties = CUmemPoolProps { location: location(kind, id), ..properties() };
            assert_eq!(creation(driver, &properties)?, expected, "location type {kind}, id {id}");
        }
    }

    fn a_pool_is_pinned_or_managed(driver) {
        let _primary = Primary::of(driver, 0)?;
        let kinds = [
            (1, (1, 0), OK), (2, (0, 0), OK), (2, (1, 0), OK), (2, (2, 0), OK),
            (0, (1, 0), INVALID), (3, (1, 0), INVALID), (99, (1, 0), INVALID), (u32::MAX, (1, 0), INVALID),
        ];
        for (kind, (place, id), expected) in kinds {
            let properties = CUmemPoolProps {
                allocType: CUmemAllocationType(kind), location: location(place, id), ..properties()
            };
            assert_eq!(creation(driver, &properties)?, expected, "allocation type {kind}, location type {place}");
        }
    }

    fn a_pool_can_be_made_for_the_handle_types_of_the_system(driver) {
        let _primary = Primary::of(driver, 0)?;
        for (kind, expected) in [(0, OK), (1, OK), (2, INVALID), (3, INVALID), (4, INVALID), (16, INVALID)] {
            let properties = CUmemPoolProps { handleTypes: CUmemAllocationHandleType(kind), ..properties() };
            assert_eq!(creation(driver, &properties)?, expected, "handle type {kind}");
        }
    }

    fn a_maximum_is_rounded_up_and_has_to_have_addresses(driver) {
        let _primary = Primary::of(driver, 0)?;
        for size in [1, 4096, 2 << 20, 32 << 20, 33 << 20, 1 << 30] {
            let properties = CUmemPoolProps { maxSize: size, ..properties() };
            assert_eq!(creation(driver, &properties)?, OK, "maxSize {size}");
        }
        for size in [1 << 60, usize::MAX] {
            let properties = CUmemPoolProps { maxSize: size, ..properties() };
            assert_eq!(creation(driver, &properties)?, CUresult::CUDA_ERROR_OUT_OF_MEMORY, "maxSize {size}");
        }
    }

    fn reserved_bytes_are_zero_and_the_rest_is_anything(driver) {
        let _primary = Primary::of(driver, 0)?;
        for index in [0, 1, 52] {
            let mut properties = properties();
            properties.reserved[index] = 1;
            assert_eq!(creation(driver, &properties)?, INVALID, "reserved byte {index}");
        }
        assert_eq!(creation(driver, &CUmemPoolProps { usage: 0xffff, ..properties() })?, OK);
        assert_eq!(creation(driver, &CUmemPoolProps { win32SecurityAttributes: invented(1), ..properties() })?, OK);
    }

    fn a_pool_needs_properties_and_a_place_to_be_told(driver) {
        let mut raw = null_mut();
        answers!(driver.cuMemPoolCreate(&mut raw, null()), CUDA_ERROR_INVALID_VALUE);
        assert!(raw.is_null());
        answers!(driver.cuMemPoolCreate(null_mut(), &properties()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemPoolDestroy(null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemPoolTrimTo(null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
    }

    sim fn a_stream_is_no_pool(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let mut address = 1;
        answers!(
            driver.cuMemAllocFromPoolAsync(&mut address, 16, stream.raw.cast(), null_mut()),
            CUDA_ERROR_INVALID_VALUE
        );
        assert_eq!(address, 0);
    }

    fn a_host_pool_gives_memory_that_the_host_can_touch(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        for (kind, place) in [(1, 2), (1, 3), (2, 0), (2, 1)] {
            let pool = Pool::with(driver, |properties| {
                properties.allocType = CUmemAllocationType(kind);
                properties.location = location(place, 0);
            })?;
            let address = pool.take(MIB, stream.raw)?;
            stream.synchronize()?;
            assert_eq!(touch(address, 6), 6, "allocation type {kind}, location type {place}");
            pool.free(address, stream.raw)?;
            stream.synchronize()?;
        }
    }
}

#[test]
fn a_host_pool_is_a_pool_like_others() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let stream = Stream::new(driver)?;
    for (kind, place) in [(1, 2), (1, 3), (2, 0), (2, 1)] {
        let pool = Pool::with(driver, |properties| {
            properties.allocType = CUmemAllocationType(kind);
            properties.location = location(place, 0);
        })?;
        let address = pool.take(100 * MIB, stream.raw)?;
        assert_eq!(pool.statistics()?, [4 * CHUNK, 4 * CHUNK, 100 * MIB, 100 * MIB]);
        call!(driver.cuMemcpy(address, [5u8; 2].as_ptr().expose_provenance() as u64, 2))?;
        touch(address, 6);
        let mut received = [0u8; 2];
        call!(driver.cuMemcpy(received.as_mut_ptr().expose_provenance() as u64, address, 2))?;
        assert_eq!(received, [6, 5], "copies and the host see the same bytes");
        pool.free(address, stream.raw)?;
        stream.synchronize()?;
        assert_eq!(pool.statistics()?, [0, 4 * CHUNK, 0, 100 * MIB]);
    }
    Ok(())
}

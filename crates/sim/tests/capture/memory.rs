//! Memory that graphs allocate for themselves.

use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{
    CUgraphMem_attribute, CUmemAllocationType, CUmemLocation, CUmemLocationType, CUpointer_attribute,
};
use warploom_testkit::{TestResult, answers, call, driver_tests};

use crate::support::{ACTIVE, ALLOC, FILL, FREE, LOCAL, RELAXED, Stage};

type A = CUgraphMem_attribute;
const ATTRIBUTES: [A; 4] = [
    A::CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT,
    A::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH,
    A::CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
    A::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH,
];

fn attributes(driver: &Driver) -> TestResult<[u64; 4]> {
    let mut values = [1; 4];
    for (attribute, value) in ATTRIBUTES.into_iter().zip(&mut values) {
        let value: *mut u64 = value;
        call!(driver.cuDeviceGetGraphMemAttribute(0, attribute, value.cast()))?;
    }
    Ok(values)
}

driver_tests! {
    fn an_allocation_on_a_captured_stream_is_a_node(driver) {
        let stage = Stage::new(driver)?;
        let (stream, mut pool) = (stage.stream()?, null_mut());
        call!(driver.cuDeviceGetDefaultMemPool(&mut pool, 0))?;
        stage.begin(stream, LOCAL)?;
        let (mut first, mut second) = (0, 0);
        call!(driver.cuMemAllocAsync(&mut first, 100, stream))?;
        call!(driver.cuMemAllocFromPoolAsync(&mut second, 100, pool, stream))?;
        assert!(first != 0 && second.abs_diff(first) >= 100);
        call!(driver.cuMemsetD8Async(first, 1, 100, stream))?;
        call!(driver.cuMemcpyDtoDAsync_v2(second, first, 100, stream))?;
        call!(driver.cuMemFreeAsync(first, stream))?;
        answers!(driver.cuMemFreeAsync(first, stream), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemFreeAsync(second + 16, stream), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(stage.status(stream)?, ACTIVE);
        let graph = stage.end(stream)?;
        assert_eq!(graph.kinds()?, [ALLOC, ALLOC, FILL, crate::support::COPY, FREE]);
    }

    /// Other calls do not know it before it is launched.
    fn memory_of_a_graph_is_none_before_a_launch(driver) {
        let stage = Stage::new(driver)?;
        let (stream, other) = (stage.stream()?, stage.stream()?);
        stage.begin(stream, RELAXED)?;
        let (mut address, mut kind) = (0, 0_u32);
        call!(driver.cuMemAllocAsync(&mut address, 64, stream))?;
        let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        let out = (&raw mut kind).cast();
        answers!(driver.cuPointerGetAttribute(out, attribute, address), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemsetD8Async(address, 1, 64, other), CUDA_ERROR_INVALID_VALUE);
        let graph = stage.end(stream)?;
        answers!(driver.cuMemFreeAsync(address, other), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
        drop(graph);
        // Gone with its graph.
        stage.begin(stream, RELAXED)?;
        answers!(driver.cuMemFreeAsync(address, stream), CUDA_ERROR_INVALID_VALUE);
        stage.end(stream)?;
    }

    fn a_graph_may_free_what_another_allocates(driver) {
        let stage = Stage::new(driver)?;
        let (stream, mut address) = (stage.stream()?, 0);
        stage.begin(stream, LOCAL)?;
        call!(driver.cuMemAllocAsync(&mut address, 64, stream))?;
        let first = stage.end(stream)?;
        stage.begin(stream, LOCAL)?;
        call!(driver.cuMemFreeAsync(address, stream))?;
        let second = stage.end(stream)?;
        assert_eq!((first.kinds()?, second.kinds()?), (vec![ALLOC], vec![FREE]));
        drop(second);
    }

    fn memory_that_a_graph_cannot_allocate_or_free_is_refused_and_spoils_nothing(driver) {
        let stage = Stage::new(driver)?;
        let (stream, other, mut outside) = (stage.stream()?, stage.stream()?, 0);
        call!(driver.cuMemAllocAsync(&mut outside, 64, other))?;
        call!(driver.cuStreamSynchronize(other))?;
        stage.begin(stream, RELAXED)?;
        let mut address = 7;
        answers!(driver.cuMemFreeAsync(outside, stream), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemAllocAsync(&mut address, 1 << 50, stream), CUDA_ERROR_OUT_OF_MEMORY);
        call!(driver.cuMemAllocAsync(&mut address, 0, stream))?;
        assert_eq!(address, 0);
        assert_eq!(stage.status(stream)?, ACTIVE);
        assert!(stage.end(stream)?.nodes()?.is_empty());
        call!(driver.cuMemFreeAsync(outside, other))?;
        call!(driver.cuStreamSynchronize(other))?;
    }

    fn a_graph_allocates_no_memory_of_the_host(driver) {
        let stage = Stage::new(driver)?;
        let (stream, mut pool, mut address) = (stage.stream()?, null_mut(), 0);
        let mut host = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST, 0);
        let pinned = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        call!(driver.cuMemGetDefaultMemPool(&mut pool, &mut host, pinned))?;
        stage.begin(stream, LOCAL)?;
        answers!(driver.cuMemAllocFromPoolAsync(&mut address, 64, pool, stream), CUDA_ERROR_NOT_SUPPORTED);
        assert!(stage.end(stream)?.nodes()?.is_empty());
    }

    fn graph_memory_of_a_device_is_reported_and_its_high_marks_are_reset(driver) {
        let _stage = Stage::new(driver)?;
        call!(driver.cuDeviceGraphMemTrim(0))?;
        let (mut zero, mut five) = (0_u64, 5_u64);
        for mark in [ATTRIBUTES[1], ATTRIBUTES[3]] {
            call!(driver.cuDeviceSetGraphMemAttribute(0, mark, (&raw mut zero).cast()))?;
            answers!(driver.cuDeviceSetGraphMemAttribute(0, mark, (&raw mut five).cast()), CUDA_ERROR_INVALID_VALUE);
        }
        answers!(
            driver.cuDeviceSetGraphMemAttribute(0, ATTRIBUTES[0], (&raw mut zero).cast()),
            CUDA_ERROR_INVALID_VALUE
        );
        assert_eq!(attributes(driver)?, [0; 4]);
        answers!(driver.cuDeviceGetGraphMemAttribute(0, CUgraphMem_attribute(4), (&raw mut zero).cast()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuDeviceGetGraphMemAttribute(0, ATTRIBUTES[0], null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(
            driver.cuDeviceGetGraphMemAttribute(9, ATTRIBUTES[0], (&raw mut zero).cast()),
            CUDA_ERROR_INVALID_DEVICE
        );
        answers!(driver.cuDeviceGraphMemTrim(9), CUDA_ERROR_INVALID_DEVICE);
    }
}

//! Page-locked memory: the driver's own, and the program's after it registered it.
#![expect(unsafe_code, reason = "reads and writes memory that the driver handed out")]

use std::ffi::c_void;
use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::{Primary, TestResult, answers, call, driver_tests};

const MIB: usize = 1 << 20;
const PAGE: usize = 4096;

fn lock(driver: &Driver, bytes: usize, flags: u32) -> TestResult<*mut c_void> {
    let mut memory = null_mut();
    call!(driver.cuMemHostAlloc(&mut memory, bytes, flags))?;
    Ok(memory)
}

fn nowhere() -> *mut c_void {
    std::ptr::without_provenance_mut(0xdead_b000)
}

/// Pages of the program's own, from a page boundary on.
struct Pages {
    bytes: Vec<u8>,
    start: usize,
}

impl Pages {
    fn new(len: usize) -> Pages {
        let bytes = vec![0u8; len + PAGE];
        let start = bytes.as_ptr().align_offset(PAGE);
        Pages { bytes, start }
    }

    fn at(&mut self, offset: usize) -> *mut c_void {
        self.bytes[self.start + offset..].as_mut_ptr().cast()
    }
}

driver_tests! {
    fn page_locked_memory_is_the_programs_to_use(driver) {
        let _primary = Primary::of(driver, 0)?;
        for bytes in [1, 100, PAGE, MIB, 3 * MIB + 5] {
            let memory = lock(driver, bytes, 0)?.cast::<u8>();
            // SAFETY: `bytes` bytes that the driver handed out and that nobody else uses until they are
            // freed.
            let slice = unsafe { std::slice::from_raw_parts_mut(memory, bytes) };
            slice.fill(0xa5);
            assert!(slice.iter().all(|byte| *byte == 0xa5));
            call!(driver.cuMemFreeHost(memory.cast()))?;
        }
    }

    fn copies_reach_page_locked_memory(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = lock(driver, PAGE, 0)?;
        let mut device = 0;
        call!(driver.cuMemAlloc_v2(&mut device, PAGE))?;
        let sent: Vec<u8> = (0..=255).cycle().take(PAGE).collect();
        call!(driver.cuMemcpyHtoD_v2(device, sent.as_ptr().cast(), PAGE))?;
        call!(driver.cuMemcpyDtoH_v2(memory, device, PAGE))?;
        // SAFETY: as above; the copy is done.
        let received = unsafe { std::slice::from_raw_parts(memory.cast::<u8>(), PAGE) };
        assert_eq!(received, sent);
        call!(driver.cuMemFree_v2(device))?;
        call!(driver.cuMemFreeHost(memory))?;
    }

    fn the_device_sees_page_locked_memory_at_the_same_address(driver) {
        let _primary = Primary::of(driver, 0)?;
        for flags in 0..8 {
            let memory = lock(driver, 8192, flags)?;
            for offset in [0, 100, 8191] {
                let mut seen = 0;
                let inside = memory.wrapping_byte_add(offset);
                call!(driver.cuMemHostGetDevicePointer_v2(&mut seen, inside, 0))?;
                assert_eq!(seen, inside.addr() as u64, "flags {flags}");
            }
            call!(driver.cuMemFreeHost(memory))?;
        }
    }

    fn flags_show_that_memory_is_mapped_and_write_combined(driver) {
        let _primary = Primary::of(driver, 0)?;
        for flags in 0..8 {
            let memory = lock(driver, 8192, flags)?;
            let mut shown = 99;
            call!(driver.cuMemHostGetFlags(&mut shown, memory.wrapping_byte_add(100)))?;
            // Whether it says "portable" is up to the memory it shares a block with.
            assert_eq!(shown & !1, flags & 4 | 2, "flags {flags}");
            call!(driver.cuMemFreeHost(memory))?;
        }
        for flags in [8, 0x10, 0x20, 0x40, 0x8000_0000] {
            let mut memory = nowhere();
            answers!(driver.cuMemHostAlloc(&mut memory, PAGE, flags), CUDA_ERROR_INVALID_VALUE);
            assert!(memory.is_null(), "flags {flags:#x}");
        }
    }

    fn no_bytes_are_a_null_pointer_and_too_many_are_out_of_memory(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut memory = nowhere();
        answers!(driver.cuMemHostAlloc(&mut memory, 0, 0), CUDA_SUCCESS);
        assert!(memory.is_null());
        memory = nowhere();
        answers!(driver.cuMemAllocHost_v2(&mut memory, 0), CUDA_SUCCESS);
        assert!(memory.is_null());
        memory = nowhere();
        answers!(driver.cuMemHostAlloc(&mut memory, 1 << 60, 0), CUDA_ERROR_OUT_OF_MEMORY);
        assert!(memory.is_null());
        answers!(driver.cuMemHostAlloc(null_mut(), 16, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemAllocHost_v2(null_mut(), 16), CUDA_ERROR_INVALID_VALUE);
    }

    fn the_short_form_is_page_locked_memory_without_flags(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut memory = null_mut();
        call!(driver.cuMemAllocHost_v2(&mut memory, 100))?;
        let mut flags = 99;
        call!(driver.cuMemHostGetFlags(&mut flags, memory))?;
        assert_eq!(flags, 2);
        call!(driver.cuMemFreeHost(memory))?;
    }

    unchecked fn small_allocations_share_pages(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut taken = Vec::new();
        for bytes in [1, 1, 100, 4096, 4097] {
            taken.push(lock(driver, bytes, 0)?);
        }
        let offsets: Vec<usize> = taken.iter().map(|memory| memory.addr() - taken[0].addr()).collect();
        assert_eq!(offsets, [0, 512, 1024, 1536, 5632]);
        for memory in taken {
            call!(driver.cuMemFreeHost(memory))?;
        }
    }

    fn page_locking_costs_the_device_nothing(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (mut before, mut after) = (0, 0);
        call!(driver.cuMemGetInfo_v2(&mut before, null_mut()))?;
        let memory = lock(driver, MIB, 0)?;
        call!(driver.cuMemGetInfo_v2(&mut after, null_mut()))?;
        assert_eq!(before, after);
        call!(driver.cuMemFreeHost(memory))?;
    }

    fn only_the_start_of_live_page_locked_memory_can_be_freed(driver) {
        let primary = Primary::of(driver, 0)?;
        let memory = lock(driver, 8192, 0)?;
        let mut device = 0;
        call!(driver.cuMemAlloc_v2(&mut device, PAGE))?;
        let mut managed = 0;
        call!(driver.cuMemAllocManaged(&mut managed, PAGE, 1))?;
        let mut own = Pages::new(PAGE);
        call!(driver.cuMemHostRegister_v2(own.at(0), PAGE, 0))?;
        answers!(driver.cuMemFreeHost(null_mut()), CUDA_SUCCESS);
        for other in [
            memory.wrapping_byte_add(PAGE),
            nowhere(),
            std::ptr::without_provenance_mut(device as usize),
            std::ptr::without_provenance_mut(managed as usize),
            own.at(0),
        ] {
            answers!(driver.cuMemFreeHost(other), CUDA_ERROR_INVALID_VALUE);
        }
        call!(driver.cuMemHostUnregister(own.at(0)))?;
        answers!(driver.cuMemFreeHost(own.at(0)), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuMemFree_v2(managed))?;
        call!(driver.cuMemFree_v2(device))?;
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        answers!(driver.cuMemFreeHost(memory), CUDA_SUCCESS);
        answers!(driver.cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE);
        primary.make_current()?;
        let mut flags = 99;
        answers!(driver.cuMemHostGetFlags(&mut flags, memory), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(flags, 99);
    }

    fn only_page_locked_memory_has_a_device_pointer(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = lock(driver, 8192, 0)?;
        let mut managed = 0;
        call!(driver.cuMemAllocManaged(&mut managed, PAGE, 1))?;
        let mut device = 0;
        call!(driver.cuMemAlloc_v2(&mut device, PAGE))?;
        let managed_pointer = std::ptr::without_provenance_mut(managed as usize);
        let mut own = Pages::new(PAGE);
        for (pointer, flags) in [
            (memory, 1),
            (memory, 2),
            (nowhere(), 0),
            (null_mut(), 0),
            (own.at(0), 0),
            (managed_pointer, 0),
            (std::ptr::without_provenance_mut(device as usize), 0),
        ] {
            let mut seen = 7;
            answers!(driver.cuMemHostGetDevicePointer_v2(&mut seen, pointer, flags), CUDA_ERROR_INVALID_VALUE);
            assert_eq!(seen, 0);
        }
        answers!(driver.cuMemHostGetDevicePointer_v2(null_mut(), memory, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemHostGetFlags(null_mut(), memory), CUDA_ERROR_INVALID_VALUE);
        let mut flags = 99;
        for pointer in [nowhere(), null_mut(), own.at(0), std::ptr::without_provenance_mut(device as usize)] {
            answers!(driver.cuMemHostGetFlags(&mut flags, pointer), CUDA_ERROR_INVALID_VALUE);
            assert_eq!(flags, 99);
        }
        call!(driver.cuMemHostGetFlags(&mut flags, managed_pointer))?;
        assert_eq!(flags, 2);
        call!(driver.cuMemFree_v2(device))?;
        call!(driver.cuMemFree_v2(managed))?;
        call!(driver.cuMemFreeHost(memory))?;
    }

    fn registering_takes_exactly_the_bytes_it_was_given(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut own = Pages::new(4 * PAGE);
        for (offset, bytes) in [(0, PAGE), (100, PAGE), (0, 100), (7, 13)] {
            let start = own.at(offset);
            call!(driver.cuMemHostRegister_v2(start, bytes, 0))?;
            let (mut base, mut size, mut seen) = (0, 0, 0);
            call!(driver.cuMemGetAddressRange_v2(&mut base, &mut size, start.addr() as u64))?;
            assert_eq!((base, size), (start.addr() as u64, bytes));
            call!(driver.cuMemHostGetDevicePointer_v2(&mut seen, start, 0))?;
            assert_eq!(seen, start.addr() as u64);
            call!(driver.cuMemHostUnregister(start))?;
        }
    }

    fn registered_memory_shows_whether_it_is_portable(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut own = Pages::new(PAGE);
        let start = own.at(0);
        for (flags, shown) in [(0, 2), (1, 3), (2, 2), (3, 3), (8, 2), (9, 3), (10, 2), (11, 3)] {
            call!(driver.cuMemHostRegister_v2(start, PAGE, flags))?;
            let mut found = 99;
            call!(driver.cuMemHostGetFlags(&mut found, start))?;
            assert_eq!(found, shown, "flags {flags}");
            call!(driver.cuMemHostUnregister(start))?;
        }
        for flags in [4, 5, 6, 7, 12, 15, 16, 0x8000_0000] {
            answers!(driver.cuMemHostRegister_v2(start, PAGE, flags), CUDA_ERROR_INVALID_VALUE);
        }
    }

    fn a_registration_may_not_overlap_another(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut own = Pages::new(32 * PAGE);
        call!(driver.cuMemHostRegister_v2(own.at(PAGE), 2 * PAGE, 0))?;
        for (offset, bytes) in [(PAGE, 2 * PAGE), (2 * PAGE, 2 * PAGE), (2 * PAGE, PAGE), (0, 16 * PAGE), (0, PAGE + 1)] {
            answers!(
                driver.cuMemHostRegister_v2(own.at(offset), bytes, 0),
                CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
            );
        }
        call!(driver.cuMemHostRegister_v2(own.at(3 * PAGE), 100, 0))?;
        call!(driver.cuMemHostRegister_v2(own.at(3 * PAGE + 100), 100, 0))?;
        for offset in [PAGE, 3 * PAGE, 3 * PAGE + 100] {
            call!(driver.cuMemHostUnregister(own.at(offset)))?;
        }
        call!(driver.cuMemHostRegister_v2(own.at(0), 16 * PAGE, 0))?;
        call!(driver.cuMemHostUnregister(own.at(0)))?;
    }

    fn only_memory_of_the_programs_own_can_be_registered(driver) {
        let primary = Primary::of(driver, 0)?;
        let memory = lock(driver, PAGE, 0)?;
        let (mut device, mut managed) = (0, 0);
        call!(driver.cuMemAlloc_v2(&mut device, PAGE))?;
        call!(driver.cuMemAllocManaged(&mut managed, PAGE, 1))?;
        let mut own = Pages::new(PAGE);
        for (pointer, bytes) in [
            (null_mut(), PAGE),
            (nowhere(), PAGE),
            (own.at(0), 0),
            (memory, PAGE),
            (std::ptr::without_provenance_mut(device as usize), PAGE),
            (std::ptr::without_provenance_mut(managed as usize), PAGE),
        ] {
            answers!(driver.cuMemHostRegister_v2(pointer, bytes, 0), CUDA_ERROR_INVALID_VALUE);
        }
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        answers!(driver.cuMemHostRegister_v2(own.at(0), PAGE, 0), CUDA_ERROR_INVALID_CONTEXT);
        primary.make_current()?;
        call!(driver.cuMemFree_v2(managed))?;
        call!(driver.cuMemFree_v2(device))?;
        call!(driver.cuMemFreeHost(memory))?;
    }

    fn a_registration_ends_where_it_started_and_once(driver) {
        let primary = Primary::of(driver, 0)?;
        let memory = lock(driver, PAGE, 0)?;
        let mut own = Pages::new(4 * PAGE);
        call!(driver.cuMemHostRegister_v2(own.at(0), 2 * PAGE, 0))?;
        answers!(driver.cuMemHostUnregister(own.at(100)), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemHostUnregister(null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemHostUnregister(memory), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemHostUnregister(own.at(3 * PAGE)), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        answers!(driver.cuMemHostUnregister(own.at(0)), CUDA_SUCCESS);
        answers!(driver.cuMemHostUnregister(own.at(0)), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
        primary.make_current()?;
        call!(driver.cuMemFreeHost(memory))?;
    }
}

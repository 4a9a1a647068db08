//! Attributes of ranges.

use std::ptr::null_mut;

use warploom_testkit::{Primary, answers, call, driver_tests};

use crate::support::*;

driver_tests! {
    fn a_range_has_what_all_its_pages_have(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, 4 * PAGE)?;
        let half = 2 * PAGE;
        memory.advise_part(0, half, SET_READ_MOSTLY, HOST)?;
        assert_eq!((memory.get_part(READ_MOSTLY, 0, half)?, memory.get(READ_MOSTLY)?), (1, 0));
        memory.advise_part(0, half, SET_PREFERRED, device(0))?;
        assert_eq!((memory.get_part(PREFERRED, 0, half)?, memory.get(PREFERRED)?), (0, -2));
        assert_eq!((memory.get(PREFERRED_TYPE)?, memory.get(PREFERRED_ID)?), (0, -2));
        memory.advise_part(half, half, SET_PREFERRED, HOST)?;
        assert_eq!((memory.get_part(PREFERRED, half, half)?, memory.get(PREFERRED)?), (-1, -2));
        memory.advise_part(0, half, SET_ACCESSED_BY, device(0))?;
        memory.advise(SET_ACCESSED_BY, HOST)?;
        assert_eq!(memory.accessed_by(0, 4 * PAGE, 2)?, [-1, -2]);
    }

    fn a_page_is_asked_about_by_any_of_its_bytes(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, 4 * PAGE)?;
        memory.advise_part(PAGE, PAGE, SET_READ_MOSTLY, HOST)?;
        assert_eq!(memory.get_part(READ_MOSTLY, PAGE + 17, 1)?, 1);
        assert_eq!(memory.get_part(READ_MOSTLY, 2 * PAGE - 1, 2)?, 0);
    }

    fn an_array_of_accessors_is_filled_up_with_invalid_devices(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, PAGE)?;
        assert_eq!(memory.accessed_by(0, PAGE, 3)?, [-2; 3]);
        memory.advise(SET_ACCESSED_BY, device(0))?;
        assert_eq!(memory.accessed_by(0, PAGE, 1)?, [0]);
        assert_eq!(memory.accessed_by(0, PAGE, 3)?, [0, -2, -2]);
        memory.advise(SET_ACCESSED_BY, device(0))?;
        assert_eq!(memory.accessed_by(0, PAGE, 3)?, [0, -2, -2]);
    }

    fn devices_come_before_the_host_among_accessors(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, PAGE)?;
        memory.advise(SET_ACCESSED_BY, HOST)?;
        memory.advise(SET_ACCESSED_BY, device(0))?;
        assert_eq!(memory.accessed_by(0, PAGE, 3)?, [0, -1, -2]);
    }

    fn an_attribute_has_a_size(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, PAGE)?;
        let mut value = [7_i32; 4];
        for raw in 1..=8 {
            for size in [0, 2, 8, 16] {
                if raw == ACCESSED_BY && size != 0 && size % 4 == 0 {
                    continue;
                }
                let out = value.as_mut_ptr().cast();
                answers!(
                    driver.cuMemRangeGetAttribute(out, size, attribute(raw), memory.address, PAGE),
                    CUDA_ERROR_INVALID_VALUE
                );
            }
        }
        assert_eq!(value, [7; 4]);
    }

    fn unknown_attributes_and_unmanaged_memory_are_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, PAGE)?;
        let mut value = 7_i32;
        let out = (&raw mut value).cast();
        for raw in [0, 9, 1000] {
            answers!(
                driver.cuMemRangeGetAttribute(out, 4, attribute(raw), memory.address, PAGE),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        let mut plain = 0;
        call!(driver.cuMemAlloc_v2(&mut plain, PAGE))?;
        for (address, bytes) in [(plain, PAGE), (0, PAGE), (memory.address, 0), (memory.address, 1 << 40)] {
            answers!(
                driver.cuMemRangeGetAttribute(out, 4, attribute(READ_MOSTLY), address, bytes),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        answers!(
            driver.cuMemRangeGetAttribute(null_mut(), 4, attribute(READ_MOSTLY), memory.address, PAGE),
            CUDA_ERROR_INVALID_VALUE
        );
        assert_eq!(value, 7);
        call!(driver.cuMemFree_v2(plain))?;
    }

    fn several_attributes_are_asked_for_at_once(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, PAGE)?;
        memory.advise(SET_READ_MOSTLY, HOST)?;
        memory.advise(SET_PREFERRED, device(0))?;
        memory.advise(SET_ACCESSED_BY, device(0))?;
        let (mut mostly, mut preferred, mut accessed, mut kind) = (7_i32, 7_i32, [7_i32; 2], 7_i32);
        let mut outs =
            [(&raw mut mostly).cast(), (&raw mut preferred).cast(), (&raw mut accessed).cast(), (&raw mut kind).cast()];
        let mut sizes = [4, 4, 8, 4];
        let mut attributes = [READ_MOSTLY, PREFERRED, ACCESSED_BY, PREFERRED_TYPE].map(attribute);
        let (outs, sizes, attributes) = (outs.as_mut_ptr(), sizes.as_mut_ptr(), attributes.as_mut_ptr());
        call!(driver.cuMemRangeGetAttributes(outs, sizes, attributes, 4, memory.address, PAGE))?;
        assert_eq!((mostly, preferred, accessed, kind), (1, 0, [0, -2], 1));
    }

    fn a_list_of_attributes_is_all_right_or_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, PAGE)?;
        let (mut one, mut other) = (7_i32, 7_i32);
        let mut outs = [(&raw mut one).cast(), (&raw mut other).cast()];
        let (mut sizes, mut wrong) = ([4, 4], [4, 3]);
        let (mut attributes, mut unknown) = ([1, 2].map(attribute), [1, 9].map(attribute));
        let address = memory.address;
        let outs = outs.as_mut_ptr();
        let (sizes, wrong) = (sizes.as_mut_ptr(), wrong.as_mut_ptr());
        let (attributes, unknown) = (attributes.as_mut_ptr(), unknown.as_mut_ptr());
        answers!(driver.cuMemRangeGetAttributes(outs, wrong, attributes, 2, address, PAGE), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemRangeGetAttributes(outs, sizes, unknown, 2, address, PAGE), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemRangeGetAttributes(outs, sizes, attributes, 0, address, PAGE), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemRangeGetAttributes(outs, sizes, attributes, 2, address, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(
            driver.cuMemRangeGetAttributes(null_mut(), sizes, attributes, 2, address, PAGE),
            CUDA_ERROR_INVALID_VALUE
        );
        assert_eq!(other, 7);
    }

    fn attributes_of_ranges_need_a_current_context(driver) {
        let primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, PAGE)?;
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        let mut value = 7_i32;
        let out = (&raw mut value).cast();
        answers!(
            driver.cuMemRangeGetAttribute(out, 4, attribute(READ_MOSTLY), memory.address, PAGE),
            CUDA_ERROR_INVALID_CONTEXT
        );
        primary.make_current()?;
    }
}

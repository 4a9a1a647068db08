//! Advice, by ordinal and by location.

use std::ptr::null_mut;

use warploom_testkit::sys::types::CUmem_advise;
use warploom_testkit::{Primary, answers, call, driver_tests};

use crate::support::*;

driver_tests! {
    fn advice_by_ordinal_is_read_back(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, MIB)?;
        assert_eq!((memory.get(READ_MOSTLY)?, memory.get(PREFERRED)?), (0, -2));
        memory.advise_old(SET_READ_MOSTLY, 0)?;
        assert_eq!(memory.get(READ_MOSTLY)?, 1);
        memory.advise_old(UNSET_READ_MOSTLY, 0)?;
        assert_eq!(memory.get(READ_MOSTLY)?, 0);
        for ordinal in [0, -1] {
            memory.advise_old(SET_PREFERRED, ordinal)?;
            assert_eq!(memory.get(PREFERRED)?, ordinal);
            memory.advise_old(SET_ACCESSED_BY, ordinal)?;
            assert_eq!(memory.accessed_by(0, MIB, 1)?, [ordinal]);
            memory.advise_old(UNSET_ACCESSED_BY, ordinal)?;
            assert_eq!(memory.accessed_by(0, MIB, 1)?, [-2]);
        }
        memory.advise_old(UNSET_PREFERRED, 0)?;
        assert_eq!(memory.get(PREFERRED)?, -2);
    }

    fn advice_by_location_is_read_back(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, MIB)?;
        memory.advise(SET_READ_MOSTLY, HOST)?;
        assert_eq!(memory.get(READ_MOSTLY)?, 1);
        memory.advise(UNSET_READ_MOSTLY, HOST)?;
        assert_eq!(memory.get(READ_MOSTLY)?, 0);
        memory.advise(SET_PREFERRED, device(0))?;
        assert_eq!((memory.get(PREFERRED_TYPE)?, memory.get(PREFERRED_ID)?, memory.get(PREFERRED)?), (1, 0, 0));
        memory.advise(SET_PREFERRED, HOST)?;
        assert_eq!((memory.get(PREFERRED_TYPE)?, memory.get(PREFERRED_ID)?, memory.get(PREFERRED)?), (2, -1, -1));
        memory.advise(UNSET_PREFERRED, HOST)?;
        assert_eq!((memory.get(PREFERRED_TYPE)?, memory.get(PREFERRED_ID)?, memory.get(PREFERRED)?), (0, -2, -2));
        memory.advise(SET_ACCESSED_BY, device(0))?;
        memory.advise(SET_ACCESSED_BY, HOST)?;
        let mut members = memory.accessed_by(0, MIB, 3)?;
        members.sort_unstable();
        assert_eq!(members, [-2, -1, 0]);
        memory.advise(UNSET_ACCESSED_BY, device(0))?;
        memory.advise(UNSET_ACCESSED_BY, HOST)?;
        assert_eq!(memory.accessed_by(0, MIB, 2)?, [-2, -2]);
    }

    fn taking_back_what_was_never_said_is_no_mistake(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, PAGE)?;
        for advice in [UNSET_READ_MOSTLY, UNSET_PREFERRED, UNSET_ACCESSED_BY] {
            memory.advise(advice, device(0))?;
            memory.advise_old(advice, 0)?;
        }
    }

    /// On a host of one node; several are for simulated machines.
    fn a_numa_node_is_taken_as_preferred_location_and_forgotten(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, MIB)?;
        for location in [node(0), CURRENT_NODE] {
            memory.advise(SET_PREFERRED, location)?;
            assert_eq!((memory.get(PREFERRED_TYPE)?, memory.get(PREFERRED_ID)?), (0, -2));
        }
    }

    /// On a host of one node, too.
    fn a_numa_node_leaves_another_preferred_location_alone(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, MIB)?;
        memory.advise(SET_PREFERRED, device(0))?;
        memory.advise(SET_PREFERRED, node(0))?;
        assert_eq!((memory.get(PREFERRED_TYPE)?, memory.get(PREFERRED)?), (1, 0));
    }

    /// On a host of one node, too.
    fn advice_with_a_numa_node_is_taken_for_any_memory(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut plain = 0;
        call!(driver.cuMemAlloc_v2(&mut plain, MIB))?;
        for location in [node(0), CURRENT_NODE] {
            for advice in [SET_READ_MOSTLY, UNSET_READ_MOSTLY, SET_PREFERRED, UNSET_PREFERRED] {
                answers!(driver.cuMemAdvise_v2(plain, MIB, advice, location), CUDA_SUCCESS);
            }
        }
        call!(driver.cuMemFree_v2(plain))?;
    }

    fn memory_is_not_accessed_by_numa_nodes(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, MIB)?;
        for location in [node(0), CURRENT_NODE] {
            for advice in [SET_ACCESSED_BY, UNSET_ACCESSED_BY] {
                answers!(driver.cuMemAdvise_v2(memory.address, MIB, advice, location), CUDA_ERROR_INVALID_VALUE);
            }
        }
    }

    fn a_numa_node_that_is_not_there_is_no_place(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, MIB)?;
        for id in [-1, 1000] {
            answers!(driver.cuMemAdvise_v2(memory.address, MIB, SET_PREFERRED, node(id)), CUDA_ERROR_INVALID_VALUE);
        }
    }

    fn places_that_do_not_exist_are_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, MIB)?;
        let address = memory.address;
        for advice in [SET_PREFERRED, SET_ACCESSED_BY, UNSET_ACCESSED_BY] {
            for ordinal in [1000, -3] {
                answers!(driver.cuMemAdvise(address, MIB, advice, ordinal), CUDA_ERROR_INVALID_DEVICE);
                answers!(driver.cuMemAdvise_v2(address, MIB, advice, device(ordinal)), CUDA_ERROR_INVALID_VALUE);
            }
            for raw in [0, 5, 6, 99] {
                answers!(driver.cuMemAdvise_v2(address, MIB, advice, kind(raw)), CUDA_ERROR_INVALID_VALUE);
            }
        }
        assert_eq!((memory.get(PREFERRED)?, memory.accessed_by(0, MIB, 1)?), (-2, vec![-2]));
    }

    fn advice_that_needs_no_place_ignores_all_but_its_type(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, MIB)?;
        for advice in [SET_READ_MOSTLY, UNSET_READ_MOSTLY, UNSET_PREFERRED] {
            memory.advise_old(advice, 1000)?;
            memory.advise(advice, device(1000))?;
            for raw in [0, 5, 99] {
                answers!(driver.cuMemAdvise_v2(memory.address, MIB, advice, kind(raw)), CUDA_ERROR_INVALID_VALUE);
            }
        }
    }

    fn unknown_advice_is_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, MIB)?;
        for raw in [0, 7, 1000] {
            let advice = CUmem_advise(raw);
            answers!(driver.cuMemAdvise(memory.address, MIB, advice, 0), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemAdvise_v2(memory.address, MIB, advice, device(0)), CUDA_ERROR_INVALID_VALUE);
        }
    }

    fn advice_needs_a_current_context(driver) {
        let primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, MIB)?;
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        let address = memory.address;
        answers!(driver.cuMemAdvise(address, MIB, SET_READ_MOSTLY, 0), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuMemAdvise_v2(address, MIB, SET_READ_MOSTLY, device(0)), CUDA_ERROR_INVALID_CONTEXT);
        primary.make_current()?;
        assert_eq!(memory.get(READ_MOSTLY)?, 0);
    }

    fn advice_is_about_bytes_of_managed_memory(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, MIB)?;
        answers!(driver.cuMemAdvise(memory.address, 0, SET_READ_MOSTLY, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemAdvise_v2(memory.address, 0, SET_READ_MOSTLY, HOST), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemAdvise_v2(0, MIB, SET_READ_MOSTLY, HOST), CUDA_ERROR_INVALID_VALUE);
    }

    fn plain_and_page_locked_memory_takes_no_advice(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (mut plain, mut locked) = (0, null_mut());
        call!(driver.cuMemAlloc_v2(&mut plain, MIB))?;
        call!(driver.cuMemAllocHost_v2(&mut locked, MIB))?;
        for address in [plain, locked.addr() as u64] {
            answers!(driver.cuMemAdvise_v2(address, MIB, SET_READ_MOSTLY, HOST), CUDA_ERROR_INVALID_VALUE);
        }
        call!(driver.cuMemFree_v2(plain))?;
        call!(driver.cuMemFreeHost(locked))?;
    }

    fn advice_does_not_reach_beyond_its_allocation(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, 2 * MIB)?;
        for (start, bytes) in [(0, 2 * MIB + 1), (MIB, 2 * MIB), (0, 1 << 40)] {
            let address = memory.address + start as u64;
            answers!(driver.cuMemAdvise_v2(address, bytes, SET_READ_MOSTLY, HOST), CUDA_ERROR_INVALID_VALUE);
        }
        assert_eq!(memory.get_part(READ_MOSTLY, 0, PAGE)?, 0);
    }

    fn advice_is_taken_for_whole_pages(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, 4 * PAGE)?;
        memory.advise_part(PAGE + 100, 1, SET_READ_MOSTLY, HOST)?;
        assert_eq!(memory.get_part(READ_MOSTLY, PAGE, PAGE)?, 1);
        assert_eq!((memory.get_part(READ_MOSTLY, 0, PAGE)?, memory.get_part(READ_MOSTLY, 2 * PAGE, PAGE)?), (0, 0));
        memory.advise_part(PAGE - 1, 2, SET_PREFERRED, device(0))?;
        assert_eq!(memory.get_part(PREFERRED, 0, 2 * PAGE)?, 0);
        assert_eq!(memory.get_part(PREFERRED, 2 * PAGE, PAGE)?, -2);
    }

    fn memory_that_comes_back_is_without_advice(driver) {
        let _primary = Primary::of(driver, 0)?;
        for _ in 0..3 {
            let memory = Memory::new(driver, 2 * MIB)?;
            assert_eq!((memory.get(READ_MOSTLY)?, memory.get(PREFERRED)?, memory.get(PREFETCHED)?), (0, -2, -2));
            memory.advise(SET_READ_MOSTLY, HOST)?;
            memory.advise(SET_PREFERRED, device(0))?;
            memory.prefetch(HOST, null_mut())?;
        }
    }
}

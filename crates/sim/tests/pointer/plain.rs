//! Device, page-locked, registered and managed memory, and pointers to none.

use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sim::{Mode, Order};
use warploom_testkit::sys::types::{CUpointer_attribute, CUresult};
use warploom_testkit::{Primary, TestResult, answers, call, driver_tests, open};

use crate::support::*;

/// One of each kind of memory that one family of functions makes.
struct Memory {
    device: u64,
    odd: u64,
    pinned: u64,
    combined: u64,
    managed: u64,
    registered: u64,
    own: Vec<u8>,
}

impl Memory {
    fn new(driver: &Driver) -> TestResult<Memory> {
        let (mut device, mut odd, mut managed) = (0, 0, 0);
        let (mut pinned, mut combined) = (null_mut(), null_mut());
        call!(driver.cuMemAlloc_v2(&mut device, 8192))?;
        call!(driver.cuMemAlloc_v2(&mut odd, 100))?;
        call!(driver.cuMemHostAlloc(&mut pinned, 8192, 0))?;
        call!(driver.cuMemHostAlloc(&mut combined, 8192, 4))?;
        call!(driver.cuMemAllocManaged(&mut managed, 8192, 1))?;
        let mut own = vec![0u8; 3 * 4096];
        let into = own.as_ptr().align_offset(4096);
        let registered = own[into..].as_mut_ptr();
        call!(driver.cuMemHostRegister_v2(registered.cast(), 8192, 0))?;
        let (pinned, combined) = (pinned.addr() as u64, combined.addr() as u64);
        Ok(Memory { device, odd, pinned, combined, managed, registered: registered.expose_provenance() as u64, own })
    }

    fn starts(&self) -> [u64; 6] {
        [self.device, self.odd, self.pinned, self.combined, self.managed, self.registered]
    }

    fn size(&self, start: u64) -> u64 {
        if start == self.odd { 100 } else { 8192 }
    }

    fn free(self, driver: &Driver) -> TestResult {
        call!(driver.cuMemHostUnregister(std::ptr::with_exposed_provenance_mut(self.registered as usize)))?;
        call!(driver.cuMemFree_v2(self.managed))?;
        for pinned in [self.pinned, self.combined] {
            call!(driver.cuMemFreeHost(std::ptr::with_exposed_provenance_mut(pinned as usize)))?;
        }
        call!(driver.cuMemFree_v2(self.odd))?;
        call!(driver.cuMemFree_v2(self.device))?;
        drop(self.own);
        Ok(())
    }
}

driver_tests! {
    fn memory_belongs_to_the_context_it_was_made_in(driver) {
        let primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver)?;
        for start in memory.starts() {
            for offset in [0, 99] {
                assert_eq!(word(driver, CONTEXT, start + offset), primary.context.addr() as u64);
                assert_eq!(int(driver, DEVICE_ORDINAL, start + offset), 0);
                assert_eq!(int(driver, MAPPED, start + offset), 1);
                assert_eq!(word(driver, HANDLE_TYPES, start + offset), 0);
                assert_eq!(int(driver, ACCESS, start + offset), 3);
                assert_eq!(word(driver, POOL, start + offset), 0);
            }
        }
        memory.free(driver)?;
    }

    fn memory_has_the_type_of_where_it_is(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver)?;
        for (start, kind) in [
            (memory.device, 2), (memory.odd, 2), (memory.managed, 2),
            (memory.pinned, 1), (memory.combined, 1), (memory.registered, 1),
        ] {
            assert_eq!(int(driver, MEMORY_TYPE, start), kind);
            assert_eq!(int(driver, MEMORY_TYPE, start + 99), kind);
            assert_eq!(int(driver, IS_MANAGED, start), i32::from(start == memory.managed));
        }
        memory.free(driver)?;
    }

    fn a_range_is_told_from_any_of_its_bytes(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver)?;
        for start in memory.starts() {
            let size = memory.size(start);
            for offset in [0, 64, size - 1] {
                assert_eq!(word(driver, RANGE_START, start + offset), start);
                assert_eq!(word(driver, RANGE_SIZE, start + offset), size);
                assert_eq!(word(driver, DEVICE_POINTER, start + offset), start + offset);
            }
        }
        memory.free(driver)?;
    }

    fn device_memory_has_no_host_pointer_and_host_memory_no_tokens(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver)?;
        for start in [memory.pinned, memory.combined, memory.registered, memory.managed] {
            assert_eq!(word(driver, HOST_POINTER, start + 50), start + 50);
        }
        for start in [memory.device, memory.odd] {
            refuses_zeroed(driver, HOST_POINTER, start);
            refuses_zeroed(driver, HOST_POINTER, start + 50);
        }
        for start in [memory.device, memory.odd, memory.managed] {
            let tokens = [0, UNWRITTEN & !0xffff_ffff | 0xfe00];
            assert_eq!(ask(driver, P2P_TOKENS, start), (CUresult::CUDA_SUCCESS, tokens));
        }
        for start in [memory.pinned, memory.combined, memory.registered] {
            let zeroed = [0, UNWRITTEN & !0xffff_ffff];
            assert_eq!(ask(driver, P2P_TOKENS, start), (CUresult::CUDA_ERROR_INVALID_VALUE, zeroed));
        }
        memory.free(driver)?;
    }

    fn only_plain_device_memory_can_be_shared_the_old_ways(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver)?;
        for start in memory.starts() {
            let is_plain = i32::from(start == memory.device || start == memory.odd);
            for attribute in [LEGACY_IPC, RDMA, DECOMPRESS] {
                assert_eq!(int(driver, attribute, start), is_plain, "attribute {attribute}");
            }
        }
        memory.free(driver)?;
    }

    fn small_allocations_share_a_mapping_and_its_id(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver)?;
        for start in [memory.device, memory.pinned, memory.managed] {
            assert_eq!(word(driver, MAPPING_SIZE, start), 2 * MIB);
        }
        for start in [memory.device, memory.odd] {
            assert_eq!(word(driver, MAPPING_BASE, start), memory.device);
        }
        assert_eq!(word(driver, BLOCK_ID, memory.device), word(driver, BLOCK_ID, memory.odd));
        assert_eq!(word(driver, MAPPING_SIZE, memory.registered), 8192);
        assert_eq!(word(driver, MAPPING_BASE, memory.registered + 5), memory.registered);
        let mut ids: Vec<u64> = [memory.device, memory.pinned, memory.managed, memory.registered]
            .map(|start| word(driver, BLOCK_ID, start))
            .to_vec();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 4, "blocks of different memory have different ids");
        let mut large = 0;
        call!(driver.cuMemAlloc_v2(&mut large, 5 * MIB as usize))?;
        assert_eq!(word(driver, MAPPING_SIZE, large + 3 * MIB), 6 * MIB);
        assert_eq!(word(driver, MAPPING_BASE, large + 3 * MIB), large);
        call!(driver.cuMemFree_v2(large))?;
        memory.free(driver)?;
    }

    fn every_allocation_has_an_id_that_never_comes_back(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut seen = Vec::new();
        for _ in 0..3 {
            let mut address = 0;
            call!(driver.cuMemAlloc_v2(&mut address, 16))?;
            seen.push(word(driver, BUFFER_ID, address));
            assert_eq!(word(driver, BUFFER_ID, address + 15), seen[seen.len() - 1]);
            call!(driver.cuMemFree_v2(address))?;
        }
        assert!(seen[0] < seen[1] && seen[1] < seen[2], "{seen:?}");
    }

    fn an_unallocated_pointer_has_no_attributes(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut freed = 0;
        call!(driver.cuMemAlloc_v2(&mut freed, 64 << 20))?;
        call!(driver.cuMemFree_v2(freed))?;
        let mut unlocked = null_mut();
        call!(driver.cuMemHostAlloc(&mut unlocked, 4 << 20, 0))?;
        call!(driver.cuMemFreeHost(unlocked))?;
        let pageable = [0u8; 64];
        for address in [0, 1, GARBAGE, 1 << 63, freed, unlocked.addr() as u64, pageable.as_ptr().addr() as u64] {
            for attribute in 0..26 {
                refuses_untouched(driver, attribute, address);
            }
        }
    }

    fn an_attribute_that_does_not_exist_is_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver)?;
        for start in memory.starts() {
            for attribute in [0, 22, 23, 99, u32::MAX] {
                refuses_untouched(driver, attribute, start);
            }
        }
        answers!(
            driver.cuPointerGetAttribute(null_mut(), CUpointer_attribute(MEMORY_TYPE), memory.device),
            CUDA_ERROR_INVALID_VALUE
        );
        memory.free(driver)?;
    }

    fn attributes_can_be_asked_without_a_current_context(driver) {
        let primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver)?;
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        assert_eq!(int(driver, MEMORY_TYPE, memory.device), 2);
        assert_eq!(int(driver, ACCESS, memory.device), 3);
        primary.make_current()?;
        memory.free(driver)?;
    }

    fn a_list_of_attributes_says_what_each_would(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver)?;
        let list: Vec<u32> = (1..=21).filter(|attribute| *attribute != P2P_TOKENS).collect();
        for start in memory.starts() {
            let (code, values) = ask_all(driver, &list, start + 20);
            assert_eq!(code, CUresult::CUDA_SUCCESS);
            for (attribute, value) in list.iter().zip(values) {
                // Zero where the question for the one attribute is refused.
                assert_eq!(value, ask(driver, *attribute, start + 20).1, "attribute {attribute} of {start:#x}");
            }
        }
        memory.free(driver)?;
    }

    fn a_list_takes_an_unknown_pointer_for_the_hosts(driver) {
        let _primary = Primary::of(driver, 0)?;
        let list: Vec<u32> = (1..=21).filter(|attribute| *attribute != P2P_TOKENS).collect();
        let pageable = [0u8; 64];
        for address in [0, 1, GARBAGE, 1 << 63, pageable.as_ptr().addr() as u64] {
            let (code, values) = ask_all(driver, &list, address);
            assert_eq!(code, CUresult::CUDA_SUCCESS);
            for (attribute, value) in list.iter().zip(values) {
                let low = UNWRITTEN & !0xffff_ffff;
                let expected = match *attribute {
                    HOST_POINTER => address,
                    DEVICE_ORDINAL => low | 0xffff_fffe,
                    RANGE_START | RANGE_SIZE => UNWRITTEN,
                    MEMORY_TYPE | SYNC_MEMOPS | IS_MANAGED | LEGACY_IPC | MAPPED | RDMA | ACCESS | DECOMPRESS => low,
                    _ => 0,
                };
                assert_eq!(value, [expected, UNWRITTEN], "attribute {attribute} of {address:#x}");
            }
        }
    }

    fn a_list_ends_at_the_first_attribute_that_does_not_exist(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver)?;
        let (code, values) = ask_all(driver, &[MEMORY_TYPE, 99], memory.device);
        assert_eq!(code, CUresult::CUDA_ERROR_INVALID_VALUE);
        assert_eq!(values[0][0], UNWRITTEN & !0xffff_ffff | 2);
        assert_eq!(values[1], [UNWRITTEN; 2]);
        assert_eq!(ask_all(driver, &[], memory.device).0, CUresult::CUDA_ERROR_INVALID_VALUE);
        answers!(
            driver.cuPointerGetAttributes(1, null_mut(), null_mut(), memory.device),
            CUDA_ERROR_INVALID_VALUE
        );
        memory.free(driver)?;
    }

    fn memory_can_be_made_to_synchronise_its_copies(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver)?;
        let attribute = CUpointer_attribute(SYNC_MEMOPS);
        // Asked before anything is set: on a real driver, memory that shares a block shares the answer.
        for start in memory.starts() {
            assert_eq!(int(driver, SYNC_MEMOPS, start), i32::from(start == memory.managed), "{start:#x} of {:x?}", memory.starts());
        }
        for start in memory.starts() {
            for value in [1u32, 2] {
                call!(driver.cuPointerSetAttribute((&raw const value).cast(), attribute, start))?;
                assert_eq!(int(driver, SYNC_MEMOPS, start + 99), 1);
            }
        }
        memory.free(driver)?;
    }

    /// Managed memory has the attribute without being asked; it goes away like that of other memory.
    fn memory_no_longer_synchronises_its_copies_once_that_is_taken_back(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver)?;
        let attribute = CUpointer_attribute(SYNC_MEMOPS);
        for start in memory.starts() {
            for value in [0u32, 1, 0] {
                call!(driver.cuPointerSetAttribute((&raw const value).cast(), attribute, start))?;
                assert_eq!(int(driver, SYNC_MEMOPS, start), value as i32, "{start:#x} of {:x?}", memory.starts());
            }
        }
        memory.free(driver)?;
    }

    fn no_other_attribute_can_be_set(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver)?;
        let one = 1u32;
        let value = (&raw const one).cast();
        for attribute in [0, MEMORY_TYPE, 99] {
            answers!(
                driver.cuPointerSetAttribute(value, CUpointer_attribute(attribute), memory.device),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        let attribute = CUpointer_attribute(SYNC_MEMOPS);
        answers!(driver.cuPointerSetAttribute(std::ptr::null(), attribute, memory.device), CUDA_ERROR_INVALID_VALUE);
        for address in [0, 1, GARBAGE, 1 << 63] {
            answers!(driver.cuPointerSetAttribute(value, attribute, address), CUDA_ERROR_INVALID_VALUE);
        }
        memory.free(driver)?;
    }
}

#[test]
fn memory_of_another_device_is_out_of_reach_until_peers_are_enabled() -> TestResult {
    let (_machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Deterministic(Order::Eager))?;
    let driver = &driver;
    let there = Primary::of(driver, 3)?;
    let mut address = 0;
    call!(driver.cuMemAlloc_v2(&mut address, 100))?;
    let here = Primary::of(driver, 0)?;
    assert_eq!(int(driver, ACCESS, address), 0);
    refuses_zeroed(driver, DEVICE_POINTER, address);
    assert_eq!(int(driver, DEVICE_ORDINAL, address), 3);
    assert_eq!(word(driver, CONTEXT, address), there.context.addr() as u64);
    drop(here);
    Ok(())
}

#[test]
fn an_older_driver_does_not_know_newer_attributes() -> TestResult {
    let mut topology = Topology::preset("h200")?;
    topology.driver_version = 12020;
    let (_machine, driver) = open(topology, Mode::Deterministic(Order::Eager))?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let mut address = 0;
    call!(driver.cuMemAlloc_v2(&mut address, 100))?;
    assert_eq!(word(driver, MAPPING_SIZE, address), 2 * MIB);
    refuses_untouched(driver, DECOMPRESS, address);
    Ok(())
}

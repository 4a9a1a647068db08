use std::ptr::{null, null_mut, without_provenance, without_provenance_mut};

use warploom_testkit::{Primary, Stream, answers, call, driver_tests};

use crate::support::{GARBAGE, Memory, counting};

driver_tests! {
    fn every_way_to_copy_moves_the_bytes(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let sent = counting(5000);
        let [first, second, third, fourth] = [(); 4].map(|()| Memory::new(driver, 5000));
        let [first, second, third, fourth] = [first?, second?, third?, fourth?];
        let mut received = vec![0; 5000];
        call!(driver.cuMemcpyHtoDAsync_v2(first.address, sent.as_ptr().cast(), 5000, stream.raw))?;
        call!(driver.cuMemcpyDtoDAsync_v2(second.address, first.address, 5000, stream.raw))?;
        call!(driver.cuMemcpyAsync(third.address, second.address, 5000, stream.raw))?;
        call!(driver.cuMemcpyPeerAsync(fourth.address, null_mut(), third.address, null_mut(), 5000, stream.raw))?;
        call!(driver.cuMemcpyDtoHAsync_v2(received.as_mut_ptr().cast(), fourth.address, 5000, stream.raw))?;
        stream.synchronize()?;
        assert_eq!(received, sent);

        let reversed: Vec<u8> = sent.iter().rev().copied().collect();
        call!(driver.cuMemcpyHtoD_v2(first.address, reversed.as_ptr().cast(), 5000))?;
        call!(driver.cuMemcpyDtoD_v2(second.address, first.address, 5000))?;
        call!(driver.cuMemcpy(third.address, second.address, 5000))?;
        call!(driver.cuMemcpyPeer(fourth.address, null_mut(), third.address, null_mut(), 5000))?;
        call!(driver.cuMemcpyDtoH_v2(received.as_mut_ptr().cast(), fourth.address, 5000))?;
        assert_eq!(received, reversed);
    }

    fn a_unified_copy_takes_any_pair(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let sent = counting(300);
        let mut received = vec![0; 300];
        let device = Memory::new(driver, 300)?;
        let (from, to) = (sent.as_ptr().addr() as u64, received.as_mut_ptr().expose_provenance() as u64);
        call!(driver.cuMemcpy(device.address, from, 300))?;
        call!(driver.cuMemcpy(to, device.address, 300))?;
        assert_eq!(received, sent);
        received.fill(0);
        call!(driver.cuMemcpy(to, from, 300))?;
        assert_eq!(received, sent, "host to host");
        received.fill(0);
        call!(driver.cuMemcpyAsync(to, from, 300, stream.raw))?;
        stream.synchronize()?;
        assert_eq!(received, sent, "host to host, asynchronously");
    }

    fn a_device_pointer_may_stand_for_a_host_pointer(driver) {
        let _primary = Primary::of(driver, 0)?;
        let from = Memory::of(driver, &counting(64))?;
        let to = Memory::of(driver, &[0; 64])?;
        call!(driver.cuMemcpyHtoD_v2(to.address, without_provenance(from.address as usize), 64))?;
        assert_eq!(to.read()?, counting(64));
        call!(driver.cuMemcpyDtoH_v2(without_provenance_mut(to.address as usize), from.address + 8, 56))?;
        assert_eq!(to.read()?[..56], counting(64)[8..]);
    }

    fn a_host_pointer_does_not_stand_for_a_device_pointer(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let device = Memory::new(driver, 64)?;
        let mut host = vec![0_u8; 64];
        let pointer = host.as_mut_ptr();
        let address = pointer.expose_provenance() as u64;
        answers!(driver.cuMemcpyHtoD_v2(address, pointer.cast(), 64), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemcpyDtoH_v2(pointer.cast(), address, 64), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemcpyDtoD_v2(device.address, address, 64), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemcpyDtoD_v2(address, device.address, 64), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemcpyHtoDAsync_v2(address, pointer.cast(), 64, stream.raw), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemcpyDtoHAsync_v2(pointer.cast(), address, 64, stream.raw), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemcpyDtoDAsync_v2(device.address, address, 64, stream.raw), CUDA_ERROR_INVALID_VALUE);
        let none = null_mut();
        answers!(driver.cuMemcpyPeer(device.address, none, address, none, 64), CUDA_ERROR_INVALID_VALUE);
        answers!(
            driver.cuMemcpyPeerAsync(address, none, device.address, none, 64, stream.raw),
            CUDA_ERROR_INVALID_VALUE
        );
    }

    fn null_is_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let device = Memory::new(driver, 64)?;
        let mut host = vec![0_u8; 64];
        let pointer = host.as_mut_ptr();
        let address = pointer.expose_provenance() as u64;
        answers!(driver.cuMemcpyHtoD_v2(device.address, null(), 16), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemcpyHtoD_v2(0, pointer.cast(), 16), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemcpyDtoH_v2(null_mut(), device.address, 16), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemcpyHtoDAsync_v2(device.address, null(), 16, stream.raw), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemcpyDtoHAsync_v2(null_mut(), device.address, 16, stream.raw), CUDA_ERROR_INVALID_VALUE);
        for other in [device.address, address] {
            answers!(driver.cuMemcpy(0, other, 16), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemcpy(other, 0, 16), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemcpyAsync(0, other, 16, stream.raw), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemcpyAsync(other, 0, 16, stream.raw), CUDA_ERROR_INVALID_VALUE);
        }
    }

    fn a_copy_past_the_end_is_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let small = Memory::of(driver, &[7; 4096])?;
        for over in [1, 2 << 20] {
            let bytes = 4096 + over;
            let big = Memory::new(driver, bytes)?;
            let mut host = vec![0_u8; bytes];
            let pointer = host.as_mut_ptr();
            answers!(driver.cuMemcpyHtoD_v2(small.address, pointer.cast(), bytes), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemcpyDtoH_v2(pointer.cast(), small.address, bytes), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemcpyDtoD_v2(small.address, big.address, bytes), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemcpyDtoD_v2(big.address, small.address, bytes), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemcpy(small.address, big.address, bytes), CUDA_ERROR_INVALID_VALUE);
            answers!(
                driver.cuMemcpyDtoDAsync_v2(small.address, big.address, bytes, stream.raw),
                CUDA_ERROR_INVALID_VALUE
            );
            answers!(
                driver.cuMemcpyHtoDAsync_v2(small.address + 1, pointer.cast(), 4096, stream.raw),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        assert_eq!(small.read()?, [7; 4096]);
    }

    fn freed_and_invented_device_pointers_are_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let device = Memory::new(driver, 64)?;
        let freed = Memory::new(driver, 64 << 20)?.address;
        let mut host = vec![0_u8; 64];
        let pointer = host.as_mut_ptr();
        for bad in [freed, GARBAGE, 1 << 50] {
            answers!(driver.cuMemcpyHtoD_v2(bad, pointer.cast(), 64), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemcpyDtoH_v2(pointer.cast(), bad, 64), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemcpyDtoD_v2(bad, device.address, 64), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemcpyDtoDAsync_v2(device.address, bad, 64, stream.raw), CUDA_ERROR_INVALID_VALUE);
        }
    }

    fn a_copy_of_nothing_looks_at_nothing(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let device = Memory::new(driver, 64)?.address;
        for bad in [0, GARBAGE] {
            call!(driver.cuMemcpyHtoD_v2(bad, null(), 0))?;
            call!(driver.cuMemcpyDtoH_v2(null_mut(), bad, 0))?;
            call!(driver.cuMemcpyDtoD_v2(bad, device, 0))?;
            call!(driver.cuMemcpy(bad, device, 0))?;
            call!(driver.cuMemcpyPeer(bad, null_mut(), device, null_mut(), 0))?;
            call!(driver.cuMemcpyHtoDAsync_v2(bad, null(), 0, stream.raw))?;
            call!(driver.cuMemcpyDtoHAsync_v2(null_mut(), bad, 0, stream.raw))?;
            call!(driver.cuMemcpyDtoDAsync_v2(bad, device, 0, stream.raw))?;
            call!(driver.cuMemcpyAsync(bad, device, 0, stream.raw))?;
        }
    }

    fn a_pageable_source_may_change_after_the_call(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        for bytes in [1 << 10, 1 << 16, (1 << 16) + 1, 1 << 20, 8 << 20] {
            let device = Memory::new(driver, bytes)?;
            let mut host = counting(bytes);
            call!(driver.cuMemcpyHtoDAsync_v2(device.address, host.as_ptr().cast(), bytes, stream.raw))?;
            host.fill(0);
            stream.synchronize()?;
            assert!(device.read()? == counting(bytes), "{bytes} bytes");
        }
    }

    fn overlapping_ranges_are_copied_as_if_through_a_buffer(driver) {
        let _primary = Primary::of(driver, 0)?;
        let device = Memory::of(driver, &counting(80))?;
        call!(driver.cuMemcpyDtoD_v2(device.address + 4, device.address, 64))?;
        let mut expected = counting(80);
        expected.copy_within(0..64, 4);
        assert_eq!(device.read()?, expected);
        call!(driver.cuMemcpyDtoD_v2(device.address, device.address, 64))?;
        assert_eq!(device.read()?, expected);
    }

    fn without_a_context_only_a_stream_will_do(driver) {
        let primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let [from, to] = [Memory::of(driver, &counting(64))?, Memory::of(driver, &[0; 64])?];
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        let mut host = vec![0_u8; 64];
        let pointer = host.as_mut_ptr();
        answers!(driver.cuMemcpy(to.address, from.address, 64), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuMemcpyHtoD_v2(to.address, pointer.cast(), 64), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuMemcpyDtoDAsync_v2(to.address, from.address, 64, null_mut()), CUDA_ERROR_INVALID_CONTEXT);
        call!(driver.cuMemcpyDtoDAsync_v2(to.address, from.address, 64, stream.raw))?;
        call!(driver.cuMemcpyDtoHAsync_v2(pointer.cast(), to.address, 64, stream.raw))?;
        stream.synchronize()?;
        assert_eq!(host, counting(64));
        primary.make_current()?;
    }
}

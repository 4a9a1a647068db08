//! Devices: their names, their places, and what they can do.

use std::ffi::{CString, c_char};
use std::ptr::{null, null_mut};

use warploom_driver::Driver;
use warploom_sim::Mode;
use warploom_sim::topology::{Topology, number};
use warploom_sys::types::{
    CUarray_format as Format, CUatomicOperation, CUdevice_attribute as Attribute, CUexecAffinityType, CUuuid,
};
use warploom_testkit::{TestResult, answers, call, driver_tests, open};

/// A buffer that shows what was written.
const BLANK: [c_char; 64] = [0x55; 64];

fn as_text(buffer: &[c_char]) -> String {
    let bytes = buffer.iter().map(|byte| byte.cast_unsigned()).take_while(|byte| *byte != 0);
    String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
}

fn attribute(driver: &Driver, number: i32, device: i32) -> TestResult<i32> {
    let mut value = 0;
    call!(driver.cuDeviceGetAttribute(&mut value, Attribute(number.cast_unsigned()), device))?;
    Ok(value)
}

driver_tests! {
    fn ordinals_are_devices(driver) {
        let mut count = 0;
        call!(driver.cuDeviceGetCount(&mut count))?;
        let mut device = 77;
        call!(driver.cuDeviceGet(&mut device, 0))?;
        assert_eq!(device, 0);
        for bad in [-1, count, 99] {
            device = 77;
            answers!(driver.cuDeviceGet(&mut device, bad), CUDA_ERROR_INVALID_DEVICE);
            assert_eq!(device, 77);
        }
        answers!(driver.cuDeviceGet(null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuDeviceGetCount(null_mut()), CUDA_ERROR_INVALID_VALUE);
    }

    fn a_name_is_cut_to_its_room_and_padded_with_zeros(driver) {
        let mut whole = BLANK;
        call!(driver.cuDeviceGetName(whole.as_mut_ptr(), 64, 0))?;
        let name = as_text(&whole);
        assert!(name.contains("H200"), "{name}");
        assert!(whole[name.len()..].iter().all(|byte| *byte == 0));
        for room in [1, 2, 5] {
            let mut buffer = BLANK;
            call!(driver.cuDeviceGetName(buffer.as_mut_ptr(), room, 0))?;
            let room = usize::try_from(room)?;
            assert_eq!(as_text(&buffer[..room]), name[..room - 1]);
            assert_eq!(buffer[room..], BLANK[room..]);
        }
        answers!(driver.cuDeviceGetName(null_mut(), 10, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuDeviceGetName(whole.as_mut_ptr(), 64, 99), CUDA_ERROR_INVALID_DEVICE);
    }

    fn a_bus_address_leads_back_to_its_device(driver) {
        let mut buffer = BLANK;
        call!(driver.cuDeviceGetPCIBusId(buffer.as_mut_ptr(), 13, 0))?;
        assert_eq!(buffer[13..], BLANK[13..]);
        let id = as_text(&buffer);
        let (domain, rest) = id.split_once(':').ok_or("an address has a domain")?;
        let (bus, function) = rest.split_once('.').ok_or("an address has a function")?;
        assert_eq!(function, "0");
        let forms = [
            id.clone(),
            id.to_lowercase(),
            rest.to_owned(),
            format!("{domain}:{bus}"),
            format!("0000{id}"),
            format!(" {id}"),
            format!("{id}x"),
        ];
        for form in forms {
            let mut device = 77;
            call!(driver.cuDeviceGetByPCIBusId(&mut device, CString::new(form)?.as_ptr()))?;
            assert_eq!(device, 0);
        }
        let mut device = 77;
        for form in ["", "hello", bus, "1b"] {
            let form = CString::new(form)?;
            answers!(driver.cuDeviceGetByPCIBusId(&mut device, form.as_ptr()), CUDA_ERROR_INVALID_VALUE);
        }
        for form in ["0000:FE:1F.0".to_owned(), format!("{domain}:{bus}.1")] {
            let form = CString::new(form)?;
            answers!(driver.cuDeviceGetByPCIBusId(&mut device, form.as_ptr()), CUDA_ERROR_INVALID_DEVICE);
        }
        answers!(driver.cuDeviceGetByPCIBusId(&mut device, null()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuDeviceGetByPCIBusId(null_mut(), c"0000:00:00.0".as_ptr()), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(device, 77);
    }

    fn a_bus_address_that_does_not_fit_is_written_as_far_as_it_goes(driver) {
        let mut whole = BLANK;
        call!(driver.cuDeviceGetPCIBusId(whole.as_mut_ptr(), 64, 0))?;
        let id = as_text(&whole);
        for room in [0, 1, 5, 8, 12] {
            let mut buffer = BLANK;
            answers!(driver.cuDeviceGetPCIBusId(buffer.as_mut_ptr(), room, 0), CUDA_ERROR_INVALID_VALUE);
            let room = usize::try_from(room)?;
            assert_eq!(buffer[room..], BLANK[room..]);
            if room > 0 {
                assert_eq!(as_text(&buffer), id[..room - 1]);
            }
        }
        answers!(driver.cuDeviceGetPCIBusId(null_mut(), 13, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuDeviceGetPCIBusId(whole.as_mut_ptr(), 64, 7), CUDA_ERROR_INVALID_DEVICE);
    }

    fn both_forms_of_the_uuid_agree(driver) {
        let mut uuids = [CUuuid { bytes: [0; 16] }; 2];
        call!(driver.cuDeviceGetUuid(&mut uuids[0], 0))?;
        call!(driver.cuDeviceGetUuid_v2(&mut uuids[1], 0))?;
        assert_eq!(uuids[0].bytes, uuids[1].bytes);
        assert_ne!(uuids[0].bytes, [0; 16]);
        answers!(driver.cuDeviceGetUuid_v2(null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuDeviceGetUuid(&mut uuids[0], 3), CUDA_ERROR_INVALID_DEVICE);
    }

    fn only_windows_has_luids(driver) {
        let (mut luid, mut mask) = ([0; 8], 0);
        answers!(driver.cuDeviceGetLuid(luid.as_mut_ptr(), &mut mask, 0), CUDA_ERROR_NOT_SUPPORTED);
        answers!(driver.cuDeviceGetLuid(null_mut(), null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
    }

    fn total_memory_is_zero_for_a_device_that_is_not_there(driver) {
        let mut bytes = 77;
        call!(driver.cuDeviceTotalMem_v2(&mut bytes, 0))?;
        assert!(bytes > 1 << 30);
        answers!(driver.cuDeviceTotalMem_v2(&mut bytes, 5), CUDA_ERROR_INVALID_DEVICE);
        assert_eq!(bytes, 0);
        answers!(driver.cuDeviceTotalMem_v2(null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
    }

    fn attributes_say_what_an_h200_can_do(driver) {
        for (number, value) in [
            (number::WARP_SIZE, 32),
            (number::MULTIPROCESSOR_COUNT, 132),
            (number::COMPUTE_CAPABILITY_MAJOR, 9),
            (number::L2_CACHE_SIZE, 62_914_560),
            (number::MAX_PERSISTING_L2_CACHE_SIZE, 39_321_600),
            (number::MAXIMUM_TEXTURE1D_LINEAR_WIDTH, 268_435_456),
            (number::NUMA_ID, -1),
        ] {
            assert_eq!(attribute(driver, number, 0)?, value, "attribute {number}");
        }
        let mut value = 77;
        for bad in [0, 148, 160, 1000, i32::MAX, -1] {
            let bad = Attribute(bad.cast_unsigned());
            answers!(driver.cuDeviceGetAttribute(&mut value, bad, 0), CUDA_ERROR_INVALID_VALUE);
        }
        for device in [-1, 99] {
            answers!(driver.cuDeviceGetAttribute(&mut value, Attribute(9999), device), CUDA_ERROR_INVALID_DEVICE);
        }
        assert_eq!(value, 77);
        answers!(driver.cuDeviceGetAttribute(null_mut(), Attribute(1), 0), CUDA_ERROR_INVALID_VALUE);
    }

    fn properties_and_compute_capability_repeat_attributes(driver) {
        let (mut major, mut minor) = (0, 0);
        call!(driver.cuDeviceComputeCapability(&mut major, &mut minor, 0))?;
        assert_eq!(major, attribute(driver, number::COMPUTE_CAPABILITY_MAJOR, 0)?);
        assert_eq!(minor, attribute(driver, number::COMPUTE_CAPABILITY_MINOR, 0)?);
        let mut properties = warploom_sys::types::CUdevprop {
            maxThreadsPerBlock: 0,
            maxThreadsDim: [0; 3],
            maxGridSize: [0; 3],
            sharedMemPerBlock: 0,
            totalConstantMemory: 0,
            SIMDWidth: 0,
            memPitch: 0,
            regsPerBlock: 0,
            clockRate: 0,
            textureAlign: 0,
        };
        call!(driver.cuDeviceGetProperties(&mut properties, 0))?;
        assert_eq!(properties.maxThreadsDim, [1024, 1024, 64]);
        assert_eq!(properties.maxGridSize, [i32::MAX, 65535, 65535]);
        assert_eq!(properties.clockRate, attribute(driver, number::CLOCK_RATE, 0)?);
        assert_eq!(properties.textureAlign, attribute(driver, number::TEXTURE_ALIGNMENT, 0)?);
        answers!(driver.cuDeviceGetProperties(null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuDeviceComputeCapability(null_mut(), null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
    }

    fn no_context_can_be_bound_to_a_part_of_the_device(driver) {
        for kind in [0, 1, u32::MAX] {
            let mut supported = 77;
            call!(driver.cuDeviceGetExecAffinitySupport(&mut supported, CUexecAffinityType(kind), 0))?;
            assert_eq!(supported, 0);
        }
        answers!(
            driver.cuDeviceGetExecAffinitySupport(null_mut(), CUexecAffinityType(0), 0),
            CUDA_ERROR_INVALID_VALUE
        );
    }

    fn linear_textures_are_limited_by_bytes_and_by_elements(driver) {
        for (format, channels, expected) in [
            (Format::CU_AD_FORMAT_UNSIGNED_INT8, 1, 1 << 30),
            (Format::CU_AD_FORMAT_SIGNED_INT8, 4, 1 << 30),
            (Format::CU_AD_FORMAT_HALF, 2, 1 << 30),
            (Format::CU_AD_FORMAT_SIGNED_INT16, 4, 1 << 29),
            (Format::CU_AD_FORMAT_FLOAT, 1, 1 << 30),
            (Format::CU_AD_FORMAT_FLOAT, 2, 1 << 29),
            (Format::CU_AD_FORMAT_UNSIGNED_INT32, 4, 1 << 28),
        ] {
            let mut width = 0;
            call!(driver.cuDeviceGetTexture1DLinearMaxWidth(&mut width, format, channels, 0))?;
            assert_eq!(width, expected, "{format:?} {channels}");
        }
        let mut width = 77;
        for (format, channels) in [(0, 1), (1, 0), (1, 3), (0x55, 1)] {
            answers!(
                driver.cuDeviceGetTexture1DLinearMaxWidth(&mut width, Format(format), channels, 0),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        assert_eq!(width, 77);
    }

    fn a_device_is_no_peer_of_itself(driver) {
        let mut value = 77;
        call!(driver.cuDeviceCanAccessPeer(&mut value, 0, 0))?;
        assert_eq!(value, 0);
        answers!(driver.cuDeviceCanAccessPeer(null_mut(), 0, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuDeviceCanAccessPeer(&mut value, 0, 99), CUDA_ERROR_INVALID_DEVICE);
        for number in 0..8 {
            let attribute = warploom_sys::types::CUdevice_P2PAttribute(number);
            answers!(driver.cuDeviceGetP2PAttribute(&mut value, attribute, 0, 0), CUDA_ERROR_INVALID_DEVICE);
            answers!(driver.cuDeviceGetP2PAttribute(null_mut(), attribute, 0, 0), CUDA_ERROR_INVALID_VALUE);
        }
        assert_eq!(value, 0);
    }
}

#[test]
fn a_coherent_host_takes_every_atomic_and_a_bus_none() -> TestResult {
    let operations: Vec<CUatomicOperation> = (0..13).map(CUatomicOperation).collect();
    for (preset, expected) in [("h200", false), ("grace-hopper", true)] {
        let (_machine, driver) = open(Topology::preset(preset)?, Mode::Sync)?;
        let mut found = [77; 13];
        call!(driver.cuDeviceGetHostAtomicCapabilities(found.as_mut_ptr(), operations.as_ptr(), 13, 0))?;
        assert!(found.iter().all(|forms| (*forms != 0) == expected), "{preset}: {found:?}");
    }
    Ok(())
}

#[test]
fn a_question_about_atomics_must_be_sound() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Sync)?;
    let (mut found, known, unknown) = ([77; 2], CUatomicOperation(0), [CUatomicOperation(0), CUatomicOperation(13)]);
    let (out, one, two) = (found.as_mut_ptr(), &raw const known, unknown.as_ptr());
    answers!(driver.cuDeviceGetHostAtomicCapabilities(null_mut(), one, 1, 0), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuDeviceGetHostAtomicCapabilities(out, null(), 1, 0), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuDeviceGetHostAtomicCapabilities(out, one, 0, 0), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuDeviceGetHostAtomicCapabilities(out, two, 2, 0), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuDeviceGetHostAtomicCapabilities(out, one, 1, 1), CUDA_ERROR_INVALID_DEVICE);
    assert_eq!(found, [77; 2]);
    Ok(())
}

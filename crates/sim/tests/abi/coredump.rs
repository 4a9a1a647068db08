//! Settings of core dumps: types, sizes, defaults, and the settings that a context inherits.

use std::ffi::c_void;
use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUcoredumpSettings as Attribute, CUctx_flags};
use warploom_testkit::{TestResult, answers, call, driver_tests};

use crate::support::Rig;

const BOOLEANS: [Attribute; 3] = [
    Attribute::CU_COREDUMP_ENABLE_ON_EXCEPTION,
    Attribute::CU_COREDUMP_TRIGGER_HOST,
    Attribute::CU_COREDUMP_LIGHTWEIGHT,
];
const LIGHTWEIGHT: u32 = 0x2f;
const SKIP_ABORT: u32 = 0x10;

/// The booleans and the flags of the current context, or of the process.
fn settings(driver: &Driver, is_global: bool) -> TestResult<([u8; 3], u32)> {
    let (mut booleans, mut flags) = ([9; 3], 99);
    let get = |attribute, value: *mut c_void, mut size: usize| match is_global {
        true => call!(driver.cuCoredumpGetAttributeGlobal(attribute, value, &mut size)),
        false => call!(driver.cuCoredumpGetAttribute(attribute, value, &mut size)),
    };
    for (attribute, value) in BOOLEANS.into_iter().zip(&mut booleans) {
        get(attribute, (&raw mut *value).cast(), 1)?;
    }
    get(Attribute::CU_COREDUMP_GENERATION_FLAGS, (&raw mut flags).cast(), 4)?;
    Ok((booleans, flags))
}

fn set(driver: &Driver, attribute: Attribute, bytes: &mut [u8]) -> TestResult {
    let mut size = bytes.len();
    call!(driver.cuCoredumpSetAttribute(attribute, bytes.as_mut_ptr().cast(), &mut size))?;
    Ok(())
}

fn file(driver: &Driver) -> TestResult<String> {
    let (mut name, mut size) = ([7u8; 1024], 1024);
    call!(driver.cuCoredumpGetAttribute(Attribute::CU_COREDUMP_FILE, name.as_mut_ptr().cast(), &mut size))?;
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    Ok(String::from_utf8(name[..end].to_vec())?)
}

driver_tests! {
    fn a_null_value_asks_for_the_size(driver) {
        let rig = Rig::new(driver)?;
        for (number, expected) in [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1024), (6, 1024), (7, 4)] {
            let mut sizes = [0; 2];
            call!(driver.cuCoredumpGetAttributeGlobal(Attribute(number), null_mut(), &mut sizes[0]))?;
            call!(driver.cuCoredumpSetAttributeGlobal(Attribute(number), null_mut(), &mut sizes[1]))?;
            assert_eq!(sizes, [expected; 2], "attribute {number}");
        }
        let mut size = 0;
        for number in [0, 8, 99] {
            answers!(
                driver.cuCoredumpGetAttributeGlobal(Attribute(number), null_mut(), &mut size),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        for attribute in [Attribute::CU_COREDUMP_ENABLE_USER_TRIGGER, Attribute::CU_COREDUMP_PIPE] {
            answers!(driver.cuCoredumpGetAttribute(attribute, null_mut(), &mut size), CUDA_ERROR_INVALID_VALUE);
        }
        rig.close()?;
    }

    fn a_context_starts_without_dumps_and_aborts_on_faults(driver) {
        let rig = Rig::new(driver)?;
        assert_eq!((settings(driver, false)?, file(driver)?), (([0, 1, 0], 0), String::new()));
        rig.close()?;
    }

    fn booleans_and_flags_are_two_views_of_the_same_bits(driver) {
        let rig = Rig::new(driver)?;
        set(driver, Attribute::CU_COREDUMP_LIGHTWEIGHT, &mut [1])?;
        assert_eq!(settings(driver, false)?, ([0, 1, 1], LIGHTWEIGHT));
        set(driver, Attribute::CU_COREDUMP_TRIGGER_HOST, &mut [0])?;
        assert_eq!(settings(driver, false)?, ([0, 0, 1], LIGHTWEIGHT | SKIP_ABORT));
        set(driver, Attribute::CU_COREDUMP_LIGHTWEIGHT, &mut [0])?;
        assert_eq!(settings(driver, false)?, ([0, 0, 0], SKIP_ABORT));
        set(driver, Attribute::CU_COREDUMP_GENERATION_FLAGS, &mut [0x0f, 0, 0, 0])?;
        assert_eq!(settings(driver, false)?, ([0, 1, 0], 0x0f), "not all of the lightweight flags");
        set(driver, Attribute::CU_COREDUMP_ENABLE_ON_EXCEPTION, &mut [2])?;
        assert_eq!(settings(driver, false)?, ([2, 1, 0], 0x0f), "the byte is kept");
        assert_eq!(settings(driver, true)?, ([0, 1, 0], 0), "the process has settings of its own");
        rig.close()?;
    }

    fn a_size_that_is_not_the_attributes_is_refused(driver) {
        let rig = Rig::new(driver)?;
        let mut bytes = [0u8; 2048];
        let value: *mut c_void = bytes.as_mut_ptr().cast();
        for (attribute, wrong) in [(BOOLEANS[0], 0), (BOOLEANS[1], 4), (Attribute::CU_COREDUMP_GENERATION_FLAGS, 8)] {
            let mut size = wrong;
            answers!(driver.cuCoredumpGetAttribute(attribute, value, &mut size), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuCoredumpSetAttribute(attribute, value, &mut size), CUDA_ERROR_INVALID_VALUE);
        }
        let mut size = 1025;
        answers!(
            driver.cuCoredumpSetAttribute(Attribute::CU_COREDUMP_FILE, value, &mut size),
            CUDA_ERROR_INVALID_VALUE
        );
        answers!(driver.cuCoredumpGetAttribute(BOOLEANS[0], value, null_mut()), CUDA_ERROR_INVALID_VALUE);
        rig.close()?;
    }

    fn a_name_ends_at_its_terminator_or_with_its_size(driver) {
        let rig = Rig::new(driver)?;
        for (given, expected) in [(&b"/tmp/dump\0rest"[..], "/tmp/dump"), (b"/tmp/x", "/tmp/x"), (b"", "")] {
            set(driver, Attribute::CU_COREDUMP_FILE, &mut given.to_vec())?;
            assert_eq!(file(driver)?, expected);
        }
        set(driver, Attribute::CU_COREDUMP_FILE, &mut [b'x'; 1024])?;
        assert_eq!(file(driver)?.len(), 1023);
        rig.close()?;
    }

    fn a_context_copies_the_settings_of_the_process(driver) {
        let (mut one, mut size) = ([1u8], 1);
        let value: *mut c_void = one.as_mut_ptr().cast();
        call!(driver.cuCoredumpSetAttributeGlobal(Attribute::CU_COREDUMP_LIGHTWEIGHT, value, &mut size))?;
        let rig = Rig::new(driver)?;
        one[0] = 0;
        let value: *mut c_void = one.as_mut_ptr().cast();
        call!(driver.cuCoredumpSetAttributeGlobal(Attribute::CU_COREDUMP_LIGHTWEIGHT, value, &mut size))?;
        assert_eq!((settings(driver, false)?.1, settings(driver, true)?.1), (LIGHTWEIGHT, 0));
        rig.close()?;
        let mut context = null_mut();
        call!(driver.cuCtxCreate_v2(&mut context, CUctx_flags::CU_CTX_COREDUMP_ENABLE.0, 0))?;
        assert_eq!(settings(driver, false)?, ([1, 1, 0], 0));
        call!(driver.cuCtxDestroy_v2(context))?;
        answers!(
            driver.cuCoredumpGetAttribute(Attribute::CU_COREDUMP_LIGHTWEIGHT, null_mut(), &mut size),
            CUDA_ERROR_INVALID_CONTEXT
        );
    }

    // On a GPU the trigger would stay for the other tests of the process.
    sim fn the_pipe_has_a_name_before_it_is_used(driver) {
        let (mut one, mut size, mut name) = ([1u8], 1, *b"/tmp/pipe\0");
        let (trigger, pipe) = (Attribute::CU_COREDUMP_ENABLE_USER_TRIGGER, Attribute::CU_COREDUMP_PIPE);
        call!(driver.cuCoredumpSetAttributeGlobal(trigger, one.as_mut_ptr().cast(), &mut size))?;
        assert_eq!(settings(driver, true)?.0, [1, 1, 0], "dumps of faults, too");
        size = name.len();
        answers!(
            driver.cuCoredumpSetAttributeGlobal(pipe, name.as_mut_ptr().cast(), &mut size),
            CUDA_ERROR_NOT_SUPPORTED
        );
        let rig = Rig::new(driver)?;
        let mut given = [0u8; 1024];
        size = given.len();
        call!(driver.cuCoredumpGetAttributeGlobal(pipe, given.as_mut_ptr().cast(), &mut size))?;
        assert!(given.starts_with(b"corepipe_"), "a process with contexts listens");
        rig.close()?;
    }
}

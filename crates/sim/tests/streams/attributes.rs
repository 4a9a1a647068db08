//! Attributes of streams.

use std::ptr::{null, null_mut};

use warploom_testkit::driver::{Driver, Error};
use warploom_testkit::sys::types::{CUlaunchAttributeID, CUlaunchAttributeValue, CUstream};
use warploom_testkit::{Primary, TestResult, answers, call, code_of, driver_tests, open};

use crate::latch::{SUCCESS, per_thread, stream};

const WINDOW: u32 = 1;
const SYNCHRONIZATION: u32 = 3;
const PRIORITY: u32 = 8;
const DOMAINS: u32 = 9;
const DOMAIN: u32 = 10;
const UNTOUCHED: u8 = 0xab;

fn get(driver: &Driver, on: CUstream, attribute: u32) -> Result<[u8; 64], Error> {
    let mut value = CUlaunchAttributeValue { pad: [UNTOUCHED.cast_signed(); 64] };
    call!(driver.cuStreamGetAttribute(on, CUlaunchAttributeID(attribute), &mut value))?;
    let mut bytes = [0; 64];
    let (pointer, length): (*const u8, _) = (std::ptr::from_ref(&value).cast(), bytes.len());
    // SAFETY: the union is 64 bytes, all of which were written above.
    #[expect(unsafe_code, reason = "looks at the bytes of a union")]
    bytes.copy_from_slice(unsafe { std::slice::from_raw_parts(pointer, length) });
    Ok(bytes)
}

fn set(driver: &Driver, on: CUstream, attribute: u32, bytes: &[u8]) -> Result<(), Error> {
    let mut pad = [0; 64];
    for (to, from) in pad.iter_mut().zip(bytes) {
        *to = from.cast_signed();
    }
    let value = CUlaunchAttributeValue { pad };
    call!(driver.cuStreamSetAttribute(on, CUlaunchAttributeID(attribute), &value))
}

fn window(bytes: u64, ratio: f32, hit: u32, miss: u32) -> Vec<u8> {
    let words = [0x7f00_0000_0000_u64.to_le_bytes(), bytes.to_le_bytes()].concat();
    [words, [ratio.to_le_bytes(), hit.to_le_bytes(), miss.to_le_bytes(), [0; 4]].concat()].concat()
}

/// A value that has `bytes` and leaves the rest of the caller's memory alone.
#[track_caller]
fn assert_is(found: [u8; 64], bytes: &[u8]) {
    assert_eq!(&found[..bytes.len()], bytes);
    assert!(found[bytes.len()..].iter().all(|byte| *byte == UNTOUCHED), "{found:x?}");
}

driver_tests! {
    fn every_stream_begins_with_the_same_attributes(driver) {
        let _primary = Primary::of(driver, 0)?;
        let made = stream(driver, 0)?;
        for on in [made, null_mut(), per_thread()] {
            assert_is(get(driver, on, WINDOW)?, &[0; 32]);
            assert_is(get(driver, on, SYNCHRONIZATION)?, &[0xff; 4]);
            assert_is(get(driver, on, PRIORITY)?, &[0; 4]);
            assert_is(get(driver, on, DOMAINS)?, &[0, 1]);
            assert_is(get(driver, on, DOMAIN)?, &[0; 4]);
        }
        call!(driver.cuStreamDestroy_v2(made))?;
    }

    fn unknown_attributes_of_streams_are_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let made = stream(driver, 0)?;
        for attribute in [u32::MAX, 0, 2, 4, 5, 6, 7, 11, 12, 13, 14, 15, 16, 17, 18, 19] {
            let got = get(driver, made, attribute).map(drop);
            assert!(code_of(got).to_string().contains("INVALID_VALUE"), "get {attribute}");
            let was_set = set(driver, made, attribute, &[1]);
            assert!(code_of(was_set).to_string().contains("INVALID_VALUE"), "set {attribute}");
        }
        call!(driver.cuStreamDestroy_v2(made))?;
    }

    fn a_value_out_of_range_is_refused_and_changes_nothing(driver) {
        let _primary = Primary::of(driver, 0)?;
        let made = stream(driver, 0)?;
        let cases: [(u32, Vec<u8>, Vec<Vec<u8>>); 4] = [
            (SYNCHRONIZATION, vec![4, 0, 0, 0], vec![vec![0; 4], vec![5, 0, 0, 0], vec![0xff; 4]]),
            (DOMAINS, vec![3, 0], vec![vec![4, 0], vec![0, 4], vec![0xff, 0xff]]),
            (DOMAIN, vec![1, 0, 0, 0], vec![vec![2, 0, 0, 0], vec![0xff; 4]]),
            (
                WINDOW,
                window(65536, 0.5, 9, 1),
                vec![
                    window(65536, 2.0, 2, 1),
                    window(65536, -1.0, 2, 1),
                    window(65536, 0.5, 2, 2),
                    window(1 << 40, 0.5, 2, 1),
                ],
            ),
        ];
        for (attribute, good, bad) in cases {
            assert_eq!(code_of(set(driver, made, attribute, &good)), SUCCESS, "{attribute}: {good:x?}");
            for value in bad {
                let refused = code_of(set(driver, made, attribute, &value));
                assert!(refused.to_string().contains("INVALID_VALUE"), "{attribute}: {value:x?}: {refused}");
                assert_is(get(driver, made, attribute)?, &good);
            }
        }
        call!(driver.cuStreamDestroy_v2(made))?;
    }

    fn a_priority_that_is_set_is_the_nearest_there_is(driver) {
        let _primary = Primary::of(driver, 0)?;
        let made = stream(driver, 0)?;
        for (asked, given) in [(-3_i32, -3_i32), (-100, -5), (5, 0), (-1, -1)] {
            set(driver, made, PRIORITY, &asked.to_le_bytes())?;
            assert_is(get(driver, made, PRIORITY)?, &given.to_le_bytes());
        }
        call!(driver.cuStreamDestroy_v2(made))?;
    }

    fn attributes_are_copied_between_streams(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (from, to) = (stream(driver, 0)?, stream(driver, 0)?);
        let policy = window(4096, 0.5, 1, 0);
        set(driver, from, WINDOW, &policy)?;
        set(driver, from, SYNCHRONIZATION, &[2, 0, 0, 0])?;
        call!(driver.cuStreamCopyAttributes(to, from))?;
        assert_is(get(driver, to, WINDOW)?, &policy);
        assert_is(get(driver, to, SYNCHRONIZATION)?, &[2, 0, 0, 0]);
        call!(driver.cuStreamCopyAttributes(from, from))?;
        call!(driver.cuStreamCopyAttributes(null_mut(), null_mut()))?;
        call!(driver.cuStreamCopyAttributes(from, null_mut()))?;
        call!(driver.cuStreamDestroy_v2(from))?;
        call!(driver.cuStreamDestroy_v2(to))?;
    }
}

/// The real driver crashes, or has one device.
#[test]
fn values_that_are_not_there_and_streams_of_different_contexts_are_refused() -> TestResult {
    use warploom_testkit::sim::Mode;
    use warploom_testkit::sim::topology::Topology;
    let (_machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
    let driver = &driver;
    let first = Primary::of(driver, 0)?;
    let here = stream(driver, 0)?;
    let attribute = CUlaunchAttributeID(SYNCHRONIZATION);
    answers!(driver.cuStreamGetAttribute(here, attribute, null_mut()), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuStreamSetAttribute(here, attribute, null()), CUDA_ERROR_INVALID_VALUE);
    let second = Primary::of(driver, 1)?;
    let there = stream(driver, 0)?;
    answers!(driver.cuStreamCopyAttributes(there, here), CUDA_ERROR_INVALID_VALUE);
    let mut device = 0;
    call!(driver.cuStreamGetDevice(there, &mut device))?;
    assert_eq!(device, 1);
    drop(second);
    drop(first);
    Ok(())
}

//! Error log of the driver: lines for failed calls, callbacks, and dumps.
#![expect(unsafe_code, reason = "a callback gets its text and its data as C pointers")]

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;
use std::slice;
use std::sync::Mutex;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::CUlogLevel;
use warploom_testkit::{TestResult, answers, call, driver_tests};

use crate::support::Rig;

/// Keeps the messages in the list behind `data`.
unsafe extern "C" fn keep(data: *mut c_void, level: CUlogLevel, message: *mut c_char, length: usize) {
    assert_eq!(level, CUlogLevel::CU_LOG_LEVEL_ERROR);
    // SAFETY: the test passes its own list, which lives until the callback is unregistered.
    let messages = unsafe { &*data.cast::<Mutex<Vec<String>>>() };
    // SAFETY: the driver passes a text of that length.
    let text = unsafe { slice::from_raw_parts(message.cast::<u8>(), length) };
    messages.lock().expect("no panic").push(String::from_utf8_lossy(text).into_owned());
}

/// Makes a call that fails.
fn fail(driver: &Driver) -> TestResult {
    let mut address = 0;
    answers!(driver.cuMemAlloc_v2(&mut address, 0), CUDA_ERROR_INVALID_VALUE);
    Ok(())
}

/// The log from a line on, and the next line.
fn dump(driver: &Driver, mut from: u32) -> TestResult<(String, u32)> {
    let (mut text, mut size) = (vec![0u8; 25600], 25600);
    call!(driver.cuLogsDumpToMemory(&mut from, text.as_mut_ptr().cast(), &mut size, 0))?;
    text.truncate(size);
    Ok((String::from_utf8(text)?, from))
}

driver_tests! {
    fn a_callback_is_called_with_the_reason_and_the_status(driver) {
        let rig = Rig::new(driver)?;
        let (messages, mut callback) = (Mutex::new(Vec::<String>::new()), null_mut());
        let data = (&raw const messages).cast_mut().cast();
        call!(driver.cuLogsRegisterCallback(Some(keep), data, &mut callback))?;
        fail(driver)?;
        call!(driver.cuLogsUnregisterCallback(callback))?;
        fail(driver)?;
        let messages = messages.into_inner()?;
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert!(messages[1].contains("CUDA_ERROR_INVALID_VALUE") && messages[1].contains("cuMemAlloc_v2"));
        answers!(driver.cuLogsRegisterCallback(None, null_mut(), &mut callback), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuLogsUnregisterCallback(null_mut()), CUDA_ERROR_INVALID_VALUE);
        rig.close()?;
    }

    fn an_iterator_names_the_lines_that_follow(driver) {
        let rig = Rig::new(driver)?;
        let (mut start, mut end) = (0, 0);
        call!(driver.cuLogsCurrent(&mut start, 0))?;
        fail(driver)?;
        call!(driver.cuLogsCurrent(&mut end, 0))?;
        assert_eq!(end, start + 2);
        let (text, next) = dump(driver, start)?;
        assert_eq!((text.lines().count(), next), (2, end));
        assert!(text.lines().all(|line| line.contains("[CUDA][E] ")), "{text}");
        assert_eq!(dump(driver, end)?, (String::new(), end), "nothing new");
        let (mut beyond, mut size, mut buffer) = (end + 5, 64, [0u8; 64]);
        let buffer = buffer.as_mut_ptr().cast();
        answers!(driver.cuLogsDumpToMemory(&mut beyond, buffer, &mut size, 0), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(size, 0);
        let (mut from, mut size) = (start, 10);
        answers!(driver.cuLogsDumpToMemory(&mut from, buffer, &mut size, 0), CUDA_ERROR_INVALID_VALUE);
        assert_eq!((from, size), (start, 0), "no message fits");
        answers!(driver.cuLogsDumpToMemory(&mut from, null_mut(), &mut size, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuLogsCurrent(null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
        rig.close()?;
    }

    fn the_newest_hundred_lines_are_kept(driver) {
        let rig = Rig::new(driver)?;
        let mut start = 0;
        call!(driver.cuLogsCurrent(&mut start, 0))?;
        for _ in 0..60 {
            fail(driver)?;
        }
        let (text, next) = dump(driver, start)?;
        assert_eq!((text.lines().count(), next), (101, start + 120), "and a line that says that some are missing");
        rig.close()?;
    }

    sim fn a_small_buffer_gets_the_newest_lines_that_fit(driver) {
        let rig = Rig::new(driver)?;
        let (mut from, mut text, mut size) = (0, [0u8; 200], 200);
        for _ in 0..5 {
            fail(driver)?;
        }
        call!(driver.cuLogsDumpToMemory(&mut from, text.as_mut_ptr().cast(), &mut size, 0))?;
        let text = std::str::from_utf8(&text[..size])?;
        assert!(text.starts_with("messages are missing") && text.contains("cuMemAlloc_v2 returns"), "{text}");
        assert!(size < 200 && text.ends_with('\n'), "{text}");
        rig.close()?;
    }

    sim fn a_dump_goes_to_a_file(driver) {
        let rig = Rig::new(driver)?;
        fail(driver)?;
        let path = std::env::temp_dir().join(format!("warploom-error-log-{}", std::process::id()));
        let name = std::ffi::CString::new(path.to_str().expect("a plain path"))?;
        call!(driver.cuLogsDumpToFile(null_mut(), name.as_ptr(), 0))?;
        let text = std::fs::read_to_string(&path)?;
        std::fs::remove_file(&path)?;
        assert_eq!(text.lines().count(), 2, "{text}");
        answers!(driver.cuLogsDumpToFile(null_mut(), c"/no/such/folder/x".as_ptr(), 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuLogsDumpToFile(null_mut(), std::ptr::null(), 0), CUDA_ERROR_INVALID_VALUE);
        rig.close()?;
    }

    sim fn an_unknown_callback_is_refused(driver) {
        answers!(driver.cuLogsUnregisterCallback(std::ptr::without_provenance_mut(77)), CUDA_ERROR_INVALID_VALUE);
    }
}

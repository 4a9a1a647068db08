//! Error log of the driver, read and forwarded: cuLogsRegisterCallback, cuLogsCurrent and cuLogsDumpToMemory.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_char, c_uint, c_void};

use warploom_sys::types::{CUlogsCallback, CUlogsCallbackEntry_st, CUlogsCallbackHandle};

use crate::ffi::status::{INVALID_VALUE, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::machine::error_log::{KEPT, Lines};

pub(crate) fn cuLogsRegisterCallback(
    call: &Call<'_>,
    callback: CUlogsCallback,
    data: Ptr<c_void>,
    out: Ptr<CUlogsCallbackHandle>,
) -> Status {
    if callback.is_none() {
        return Err(call.refuse(INVALID_VALUE, "the callback is null"));
    }
    out.optional()?;
    let id = call.core().log.errors.register(callback, data.raw());
    out.write_if_wanted(std::ptr::without_provenance_mut(id))
}

pub(crate) fn cuLogsUnregisterCallback(call: &Call<'_>, callback: Ptr<CUlogsCallbackEntry_st>) -> Status {
    match call.core().log.errors.unregister(callback.address() as usize) {
        true => Ok(()),
        false => Err(call.refuse(INVALID_VALUE, "no such callback is registered; the real driver may crash here")),
    }
}

/// The driver does not look at the flags.
pub(crate) fn cuLogsCurrent(call: &Call<'_>, out: Ptr<c_uint>, _flags: c_uint) -> Status {
    out.write(call.core().log.errors.next())
}

/// The lines that an iterator names, or all.
fn lines(call: &Call<'_>, iterator: Ptr<c_uint>) -> Status<Lines> {
    let start = if iterator.is_null() { None } else { Some(iterator.read()?) };
    let found = call.core().log.errors.since(start);
    found.ok_or_else(|| call.refuse(INVALID_VALUE, "the iterator is beyond the end of the log"))
}

fn rolled_over() -> String {
    format!("older messages are missing: the log keeps {KEPT}\n")
}

pub(crate) fn cuLogsDumpToFile(
    call: &Call<'_>,
    iterator: Ptr<c_uint>,
    path: ConstPtr<c_char>,
    _flags: c_uint,
) -> Status {
    let path = path.text()?;
    let found = lines(call, iterator)?;
    let head = if found.is_cut { rolled_over() } else { String::new() };
    std::fs::write(path, head + &found.lines.concat())
        .map_err(|error| call.refuse(INVALID_VALUE, format!("the log cannot be written to {path}: {error}")))?;
    iterator.write_if_wanted(found.next)
}

/// Writes the newest lines that fit, and a first line that says so if some do not.
pub(crate) fn cuLogsDumpToMemory(
    call: &Call<'_>,
    iterator: Ptr<c_uint>,
    buffer: Ptr<c_char>,
    size: Ptr<usize>,
    _flags: c_uint,
) -> Status {
    if buffer.is_null() {
        return Err(call.refuse(INVALID_VALUE, "the buffer is null"));
    }
    let capacity = size.read()?;
    let found = lines(call, iterator).inspect_err(|_| size.write(0).unwrap_or_default())?;
    if found.lines.is_empty() {
        return size.write(0);
    }
    let Some(text) = fitting(&found, capacity) else {
        size.write(0)?;
        let reason = format!("a buffer of {capacity} bytes holds no message of the log");
        return Err(call.refuse(INVALID_VALUE, reason));
    };
    buffer.write_text(&text, capacity)?;
    size.write(text.len())?;
    iterator.write_if_wanted(found.next)
}

/// The lines that fit with a terminator; `None` if not even the newest does.
fn fitting(found: &Lines, capacity: usize) -> Option<String> {
    let head = if found.is_cut { rolled_over() } else { String::new() };
    let all = head + &found.lines.concat();
    if all.len() < capacity {
        return Some(all);
    }
    let mut text = "messages are missing: the buffer is too small for all\n".to_owned();
    let mut room = capacity.checked_sub(text.len() + 1)?;
    let fits = |line: &&String| match room.checked_sub(line.len()) {
        Some(left) => {
            room = left;
            true
        }
        None => false,
    };
    let count = found.lines.iter().rev().take_while(fits).count();
    text.extend(found.lines.iter().skip(found.lines.len() - count).map(String::as_str));
    (count > 0).then_some(text)
}

//! Ranges of managed memory, as arguments of calls.

use std::ops::Range;

use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::memory::{Allocation, Registry, SimAddress};

/// The managed allocation that holds the start of a non-empty range.
pub(super) fn allocation<'w>(
    call: &Call<'_>,
    memory: &'w Registry,
    address: u64,
    bytes: usize,
) -> Status<&'w Allocation> {
    let refuse = |reason: String| call.refuse(INVALID_VALUE, reason);
    if bytes == 0 {
        return Err(refuse("a range has at least one byte".to_owned()));
    }
    match memory.containing(address) {
        Some(found) if found.is_managed() => Ok(found),
        Some(_) => Err(refuse(format!("the memory at {address:#x} is not managed"))),
        None => Err(refuse(format!("{address:#x} is in no managed allocation"))),
    }
}

/// A range within one managed allocation.
pub(super) fn managed(call: &Call<'_>, memory: &Registry, address: u64, bytes: usize) -> Status<Range<u64>> {
    let there = allocation(call, memory, address, bytes)?.end() - address;
    let bytes = bytes as u64;
    if bytes > there {
        let reason = format!("{bytes} bytes at {address:#x}; the allocation has {there} left there");
        return Err(call.refuse(INVALID_VALUE, reason));
    }
    Ok(address..address + bytes)
}

/// A range found by [`managed`], for an op.
pub(super) fn place(memory: &Registry, range: &Range<u64>) -> Status<SimAddress> {
    memory.place(range.start, range.end - range.start)
}

//! Host memory that the program can read or write, as the operating system's kernel reports it.
//!
//! The real driver follows a wild host pointer and takes the process down. The simulator asks the kernel
//! first, which also refuses the address space that machines reserve.
#![expect(unsafe_code, reason = "asks the kernel about stretches of address space")]

use std::ffi::c_void;
use std::sync::LazyLock;

use rustix::mm::{Advice, MsyncFlags, madvise, msync};

/// An access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    Read,
    Write,
}

static PAGE: LazyLock<u64> = LazyLock::new(|| rustix::param::page_size() as u64);

fn pointer(address: u64) -> *mut c_void {
    std::ptr::without_provenance_mut(address as usize)
}

/// `true` if a page can be read or written by the process.
fn is_open(page: u64, intent: Intent) -> bool {
    let advice = match intent {
        Intent::Read => Advice::LinuxPopulateRead,
        Intent::Write => Advice::LinuxPopulateWrite,
    };
    // SAFETY: brings a page in as reading or writing it would, and changes no byte of it. It fails where
    // these would.
    unsafe { madvise(pointer(page), *PAGE as usize, advice) }.is_ok()
}

/// `true` if the kernel can tell, which kernels before 5.14 cannot.
pub(crate) static KNOWS: LazyLock<bool> = LazyLock::new(|| {
    let own = 0_u8;
    is_open((&raw const own).addr() as u64 & !(*PAGE - 1), Intent::Read)
});

/// `true` if the program could read or write a range itself: its first and last page, and no page between
/// them is unmapped. The range is not empty.
pub(crate) fn is_own(address: u64, len: u64, intent: Intent) -> bool {
    let Some(last) = address.checked_add(len - 1).map(|last| last & !(*PAGE - 1)) else { return false };
    let first = address & !(*PAGE - 1);
    if !*KNOWS {
        return is_mapped(first, last - first + *PAGE);
    }
    is_open(first, intent)
        && (last == first || is_open(last, intent))
        && (last - first <= *PAGE || is_mapped(first, last - first))
}

/// `true` if all pages of a range are mapped in this process.
pub(crate) fn is_mapped(address: u64, len: u64) -> bool {
    let page = *PAGE;
    let start = address / page * page;
    let Some(end) = address.checked_add(len).and_then(|end| end.checked_next_multiple_of(page)) else { return false };
    // SAFETY: asks the kernel to start writing changed pages of files back, which it does anyway; for memory
    // that is not a file, and for holes, it only says whether there is something.
    unsafe { msync(pointer(start), (end - start) as usize, MsyncFlags::ASYNC) }.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_memory_is_told_from_wild_addresses() {
        let mut bytes = vec![0_u8; 100_000];
        let address = bytes.as_mut_ptr().addr() as u64;
        for intent in [Intent::Read, Intent::Write] {
            assert!(is_own(address, 1, intent));
            assert!(is_own(address + 1, 99_999, intent));
            assert!(!is_own(0xdead_0000, 64, intent));
            assert!(!is_own(address, 1 << 46, intent));
            assert!(!is_own(u64::MAX - 3, 64, intent));
        }
    }

    #[test]
    fn constants_are_read_and_not_written() {
        static CONSTANT: [u8; 8] = *b"constant";
        let address = CONSTANT.as_ptr().addr() as u64;
        assert!(is_own(address, 8, Intent::Read));
        assert!(!is_own(address, 8, Intent::Write) || !*KNOWS);
    }
}

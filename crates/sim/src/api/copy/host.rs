//! Whether an address is memory of the program's own.
//!
//! The real driver follows a wild host pointer and takes the process down. The kernel knows better, and can be asked; it
//! also knows the address space that machines hold and nobody may touch, freed or not, of this machine or another.
#![expect(unsafe_code, reason = "asks the kernel about stretches of address space")]

use std::ffi::c_void;
use std::sync::LazyLock;

use rustix::mm::{Advice, madvise};

use super::access::Intent;
use crate::memory::is_mapped;

static PAGE: LazyLock<u64> = LazyLock::new(|| rustix::param::page_size() as u64);

fn pointer(address: u64) -> *mut c_void {
    std::ptr::without_provenance_mut(address as usize)
}

/// Whether a page can be read or written by the process.
fn is_open(page: u64, intent: Intent) -> bool {
    let advice = match intent {
        Intent::Read => Advice::LinuxPopulateRead,
        Intent::Write => Advice::LinuxPopulateWrite,
    };
    // SAFETY: brings a page in as reading or writing it would, and changes no byte of it. It fails where these would.
    unsafe { madvise(pointer(page), *PAGE as usize, advice) }.is_ok()
}

/// Whether the kernel can tell, which old ones cannot.
static KNOWS: LazyLock<bool> = LazyLock::new(|| {
    let own = 0_u8;
    is_open((&raw const own).addr() as u64 & !(*PAGE - 1), Intent::Read)
});

/// Whether the program could read or write a stretch itself: its first and last page can be, and there is no hole between.
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

    #[test]
    fn reserved_address_space_is_nobodys() {
        let window = crate::memory::Window::new(4 << 20).expect("there is address space");
        assert!(!is_own(window.base() + 4096, 64, Intent::Read) || !*KNOWS);
        assert_eq!(*KNOWS, is_open(window.host_of(window.base()) as u64, Intent::Write));
    }
}

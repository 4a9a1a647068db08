//! Windows of the generic address space, through which shared, local and parameter memory is seen.
//!
//! | first address | memory |
//! |---|---|
//! | `0` | global memory: wherever the machine has put it |
//! | `1_0000_0000_0000` | shared memory of the block |
//! | `1_0001_0000_0000` | local memory of the thread |
//! | `1_0002_0000_0000` | arguments of the kernel |
//! | `1_0003_0000_0000` | functions, 16 bytes apart |
//!
//! The machine's own addresses have 48 bits at most, so no window hides any of them.

/// One of the windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Window {
    Global,
    /// Part of global memory: where constants were placed.
    Constant,
    Shared,
    Local,
    Parameter,
}

const SIZE: u32 = 32;

/// Bits that addresses of the device have at most: a generic address with others leads into a window.
pub(crate) const DEVICE_BITS: u32 = 48;

/// The first function's address.
pub(crate) const FUNCTIONS: u64 = 0x1_0003_0000_0000;

impl Window {
    /// The first address.
    pub(crate) const fn start(self) -> u64 {
        match self {
            Window::Global | Window::Constant => 0,
            Window::Shared => 0x1_0000_0000_0000,
            Window::Local => 0x1_0001_0000_0000,
            Window::Parameter => 0x1_0002_0000_0000,
        }
    }

    /// The window that an address lies in, and the address inside of it.
    #[inline(always)]
    pub(crate) fn of(address: u64) -> (Window, u64) {
        let inside = address & ((1 << SIZE) - 1);
        match address >> SIZE {
            0x1_0000 => (Window::Shared, inside),
            0x1_0001 => (Window::Local, inside),
            0x1_0002 => (Window::Parameter, inside),
            _ => (Window::Global, address),
        }
    }
}

/// The address of a function by its number.
pub(crate) fn function_address(index: u32) -> u64 {
    FUNCTIONS + u64::from(index) * 16
}

/// The number of the function at an address.
pub(crate) fn function_at(address: u64) -> Option<u32> {
    let offset = address.checked_sub(FUNCTIONS)?;
    (offset % 16 == 0).then(|| u32::try_from(offset / 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_window_holds_its_own_addresses_and_no_others() {
        for window in [Window::Shared, Window::Local, Window::Parameter] {
            assert_eq!(Window::of(window.start()), (window, 0));
            assert_eq!(Window::of(window.start() + 0xffff_ffff), (window, 0xffff_ffff));
        }
        assert_eq!(Window::of(0x7fff_ffff_ffff), (Window::Global, 0x7fff_ffff_ffff));
        assert_eq!(function_at(function_address(7)), Some(7));
        assert_eq!((function_at(FUNCTIONS + 8), function_at(0)), (None, None));
    }
}

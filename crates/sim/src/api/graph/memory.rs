//! Memory that graphs allocate for themselves.
//!
//! Adding a node that allocates takes addresses, which are the same for every launch; there is memory behind them from a
//! launch on. Until then only the nodes of graphs know them: to every other call they are no memory at all.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::collections::BTreeMap;
use std::ffi::c_void;

use warploom_sys::types::{CUdevice, CUgraphMem_attribute};

use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_DEVICE, INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::memory::{Side, SimAddress, Window};

/// The addresses that graphs have of each device.
pub(crate) struct GraphMemory {
    devices: Vec<Addresses>,
}

#[derive(Default)]
struct Addresses {
    /// Taken when the first node allocates.
    window: Option<Window>,
    /// What is in use, by its first byte.
    taken: BTreeMap<u64, Taken>,
}

struct Taken {
    bytes: u64,
    /// A node gives it back.
    is_freed: bool,
}

/// What allocations begin at a multiple of.
const GRAIN: u64 = 512;

impl GraphMemory {
    pub(super) fn new(devices: usize) -> Self {
        Self { devices: (0..devices).map(|_| Addresses::default()).collect() }
    }

    /// Takes addresses for an allocation, at most as many as a device has bytes.
    pub(crate) fn take(&mut self, device: u16, bytes: u64, most: u64) -> Option<u64> {
        let addresses = self.devices.get_mut(usize::from(device))?;
        let len = bytes.checked_next_multiple_of(GRAIN)?;
        if addresses.window.is_none() {
            addresses.window = Some(Window::new(most).ok()?);
        }
        let window = addresses.window.as_ref()?;
        let mut start = window.base();
        for (base, taken) in &addresses.taken {
            if base - start >= len {
                break;
            }
            start = base + taken.bytes.next_multiple_of(GRAIN);
        }
        if start.checked_add(len)? > window.base() + window.len() {
            return None;
        }
        addresses.taken.insert(start, Taken { bytes, is_freed: false });
        Some(start)
    }

    fn taken(&mut self, address: u64) -> Option<&mut Taken> {
        self.devices.iter_mut().find_map(|device| device.taken.get_mut(&address))
    }

    /// A node gives an allocation back, which it may once; whether it does.
    pub(crate) fn free(&mut self, address: u64) -> bool {
        self.taken(address).is_some_and(|taken| !std::mem::replace(&mut taken.is_freed, true))
    }

    /// The addresses are nobody's any more.
    pub(super) fn forget(&mut self, address: u64) {
        for device in &mut self.devices {
            device.taken.remove(&address);
        }
    }

    /// A stretch that begins in an allocation, for a node to touch.
    pub(crate) fn place(&self, address: u64) -> Option<SimAddress> {
        self.devices.iter().enumerate().find_map(|(device, addresses)| {
            let (base, taken) = addresses.taken.range(..=address).next_back()?;
            let window = addresses.window.as_ref().filter(|_| address - base < taken.bytes)?;
            window.sim_address(address, Side::Device(device as u16))
        })
    }
}

fn check_device(call: &Call<'_>, device: CUdevice) -> Status {
    match usize::try_from(device) {
        Ok(device) if device < call.core().topology.devices.len() => Ok(()),
        _ => Err(call.refuse(INVALID_DEVICE, format!("there is no device {device}"))),
    }
}

/// `CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH`, the last.
const LAST: u32 = 3;

/// Nothing is there that could be given back: launches of graphs that allocate are not simulated.
pub(crate) fn cuDeviceGraphMemTrim(call: &Call<'_>, device: CUdevice) -> Status {
    check_device(call, device)
}

/// All are 0 while no graph that allocates is launched, which is not simulated.
pub(crate) fn cuDeviceGetGraphMemAttribute(
    call: &Call<'_>,
    device: CUdevice,
    attribute: CUgraphMem_attribute,
    value: Ptr<c_void>,
) -> Status {
    check_device(call, device)?;
    if attribute.0 > LAST {
        return Err(call.refuse(INVALID_VALUE, format!("there is no attribute {}", attribute.0)));
    }
    value.typed::<u64>().write(0)
}

/// The marks of what was most can be set to 0, and nothing else can be set.
pub(crate) fn cuDeviceSetGraphMemAttribute(
    call: &Call<'_>,
    device: CUdevice,
    attribute: CUgraphMem_attribute,
    value: Ptr<c_void>,
) -> Status {
    check_device(call, device)?;
    let is_mark = matches!(
        attribute,
        CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH
            | CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH
    );
    match value.typed::<u64>().read()? {
        0 if is_mark => Ok(()),
        value => Err(call.refuse(INVALID_VALUE, format!("attribute {} cannot be set to {value}", attribute.0))),
    }
}

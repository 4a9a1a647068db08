//! A mapped address range, rolled back as far as it has come when it is dropped.
#![expect(unsafe_code, reason = "reserves addresses, makes memory and maps it")]

use warploom_driver::sys::types::{CUdeviceptr, CUmemAccessDesc, CUmemAllocationProp, CUmemGenericAllocationHandle};

use crate::diagnostics::{Subject, report};
use crate::{Device, Result};

/// Reservations that lie side by side, and the memory that is mapped there.
pub(super) struct Range {
    device: Device,
    /// Never empty but at the end.
    reservations: Vec<Reservation>,
    pieces: Vec<Piece>,
}

struct Reservation {
    address: CUdeviceptr,
    bytes: usize,
    /// The mapped bytes, from its start on.
    mapped: usize,
}

/// Memory without an address.
struct Piece {
    handle: CUmemGenericAllocationHandle,
    bytes: usize,
}

impl Range {
    /// Addresses without memory, at `hint` if that is free.
    pub(super) fn reserve(device: &Device, bytes: usize, alignment: usize, hint: CUdeviceptr) -> Result<Range> {
        let mut address = 0;
        // SAFETY: `address` is writable.
        unsafe { device.driver().cuMemAddressReserve(&raw mut address, bytes, alignment, hint, 0) }?;
        let reservations = vec![Reservation { address, bytes, mapped: 0 }];
        Ok(Range { device: device.clone(), reservations, pieces: Vec::new() })
    }

    pub(super) fn address(&self) -> CUdeviceptr {
        self.reservations.first().map_or(0, |first| first.address)
    }

    pub(super) fn bytes(&self) -> usize {
        self.reservations.iter().map(|reservation| reservation.bytes).sum()
    }

    pub(super) fn end(&self) -> CUdeviceptr {
        self.address() + self.bytes() as CUdeviceptr
    }

    /// Puts the pieces of another range at its start, which then are mapped in both.
    pub(super) fn map_again(&mut self, other: &Range) -> Result<()> {
        other.pieces.iter().try_for_each(|piece| self.map(piece.handle, piece.bytes))
    }

    /// Puts new memory behind all addresses that have none yet.
    pub(super) fn fill(&mut self, properties: &CUmemAllocationProp) -> Result<()> {
        let bytes = self.bytes() - self.reservations.iter().map(|reservation| reservation.mapped).sum::<usize>();
        let mut handle = 0;
        // SAFETY: `handle` is writable, `properties` readable.
        unsafe { self.device.driver().cuMemCreate(&raw mut handle, bytes, properties, 0) }?;
        self.pieces.push(Piece { handle, bytes });
        self.map(handle, bytes)
    }

    /// The pieces of memory that are mapped, and their bytes.
    #[cfg(target_os = "linux")]
    pub(super) fn pieces(&self) -> impl ExactSizeIterator<Item = (CUmemGenericAllocationHandle, usize)> {
        self.pieces.iter().map(|piece| (piece.handle, piece.bytes))
    }

    /// Takes over memory that was made elsewhere, and puts it behind addresses that have none yet.
    ///
    /// # Safety
    ///
    /// The handle is a reference that nothing else gives back.
    #[cfg(target_os = "linux")]
    pub(super) unsafe fn take_over(&mut self, handle: CUmemGenericAllocationHandle, bytes: usize) -> Result<()> {
        self.pieces.push(Piece { handle, bytes });
        self.map(handle, bytes)
    }

    /// Maps all of a piece after the mapped part, in the newest reservation.
    fn map(&mut self, handle: CUmemGenericAllocationHandle, bytes: usize) -> Result<()> {
        let Some(newest) = self.reservations.last_mut() else { return Ok(()) };
        let address = newest.address + newest.mapped as CUdeviceptr;
        // SAFETY: the addresses are reserved, and nothing is mapped there; the handle's owner keeps it
        // meanwhile.
        unsafe { self.device.driver().cuMemMap(address, bytes, 0, handle, 0) }?;
        newest.mapped += bytes;
        Ok(())
    }

    /// Sets the access of devices to all of it.
    pub(super) fn open(&self, access: &[CUmemAccessDesc]) -> Result<()> {
        for Reservation { address, bytes, .. } in &self.reservations {
            // SAFETY: all of it is mapped, and the array is as long as is said.
            unsafe { self.device.driver().cuMemSetAccess(*address, *bytes, access.as_ptr(), access.len()) }?;
        }
        Ok(())
    }

    /// Takes over a range that starts where this one ends.
    pub(super) fn append(&mut self, mut other: Range) {
        self.reservations.append(&mut other.reservations);
        self.pieces.append(&mut other.pieces);
    }

    /// Takes over the memory of a range that was mapped again here, and leaves it the addresses.
    pub(super) fn adopt(&mut self, other: &mut Range) {
        let newer = std::mem::take(&mut self.pieces);
        self.pieces.append(&mut other.pieces);
        self.pieces.extend(newer);
    }

    /// Lets everything stay where it is for good.
    pub(super) fn leave(&mut self) {
        self.reservations.clear();
        self.pieces.clear();
    }

    /// Gives everything back that it has; the first error is returned, after everything else is given back.
    /// The memory must not be in use.
    pub(super) fn close(&mut self) -> Result<()> {
        let (driver, mut closed) = (self.device.driver(), Ok(()));
        for Reservation { address, bytes, mapped } in self.reservations.drain(..) {
            let unmapped = match mapped {
                0 => Ok(()),
                // SAFETY: that much is mapped at the address, and its end is at hand: nobody uses it.
                _ => unsafe { driver.cuMemUnmap(address, mapped) },
            };
            // Also if that failed, which may have been after its effect: addresses that are mapped are not
            // given back. SAFETY: it was reserved, and is given back once.
            closed = closed.and(unmapped).and(unsafe { driver.cuMemAddressFree(address, bytes) });
        }
        for Piece { handle, .. } in self.pieces.drain(..) {
            // SAFETY: gives back the one reference that was had; a mapping that could not be ended keeps the
            // memory.
            closed = closed.and(unsafe { driver.cuMemRelease(handle) });
        }
        Ok(closed?)
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        let (address, bytes, device) = (self.address(), self.bytes(), self.device.ordinal());
        let closed = self.close();
        report(|| Subject::Memory { address, bytes, device }, closed);
    }
}

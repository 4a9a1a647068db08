//! Memory shared with other processes: device memory that they can open, and theirs.

use crate::ffi::handle::ContextHandle;
use crate::machine::world::World;
use crate::memory::shadow::Journal;
use crate::memory::{
    Allocation, Backing, ImportError, Imported, ImportedMemory, ImportedPart, IpcHandle, SharedDevice, Side,
};

impl World {
    /// Memory of other processes.
    pub(crate) fn imported(&self) -> &ImportedMemory {
        &self.imported
    }

    /// Lets other processes open the device allocation that starts at an address. No op runs meanwhile.
    pub(crate) fn share_allocation(
        &mut self,
        base: u64,
        machine: u128,
        device: SharedDevice,
    ) -> std::io::Result<IpcHandle> {
        let allocation = self.memory.at(base).ok_or(std::io::ErrorKind::NotFound)?;
        // Generations tell allocations at one place apart; numbers of allocations are never used again.
        let part = (base, allocation.size, allocation.id as u32);
        let memory = &mut self.devices[usize::from(device.ordinal)].memory;
        let handle = memory.share(part, machine, device)?;
        let journal = memory.shared_object(base).and_then(Journal::of);
        self.track_shared(base, journal, handle.part.offset);
        // Other processes may write it, which the checks do not see.
        self.memory.mark_written(base);
        Ok(handle)
    }

    /// Opens an allocation of another process, or counts one more reference to it.
    pub(crate) fn open_imported(
        &mut self,
        context: ContextHandle,
        handle: &IpcHandle,
        machine: u128,
        check: impl Fn(SharedDevice) -> Result<(), ImportError>,
    ) -> Result<u64, ImportError> {
        let generation = handle.part.generation;
        // An allocation that is open can be opened again, even if its process has freed it or ended.
        if let Some(ImportedPart { base, size, .. }) = self.imported.find(handle)
            && let Some(Allocation { backing: Backing::Imported(imported), size: open, .. }) = self.memory.at_mut(base)
            && *open == size
            && imported.generation == generation
        {
            imported.references += 1;
            return Ok(base);
        }
        let ImportedPart { base, host, size, device } = self.imported.map(handle, machine, check)?;
        if let Some(open) = self.memory.overlapping(base, size) {
            let (open, len) = (open.base, open.size);
            if let Some(Allocation { backing: Backing::Imported(imported), .. }) = self.memory.at_mut(base)
                && (open, len) == (base, size)
            {
                // The exporter has freed what was there, and allocated the same bytes anew.
                imported.references += 1;
                imported.generation = generation;
                return Ok(base);
            }
            return Err(ImportError::Overlaps { base: open, len });
        }
        let id = self.memory.next_id();
        let allocation = Allocation {
            base,
            size,
            host,
            side: Side::Device(device),
            context: Some(context),
            id,
            backing: Backing::Imported(Imported { references: 1, generation }),
            sync_memops: None,
            tracked: None,
        };
        self.imported.opened(base);
        self.add_allocation(allocation, None);
        if let Some((object, offset)) = self.imported.shared_object(base) {
            self.track_shared(base, Journal::of(object), offset);
        }
        // Its process has written it, which the checks do not see.
        self.memory.mark_written(base);
        Ok(base)
    }

    /// Counts one reference to imported memory less. Returns `true` if that was the last one, `None` if there
    /// is no imported memory at the address.
    pub(crate) fn release_imported(&mut self, base: u64) -> Option<bool> {
        let Allocation { backing: Backing::Imported(imported), .. } = self.memory.at_mut(base)? else { return None };
        if imported.references > 1 {
            imported.references -= 1;
            return Some(false);
        }
        Some(true)
    }
}

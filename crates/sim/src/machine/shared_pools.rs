//! Pools of a machine that other processes share: imports of pools and of their memory.

use crate::ffi::handle::PoolHandle;
use crate::machine::pool::pointer_data::PointerData;
use crate::machine::pool::{Imported, Pool, Sharing};
use crate::machine::world::World;
use crate::memory::shadow::Journal;
use crate::memory::{Allocation, Backing, Home, PoolBlock, SharedObject};

impl World {
    /// Adds a pool of another process; `None` if all handles are used.
    pub(crate) fn import_pool(&mut self, object: SharedObject, home: Home) -> Option<PoolHandle> {
        let mut pool = Pool::new(home, 0, object.header().size);
        pool.sharing = Sharing::Imported(Imported::new(object));
        self.pools.insert(pool)
    }

    /// Counts one more import of the pool that a shared object has been imported as, if it is not destroyed.
    pub(crate) fn import_again(&mut self, id: u128) -> Option<PoolHandle> {
        let is_it = |pool: &Pool| match &pool.sharing {
            Sharing::Imported(imported) => !pool.destroyed && imported.object().header().id == id,
            Sharing::Private | Sharing::Exportable(_) => false,
        };
        let handle = self.pools.iter().find(|(_, pool)| is_it(pool)).map(|(handle, _)| handle)?;
        if let Some(Sharing::Imported(imported)) = self.pools.get_mut(handle).map(|pool| &mut pool.sharing) {
            imported.imports += 1;
        }
        Some(handle)
    }

    /// Takes one import of a pool back, if it is not the last.
    pub(crate) fn forget_import(&mut self, handle: PoolHandle) -> bool {
        match self.pools.get_mut(handle).map(|pool| &mut pool.sharing) {
            Some(Sharing::Imported(imported)) if imported.imports > 1 => {
                imported.imports -= 1;
                true
            }
            _ => false,
        }
    }

    /// The address of memory that has been imported into a pool, if it is not freed.
    pub(crate) fn imported_at(&self, handle: PoolHandle, offset: u64) -> Option<u64> {
        let address = self.pools.get(handle)?.addresses.as_ref()?.base() + offset;
        self.memory.at(address).map(|found| found.base)
    }

    /// Maps memory of an imported pool, which `data` names and which lies inside of it.
    pub(crate) fn import_allocation(&mut self, handle: PoolHandle, data: &PointerData) -> std::io::Result<u64> {
        let missing = std::io::ErrorKind::OutOfMemory;
        self.open_pool(handle).ok_or(missing)?;
        let pool = self.pools.get_mut(handle).ok_or(missing)?;
        let home = pool.home;
        let base = pool.map_import(data.offset..data.offset + data.size)?;
        let host = pool.addresses.as_ref().map_or(0, |addresses| addresses.host_of(base));
        let Sharing::Imported(imported) = &mut pool.sharing else { return Err(missing.into()) };
        imported.allocations += 1;
        let journal = Journal::of(imported.object());
        let allocation = Allocation {
            base,
            size: data.size,
            host,
            side: home.side(),
            context: None,
            id: self.memory.next_id(),
            backing: Backing::Pool(PoolBlock { pool: handle, home, offset: data.offset, is_imported: true }),
            sync_memops: None,
            tracked: None,
        };
        self.add_allocation(allocation, None);
        self.track_shared(base, journal, data.offset);
        // By others, as far as this process can know.
        self.memory.mark_written(base);
        Ok(base)
    }

    /// Counts the free of an imported allocation.
    pub(in crate::machine) fn leave_imported_pool(&mut self, handle: PoolHandle) {
        if let Some(Sharing::Imported(imported)) = self.pools.get_mut(handle).map(|pool| &mut pool.sharing) {
            imported.allocations -= 1;
        }
    }
}

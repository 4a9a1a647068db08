//! Allocations of a machine, by address.
#![expect(unsafe_code, reason = "vouches for the mapped bytes of allocations")]

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::backing::{Backing, Home};
use super::shadow::{AllocationInfo, FreedAllocations, Owner, Tracked};
use super::sim_address::{Side, SimAddress};
use crate::ffi::handle::ContextHandle;
use crate::ffi::status::{INVALID_VALUE, Status};

/// A stretch of memory the driver knows.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) base: u64,
    pub(crate) size: u64,
    /// The host address of the first byte.
    pub(crate) host: usize,
    pub(crate) side: Side,
    /// The context it was made in; pool memory and virtual mappings belong to none.
    pub(crate) context: Option<ContextHandle>,
    /// The number `CU_POINTER_ATTRIBUTE_BUFFER_ID` shows; never reused.
    pub(crate) id: u64,
    pub(crate) backing: Backing,
    /// `CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`, if the program has set it.
    pub(crate) sync_memops: Option<bool>,
    /// Its history, while the machine checks.
    pub(crate) tracked: Option<Box<Tracked>>,
}

impl Allocation {
    pub(crate) fn end(&self) -> u64 {
        self.base + self.size
    }

    /// Bytes that it holds itself: registered memory is the program's, mapped memory is counted with its
    /// physical allocation, and imported memory is another process's.
    fn own_bytes(&self) -> u64 {
        match self.backing {
            Backing::Device
            | Backing::PageLocked(_)
            | Backing::Managed(_)
            | Backing::Pool(_)
            | Backing::Graph(_)
            | Backing::Variable(_) => self.size,
            Backing::Registered { .. } | Backing::Mapped(_) | Backing::Imported(_) => 0,
        }
    }

    /// Bytes of managed memory that it holds.
    fn managed_bytes(&self) -> u64 {
        if self.is_managed() { self.own_bytes() } else { 0 }
    }

    /// `true` if the program may read and write the bytes itself, at the same address.
    pub(crate) fn is_host_accessible(&self) -> bool {
        self.host as u64 == self.base
    }

    /// `true` if it is at one address for host and devices, and moves between them.
    pub(crate) fn is_managed(&self) -> bool {
        match &self.backing {
            Backing::Managed(_) => true,
            Backing::Pool(block) => matches!(block.home, Home::Managed(_)),
            Backing::Variable(variable) => variable.managed.is_some(),
            _ => false,
        }
    }

    /// The allocation for a report, if it is tracked.
    pub(crate) fn info(&self) -> Option<AllocationInfo> {
        let tracked = self.tracked.as_ref()?;
        Some(AllocationInfo::new((self.base, self.size), self.id, self.side, &tracked.born))
    }

    /// The allocation for a report or, if the program hands out blocks of it, the block of an address.
    pub(crate) fn info_at(&self, address: u64) -> Option<AllocationInfo> {
        let blocks = self.tracked.as_ref()?.blocks.as_ref();
        match blocks.map(|blocks| blocks.owner(address - self.base).0) {
            Some(Owner::Lent(block)) => Some(block.info(self.base, self.side)),
            _ => self.info(),
        }
    }

    /// The part of it that starts at `address`; the caller has checked that it is inside.
    #[inline]
    pub(crate) fn place(&self, address: u64) -> SimAddress {
        // SAFETY: inside an allocation, whose bytes stay mapped as `SimAddress::new` asks.
        unsafe { SimAddress::new(address, self.host + (address - self.base) as usize, self.side) }
    }
}

/// An address this close to an allocation is taken for one that missed it.
const NEAR: u64 = 4096;

/// All allocations of a machine.
pub(crate) struct Registry {
    by_base: BTreeMap<u64, Allocation>,
    /// Bytes by where they are.
    held: SmallVec<[(Side, u64); 4]>,
    /// Bytes of managed memory, wherever they are.
    managed: u64,
    next_id: u64,
    /// Goes up with every allocation, free and change of access.
    version: u64,
    /// Allocations that were freed, while the machine checks.
    pub(crate) freed: FreedAllocations,
}

impl Registry {
    pub(crate) fn new() -> Self {
        Self {
            by_base: BTreeMap::new(),
            held: SmallVec::new(),
            managed: 0,
            next_id: 1,
            version: 1,
            freed: FreedAllocations::default(),
        }
    }

    /// A number for the next allocation.
    pub(crate) fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// A number that changes with every allocation, free and change of access to a pool.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Has running kernels look again at which memory they can reach.
    pub(crate) fn note_access_change(&mut self) {
        self.version += 1;
    }

    #[inline]
    pub(crate) fn insert(&mut self, allocation: Allocation) {
        self.version += 1;
        *self.held_at(&allocation) += allocation.own_bytes();
        self.managed += allocation.managed_bytes();
        let replaced = self.by_base.insert(allocation.base, allocation);
        debug_assert!(replaced.is_none(), "allocations do not overlap");
    }

    /// The count of bytes where an allocation is.
    #[inline]
    fn held_at(&mut self, allocation: &Allocation) -> &mut u64 {
        let at = self.held.iter().position(|(side, _)| *side == allocation.side).unwrap_or_else(|| {
            self.held.push((allocation.side, 0));
            self.held.len() - 1
        });
        &mut self.held[at].1
    }

    /// Bytes that allocations hold, by where they are.
    pub(crate) fn held(&self) -> impl Iterator<Item = (Side, u64)> {
        self.held.iter().copied()
    }

    /// Bytes of managed memory.
    pub(crate) fn managed(&self) -> u64 {
        self.managed
    }

    /// The allocation that starts exactly here.
    #[inline]
    pub(crate) fn at(&self, base: u64) -> Option<&Allocation> {
        self.by_base.get(&base)
    }

    pub(crate) fn at_mut(&mut self, base: u64) -> Option<&mut Allocation> {
        self.by_base.get_mut(&base)
    }

    pub(crate) fn remove(&mut self, base: u64) -> Option<Allocation> {
        let removed = self.by_base.remove(&base)?;
        self.version += 1;
        *self.held_at(&removed) -= removed.own_bytes();
        self.managed -= removed.managed_bytes();
        if let Some(tracked) = &removed.tracked {
            self.freed.add(removed.base, removed.size, removed.id, removed.side, &tracked.born);
        }
        Some(removed)
    }

    /// The last allocation that starts at or before an address.
    pub(crate) fn before(&self, address: u64) -> Option<&Allocation> {
        self.by_base.range(..=address).next_back().map(|(_, allocation)| allocation)
    }

    /// The first allocation that starts behind an address.
    pub(crate) fn after(&self, address: u64) -> Option<&Allocation> {
        self.by_base.range(address..).find(|(base, _)| **base > address).map(|(_, allocation)| allocation)
    }

    /// The allocation that an address is in or near, and the distance to it.
    pub(crate) fn nearest(&self, address: u64) -> Option<(u64, &Allocation)> {
        let distance = |found: &Allocation| match address {
            _ if address < found.base => found.base - address,
            _ if address >= found.end() => address - found.end() + 1,
            _ => 0,
        };
        let sides = [self.before(address), self.after(address)];
        let near = sides.into_iter().flatten().map(|found| (distance(found), found));
        near.filter(|(distance, _)| *distance <= NEAR).min_by_key(|(distance, _)| *distance)
    }

    /// Marks all of a new allocation as written, where it is tracked.
    pub(crate) fn mark_written(&mut self, base: u64) {
        let Some(allocation) = self.at_mut(base) else { return };
        let size = allocation.size;
        if let Some(tracked) = &mut allocation.tracked {
            tracked.shadow.written.add(0..size);
        }
    }

    /// The allocation an address is in.
    #[inline]
    pub(crate) fn containing(&self, address: u64) -> Option<&Allocation> {
        let (_, allocation) = self.by_base.range(..=address).next_back()?;
        (address < allocation.end()).then_some(allocation)
    }

    pub(crate) fn containing_mut(&mut self, address: u64) -> Option<&mut Allocation> {
        let (_, allocation) = self.by_base.range_mut(..=address).next_back()?;
        (address < allocation.end()).then_some(allocation)
    }

    /// `true` if any allocation touches the stretch.
    pub(crate) fn overlaps(&self, address: u64, len: u64) -> bool {
        self.overlapping(address, len).is_some()
    }

    /// The last allocation that touches the stretch.
    pub(crate) fn overlapping(&self, address: u64, len: u64) -> Option<&Allocation> {
        let end = address.saturating_add(len);
        let (_, allocation) = self.by_base.range(..end).next_back()?;
        (allocation.end() > address).then_some(allocation)
    }

    /// The allocations that touch the stretch from `address` to `end`, last first.
    pub(crate) fn touching(&self, address: u64, end: u64) -> impl Iterator<Item = &Allocation> {
        let before_end = self.by_base.range(..end).rev();
        before_end.map(|(_, allocation)| allocation).take_while(move |allocation| allocation.end() > address)
    }

    /// Memory a program named, if it is all inside one allocation, or in mappings that follow one another.
    #[inline]
    pub(crate) fn place(&self, address: u64, len: u64) -> Status<SimAddress> {
        let first = self.containing(address).ok_or(INVALID_VALUE)?;
        if len > self.end_of_run(first, address.saturating_add(len)) - address {
            return Err(INVALID_VALUE);
        }
        Ok(first.place(address))
    }

    /// The end of the memory that starts with `first`, searched no further than `wanted`: consecutive
    /// mappings that are contiguous for the program and for the simulator count as one.
    #[inline]
    pub(crate) fn end_of_run(&self, first: &Allocation, wanted: u64) -> u64 {
        let mapped = |allocation: &Allocation| matches!(allocation.backing, Backing::Mapped(_));
        let mut last = first;
        while mapped(last) && last.end() < wanted {
            match self.at(last.end()) {
                Some(next) if mapped(next) && next.host == last.host + last.size as usize => last = next,
                _ => break,
            }
        }
        last.end()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Allocation> {
        self.by_base.values_mut()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Allocation> {
        self.by_base.values()
    }
}

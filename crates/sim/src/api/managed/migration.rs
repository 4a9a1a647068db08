//! Pages on the move: prefetches as ops, and what other work and the host do to where pages are.

use std::collections::BTreeSet;
use std::ops::Range;

use smallvec::SmallVec;
use warploom_engine::Work as _;

use super::{Residence, pages::Page};
use crate::check::Touched;
use crate::machine::world::{Work, World};
use crate::memory::{Side, SimAddress, Touch};
use crate::topology::{Topology, number};

/// What a discard leaves in the bytes: anything will do, and this is seen in a debugger.
pub(crate) const LEFT: u8 = 0xdc;
/// How much of a discarded range is overwritten, and watched by the checks: a discard is to make memory cheaper.
pub(crate) const WATCHED: u64 = 256 << 20;

/// A prefetch, a discard, or both, of a stretch of managed memory.
#[derive(Debug)]
pub(crate) struct Migration {
    pub(crate) at: SimAddress,
    pub(crate) bytes: u64,
    /// Where the pages go; a discard alone leaves them nowhere.
    pub(crate) to: Option<Residence>,
    /// What the bytes are no longer matters.
    pub(crate) discards: bool,
    /// Bytes that had to be moved, by where they were; known when it is done.
    pub(crate) moved: SmallVec<[(Side, u64); 2]>,
}

impl Migration {
    pub(super) fn new(at: SimAddress, bytes: u64, to: Option<Residence>, discards: bool) -> Self {
        Self { at, bytes, to, discards, moved: SmallVec::new() }
    }

    fn range(&self) -> Range<u64> {
        self.at.address()..self.at.address() + self.bytes
    }

    /// How many bytes had to be moved in all.
    pub(crate) fn moved_bytes(&self) -> u64 {
        self.moved.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Moves a run of pages of so many bytes.
    fn take(&mut self, page: &mut Page, bytes: u64) {
        if self.discards {
            page.resident.clear();
        }
        let Some(to) = self.to.filter(|to| !page.is_at(*to)) else { return };
        if let Some(from) = page.resident.first().map(|place| place.side()) {
            match self.moved.iter_mut().find(|(side, _)| *side == from) {
                Some((_, moved)) => *moved += bytes,
                None => self.moved.push((from, bytes)),
            }
        }
        if !page.read_mostly {
            page.resident.clear();
        } else if to.side() == Side::Host {
            // The host has one copy, on one of its nodes.
            page.resident.retain(|place| place.side() != Side::Host);
        }
        page.resident.insert(to);
    }
}

/// Who can use memory where it is, without moving it.
#[derive(Debug)]
pub(super) struct Reach {
    /// Devices that reach the memory of others.
    peers: BTreeSet<(u16, u16)>,
    /// Devices whose memory the host reaches.
    open: BTreeSet<u16>,
}

impl Reach {
    pub(super) fn new(topology: &Topology) -> Self {
        let peers = topology.peers.iter().map(|(accessor, owner, _)| (accessor as u16, owner as u16)).collect();
        let is_open = |device: &u16| {
            let attribute = topology.attribute(usize::from(*device), number::DIRECT_MANAGED_MEM_ACCESS_FROM_HOST);
            attribute.is_some_and(|value| value != 0)
        };
        Self { peers, open: (0..topology.devices.len() as u16).filter(is_open).collect() }
    }

    fn holds(&self, who: Residence, place: Residence) -> bool {
        match (who, place) {
            (_, Residence::Host | Residence::HostNode(_)) => true,
            (Residence::Device(accessor), Residence::Device(owner)) => {
                accessor == owner || self.peers.contains(&(accessor, owner))
            }
            (Residence::Host | Residence::HostNode(_), Residence::Device(device)) => self.open.contains(&device),
        }
    }
}

impl World {
    /// Notes what work of a device that is done has done to where managed pages are.
    pub(crate) fn move_managed_pages(&mut self, work: &mut Work, device: u16) {
        if !self.managed_memory.is_used() {
            return;
        }
        let who = Residence::Device(device);
        if let Work::Migrate(migration) = work {
            self.managed_memory.pages.update(&migration.range(), |page, bytes| migration.take(page, bytes));
            return;
        }
        work.touches(|touch| match touch {
            Touch::Copy { to, from, bytes } => {
                self.touch_managed(from, bytes, who, false);
                self.touch_managed(to, bytes, who, true);
            }
            Touch::Write { to, bytes } => self.touch_managed(to, bytes, who, true),
            Touch::Prefetch { .. } | Touch::Discard { .. } | Touch::WriteValue { .. } | Touch::WaitValue { .. } => {}
        });
    }

    /// Notes what a kernel of a device that is done has done to where managed pages are.
    pub(crate) fn move_touched_pages(&mut self, touched: &Touched, device: u16) {
        if !self.managed_memory.is_used() {
            return;
        }
        touched.each(|range, writes| {
            let of_range = self.memory.touching(range.start, range.end).filter(|found| found.is_managed());
            let parts = of_range.map(|found| range.start.max(found.base)..range.end.min(found.end()));
            for part in parts.collect::<SmallVec<[_; 1]>>() {
                self.pages_touched(&part, Residence::Device(device), writes);
            }
        });
    }

    fn touch_managed(&mut self, at: SimAddress, bytes: u64, who: Residence, writes: bool) {
        let Some(found) = self.memory.containing(at.address()).filter(|found| found.is_managed()) else { return };
        let range = at.address()..found.end().min(at.address() + bytes);
        self.pages_touched(&range, who, writes);
    }

    /// Lets managed pages follow someone who touches them.
    pub(crate) fn pages_touched(&mut self, range: &Range<u64>, who: Residence, writes: bool) {
        let memory = &mut self.managed_memory;
        let reach = &memory.reach;
        memory.pages.update(range, |page, _| page.touched(who, writes, |place| reach.holds(who, place)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::api::managed::pages::PAGE;
    use crate::api::managed::{Managed, Wish};
    use crate::check::{Checks, Findings};
    use crate::machine::world::Engine;
    use crate::memory::{Allocation, Backing};
    use crate::memory::{BlockCopy, MemoryOp, RowFill, StagedBlock};
    use warploom_engine::{HostOrder, Mode, Order, Timelines};

    const BASE: u64 = 1 << 40;

    fn world() -> World {
        let topology = Topology::preset("h200").expect("a preset");
        let mode = Mode::Deterministic(Order::Eager);
        let findings = Arc::new(Findings::new(Checks::off()));
        let mut world = World::new(
            1,
            &topology,
            mode,
            Engine::new(mode, 1, Timelines::new(false, HostOrder::Observed)),
            findings,
            None,
        )
        .expect("there is room");
        let allocation = Allocation {
            base: BASE,
            size: 100 * PAGE,
            host: BASE as usize,
            side: Side::Device(0),
            context: None,
            id: 1,
            backing: Backing::Managed(Managed { charged: 0 }),
            sync_memops: false,
            tracked: None,
        };
        world.add_allocation(allocation, None);
        world
    }

    /// Which pages are on device 2.
    fn moved(world: &World) -> Vec<u64> {
        let is_there = |page: &u64| {
            world.managed_memory.pages.at(BASE + page * PAGE).is_some_and(|page| page.is_at(Residence::Device(2)))
        };
        (0..100).filter(is_there).collect()
    }

    #[test]
    fn pages_follow_the_work_that_touches_them() {
        let place = |page: u64| SimAddress::nowhere(BASE + page * PAGE + 5, Side::Device(0));
        let block = |to: SimAddress, from: SimAddress| BlockCopy {
            to,
            to_pitch: PAGE,
            to_slice: 0,
            from,
            from_pitch: 2 * PAGE,
            from_slice: 0,
            width: 10,
            height: 3,
            depth: 1,
        };
        let rows = RowFill { to: place(40), pitch: PAGE, pattern: 0, element: 4, columns: 2, rows: 2 };
        let staged = StagedBlock { block: block(place(50), place(80)), bytes: Box::default() };
        let cases = [
            (MemoryOp::Copy { to: place(3), from: place(90), bytes: PAGE }.into(), vec![3, 4, 90, 91]),
            (Work::Staged { to: place(10), bytes: Box::new([0; 16]) }, vec![10]),
            (MemoryOp::Fill { to: place(20), pattern: 0, element: 2, count: 8 }.into(), vec![20]),
            (MemoryOp::CopyBlock(Box::new(block(place(30), place(60)))).into(), vec![30, 31, 32, 60, 61, 62, 63, 64]),
            (Work::StagedBlock(Box::new(staged)), vec![50, 51, 52]),
            (MemoryOp::FillRows(Box::new(rows)).into(), vec![40, 41]),
            (Work::Join, vec![]),
        ];
        for (mut work, expected) in cases {
            let mut world = world();
            world.move_managed_pages(&mut work, 2);
            assert_eq!(moved(&world), expected, "{}", work.describe());
        }
    }

    fn migration(to: Option<Residence>, discards: bool) -> Migration {
        let at = SimAddress::nowhere(BASE, Side::Device(0));
        Migration::new(at, PAGE, to, discards)
    }

    #[test]
    fn a_prefetch_moves_what_is_elsewhere_and_counts_it() {
        let mut page = Page::default();
        let mut first = migration(Some(Residence::Device(1)), false);
        first.take(&mut page, PAGE);
        assert_eq!((first.moved_bytes(), page.is_at(Residence::Device(1))), (0, true), "there was nothing to move");
        let mut back = migration(Some(Residence::HostNode(1)), false);
        back.take(&mut page, PAGE);
        back.take(&mut page, PAGE);
        assert_eq!(back.moved.as_slice(), [(Side::Device(1), PAGE)]);
        assert_eq!(page.resident, BTreeSet::from([Residence::HostNode(1)]));
        let mut again = migration(Some(Residence::Host), false);
        again.take(&mut page, PAGE);
        assert_eq!(again.moved_bytes(), 0, "it is on a node of the host");
    }

    #[test]
    fn a_page_that_is_mostly_read_is_copied_until_someone_writes() {
        let mut page = Page { read_mostly: true, ..Page::default() };
        page.settle(Residence::HostNode(0));
        for to in [Residence::Device(0), Residence::HostNode(1)] {
            migration(Some(to), false).take(&mut page, PAGE);
        }
        assert_eq!(page.resident, BTreeSet::from([Residence::Device(0), Residence::HostNode(1)]));
        page.touched(Residence::Device(3), false, |_| false);
        assert_eq!(page.resident.len(), 3);
        page.touched(Residence::Device(3), true, |_| false);
        assert_eq!(page.resident, BTreeSet::from([Residence::Device(3)]));
    }

    #[test]
    fn a_page_stays_where_it_prefers_to_be_or_where_its_user_reaches_it() {
        let (host, device) = (Residence::Host, Residence::Device(0));
        let advised = |preferred: Option<Residence>, accessed_by| {
            let preferred = preferred.map(Wish::from);
            let mut page = Page { preferred, accessed_by, ..Page::default() };
            page.settle(host);
            page
        };
        for (mut page, stays) in [
            (advised(None, BTreeSet::new()), false),
            (advised(Some(host), BTreeSet::new()), true),
            (advised(Some(device), BTreeSet::new()), false),
            (advised(None, BTreeSet::from([device])), true),
        ] {
            page.touched(device, true, |_| true);
            assert_eq!(page.is_at(host), stays, "{page:?}");
            page.touched(device, true, |_| false);
            assert!(page.is_at(device) && !page.is_at(host), "nobody uses what is out of reach: {page:?}");
        }
        let mut fresh = Page { preferred: Some(host.into()), ..Page::default() };
        fresh.touched(device, true, |_| true);
        assert!(fresh.is_at(host));
    }

    #[test]
    fn a_discard_leaves_pages_nowhere_and_with_a_prefetch_moves_nothing() {
        let mut page = Page::default();
        page.settle(Residence::Host);
        migration(None, true).take(&mut page, PAGE);
        assert!(page.resident.is_empty());
        page.settle(Residence::Host);
        let mut both = migration(Some(Residence::Device(0)), true);
        both.take(&mut page, PAGE);
        assert_eq!((both.moved_bytes(), page.is_at(Residence::Device(0))), (0, true));
    }

    #[test]
    fn who_reaches_what_is_the_machines_matter() -> Result<(), crate::topology::TopologyError> {
        let reach = Reach::new(&Topology::preset("asymmetric")?);
        let device = Residence::Device;
        let direct = |one, other| reach.holds(device(one), device(other));
        let pairs = (0..3).flat_map(|one| (0..3).map(move |other| (one, other)));
        assert!(pairs.into_iter().any(|(one, other)| direct(one, other) != direct(other, one)));
        assert!(reach.holds(device(0), Residence::HostNode(1)) && !reach.holds(Residence::Host, device(0)));
        let open = Reach::new(&Topology::preset("grace-hopper")?);
        assert!(open.holds(Residence::Host, device(0)));
        Ok(())
    }
}

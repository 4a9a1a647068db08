//! Prefetches and discards of managed memory: pages on the move.

use std::ops::Range;

use smallvec::SmallVec;

use super::pages::Page;
use crate::memory::residence::Residence;
use crate::memory::sim_address::{Side, SimAddress};

/// A prefetch, a discard, or both, of a stretch of managed memory.
#[derive(Debug)]
pub(crate) struct Migration {
    pub(crate) at: SimAddress,
    pub(crate) bytes: u64,
    /// The destination of the pages; `None` for a discard alone.
    pub(crate) to: Option<Residence>,
    /// The contents are discarded.
    pub(crate) discards: bool,
    /// Bytes that had to be moved, by where they were; known when it is done.
    pub(crate) moved: SmallVec<[(Side, u64); 2]>,
}

impl Migration {
    pub(crate) fn new(at: SimAddress, bytes: u64, to: Option<Residence>, discards: bool) -> Self {
        Self { at, bytes, to, discards, moved: SmallVec::new() }
    }

    pub(super) fn range(&self) -> Range<u64> {
        self.at.address()..self.at.address() + self.bytes
    }

    /// Number of bytes moved in all.
    pub(crate) fn moved_bytes(&self) -> u64 {
        self.moved.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Moves a run of pages of so many bytes.
    pub(super) fn take(&mut self, page: &mut Page, bytes: u64) {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::memory::requested_location::RequestedLocation;
    use crate::memory::residency::PAGE;

    const BASE: u64 = 1 << 40;

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
            let preferred = preferred.map(RequestedLocation::from);
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
}

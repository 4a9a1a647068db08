//! Memory accesses lane by lane: address spaces, bounds, alignment, and the lane that a trap is charged to.
//!
//! Lanes with neighbouring addresses are one access to memory: a warp that reads 32 words in a row reads 128
//! bytes once.

use crate::device::access::Access;
use crate::device::host::{Host, Touch};
use crate::device::memory::Memory;
use crate::device::trap::TrapKind;
use crate::exec::memory::pattern::{AccessPattern, Shape, runs};
use crate::exec::memory::rows::Rows;
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor, Stop, stop};
use crate::lanes::{ALL, LANES, Longs, lanes as each, map_row};
use crate::program::space::Space;
use crate::program::window::Window;

/// An access of some lanes, each to its own address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneAccess<'a> {
    pub(crate) at: Current,
    pub(crate) lanes: u32,
    pub(crate) space: Space,
    pub(crate) addresses: &'a Longs,
    /// `true` if other threads may access the same bytes at the same time.
    pub(crate) strong: bool,
}

impl LaneAccess<'_> {
    fn pattern(&self, size: usize) -> AccessPattern {
        AccessPattern::of(self.lanes, self.addresses, size as u64)
    }

    /// The lowest lane.
    fn first(&self) -> usize {
        self.lanes.trailing_zeros() as usize & 31
    }

    /// The lanes cut into runs of contiguous addresses; most accesses are one.
    fn runs(&self, pattern: AccessPattern, size: usize) -> impl Iterator<Item = (usize, usize)> {
        let is_one = pattern.shape == Shape::Contiguous;
        let whole = is_one.then_some((self.first(), LANES - self.lanes.leading_zeros() as usize));
        let mask = if is_one { 0 } else { self.lanes };
        whole.into_iter().chain(runs(mask, self.addresses, size as u64))
    }

    /// Traps for the lowest lane whose address is misaligned, if there is one.
    pub(crate) fn check_alignment(&self, warp: &Warp, pattern: AccessPattern, size: u64) -> Result<(), Stop> {
        if pattern.is_aligned(size) {
            return Ok(());
        }
        let is_misaligned = |lane: &usize| !self.addresses[*lane].is_multiple_of(size);
        let lane = each(self.lanes).find(is_misaligned).unwrap_or(self.first());
        let kind = TrapKind::Misaligned { address: self.addresses[lane], alignment: size };
        Err(stop(warp, self.at, 1 << lane, kind))
    }
}

/// Lanes whose generic addresses lead to one space, space by space.
fn by_space(lanes: u32, addresses: &Longs) -> impl Iterator<Item = (Space, u32)> {
    let mut masks = [(Space::Global, 0), (Space::Shared, 0), (Space::Local, 0), (Space::Parameter, 0)];
    for lane in each(lanes) {
        let space = match Window::of(addresses[lane]).0 {
            Window::Global | Window::Constant => 0,
            Window::Shared => 1,
            Window::Local => 2,
            Window::Parameter => 3,
        };
        masks[space].1 |= 1 << lane;
    }
    masks.into_iter().filter(|(_, mask)| *mask != 0)
}

/// Generic addresses as addresses of the space that they lead to.
fn inside(space: Space, addresses: &Longs) -> Longs {
    if space == Space::Global { *addresses } else { map_row(addresses, |address| address & 0xffff_ffff) }
}

impl<M: Memory + Host> Executor<'_, M> {
    /// Reads for each lane; true if all have read the same bytes, which are then in the first row alone.
    pub(crate) fn fetch<const N: usize>(
        &mut self,
        warp: &mut Warp,
        access: LaneAccess<'_>,
        rows: &mut Rows<N>,
    ) -> Result<bool, Stop> {
        let pattern = access.pattern(N);
        access.check_alignment(warp, pattern, N as u64)?;
        let access = match access.space {
            Space::Generic if pattern.is_global() => LaneAccess { space: Space::Global, ..access },
            Space::Generic => {
                for (space, lanes) in by_space(access.lanes, access.addresses) {
                    let addresses = &inside(space, access.addresses);
                    let part = LaneAccess { lanes, space, addresses, ..access };
                    let mut found: Rows<N> = [[0; N]; LANES];
                    self.fetch_part(warp, part, part.pattern(N), &mut found)?;
                    each(lanes).for_each(|lane| rows[lane] = found[lane]);
                }
                return Ok(false);
            }
            _ => access,
        };
        if pattern.shape == Shape::Uniform && access.space != Space::Local {
            self.read_one(warp, access, &mut rows[0])?;
            return Ok(true);
        }
        if pattern.shape == Shape::Scattered && access.lanes == ALL && access.space != Space::Local {
            for lanes in [0xffff, 0xffff_0000] {
                let half = LaneAccess { lanes, ..access };
                self.fetch_part(warp, half, half.pattern(N), rows)?;
            }
            return Ok(false);
        }
        self.fetch_part(warp, access, pattern, rows)?;
        Ok(false)
    }

    /// Reads for each lane the bytes that the program uses, a bit of `used` for each; the others are zero,
    /// and memory is not asked for them. True if all have read the same bytes, as with
    /// [`fetch`](Self::fetch).
    pub(crate) fn fetch_used<const N: usize>(
        &mut self,
        warp: &mut Warp,
        access: LaneAccess<'_>,
        used: u32,
        rows: &mut Rows<N>,
    ) -> Result<bool, Stop> {
        let LaneAccess { at, lanes, space, addresses, strong } = access;
        let pattern = access.pattern(N);
        let is_whole = (0..N).all(|byte| used >> byte & 1 == 1);
        if is_whole || !matches!(space, Space::Generic | Space::Global | Space::Shared) {
            return self.fetch(warp, access, rows);
        }
        access.check_alignment(warp, pattern, N as u64)?;
        let is_same = pattern.shape == Shape::Uniform && (space != Space::Generic || pattern.is_global());
        // A part of the bytes, for all lanes at once or for each.
        let turns = if is_same { 1 << access.first() } else { lanes };
        for lane in each(turns) {
            let (readers, row) = (if is_same { lanes } else { 1 << lane }, if is_same { 0 } else { lane });
            let (space, address) = match space {
                Space::Generic => by_space(1 << lane, addresses)
                    .next()
                    .map_or((Space::Global, addresses[lane]), |(found, _)| (found, inside(found, addresses)[lane])),
                _ => (space, addresses[lane]),
            };
            for (start, end) in used_runs::<N>(used) {
                let (address, into) = (address.wrapping_add(start as u64), &mut rows[row][start..end]);
                if space == Space::Local {
                    self.check_local(warp, at, lane, address, into.len())?;
                    warp.local.read(lane, address, into);
                } else {
                    self.read(warp, at, 1 << lane, readers, space, address, into, strong)?;
                }
            }
        }
        Ok(is_same)
    }

    /// Reads the same for all lanes.
    fn read_one<const N: usize>(
        &mut self,
        warp: &mut Warp,
        access: LaneAccess<'_>,
        row: &mut [u8; N],
    ) -> Result<(), Stop> {
        let LaneAccess { at, lanes, space, addresses, strong } = access;
        let first = access.first();
        self.read(warp, at, 1 << first, lanes, space, addresses[first], row, strong)
    }

    /// Reads for lanes whose addresses lead to one space that is not generic. Rows between the first and the
    /// last lane may be overwritten, and all rows if the space is local.
    fn fetch_part<const N: usize>(
        &mut self,
        warp: &mut Warp,
        access: LaneAccess<'_>,
        pattern: AccessPattern,
        rows: &mut Rows<N>,
    ) -> Result<(), Stop> {
        let LaneAccess { at, lanes, space, addresses, strong } = access;
        if space == Space::Local {
            let first = access.first();
            if N.is_multiple_of(4) && pattern.shape == Shape::Uniform {
                self.check_local(warp, at, first, addresses[first], N)?;
                for (word, address) in (0..N / 4).zip((addresses[first] as u32..).step_by(4)) {
                    let from = warp.local.row(address);
                    for (row, value) in rows.iter_mut().zip(from) {
                        row[word * 4..word * 4 + 4].copy_from_slice(&value.to_le_bytes());
                    }
                }
                return Ok(());
            }
            for lane in each(lanes) {
                self.check_local(warp, at, lane, addresses[lane], N)?;
                warp.local.read(lane, addresses[lane], &mut rows[lane]);
            }
            return Ok(());
        }
        if pattern.shape == Shape::Uniform {
            let mut row = [0; N];
            self.read_one(warp, access, &mut row)?;
            rows[access.first()..LANES - lanes.leading_zeros() as usize].fill(row);
            return Ok(());
        }
        if space == Space::Shared && !M::WATCHES_SHARED && pattern.shape == Shape::Scattered {
            for lane in each(lanes) {
                rows[lane].copy_from_slice(self.shared_bytes(warp, at, 1 << lane, addresses[lane], N)?);
            }
            return Ok(());
        }
        for (start, end) in access.runs(pattern, N) {
            let mask = run_mask(start, end);
            let into = rows[start..end].as_flattened_mut();
            self.read(warp, at, mask, mask, space, addresses[start], into, strong)?;
        }
        Ok(())
    }

    /// Reads bytes that lie side by side.
    #[expect(clippy::too_many_arguments, reason = "warp, lanes, space, address and bytes of an access")]
    pub(crate) fn read(
        &mut self,
        warp: &Warp,
        at: Current,
        lanes: u32,
        readers: u32,
        space: Space,
        address: u64,
        into: &mut [u8],
        strong: bool,
    ) -> Result<(), Stop> {
        match space {
            Space::Shared => {
                into.copy_from_slice(self.shared_bytes(warp, at, lanes, address, into.len())?);
                if M::WATCHES_SHARED {
                    let share = into.len() / lanes.count_ones().max(1) as usize;
                    let apart = if readers == lanes { share } else { 0 };
                    let access = self.access(warp, at, readers, strong);
                    self.watch_shared(&access, address, apart, Touch::Read(share as u32));
                }
            }
            Space::Parameter | Space::Argument => {
                self.read_arguments(warp, at, lanes, address, into)?;
            }
            _ => {
                let access = Access { readers, ..self.access(warp, at, lanes, strong) };
                let loaded = self.context.memory.load(&access, address, into);
                loaded.map_err(|fault| global(warp, at, lanes, address, into.len(), fault.address))?;
            }
        }
        Ok(())
    }

    /// Writes for each lane; where two write the same byte, the higher lane is last.
    pub(crate) fn send<const N: usize>(
        &mut self,
        warp: &mut Warp,
        access: LaneAccess<'_>,
        rows: &Rows<N>,
    ) -> Result<(), Stop> {
        let pattern = access.pattern(N);
        access.check_alignment(warp, pattern, N as u64)?;
        match access.space {
            Space::Generic if pattern.is_global() => {
                self.send_part(warp, LaneAccess { space: Space::Global, ..access }, pattern, rows)
            }
            Space::Generic => {
                for (space, lanes) in by_space(access.lanes, access.addresses) {
                    let addresses = &inside(space, access.addresses);
                    let part = LaneAccess { lanes, space, addresses, ..access };
                    self.send_part(warp, part, part.pattern(N), rows)?;
                }
                Ok(())
            }
            _ => self.send_part(warp, access, pattern, rows),
        }
    }

    /// Writes for lanes whose addresses lead to one space that is not generic.
    fn send_part<const N: usize>(
        &mut self,
        warp: &mut Warp,
        access: LaneAccess<'_>,
        pattern: AccessPattern,
        rows: &Rows<N>,
    ) -> Result<(), Stop> {
        let LaneAccess { at, lanes, space, addresses, strong } = access;
        if space == Space::Local {
            let first = access.first();
            if N.is_multiple_of(4) && pattern.shape == Shape::Uniform {
                self.check_local(warp, at, first, addresses[first], N)?;
                for (word, address) in (0..N / 4).zip((addresses[first] as u32..).step_by(4)) {
                    let into = warp.local.row(address);
                    for lane in each(lanes) {
                        let bytes = &rows[lane][word * 4..word * 4 + 4];
                        into[lane] = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                    }
                }
                return Ok(());
            }
            for lane in each(lanes) {
                self.check_local(warp, at, lane, addresses[lane], N)?;
                warp.local.write(lane, addresses[lane], &rows[lane]);
            }
            return Ok(());
        }
        if space == Space::Shared && !M::WATCHES_SHARED && pattern.shape != Shape::Contiguous {
            for lane in each(lanes) {
                self.shared_bytes(warp, at, 1 << lane, addresses[lane], N)?.copy_from_slice(&rows[lane]);
            }
            return Ok(());
        }
        for (start, end) in access.runs(pattern, N) {
            let mask = run_mask(start, end);
            let (address, from) = (addresses[start], rows[start..end].as_flattened());
            match space {
                Space::Shared => {
                    let there = self.shared_bytes(warp, at, mask, address, from.len())?;
                    let mut same = 0_u32;
                    if M::WATCHES_SHARED {
                        let pairs = there.chunks_exact(N).zip(from.chunks_exact(N)).enumerate();
                        same = pairs.fold(0, |same, (index, (old, new))| same | u32::from(old == new) << index);
                    }
                    there.copy_from_slice(from);
                    if M::WATCHES_SHARED {
                        let access = self.access(warp, at, mask, strong);
                        self.watch_shared(&access, address, N, Touch::Write { bytes: N as u32, same });
                    }
                }
                Space::Parameter | Space::Argument => {
                    return Err(stop(warp, at, mask, TrapKind::Parameter(address)));
                }
                _ => {
                    let access = self.access(warp, at, mask, strong);
                    let stored = self.context.memory.store(&access, address, from);
                    stored.map_err(|fault| global(warp, at, mask, address, from.len(), fault.address))?;
                }
            }
        }
        Ok(())
    }
}

/// The runs of set bits among the lowest `N`.
fn used_runs<const N: usize>(used: u32) -> impl Iterator<Item = (usize, usize)> {
    let is_used = move |byte: usize| byte < N && used >> byte & 1 == 1;
    let starts = (0..N).filter(move |byte| is_used(*byte) && (*byte == 0 || !is_used(*byte - 1)));
    starts.map(move |start| (start, (start..=N).find(|byte| !is_used(*byte)).unwrap_or(N)))
}

fn run_mask(start: usize, end: usize) -> u32 {
    (u32::MAX >> (32 - (end - start))) << start
}

/// A fault in global memory, charged to the lane whose byte it is.
fn global(warp: &Warp, at: Current, lanes: u32, start: u64, length: usize, fault: u64) -> Stop {
    let share = length as u64 / u64::from(lanes.count_ones().max(1));
    let index = fault.saturating_sub(start) / share.max(1);
    let lane = each(lanes).nth(index as usize).unwrap_or(lanes.trailing_zeros() as usize);
    stop(warp, at, 1 << lane, TrapKind::Global(fault))
}

//! From addresses to bytes: which lanes make one access, in which space, and whether it may be.
//!
//! Lanes with neighbouring addresses are one access to memory: a warp that reads 32 words in a row reads 128 bytes once.

use crate::device::access::Access;
use crate::device::host::{Host, Touch};
use crate::device::launch::MAX_LOCAL;
use crate::device::memory::Memory;
use crate::device::trap::TrapKind;
use crate::exec::memory::survey::{Pattern, Survey, survey};
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor, Stop, stop};
use crate::lanes::{ALL, LANES, Longs, lanes as each};
use crate::program::operation::Space;
use crate::program::window::Window;

/// What every lane reads or writes: `N` bytes each.
pub(crate) type Rows<const N: usize> = [[u8; N]; LANES];

impl<M: Memory + Host> Executor<'_, M> {
    /// Lanes whose addresses lie in the same window, window by window.
    fn by_window(lanes: u32, addresses: &Longs) -> impl Iterator<Item = (Space, u32)> {
        let mut masks = [(Space::Global, 0), (Space::Shared, 0), (Space::Local, 0), (Space::Parameter, 0)];
        if addresses.iter().all(|address| address >> 48 == 0) {
            masks[0].1 = lanes;
        } else {
            for lane in each(lanes) {
                let window = match Window::of(addresses[lane]).0 {
                    Window::Global | Window::Constant => 0,
                    Window::Shared => 1,
                    Window::Local => 2,
                    Window::Parameter => 3,
                };
                masks[window].1 |= 1 << lane;
            }
        }
        masks.into_iter().filter(|(_, mask)| *mask != 0)
    }

    pub(crate) fn aligned<const N: usize>(
        &self,
        warp: &Warp,
        at: Current,
        lanes: u32,
        addresses: &Longs,
    ) -> Result<(), Stop> {
        let wrong = |address: u64| address & (N as u64 - 1) != 0;
        if !addresses.iter().any(|address| wrong(*address)) {
            return Ok(());
        }
        match each(lanes).find(|lane| wrong(addresses[*lane])) {
            Some(lane) => {
                let kind = TrapKind::Misaligned { address: addresses[lane], alignment: N as u64 };
                Err(stop(warp, at, 1 << lane, kind))
            }
            None => Ok(()),
        }
    }

    /// Reads for each lane; returns whether all have read the same, which is then in the first row alone.
    #[expect(clippy::too_many_arguments, reason = "who, where and what of an access")]
    pub(crate) fn fetch<const N: usize>(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        space: Space,
        addresses: &Longs,
        rows: &mut Rows<N>,
        strong: bool,
    ) -> Result<bool, Stop> {
        let survey = if lanes == ALL { Some(survey(addresses, N as u64)) } else { None };
        if survey.is_none_or(|survey| survey.bits & (N as u64 - 1) != 0) {
            self.aligned::<N>(warp, at, lanes, addresses)?;
        }
        let global = survey.is_some_and(|survey| survey.bits >> 48 == 0);
        let space = if space == Space::Generic && global { Space::Global } else { space };
        if space == Space::Generic {
            for (space, lanes) in Self::by_window(lanes, addresses) {
                let inside = if space == Space::Global { *addresses } else { addresses.map(|a| a & 0xffff_ffff) };
                self.fetch_apart(warp, at, lanes, space, &inside, rows, strong)?;
            }
            return Ok(false);
        }
        if let (Some(survey), true) = (survey, space != Space::Local) {
            return self.fetch_all(warp, at, survey, space, addresses, rows, strong);
        }
        self.fetch_apart(warp, at, lanes, space, addresses, rows, strong)?;
        Ok(false)
    }

    /// Reads for a full warp.
    #[expect(clippy::too_many_arguments, reason = "who, where and what of an access")]
    fn fetch_all<const N: usize>(
        &mut self,
        warp: &mut Warp,
        at: Current,
        survey: Survey,
        space: Space,
        addresses: &Longs,
        rows: &mut Rows<N>,
        strong: bool,
    ) -> Result<bool, Stop> {
        match survey.whole {
            Pattern::Uniform => {
                self.read(warp, at, 1, ALL, space, addresses[0], &mut rows[0], strong)?;
                return Ok(true);
            }
            Pattern::Contiguous => {
                self.read(warp, at, ALL, ALL, space, addresses[0], rows.as_flattened_mut(), strong)?;
                return Ok(false);
            }
            Pattern::Other => {}
        }
        for (half, pattern) in survey.halves.into_iter().enumerate() {
            let start = half * 16;
            let lanes = 0xffff << start;
            match pattern {
                Pattern::Uniform => {
                    let mut row = [0; N];
                    self.read(warp, at, 1 << start, lanes, space, addresses[start], &mut row, strong)?;
                    rows[start..start + 16].fill(row);
                }
                Pattern::Contiguous => {
                    let into = rows[start..start + 16].as_flattened_mut();
                    self.read(warp, at, lanes, lanes, space, addresses[start], into, strong)?;
                }
                Pattern::Other => self.fetch_apart(warp, at, lanes, space, addresses, rows, strong)?,
            }
        }
        Ok(false)
    }

    /// Reads for lanes whose addresses may be anything.
    #[expect(clippy::too_many_arguments, reason = "who, where and what of an access")]
    fn fetch_apart<const N: usize>(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        space: Space,
        addresses: &Longs,
        rows: &mut Rows<N>,
        strong: bool,
    ) -> Result<(), Stop> {
        let first = lanes.trailing_zeros() as usize;
        if space == Space::Local {
            if N.is_multiple_of(4) && uniform(lanes, addresses) {
                check_local(warp, at, first, addresses[first], N)?;
                for (word, address) in (0..N / 4).zip((addresses[first] as u32..).step_by(4)) {
                    let from = warp.local.row(address);
                    for (row, value) in rows.iter_mut().zip(from) {
                        row[word * 4..word * 4 + 4].copy_from_slice(&value.to_le_bytes());
                    }
                }
                return Ok(());
            }
            for lane in each(lanes) {
                check_local(warp, at, lane, addresses[lane], N)?;
                warp.local.read(lane, addresses[lane], &mut rows[lane]);
            }
            return Ok(());
        }
        if uniform(lanes, addresses) {
            let mut row = [0; N];
            self.read(warp, at, 1 << first, lanes, space, addresses[first], &mut row, strong)?;
            *rows = [row; LANES];
            return Ok(());
        }
        if space == Space::Shared && !M::WATCHES_SHARED {
            for lane in each(lanes) {
                let start = usize::try_from(addresses[lane]).unwrap_or(usize::MAX);
                match self.shared.get(start..start.saturating_add(N)) {
                    Some(bytes) => rows[lane].copy_from_slice(bytes),
                    None => {
                        let bytes = self.shared_bytes(warp, at, 1 << lane, addresses[lane], N)?;
                        rows[lane].copy_from_slice(bytes);
                    }
                }
            }
            return Ok(());
        }
        for (start, end) in runs(lanes, addresses, N as u64) {
            let mask = run_mask(start, end);
            let into = rows[start..end].as_flattened_mut();
            self.read(warp, at, mask, mask, space, addresses[start], into, strong)?;
        }
        Ok(())
    }

    /// Reads bytes that lie side by side.
    #[expect(clippy::too_many_arguments, reason = "who, where and what of an access")]
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
                let start = usize::try_from(address).unwrap_or(usize::MAX);
                let bytes = self.context.arguments.get(start..start.saturating_add(into.len()));
                let bytes = bytes.ok_or_else(|| stop(warp, at, lanes, TrapKind::Parameter(address)))?;
                into.copy_from_slice(bytes);
            }
            _ => {
                let access = Access { readers, ..self.access(warp, at, lanes, strong) };
                let loaded = self.context.memory.load(&access, address, into);
                loaded.map_err(|fault| global(warp, at, lanes, address, into.len(), fault.address))?;
            }
        }
        Ok(())
    }

    /// Writes for each lane; where two write the same, the higher lane is last.
    #[expect(clippy::too_many_arguments, reason = "who, where and what of an access")]
    pub(crate) fn send<const N: usize>(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        space: Space,
        addresses: &Longs,
        rows: &Rows<N>,
        strong: bool,
    ) -> Result<(), Stop> {
        self.aligned::<N>(warp, at, lanes, addresses)?;
        if space != Space::Generic {
            return self.send_to(warp, at, lanes, space, addresses, rows, strong);
        }
        for (space, lanes) in Self::by_window(lanes, addresses) {
            let inside = if space == Space::Global { *addresses } else { addresses.map(|a| a & 0xffff_ffff) };
            self.send_to(warp, at, lanes, space, &inside, rows, strong)?;
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "who, where and what of an access")]
    fn send_to<const N: usize>(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        space: Space,
        addresses: &Longs,
        rows: &Rows<N>,
        strong: bool,
    ) -> Result<(), Stop> {
        if space == Space::Local {
            let first = lanes.trailing_zeros() as usize;
            if N.is_multiple_of(4) && uniform(lanes, addresses) {
                check_local(warp, at, first, addresses[first], N)?;
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
                check_local(warp, at, lane, addresses[lane], N)?;
                warp.local.write(lane, addresses[lane], &rows[lane]);
            }
            return Ok(());
        }
        if space == Space::Shared && !M::WATCHES_SHARED && !contiguous(lanes, addresses, N as u64) {
            for lane in each(lanes) {
                let start = usize::try_from(addresses[lane]).unwrap_or(usize::MAX);
                match self.shared.get_mut(start..start.saturating_add(N)) {
                    Some(bytes) => bytes.copy_from_slice(&rows[lane]),
                    None => {
                        let bytes = self.shared_bytes(warp, at, 1 << lane, addresses[lane], N)?;
                        bytes.copy_from_slice(&rows[lane]);
                    }
                }
            }
            return Ok(());
        }
        for (start, end) in runs(lanes, addresses, N as u64) {
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

fn run_mask(start: usize, end: usize) -> u32 {
    (u32::MAX >> (32 - (end - start))) << start
}

/// Stretches of lanes whose addresses follow each other.
fn runs(lanes: u32, addresses: &Longs, size: u64) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut next = 0;
    std::iter::from_fn(move || {
        let rest = lanes.checked_shr(next as u32).unwrap_or(0);
        if rest == 0 {
            return None;
        }
        let start = next + rest.trailing_zeros() as usize;
        let mut end = start + 1;
        while end < LANES && lanes >> end & 1 == 1 && addresses[end] == addresses[end - 1].wrapping_add(size) {
            end += 1;
        }
        next = end;
        Some((start, end))
    })
}

pub(crate) fn check_local(warp: &Warp, at: Current, lane: usize, address: u64, length: usize) -> Result<(), Stop> {
    let end = address.saturating_add(length as u64);
    if end <= warp.local.end() && end <= MAX_LOCAL.into() {
        return Ok(());
    }
    Err(stop(warp, at, 1 << lane, TrapKind::Local(address)))
}

/// A fault in global memory, charged to the lane whose byte it is.
fn global(warp: &Warp, at: Current, lanes: u32, start: u64, length: usize, fault: u64) -> Stop {
    let share = length as u64 / u64::from(lanes.count_ones().max(1));
    let index = fault.saturating_sub(start) / share.max(1);
    let lane = each(lanes).nth(index as usize).unwrap_or(lanes.trailing_zeros() as usize);
    stop(warp, at, 1 << lane, TrapKind::Global(fault))
}

/// Whether all lanes have one address.
fn uniform(lanes: u32, addresses: &Longs) -> bool {
    let first = addresses[lanes.trailing_zeros() as usize & 31];
    if lanes == ALL {
        return addresses.iter().fold(0, |wrong, address| wrong | (address ^ first)) == 0;
    }
    each(lanes).all(|lane| addresses[lane] == first)
}

/// Whether all lanes of a full warp lie side by side.
fn contiguous(lanes: u32, addresses: &Longs, size: u64) -> bool {
    let place = |lane: usize| addresses[0].wrapping_add(lane as u64 * size);
    lanes == ALL && (0..LANES).fold(0, |wrong, lane| wrong | (addresses[lane] ^ place(lane))) == 0
}

//! Loads and stores: from registers to rows of bytes, and back.

use super::lane_access::{Rows, check_local};
use crate::device::host::Host;
use crate::device::memory::Memory;
use crate::device::trap::TrapKind;
use crate::exec::memory::coalesced::by_shape;
use crate::exec::registers::File;
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor, Stop, stop};
use crate::lanes::{LANES, Longs, lanes as each};
use crate::program::operation::{Reach, Space};
use crate::program::slot::Slot;
use crate::program::window::Window;

/// The same for each size that an access can have.
macro_rules! by_size {
    ($bytes:expr, $n:ident => $body:expr) => {
        match $bytes {
            1 => {
                const $n: usize = 1;
                $body
            }
            2 => {
                const $n: usize = 2;
                $body
            }
            4 => {
                const $n: usize = 4;
                $body
            }
            8 => {
                const $n: usize = 8;
                $body
            }
            16 => {
                const $n: usize = 16;
                $body
            }
            _ => {
                const $n: usize = 32;
                $body
            }
        }
    };
}

impl<M: Memory + Host> Executor<'_, M> {
    pub(crate) fn load(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        reach: Reach,
        slots: &[Slot; 6],
    ) -> Result<(), Stop> {
        by_shape!(reach, [N, B] => {
            let mut rows: Rows<N> = [[0; N]; LANES];
            if reach.space == Space::Argument {
                let row = self.argument(warp, at, lanes, slots[5].value().into())?;
                keep_one::<N, B>(&mut self.file(warp, at), lanes, reach, slots, &row);
                return Ok(());
            }
            let (space, addresses) = self.addresses(warp, at, reach, slots);
            if self.fetch(warp, at, lanes, space, &addresses, &mut rows, reach.strong)? {
                keep_one::<N, B>(&mut self.file(warp, at), lanes, reach, slots, &rows[0]);
                return Ok(());
            }
            keep::<N, B>(&mut self.file(warp, at), lanes, reach, slots, &rows);
        });
        Ok(())
    }

    pub(crate) fn store(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        reach: Reach,
        slots: &[Slot; 6],
    ) -> Result<(), Stop> {
        by_shape!(reach, [N, B] => {
            let mut rows: Rows<N> = [[0; N]; LANES];
            spread_all::<N, B>(&self.file(warp, at), reach, slots, &mut rows);
            let (space, addresses) = self.addresses(warp, at, reach, slots);
            self.send(warp, at, lanes, space, &addresses, &rows, reach.strong)
        })
    }

    /// Where each lane goes.
    #[inline(always)]
    fn addresses(&self, warp: &mut Warp, at: Current, reach: Reach, slots: &[Slot; 6]) -> (Space, Longs) {
        if reach.space == Space::Frame {
            let base = warp.frames.get(at.frame).base.wrapping_add(slots[5].value());
            return (Space::Local, [base.into(); LANES]);
        }
        (reach.space, self.file(warp, at).addresses(slots[4], reach.wide, slots[5].value()))
    }

    fn argument<const N: usize>(&self, warp: &Warp, at: Current, lanes: u32, offset: u64) -> Result<[u8; N], Stop> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = self.context.arguments.get(start..start.saturating_add(N));
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or_else(|| stop(warp, at, lanes, TrapKind::Parameter(offset)))
    }

    /// `cp.async`: bytes from global to shared memory, zeros behind the limit.
    pub(crate) fn copy(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        bytes: u8,
        wide: [bool; 2],
        slots: &[Slot; 6],
    ) -> Result<(), Stop> {
        let file = self.file(warp, at);
        let into = file.addresses(slots[0], wide[0], slots[1].value());
        let from = file.addresses(slots[2], wide[1], slots[3].value());
        let limits = *file.words(slots[4]);
        by_size!(bytes, N => {
            self.aligned::<N>(warp, at, lanes, &from)?;
            let mut rows: Rows<N> = [[0; N]; LANES];
            for lane in each(lanes) {
                let count = (limits[lane] as usize).min(N);
                let mut row = [0; N];
                self.read(warp, at, 1 << lane, 1 << lane, Space::Global, from[lane], &mut row[..count], false)?;
                rows[lane] = row;
            }
            self.send(warp, at, lanes, Space::Shared, &into, &rows, false)
        })
    }

    /// Reads bytes for one lane, wherever a generic address leads.
    pub(crate) fn peek(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lane: usize,
        address: u64,
        into: &mut [u8],
    ) -> Result<(), Stop> {
        let (window, inside) = Window::of(address);
        let space = match window {
            Window::Local => {
                check_local(warp, at, lane, inside, into.len())?;
                warp.local.read(lane, inside, into);
                return Ok(());
            }
            Window::Shared => Space::Shared,
            Window::Parameter => Space::Parameter,
            Window::Global | Window::Constant => Space::Global,
        };
        self.read(warp, at, 1 << lane, 1 << lane, space, inside, into, false)
    }
}

/// Puts what was read into registers.
#[inline(always)]
pub(crate) fn keep<const N: usize, const B: usize>(
    file: &mut File<'_>,
    lanes: u32,
    reach: Reach,
    slots: &[Slot; 6],
    rows: &Rows<N>,
) {
    for (element, slot) in slots.iter().enumerate().take(N / B) {
        let start = element * B;
        match (reach.long, reach.signed) {
            (false, false) => file.set_words(*slot, lanes, &gather(rows, |row| value::<N, B>(row, start) as u32)),
            (true, false) => file.set_longs(*slot, lanes, &gather(rows, |row| value::<N, B>(row, start))),
            (false, true) => file.set_words(*slot, lanes, &gather(rows, |row| signed::<N, B>(row, start) as u32)),
            (true, true) => file.set_longs(*slot, lanes, &gather(rows, |row| signed::<N, B>(row, start))),
        }
    }
}

/// The same for all lanes.
#[inline(always)]
pub(crate) fn keep_one<const N: usize, const B: usize>(
    file: &mut File<'_>,
    lanes: u32,
    reach: Reach,
    slots: &[Slot; 6],
    row: &[u8; N],
) {
    for (element, slot) in slots.iter().enumerate().take(N / B) {
        let start = element * B;
        let value = if reach.signed { signed::<N, B>(row, start) } else { value::<N, B>(row, start) };
        if reach.long {
            file.set_longs(*slot, lanes, &[value; LANES]);
        } else {
            file.set_words(*slot, lanes, &[value as u32; LANES]);
        }
    }
}

/// Takes what is to be written from registers.
#[inline(always)]
pub(crate) fn spread_all<const N: usize, const B: usize>(
    file: &File<'_>,
    reach: Reach,
    slots: &[Slot; 6],
    rows: &mut Rows<N>,
) {
    for (element, slot) in slots.iter().enumerate().take(N / B) {
        let start = element * B;
        if reach.long {
            let values = file.longs(*slot);
            spread::<N, B>(rows, start, |lane| values[lane]);
        } else {
            let values = file.words(*slot);
            spread::<N, B>(rows, start, |lane| values[lane].into());
        }
    }
}

#[inline(always)]
fn gather<const N: usize, T>(rows: &Rows<N>, value: impl Fn(&[u8; N]) -> T) -> [T; LANES] {
    std::array::from_fn(|lane| value(&rows[lane]))
}

/// `B` bytes of each value, `start` bytes into the row; an element that does not fit is not there.
#[inline(always)]
fn spread<const N: usize, const B: usize>(rows: &mut Rows<N>, start: usize, value: impl Fn(usize) -> u64) {
    if start + B > N {
        return;
    }
    for (lane, row) in rows.iter_mut().enumerate() {
        row[start..start + B].copy_from_slice(&value(lane).to_le_bytes()[..B]);
    }
}

#[inline(always)]
fn value<const N: usize, const B: usize>(row: &[u8; N], start: usize) -> u64 {
    let mut all = [0; 8];
    if start + B <= N {
        all[..B].copy_from_slice(&row[start..start + B]);
    }
    u64::from_le_bytes(all)
}

#[inline(always)]
fn signed<const N: usize, const B: usize>(row: &[u8; N], start: usize) -> u64 {
    let unused = 64 - 8 * B as u32;
    (value::<N, B>(row, start).cast_signed() << unused >> unused).cast_unsigned()
}

//! Loads, stores and `cp.async`, lane by lane.

use super::lane_access::LaneAccess;
use crate::device::host::Host;
use crate::device::memory::Memory;
use crate::exec::memory::pattern::AccessPattern;
use crate::exec::memory::rows::{Rows, broadcast, by_size_and_count, from_registers, to_registers};
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor, Stop};
use crate::lanes::{LANES, Longs, lanes as each};
use crate::program::operation::AccessForm;
use crate::program::slot::Slot;
use crate::program::space::Space;
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
        form: AccessForm,
        slots: &[Slot; 6],
    ) -> Result<(), Stop> {
        by_size_and_count!(form, [N, B] => {
            let mut rows: Rows<N> = [[0; N]; LANES];
            if form.space == Space::Argument {
                let row = self.argument(warp, at, lanes, slots[5].value().into())?;
                broadcast::<N, B>(&mut self.file(warp, at), lanes, form, slots, &row);
                return Ok(());
            }
            let (space, addresses) = self.addresses(warp, at, form, slots);
            let access = LaneAccess { at, lanes, space, addresses: &addresses, strong: form.strong };
            let is_same = match self.context.program.code.used_bytes(at.pc) {
                Some(used) => self.fetch_used(warp, access, used, &mut rows)?,
                None => self.fetch(warp, access, &mut rows)?,
            };
            if is_same {
                broadcast::<N, B>(&mut self.file(warp, at), lanes, form, slots, &rows[0]);
                return Ok(());
            }
            to_registers::<N, B>(&mut self.file(warp, at), lanes, form, slots, &rows);
        });
        Ok(())
    }

    pub(crate) fn store(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        form: AccessForm,
        slots: &[Slot; 6],
    ) -> Result<(), Stop> {
        by_size_and_count!(form, [N, B] => {
            let mut rows: Rows<N> = [[0; N]; LANES];
            from_registers::<N, B>(&self.file(warp, at), form, slots, &mut rows);
            let (space, addresses) = self.addresses(warp, at, form, slots);
            self.send(warp, LaneAccess { at, lanes, space, addresses: &addresses, strong: form.strong }, &rows)
        })
    }

    /// The address of each lane.
    #[inline(always)]
    fn addresses(&self, warp: &mut Warp, at: Current, form: AccessForm, slots: &[Slot; 6]) -> (Space, Longs) {
        if form.space == Space::Frame {
            let base = warp.frames.get(at.frame).base.wrapping_add(slots[5].value());
            return (Space::Local, [base.into(); LANES]);
        }
        (form.space, self.file(warp, at).addresses(slots[4], form.wide, slots[5].value()))
    }

    fn argument<const N: usize>(&self, warp: &Warp, at: Current, lanes: u32, offset: u64) -> Result<[u8; N], Stop> {
        let mut row = [0; N];
        self.read_arguments(warp, at, lanes, offset, &mut row)?;
        Ok(row)
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
            let source = LaneAccess { at, lanes, space: Space::Global, addresses: &from, strong: false };
            source.check_alignment(warp, AccessPattern::of(lanes, &from, N as u64), N as u64)?;
            let mut rows: Rows<N> = [[0; N]; LANES];
            for lane in each(lanes) {
                let count = (limits[lane] as usize).min(N);
                let mut row = [0; N];
                self.read(warp, at, 1 << lane, 1 << lane, Space::Global, from[lane], &mut row[..count], false)?;
                rows[lane] = row;
            }
            self.send(warp, LaneAccess { space: Space::Shared, addresses: &into, ..source }, &rows)
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
                self.check_local(warp, at, lane, inside, into.len())?;
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

//! Accesses to 16 bytes at once: strong loads and stores of `.b128`, `atom.exch.b128`, `atom.cas.b128`.
//!
//! They exclude each other by a lock, since Rust has no atomic words of 16 bytes. An access of another size
//! to the same bytes at the same time is a data race in PTX as well.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::device::host::{Host, Touch};
use crate::device::memory::Memory;
use crate::device::trap::TrapKind;
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor, Stop, stop};
use crate::lanes::{LANES, by_lane, lanes as each, map_row};
use crate::program::operation::{AccessForm, PairAtomic};
use crate::program::slot::Slot;
use crate::program::space::Space;
use crate::program::window::Window;

const BYTES: usize = 16;

/// Held during each access.
fn exclude() -> MutexGuard<'static, ()> {
    static ACCESS: Mutex<()> = Mutex::new(());
    // It guards no data that a panic could leave half-changed.
    ACCESS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn join(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u128::from(*byte))
}

impl<M: Memory + Host> Executor<'_, M> {
    pub(crate) fn load_whole(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        form: AccessForm,
        slots: &[Slot; 6],
    ) -> Result<(), Stop> {
        let _alone = exclude();
        self.load(warp, at, lanes, form, slots)
    }

    pub(crate) fn store_whole(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        form: AccessForm,
        slots: &[Slot; 6],
    ) -> Result<(), Stop> {
        let _alone = exclude();
        self.store(warp, at, lanes, form, slots)
    }

    /// One lane after the other, lowest first.
    pub(crate) fn atomic_pair(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        atomic: PairAtomic,
        &[d, address, offset, b, c, _]: &[Slot; 6],
    ) -> Result<(), Stop> {
        let _alone = exclude();
        let file = self.file(warp, at);
        let addresses = file.addresses(address, atomic.wide, offset.value());
        let operands = |slot: Slot| {
            let [low, high] = [*file.longs(slot), *file.longs(slot.next())];
            by_lane(|lane| u128::from(high[lane]) << 64 | u128::from(low[lane]))
        };
        let (first, second) = (operands(b), operands(c));
        let mut row = [0; LANES];
        for lane in each(lanes) {
            let change = |old: u128| match atomic.is_swap {
                false => first[lane],
                true if old == first[lane] => second[lane],
                true => old,
            };
            row[lane] = self.change_pair(warp, at, lane, (atomic.space, addresses[lane]), change)?;
        }
        if d != Slot::SINK {
            let mut file = self.file(warp, at);
            file.set_longs(d, lanes, &map_row(&row, |value| value as u64));
            file.set_longs(d.next(), lanes, &map_row(&row, |value| (value >> 64) as u64));
        }
        Ok(())
    }

    /// Changes 16 bytes for one lane, and returns their old value.
    fn change_pair(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lane: usize,
        (space, address): (Space, u64),
        change: impl Fn(u128) -> u128,
    ) -> Result<u128, Stop> {
        if !address.is_multiple_of(BYTES as u64) {
            return Err(stop(warp, at, 1 << lane, TrapKind::Misaligned { address, alignment: BYTES as u64 }));
        }
        let (space, address) = match (space, Window::of(address)) {
            (Space::Generic, (Window::Shared, inside)) => (Space::Shared, inside),
            (Space::Generic, (Window::Local, inside)) => (Space::Local, inside),
            (Space::Generic, (Window::Parameter, inside)) => {
                return Err(stop(warp, at, 1 << lane, TrapKind::Local(inside)));
            }
            (Space::Generic, _) => (Space::Global, address),
            (space, _) => (space, address),
        };
        match space {
            Space::Shared => {
                let there = self.shared_bytes(warp, at, 1 << lane, address, BYTES)?;
                let old = join(there);
                there.copy_from_slice(&change(old).to_le_bytes());
                if M::WATCHES_SHARED {
                    let access = self.access(warp, at, 1 << lane, true);
                    self.watch_shared(&access, address, 0, Touch::Update(BYTES as u32));
                }
                Ok(old)
            }
            Space::Local => {
                self.check_local(warp, at, lane, address, BYTES)?;
                let mut all = [0; BYTES];
                warp.local.read(lane, address, &mut all);
                let old = u128::from_le_bytes(all);
                warp.local.write(lane, address, &change(old).to_le_bytes());
                Ok(old)
            }
            _ => {
                let access = self.access(warp, at, 1 << lane, true);
                let memory = &self.context.memory;
                let half = |offset: u64, new: Option<u64>| {
                    let updated = memory.update(&access, address + offset, 8, &mut |old| new.unwrap_or(old));
                    updated.map_err(|fault| stop(warp, at, 1 << lane, TrapKind::Global(fault.address)))
                };
                // Both can be written before one is.
                let old = u128::from(half(0, None)?) | u128::from(half(8, None)?) << 64;
                let new = change(old);
                if new != old {
                    half(0, Some(new as u64))?;
                    half(8, Some((new >> 64) as u64))?;
                }
                Ok(old)
            }
        }
    }
}

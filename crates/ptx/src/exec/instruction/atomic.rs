//! Atomic operations, lane by lane. The [fast path](crate::exec::memory::atomic) does those that all lanes
//! can do at once.

use crate::device::host::{Host, Touch};
use crate::device::memory::Memory;
use crate::device::trap::TrapKind;
use crate::exec::compute::atomic::changed;
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor, Stop, stop};
use crate::lanes::{LANES, lanes as each, map_row};
use crate::program::operation::Atomic;
use crate::program::slot::Slot;
use crate::program::space::Space;
use crate::program::window::Window;

impl<M: Memory + Host> Executor<'_, M> {
    /// One lane after the other, lowest first.
    pub(crate) fn atomic(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        atomic: Atomic,
        &[d, address, offset, b, c, _]: &[Slot; 6],
    ) -> Result<(), Stop> {
        let bytes = usize::from(atomic.scalar.bytes());
        let long = bytes == 8;
        let file = self.file(warp, at);
        let addresses = file.addresses(address, atomic.wide, offset.value());
        let operands = |slot| if long { *file.longs(slot) } else { map_row(file.words(slot), u64::from) };
        let (first, second) = (operands(b), operands(c));
        let mut row = [0; LANES];
        for lane in each(lanes) {
            let mut address = addresses[lane];
            if !address.is_multiple_of(bytes as u64) {
                let kind = TrapKind::Misaligned { address, alignment: bytes as u64 };
                return Err(stop(warp, at, 1 << lane, kind));
            }
            let space = match (atomic.space, Window::of(address)) {
                (Space::Generic, (Window::Shared, inside)) => {
                    address = inside;
                    Space::Shared
                }
                (Space::Generic, (Window::Local, inside)) => {
                    // Hardware takes it, though no other thread can see the memory.
                    self.check_local(warp, at, lane, inside, bytes)?;
                    let mut all = [0; 8];
                    warp.local.read(lane, inside, &mut all[..bytes]);
                    row[lane] = u64::from_le_bytes(all);
                    let new = changed(atomic.change, atomic.scalar, true, row[lane], first[lane], second[lane]);
                    warp.local.write(lane, inside, &new.to_le_bytes()[..bytes]);
                    continue;
                }
                (Space::Generic, (Window::Parameter, inside)) => {
                    return Err(stop(warp, at, 1 << lane, TrapKind::Local(inside)));
                }
                (Space::Generic, _) => Space::Global,
                (space, _) => space,
            };
            let shared = space == Space::Shared;
            let mut change = |old: u64| changed(atomic.change, atomic.scalar, shared, old, first[lane], second[lane]);
            row[lane] = if space == Space::Shared {
                let there = self.shared_bytes(warp, at, 1 << lane, address, bytes)?;
                let mut all = [0; 8];
                all[..bytes].copy_from_slice(there);
                let old = u64::from_le_bytes(all);
                there.copy_from_slice(&change(old).to_le_bytes()[..bytes]);
                if M::WATCHES_SHARED {
                    let access = self.access(warp, at, 1 << lane, true);
                    self.watch_shared(&access, address, 0, Touch::Update(bytes as u32));
                }
                old
            } else {
                let range = self.ranges.range(&self.context.memory, at.pc as usize, address);
                match range.and_then(|range| range.update(address, bytes, &mut change)) {
                    Some(old) => old,
                    None => {
                        let access = self.access(warp, at, 1 << lane, true);
                        let updated = self.context.memory.update(&access, address, bytes, &mut change);
                        updated.map_err(|fault| stop(warp, at, 1 << lane, TrapKind::Global(fault.address)))?
                    }
                }
            };
        }
        let mut file = self.file(warp, at);
        if d == Slot::SINK {
            return Ok(());
        }
        if long {
            file.set_longs(d, lanes, &row);
        } else {
            file.set_words(d, lanes, &map_row(&row, |value| value as u32));
        }
        Ok(())
    }
}

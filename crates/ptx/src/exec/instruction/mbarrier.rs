//! `mbarrier`: barriers in shared memory.
//!
//! | bits | count of |
//! |---|---|
//! | 0–19 | arrivals that the phase still misses |
//! | 20–39 | arrivals that every phase expects |
//! | 40–61 | bytes that are expected and have not come, in two's complement |
//! | 63 | the phase, which ends when nothing is missing |

use crate::device::host::{Host, Touch};
use crate::device::memory::Memory;
use crate::device::trap::TrapKind;
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor, Stop, stop};
use crate::lanes::{LANES, lanes as each, map_row};
use crate::program::operation::MemoryBarrier;
use crate::program::slot::Slot;
use crate::program::window::Window;

/// A barrier, unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    missing: u32,
    expected: u32,
    bytes: i32,
    phase: bool,
}

const COUNT: u64 = (1 << 20) - 1;

impl State {
    fn unpack(bits: u64) -> State {
        State {
            missing: (bits & COUNT) as u32,
            expected: (bits >> 20 & COUNT) as u32,
            bytes: (bits << 2).cast_signed().wrapping_shr(42) as i32,
            phase: bits >> 63 == 1,
        }
    }

    fn pack(self) -> u64 {
        let bytes = u64::from(self.bytes.cast_unsigned() & ((1 << 22) - 1));
        u64::from(self.phase) << 63 | bytes << 40 | u64::from(self.expected) << 20 | u64::from(self.missing)
    }

    /// The next phase begins where nothing is missing.
    fn turn(self) -> State {
        if self.missing > 0 || self.bytes != 0 {
            return self;
        }
        State { missing: self.expected, phase: !self.phase, ..self }
    }

    fn arrive(self, count: u32, bytes: u32, drops: bool) -> State {
        let expected = if drops { self.expected.saturating_sub(count) } else { self.expected };
        let bytes = self.bytes.wrapping_add(bytes.cast_signed());
        State { missing: self.missing.saturating_sub(count), expected, bytes, ..self }.turn()
    }

    /// Bytes have come.
    fn complete(self, bytes: u32) -> State {
        State { bytes: self.bytes.wrapping_sub(bytes.cast_signed()), ..self }.turn()
    }
}

impl<M: Memory + Host> Executor<'_, M> {
    /// The barrier at an address of shared memory.
    fn barrier_state(&mut self, warp: &Warp, at: Current, lane: usize, address: u64) -> Result<State, Stop> {
        if !address.is_multiple_of(8) {
            return Err(stop(warp, at, 1 << lane, TrapKind::Misaligned { address, alignment: 8 }));
        }
        let mut bytes = [0; 8];
        bytes.copy_from_slice(self.shared_bytes(warp, at, 1 << lane, address, 8)?);
        Ok(State::unpack(u64::from_le_bytes(bytes)))
    }

    fn set_barrier_state(
        &mut self,
        warp: &Warp,
        at: Current,
        lane: usize,
        address: u64,
        state: State,
    ) -> Result<(), Stop> {
        self.shared_bytes(warp, at, 1 << lane, address, 8)?.copy_from_slice(&state.pack().to_le_bytes());
        Ok(())
    }

    /// Bytes of a copy have come, which a barrier counts.
    pub(crate) fn complete_bytes(
        &mut self,
        warp: &Warp,
        at: Current,
        lane: usize,
        address: u64,
        bytes: u32,
    ) -> Result<(), Stop> {
        let state = self.barrier_state(warp, at, lane, address)?;
        self.check_bytes(warp, at, lane, state, -i64::from(bytes))?;
        self.set_barrier_state(warp, at, lane, address, state.complete(bytes))
    }

    /// Traps if a barrier would have to count more bytes than it can.
    fn check_bytes(&self, warp: &Warp, at: Current, lane: usize, state: State, more: i64) -> Result<(), Stop> {
        let bytes = i64::from(state.bytes) + more;
        if more == 0 || bytes.unsigned_abs() <= COUNT {
            return Ok(());
        }
        Err(stop(warp, at, 1 << lane, TrapKind::BarrierBytes { bytes }))
    }

    pub(crate) fn memory_barrier(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        kind: MemoryBarrier,
        wide: bool,
        &[d, address, offset, operand, ..]: &[Slot; 6],
    ) -> Result<(), Stop> {
        let mut file = self.file(warp, at);
        if kind == MemoryBarrier::Pending {
            let row = map_row(file.longs(operand), |bits| State::unpack(bits).missing);
            file.set_words(d, lanes, &row);
            return Ok(());
        }
        let addresses = file.addresses(address, wide, offset.value());
        let given =
            if kind == MemoryBarrier::Test { *file.longs(operand) } else { map_row(file.words(operand), u64::from) };
        let (mut states, mut over) = ([0; LANES], 0);
        for lane in each(lanes) {
            let inside = match Window::of(addresses[lane]) {
                (Window::Shared, inside) => inside,
                _ => addresses[lane],
            };
            let state = self.barrier_state(warp, at, lane, inside)?;
            let count = given[lane] as u32;
            // A test that finds the phase not over orders nothing.
            let is_over = match kind {
                MemoryBarrier::Test => state.phase != State::unpack(given[lane]).phase,
                MemoryBarrier::TestParity => state.phase != (count & 1 == 1),
                _ => true,
            };
            if M::WATCHES_SHARED && is_over {
                let touch = match kind {
                    MemoryBarrier::Initialize => Touch::Write { bytes: 8, same: 0 },
                    MemoryBarrier::Test | MemoryBarrier::TestParity => Touch::Read(8),
                    _ => Touch::Update(8),
                };
                let access = self.access(warp, at, 1 << lane, kind != MemoryBarrier::Initialize);
                self.watch_shared(&access, inside, 0, touch);
            }
            let expected = match kind {
                MemoryBarrier::Arrive { expects: true, .. } | MemoryBarrier::Expect => i64::from(count),
                MemoryBarrier::Complete => -i64::from(count),
                _ => 0,
            };
            self.check_bytes(warp, at, lane, state, expected)?;
            let next = match kind {
                MemoryBarrier::Initialize => {
                    let count = count & COUNT as u32;
                    State { missing: count, expected: count, bytes: 0, phase: false }
                }
                MemoryBarrier::Arrive { expects: true, drops } => state.arrive(1, count, drops),
                MemoryBarrier::Arrive { expects: false, drops } => state.arrive(count, 0, drops),
                MemoryBarrier::Expect => state.arrive(0, count, false),
                MemoryBarrier::Complete => state.complete(count),
                MemoryBarrier::Test | MemoryBarrier::TestParity => {
                    over |= u32::from(is_over) << lane;
                    continue;
                }
                MemoryBarrier::Pending => continue,
            };
            states[lane] = state.pack();
            self.set_barrier_state(warp, at, lane, inside, next)?;
        }
        let mut file = self.file(warp, at);
        match kind {
            MemoryBarrier::Arrive { .. } if d != Slot::SINK => file.set_longs(d, lanes, &states),
            MemoryBarrier::Test | MemoryBarrier::TestParity => file.set_predicate(d, lanes, over),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_ends_when_all_have_arrived_and_all_bytes_have_come() {
        let start = State { missing: 2, expected: 2, bytes: 0, phase: false };
        let one = start.arrive(1, 64, false);
        assert_eq!(one, State { missing: 1, bytes: 64, ..start });
        let both = one.arrive(1, 0, false);
        assert!(!both.phase);
        let done = State { bytes: 0, ..both }.turn();
        assert_eq!(done, State { phase: true, ..start });
        assert_eq!(done.arrive(1, 0, true).expected, 1);
    }

    #[test]
    fn states_survive_memory() {
        for bytes in [0, 5, -5, 1 << 20] {
            let state = State { missing: 7, expected: 9, bytes, phase: true };
            assert_eq!(State::unpack(state.pack()), state);
        }
    }
}

//! Virtual time of a warp, in cycles of the device's clock.
//!
//! Each instruction takes a fixed number of cycles; sleeps and waits at barriers add to them. A warp that
//! does nothing but read the clock is moved forward, so that a kernel which spins for a while does not take
//! as long to simulate.

use super::Warp;
use super::group::State;
use crate::program::operation::{Instruction, Operation};

/// The longest loop around a clock read that counts as spinning, in instructions.
const LONGEST_LOOP: u64 = 32;
/// Reads of the clock by one instruction, a loop apart, before the warp is moved forward.
const READS: u32 = 64;
/// The part of the time spent spinning by which the next read is moved forward: the last read is late by so
/// much at most.
const PART: u64 = 128;

/// The cycles of a warp since its block started.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Time {
    /// Instructions carried out.
    pub(crate) instructions: u64,
    /// Cycles beside those of instructions.
    waited: u64,
    spin: Spin,
}

/// Repeated reads of the clock.
#[derive(Clone, Copy, Debug, Default)]
struct Spin {
    /// The instruction that reads it.
    pc: u32,
    /// Reads in a row.
    reads: u32,
    /// Instructions carried out before the last one.
    last: u64,
    /// Cycles at the first one.
    began: u64,
    /// `true` if the loop around it reads and writes no memory.
    is_pure: bool,
}

impl Time {
    /// Cycles since the block started, where an instruction takes `each`.
    pub(crate) fn cycles(&self, each: u64) -> u64 {
        (self.instructions * each).saturating_add(self.waited)
    }

    /// The warp does nothing for a while.
    pub(crate) fn sleep(&mut self, cycles: u64) {
        self.waited = self.waited.saturating_add(cycles);
    }

    /// Reads the clock, at an instruction of the code.
    pub(crate) fn read(&mut self, pc: u32, each: u64, code: &[Instruction]) -> u64 {
        let now = self.cycles(each);
        let spin = &mut self.spin;
        let distance = self.instructions - spin.last;
        if spin.pc != pc {
            // A loop may read several clocks; one of them is enough.
            if spin.reads == 0 || distance > LONGEST_LOOP {
                *spin = Spin { pc, reads: 1, last: self.instructions, began: now, is_pure: false };
            }
            return now;
        }
        if distance > LONGEST_LOOP {
            *spin = Spin { pc, reads: 1, last: self.instructions, began: now, is_pure: false };
            return now;
        }
        spin.last = self.instructions;
        spin.reads = spin.reads.saturating_add(1);
        if spin.reads == READS {
            spin.is_pure = is_in_pure_loop(code, pc as usize);
        }
        if spin.is_pure {
            let skipped = (now - spin.began) / PART;
            self.sleep(skipped);
        }
        self.cycles(each)
    }

    /// The warps that wait at a barrier go on at the same time: when the last of them arrived.
    pub(crate) fn meet(warps: &mut [Warp], number: u32, each: u64) {
        let waits = |warp: &Warp| warp.groups.iter().any(|group| group.state == State::Barrier(number));
        let arrivals = warps.iter().filter(|warp| waits(warp)).map(|warp| warp.time.cycles(each));
        let last = arrivals.max().unwrap_or(0);
        for warp in warps.iter_mut().filter(|warp| waits(warp)) {
            let early = last - warp.time.cycles(each);
            warp.time.sleep(early);
        }
    }
}

/// `true` if the innermost loop around an instruction computes and branches, and does nothing else.
fn is_in_pure_loop(code: &[Instruction], pc: usize) -> bool {
    let behind = pc..code.len().min(pc + LONGEST_LOOP as usize);
    let mut back = behind.filter_map(|branch| match code[branch].operation {
        Operation::Branch => Some((branch, code[branch].slots[0].value() as usize)),
        _ => None,
    });
    let Some((last, first)) = back.find(|(_, target)| *target <= pc) else { return false };
    code[first..=last].iter().all(|instruction| {
        use Operation::{Branch, Compute, Nothing, Sleep, Special};
        matches!(instruction.operation, Compute(_) | Branch | Nothing | Sleep | Special(_))
    })
}

#[cfg(test)]
mod tests {
    use crate::device::VecMemory;
    use crate::exec::grid::{Cost, Grid, Step};
    use crate::{Launch, Program};

    /// Runs `body` with the address of 4 KiB in `%rd1`, so many instructions at a time; its cost, and the
    /// instructions.
    fn run(body: &str, threads: u32, fuel: u64) -> (Cost, u64) {
        run_counted(body, threads, fuel, false)
    }

    fn run_counted(body: &str, threads: u32, fuel: u64, counts_sectors: bool) -> (Cost, u64) {
        let text = format!(
            ".version 8.0 .target sm_80 .address_size 64 .visible .entry timed(.param .u64 at) {{
             .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; ld.param.u64 %rd1, [at]; {body} ret; }}"
        );
        let program = Program::from_text(&text).unwrap();
        let memory = VecMemory::new(4096);
        let arguments = memory.reserve(4096).to_le_bytes();
        let (block, cycles_per_instruction) = ([threads, 1, 1], 4);
        let launch =
            Launch { block, arguments: &arguments, cycles_per_instruction, counts_sectors, ..Launch::default() };
        let mut grid = Grid::new(program.kernel("timed").unwrap(), launch, &memory).unwrap();
        while grid.step(fuel) == Step::Running {}
        (grid.cost(), grid.instructions())
    }

    /// A loop until the clock has advanced by a million cycles, with something else in it.
    fn spin(beside: &str) -> (Cost, u64) {
        run(
            &format!(
                "mov.u64 %rd2, %clock64;
                 AGAIN: {beside} mov.u64 %rd3, %clock64; sub.u64 %rd3, %rd3, %rd2; setp.lt.u64 %p1, %rd3, 1000000;
                 @%p1 bra AGAIN;"
            ),
            32,
            1 << 16,
        )
    }

    #[test]
    fn a_warp_that_only_reads_the_clock_is_moved_forward() {
        let (cost, instructions) = spin("");
        assert!((1_000_000..1_010_000).contains(&cost.longest), "{cost:?}");
        assert!(instructions < 10_000, "{instructions}");
    }

    #[test]
    fn a_warp_that_looks_at_memory_is_not() {
        let (cost, instructions) = spin("ld.volatile.global.u32 %r1, [%rd1];");
        assert!((1_000_000..1_000_100).contains(&cost.longest), "{cost:?}");
        assert!(instructions > 240_000, "{instructions}");
    }

    #[test]
    fn warps_leave_a_barrier_when_the_last_one_has_arrived() {
        // Each of two warps sleeps once, between different barriers.
        let nap = "nanosleep.u32 100000; bar.sync 0;";
        let (cost, _) = run(
            &format!(
                "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 {nap} @!%p1 nanosleep.u32 100000; bar.sync 0;"
            ),
            64,
            1 << 16,
        );
        assert!((200_000..200_200).contains(&cost.longest), "{cost:?}");
        assert_eq!(cost.cycles, cost.longest);
    }

    #[test]
    fn bytes_of_global_memory_are_counted_by_lanes() {
        let (cost, _) = run("ld.global.v2.u32 {%r1, %r2}, [%rd1]; st.global.u8 [%rd1], %r1;", 40, 1000);
        assert_eq!(cost.bytes, 40 * 9);
    }

    #[test]
    fn instructions_of_threads_are_counted_by_the_lanes_that_run_them() {
        let (whole, instructions) = run("mov.u32 %r1, 1;", 64, 1000);
        assert_eq!((whole.instructions, whole.thread_instructions), (instructions, 32 * instructions));
        assert_eq!(whole.divergent_branches, 0);
        // Eight of 32 lanes go the longer way.
        let body = "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 8; @%p1 bra PAST;
            mov.u32 %r2, 1; mov.u32 %r2, 2; mov.u32 %r2, 3; PAST: mov.u32 %r3, 1;";
        let (parted, instructions) = run(body, 32, 1000);
        assert_eq!((parted.instructions, parted.divergent_branches), (instructions, 1));
        assert_eq!(parted.thread_instructions, 32 * (instructions - 3) + 8 * 3);
    }

    #[test]
    fn sectors_are_counted_where_a_launch_asks_for_it() {
        let body = "mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 128; add.s64 %rd3, %rd1, %rd2;
            ld.global.u32 %r2, [%rd3]; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2;";
        let (cost, _) = run_counted(body, 32, 1000, true);
        assert_eq!((cost.requests, cost.sectors, cost.needed_sectors), (2, 32 + 4, 4 + 4));
        let (uncounted, _) = run(body, 32, 1000);
        assert_eq!((uncounted.requests, uncounted.sectors, uncounted.bytes), (0, 0, cost.bytes));
    }

    #[test]
    fn a_cost_does_not_depend_on_the_fuel_of_a_step() {
        // Lanes go round a loop as often as their number says, and then some.
        let body = "mov.u32 %r1, %tid.x; mov.u32 %r2, 0;
            AGAIN: add.u32 %r2, %r2, 1; and.b32 %r3, %r2, 1; setp.eq.u32 %p2, %r3, 0; @%p2 bra EVEN;
            add.u32 %r4, %r4, %r2; EVEN: setp.le.u32 %p1, %r2, %r1; @%p1 bra AGAIN; st.global.u32 [%rd1], %r4;";
        let expected = run(body, 70, 1 << 20);
        for fuel in [1, 2, 3, 7, 100] {
            assert_eq!(run(body, 70, fuel), expected, "{fuel} instructions at a time");
        }
    }
}

//! The inner loop: instructions that all lanes of a group carry out together.
//!
//! The loop is compiled once for any processor and once for those with AVX2 and FMA, where a row of 32 words
//! is four registers; the choice is made at run time. It covers most instructions of most kernels:
//! arithmetic, kernel arguments, accesses to direct ranges and shared memory, branches that no lane or every
//! lane takes. It never traps: any other instruction is left to the [interpreter](super).
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "calls the loop that needs a processor's features, after asking for them")
)]

use crate::arith::convert::Conversion;
use crate::exec::memory::dispatch::Accesses;
#[cfg(target_arch = "x86_64")]
use crate::exec::memory::processor::Avx2;
use crate::exec::memory::processor::Portable;
use crate::exec::memory::transfer::{Environment, Transfer, Update};
use crate::exec::memory::{coalesced, shared_words, single_element};
use crate::exec::registers::File;
use crate::lanes::LANES;
use crate::program::operation::{Instruction, Operation, Special};
use crate::program::slot::Slot;
use crate::program::space::Space;

/// A position in the code, and the limits of the loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'c> {
    pub(crate) code: &'c [Instruction],
    pub(crate) conversions: &'c [Conversion],
    /// The next instruction.
    pub(crate) pc: usize,
    /// The instruction at which another group waits to reconverge: the loop ends there, or behind it.
    pub(crate) meeting: usize,
    /// Instructions that may still be carried out.
    pub(crate) left: u64,
}

/// Carries out instructions until one needs the slow path; returns the position and the fuel left.
pub(crate) fn run<'c>(file: &mut File<'_>, lanes: u32, cursor: Cursor<'c>, around: &mut Environment<'_>) -> Cursor<'c> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: both features have just been found.
        return unsafe { run_with_avx2(file, lanes, cursor, around) };
    }
    run_anywhere(file, lanes, cursor, around)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_with_avx2<'c>(file: &mut File<'_>, lanes: u32, cursor: Cursor<'c>, around: &mut Environment<'_>) -> Cursor<'c> {
    run_all::<Avx2>(file, lanes, cursor, around)
}

fn run_anywhere<'c>(file: &mut File<'_>, lanes: u32, cursor: Cursor<'c>, around: &mut Environment<'_>) -> Cursor<'c> {
    run_all::<Portable>(file, lanes, cursor, around)
}

#[inline(always)]
fn run_all<'c, P: Accesses>(
    file: &mut File<'_>,
    lanes: u32,
    cursor: Cursor<'c>,
    around: &mut Environment<'_>,
) -> Cursor<'c> {
    let Cursor { code, conversions, mut pc, meeting, mut left } = cursor;
    let end = meeting.min(code.len());
    while pc < end && left > 0 {
        let instruction = &code[pc];
        let mask = instruction.guard.filter(lanes, &file.registers.predicates);
        let slots = &instruction.slots;
        if mask == 0 {
            (pc, left) = (pc + 1, left - 1);
            continue;
        }
        match &instruction.operation {
            Operation::Compute(what) => P::compute(file, mask, what, slots, conversions),
            Operation::Load(form) if form.space == Space::Argument => {
                if !coalesced::argument(file, mask, *form, slots, around.arguments) {
                    break;
                }
            }
            Operation::Load(form) => {
                let access = Transfer { mask, form, slots, pc };
                if around.traffic.counts_sectors {
                    around.traffic.count(file, access.mask, access.form, access.slots);
                }
                if !load::<P>(access, file, around) {
                    break;
                }
                around.traffic.bytes += form.global_bytes(mask);
            }
            Operation::Store(form) => {
                let access = Transfer { mask, form, slots, pc };
                if around.traffic.counts_sectors {
                    around.traffic.count(file, access.mask, access.form, access.slots);
                }
                if !store::<P>(access, file, around) {
                    break;
                }
                around.traffic.bytes += form.global_bytes(mask);
            }
            Operation::Atomic(atomic) => {
                if !P::change(Update { mask, atomic, slots, pc }, file, around) {
                    break;
                }
            }
            Operation::Special(what) => {
                if !special(file, mask, *what, slots[0], around) {
                    break;
                }
            }
            Operation::Branch => {
                if mask != lanes {
                    break;
                }
                (pc, left) = (slots[0].value() as usize, left - 1);
                continue;
            }
            Operation::Nothing => {}
            // Observers are told of fences by the slow path.
            Operation::Fence if around.shared.is_some() => {}
            _ => break,
        }
        (pc, left) = (pc + 1, left - 1);
    }
    Cursor { pc, left, ..cursor }
}

/// The quickest way that does it.
#[inline(always)]
fn load<P: Accesses>(access: Transfer<'_>, file: &mut File<'_>, around: &mut Environment<'_>) -> bool {
    let form = access.form;
    let is_done = if single_element::is_likely(form) {
        match form.bytes {
            1 => P::load_byte(access, file, around),
            2 => P::load_short(access, file, around),
            4 => P::load_word(access, file, around),
            _ => P::load_long(access, file, around),
        }
    } else {
        shared_words::is_likely(form) && P::load_shared(access, file, around)
    };
    is_done || P::load(access, file, around)
}

/// The quickest way that does it.
#[inline(always)]
fn store<P: Accesses>(access: Transfer<'_>, file: &mut File<'_>, around: &mut Environment<'_>) -> bool {
    let form = access.form;
    let is_done = if single_element::is_likely(form) {
        match form.bytes {
            4 => P::store_word(access, file, around),
            8 => P::store_long(access, file, around),
            _ => false,
        }
    } else {
        shared_words::is_likely(form) && P::store_shared(access, file, around)
    };
    is_done || P::store(access, file, around)
}

/// Special registers that depend on nothing but where a thread is.
#[inline(always)]
fn special(file: &mut File<'_>, mask: u32, what: Special, d: Slot, around: &Environment<'_>) -> bool {
    let value = match what {
        Special::Thread(axis) => {
            file.set_words(d, mask, &around.places[usize::from(axis)]);
            return true;
        }
        Special::BlockSize(axis) => around.block_size[usize::from(axis)],
        Special::Block(axis) => around.block[usize::from(axis)],
        Special::GridSize(axis) => around.grid[usize::from(axis)],
        _ => return false,
    };
    file.set_words(d, mask, &[value; LANES]);
    true
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use std::collections::HashMap;
    use std::path::Path;

    use super::*;
    use crate::device::VecMemory;
    use crate::exec::memory::range_cache::RangeCache;
    use crate::exec::memory::traffic::Traffic;
    use crate::exec::registers::Registers;
    use crate::lanes::Row;
    use crate::program::Program;

    /// Random numbers with many special values among them.
    struct Numbers(u64);

    impl Numbers {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = self.0.rotate_left(32);
            match number >> 8 & 15 {
                0 => 0x7fc0_0001_7f80_0000,
                1 => 0x8000_0000_0000_0000,
                2 => 0x0000_0001_007f_ffff,
                3 => 0x7ff0_0000_ff80_0000,
                4 => number & 31,
                5 => 0x3c00_bc00_7c00_fe00,
                _ => number,
            }
        }
    }

    fn programs(folder: &Path, into: &mut Vec<Program>) -> std::io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                programs(&path, into)?;
            } else if let Ok(program) = Program::from_text(&std::fs::read_to_string(path)?) {
                into.push(program);
            }
        }
        Ok(())
    }

    #[test]
    fn both_loops_compute_the_same_bits() {
        if !(std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")) {
            return;
        }
        let mut all = Vec::new();
        programs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/ptx"), &mut all).unwrap();
        let (mut numbers, mut tried) = (Numbers(7), HashMap::<String, usize>::new());
        for program in &all {
            for (pc, instruction) in program.code.instructions.iter().enumerate() {
                let Operation::Compute(what) = instruction.operation else { continue };
                let times = tried.entry(format!("{what:?}")).or_default();
                if *times == 4 {
                    continue;
                }
                *times += 1;
                let function = program.code.functions.iter().find(|function| function.holds(pc as u32)).unwrap();
                let mut before = Registers::default();
                before.reset(function.counts, &function.cleared);
                before.words.fill_with(|| Row([0; LANES].map(|_: u32| numbers.next() as u32)));
                before.longs.fill_with(|| Row([0; LANES].map(|_: u64| numbers.next())));
                before.predicates.fill_with(|| numbers.next() as u32);
                let lanes = if *times % 2 == 0 { u32::MAX } else { numbers.next() as u32 };
                let after = |avx2: bool| {
                    let mut registers = before.clone();
                    let memory = VecMemory::new(8);
                    let mut around = Environment {
                        memory: &memory,
                        ranges: &mut RangeCache::default(),
                        traffic: &mut Traffic::default(),
                        shared: None,
                        arguments: &[],
                        places: &[[0; LANES]; 3],
                        block: [0; 3],
                        block_size: [1; 3],
                        grid: [1; 3],
                    };
                    let mut file = File { registers: &mut registers, constants: &program.constants };
                    let (code, conversions) =
                        (program.code.instructions.as_slice(), program.code.conversions.as_slice());
                    let here = Cursor { code, conversions, pc, meeting: pc + 1, left: 1 };
                    let there = match avx2 {
                        // SAFETY: both features were found above.
                        true => unsafe { run_with_avx2(&mut file, lanes, here, &mut around) },
                        false => run_anywhere(&mut file, lanes, here, &mut around),
                    };
                    assert_eq!((there.pc, there.left), (pc + 1, 0), "{what:?}");
                    (registers.words, registers.longs, registers.predicates)
                };
                assert_eq!(after(false), after(true), "{what:?} for {lanes:#x}");
            }
        }
        assert!(tried.len() > 150, "{} operations", tried.len());
    }
}

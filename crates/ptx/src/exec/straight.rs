//! Runs of instructions that only compute: the inner loop, twice.
//!
//! The loop is compiled once for any processor and once for those with AVX2 and FMA, where a row of 32 words is four
//! registers; which of the two runs is decided at run time.
#![expect(unsafe_code, reason = "calls the loop that needs a processor's features, after asking for them")]

use super::arith::convert::Conversion;
use super::compute::compute;
use super::registers::File;
use crate::program::operation::{Instruction, Operation};

/// A stretch of code and how far one may go in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch<'c> {
    pub(crate) code: &'c [Instruction],
    pub(crate) conversions: &'c [Conversion],
    /// The first instruction.
    pub(crate) from: usize,
    /// The first that is not carried out any more.
    pub(crate) to: usize,
}

/// Carries out instructions until one does more than compute, and returns its number.
pub(crate) fn run(file: &mut File<'_>, lanes: u32, stretch: Stretch<'_>) -> usize {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: both features have just been found.
        return unsafe { run_with_avx2(file, lanes, stretch) };
    }
    run_anywhere(file, lanes, stretch)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_with_avx2(file: &mut File<'_>, lanes: u32, stretch: Stretch<'_>) -> usize {
    run_all(file, lanes, stretch)
}

fn run_anywhere(file: &mut File<'_>, lanes: u32, stretch: Stretch<'_>) -> usize {
    run_all(file, lanes, stretch)
}

#[inline(always)]
fn run_all(file: &mut File<'_>, lanes: u32, stretch: Stretch<'_>) -> usize {
    let Stretch { code, conversions, from, to } = stretch;
    let mut pc = from;
    for instruction in &code[from..to] {
        let Operation::Compute(what) = instruction.operation else { break };
        let mask = instruction.guard.filter(lanes, &file.registers.predicates);
        if mask != 0 {
            compute(file, mask, what, &instruction.slots, conversions);
        }
        pc += 1;
    }
    pc
}

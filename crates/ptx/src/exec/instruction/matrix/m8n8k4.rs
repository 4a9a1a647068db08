//! `mma.m8n8k4` of halves: four products of 8 × 8, by eight lanes each.
//!
//! Product `i` belongs to the lanes `4 i` to `4 i + 3` and `16 + 4 i` to `16 + 4 i + 3`. Machines since
//! `sm_80` have no such unit: the compiler takes it apart into singles, and an H200 adds them in its order.

use crate::arith::float::{self, Mode};
use crate::arith::half::{Half, Narrow};
use crate::device::host::Host;
use crate::device::memory::Memory;
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor};
use crate::lanes::{Words, by_lane};
use crate::program::matrix::Quads;
use crate::program::slot::Slot;

/// The half `index` of a lane's registers, as a single.
fn half(rows: &[Words], lane: usize, index: usize) -> f32 {
    Half::widen((rows[index / 2][lane] >> (16 * (index % 2))) as u16)
}

/// The four elements of a line of a factor that the product of `lane` has: each lies in one lane, or a lane
/// has one of each.
fn line(rows: &[Words], whole: bool, lane: usize, line: usize) -> [f32; 4] {
    let first = (lane & 12) + 16 * (line / 4);
    std::array::from_fn(|k| if whole { half(rows, first + line % 4, k) } else { half(rows, first + k, line % 4) })
}

/// Row and column of a lane's sum.
fn place(halves: bool, lane: usize, index: usize) -> (usize, usize) {
    let below = lane / 16 * 4;
    if halves {
        return (lane % 4 + below, index);
    }
    ((lane & 1) + (index & 2) + below, (index & 4) + (lane & 2) + (index & 1))
}

/// The lane that holds the sum in a row and column, and the index among its sums.
fn holder(halves: bool, lane: usize, (row, column): (usize, usize)) -> (usize, usize) {
    let first = (lane & 12) + 16 * (row / 4);
    if halves {
        return (first + row % 4, column);
    }
    (first + (row & 1) + (column & 2), (row & 2) + (column & 4) + (column & 1))
}

impl<Memo: Memory + Host> Executor<'_, Memo> {
    pub(crate) fn multiply_quads(&self, warp: &mut Warp, at: Current, lanes: u32, quads: Quads, list: Slot) {
        let counts = quads.registers();
        let slots = &self.context.program.code.lists[list.value() as usize..][..counts.iter().sum()];
        let (results, operands) = slots.split_at(counts[0]);
        let mut file = self.file(warp, at);
        let rows: Vec<Words> = operands.iter().map(|slot| *file.words(*slot)).collect();
        let (a, rest) = rows.split_at(counts[1]);
        let (b, c) = rest.split_at(counts[2]);
        let [halves, from_halves] = quads.halves;
        let one = |lane: usize, index: usize| {
            let (row, column) = place(halves, lane, index);
            let (x, y) = (line(a, quads.rows[0], lane, row), line(b, !quads.rows[1], lane, column));
            let (holder, which) = holder(from_halves, lane, (row, column));
            let summand = if from_halves { half(c, holder, which) } else { f32::from_bits(c[which][holder]) };
            let add = |a, b| f32::from_bits(float::add(Mode::PLAIN, a, b));
            let fused = |a, b, c| f32::from_bits(float::fused(Mode::PLAIN, a, b, c));
            if halves {
                let product = |k: usize| f32::from_bits(float::multiply(Mode::PLAIN, x[k], y[k]));
                let pair = |k: usize| fused(x[k + 1], y[k + 1], product(k));
                return u32::from(Half::narrow(add(add(summand, pair(0)), pair(2)).into()));
            }
            float::add(Mode::PLAIN, summand, (0..4).fold(0.0, |sum, k| fused(x[k], y[k], sum)))
        };
        for (register, slot) in results.iter().enumerate() {
            let row: Words = by_lane(|lane| {
                if halves { one(lane, 2 * register + 1) << 16 | one(lane, 2 * register) } else { one(lane, register) }
            });
            file.set_words(*slot, lanes, &row);
        }
    }
}

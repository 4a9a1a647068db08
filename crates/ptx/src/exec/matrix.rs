//! Products of matrices that a warp holds.
//!
//! Lane `l` belongs to row (or column) `l / 4`, and holds the elements that lie at `l % 4`; a register holds as many
//! neighbours as fit 32 bits. Registers alternate between rows 0–7 and 8–15, then go on by the width of four lanes.
//!
//! Floating-point elements are summed as the hardware does it: see [`dot`](super::arith::dot). Doubles are fused, one product
//! after the other.

use super::arith::dot::{Factor, sum};
use super::arith::round::Format;
use super::host::Host;
use super::memory::Memory;
use super::registers::{LANES, Words};
use super::step::{Current, Executor, stop};
use super::trap::{Stop, TrapKind};
use super::warp::Warp;
use crate::program::matrix::{Element, Product, Transfer};
use crate::program::operation::Space;
use crate::program::slot::Slot;

/// Rows of the result.
const M: usize = 16;
/// Columns of the result.
const N: usize = 8;
/// The most columns of the first factor.
const K: usize = 32;

fn per_register(element: Element) -> usize {
    match element {
        Element::F16 | Element::Bf16 => 2,
        Element::Tf32 | Element::F64 => 1,
        Element::S8 | Element::U8 => 4,
    }
}

fn element_of(kind: Element, word: u32, index: usize) -> Factor {
    let integer = |value: i64| Factor::Finite { significand: value, exponent: 0, fraction: 0 };
    let half = |format: Format| Factor::open(format, (word >> (16 * index) & 0xffff).into());
    match kind {
        Element::F16 => half(Format::HALF),
        Element::Bf16 => half(Format::BRAIN),
        // The lower bits of the single do not count.
        Element::Tf32 => Factor::open(Format::TENSOR, (word >> 13).into()),
        Element::S8 => integer(((word >> (8 * index)) as i8).into()),
        Element::U8 => integer(((word >> (8 * index)) as u8).into()),
        // Doubles do not come in words.
        Element::F64 => Factor::ZERO,
    }
}

impl<Memo: Memory + Host> Executor<'_, Memo> {
    pub(crate) fn multiply(&self, warp: &mut Warp, at: Current, lanes: u32, product: Product, list: Slot) {
        let lists = &self.context.program.code.lists;
        if product.factors[0] == Element::F64 {
            return self.multiply_doubles(warp, at, lanes, list);
        }
        let width = per_register(product.factors[0]);
        let k = usize::from(product.k);
        let (first, second) = (k / width / 2, k / width / 4);
        let sums = if product.half { 2 } else { 4 };
        let start = list.value() as usize;
        let slots = &lists[start..start + 2 * sums + first + second];
        let mut file = self.file(warp, at);
        let rows: Vec<Words> = slots.iter().map(|slot| *file.words(*slot)).collect();
        let integers = matches!(product.factors[0], Element::S8 | Element::U8);

        let (mut a, mut b) = ([[Factor::ZERO; K]; M], [[Factor::ZERO; N]; K]);
        let (left, right) = rows[sums..].split_at(first);
        for lane in 0..LANES {
            let (row, column) = (lane / 4, lane % 4 * width);
            for (register, words) in left.iter().enumerate() {
                for index in 0..width {
                    let value = element_of(product.factors[0], words[lane], index);
                    a[row + 8 * (register % 2)][column + index + register / 2 * 4 * width] = value;
                }
            }
            for (register, words) in right.iter().take(second).enumerate() {
                for index in 0..width {
                    let value = element_of(product.factors[1], words[lane], index);
                    b[column + index + register * 4 * width][row] = value;
                }
            }
        }
        let products = |row: usize, column: usize| (0..k).map(move |inner| (a[row][inner], b[inner][column]));
        let summands = &rows[sums + first + second..];
        for register in 0..sums {
            let result: Words = std::array::from_fn(|lane| {
                let (row, column) = (lane / 4, lane % 4 * 2);
                let summand = summands[register][lane];
                if product.half {
                    let part = |index: usize| {
                        let summand = Factor::open(Format::HALF, (summand >> (16 * index) & 0xffff).into());
                        sum(Format::HALF, summand, products(row + 8 * register, column + index)) as u32
                    };
                    return part(1) << 16 | part(0);
                }
                let products = products(row + 8 * (register / 2), column + register % 2);
                if integers {
                    let total =
                        products.map(|(a, b)| a.whole() * b.whole()).sum::<i64>() + i64::from(summand.cast_signed());
                    let clamped = total.clamp(i32::MIN.into(), i32::MAX.into());
                    return if product.saturate { clamped as u32 } else { total as u32 };
                }
                sum(Format::SINGLE, Factor::open(Format::SINGLE, summand.into()), products) as u32
            });
            file.set_words(slots[register], lanes, &result);
        }
    }

    /// `m8n8k4`: lane `l` holds row `l / 4` of the first factor and column `l / 4` of the second, each at `l % 4`.
    fn multiply_doubles(&self, warp: &mut Warp, at: Current, lanes: u32, list: Slot) {
        let start = list.value() as usize;
        let slots = &self.context.program.code.lists[start..start + 6];
        let mut file = self.file(warp, at);
        let (a, b) = (*file.longs(slots[2]), *file.longs(slots[3]));
        for register in 0..2 {
            let sums = *file.longs(slots[4 + register]);
            let result = std::array::from_fn(|lane| {
                let (row, column) = (lane / 4, lane % 4 * 2 + register);
                let sum = (0..4).fold(f64::from_bits(sums[lane]), |sum, inner| {
                    f64::from_bits(a[row * 4 + inner]).mul_add(f64::from_bits(b[column * 4 + inner]), sum)
                });
                sum.to_bits()
            });
            file.set_longs(slots[register], lanes, &result);
        }
    }

    /// `ldmatrix`, `stmatrix`: lanes 0–7 have the rows of the first matrix, 8–15 those of the second, and so on.
    pub(crate) fn transfer(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        transfer: Transfer,
        [list, address, offset]: [Slot; 3],
    ) -> Result<(), Stop> {
        if lanes != u32::MAX {
            let kind = TrapKind::Deadlock("a matrix needs all lanes of the warp at once");
            return Err(stop(warp, at, lanes, kind));
        }
        let count = usize::from(transfer.count);
        let code = std::sync::Arc::clone(&self.context.program.code);
        let slots = &code.lists[list.value() as usize..][..count];
        let addresses = self.file(warp, at).addresses(address, transfer.wide, offset.value());
        let space = if transfer.generic { Space::Generic } else { Space::Shared };
        let rows_of = (1u64 << (8 * count)).wrapping_sub(1) as u32;
        // Where the half `index` of a lane lies in its matrix.
        let place = |lane: usize, index: usize| {
            let (row, column) = (lane / 4, lane % 4 * 2 + index);
            if transfer.transposed { (column, row) } else { (row, column) }
        };
        if transfer.store {
            let mut rows = [[0u8; 16]; LANES];
            let file = self.file(warp, at);
            for (matrix, slot) in slots.iter().enumerate() {
                for (lane, word) in file.words(*slot).iter().enumerate() {
                    for index in 0..2 {
                        let (row, column) = place(lane, index);
                        let half = ((word >> (16 * index)) as u16).to_le_bytes();
                        rows[matrix * 8 + row][column * 2..column * 2 + 2].copy_from_slice(&half);
                    }
                }
            }
            return self.send(warp, at, rows_of, space, &addresses, &rows, false);
        }
        let mut rows = [[0; 16]; LANES];
        if self.fetch(warp, at, rows_of, space, &addresses, &mut rows, false)? {
            rows = [rows[0]; LANES];
        }
        let mut file = self.file(warp, at);
        for (matrix, slot) in slots.iter().enumerate() {
            let words: Words = std::array::from_fn(|lane| {
                let half = |index| {
                    let (row, column) = place(lane, index);
                    let bytes = &rows[matrix * 8 + row][column * 2..column * 2 + 2];
                    u32::from(u16::from_le_bytes([bytes[0], bytes[1]]))
                };
                half(1) << 16 | half(0)
            });
            file.set_words(*slot, lanes, &words);
        }
        Ok(())
    }
}

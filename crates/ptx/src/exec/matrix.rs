//! Products of matrices that a warp holds.
//!
//! Lane `l` belongs to row (or column) `l / 4`, and holds the elements that lie at `l % 4`; a register holds as many
//! neighbours as fit 32 bits. Registers alternate between rows 0–7 and 8–15, then go on by the width of four lanes.
//!
//! Floating-point elements are summed as the hardware does it: see [`dot`](super::arith::dot). Doubles are fused, one product
//! after the other.

use super::arith::dot::{Factor, sum, sum_of_bytes};
use super::arith::float::double;
use super::arith::round::{Format, Rounding};
use super::host::Host;
use super::memory::Memory;
use super::registers::{LANES, Longs, Words};
use super::step::{Current, Executor, stop};
use super::trap::{Stop, TrapKind};
use super::warp::Warp;
use crate::program::matrix::{Element, Product, Transfer};
use crate::program::operation::Space;
use crate::program::slot::Slot;

/// The most rows of the result.
const M: usize = 16;
/// Columns of the result.
const N: usize = 8;
/// The most columns of the first factor, where they are taken apart.
const K: usize = 64;

/// Row and column of an element of the first factor: `width` neighbours lie in a register.
fn left(tall: bool, lane: usize, register: usize, width: usize) -> (usize, usize) {
    let (below, beside) = if tall { (register % 2, register / 2) } else { (0, register) };
    (lane / 4 + 8 * below, (lane % 4 + 4 * beside) * width)
}

/// Row and column of an element of the second factor.
fn right(lane: usize, register: usize, width: usize) -> (usize, usize) {
    ((lane % 4 + 4 * register) * width, lane / 4)
}

/// Row and column of a sum.
fn place(lane: usize, register: usize) -> (usize, usize) {
    (lane / 4 + 8 * (register / 2), lane % 4 * 2 + register % 2)
}

fn element_of(kind: Element, word: u32, index: usize) -> Factor {
    let integer = |value: i64| Factor::Finite { significand: value, exponent: 0, fraction: 0 };
    let part = u64::from(word) >> (kind.bits() * index);
    match kind {
        Element::F16 => Factor::open(Format::HALF, part & 0xffff),
        Element::Bf16 => Factor::open(Format::BRAIN, part & 0xffff),
        Element::E4m3 => Factor::open(Format::E4M3, part & 0xff),
        Element::E5m2 => Factor::open(Format::E5M2, part & 0xff),
        // The lower bits of the single do not count.
        Element::Tf32 => Factor::open(Format::TENSOR, part >> 13),
        Element::S8 => integer((part as i8).into()),
        Element::U8 => integer((part as u8).into()),
        Element::S4 => integer(((part << 4) as i8 >> 4).into()),
        Element::U4 => integer((part & 15) as i64),
        // Doubles do not come in words, and bits are counted by the word.
        Element::F64 | Element::Differing | Element::Common => Factor::ZERO,
    }
}

fn added(product: Product, sum: i64, summand: u32) -> u32 {
    let total = sum + i64::from(summand.cast_signed());
    if product.saturate { total.clamp(i32::MIN.into(), i32::MAX.into()) as u32 } else { total as u32 }
}

impl<Memo: Memory + Host> Executor<'_, Memo> {
    pub(crate) fn multiply(&self, warp: &mut Warp, at: Current, lanes: u32, product: Product, list: Slot) {
        match product.factors[0] {
            Element::F64 => return self.multiply_doubles(warp, at, lanes, product, list),
            Element::Differing | Element::Common => return self.multiply_bits(warp, at, lanes, product, list),
            _ => {}
        }
        let width = 32 / product.factors[0].bits();
        let k = usize::from(product.k);
        let [sums, first, second] = product.registers();
        let slots = self.listed(list, 2 * sums + first + second);
        let mut file = self.file(warp, at);
        let rows: Vec<Words> = slots.iter().map(|slot| *file.words(*slot)).collect();

        let (mut a, mut b) = ([[Factor::ZERO; K]; M], [[Factor::ZERO; N]; K]);
        for lane in 0..LANES {
            for (register, words) in rows[sums..][..first].iter().enumerate() {
                let (row, column) = left(product.tall, lane, register, width);
                for index in 0..width {
                    a[row][column + index] = element_of(product.factors[0], words[lane], index);
                }
            }
            for (register, words) in rows[sums + first..][..second].iter().enumerate() {
                let (row, column) = right(lane, register, width);
                for index in 0..width {
                    b[row + index][column] = element_of(product.factors[1], words[lane], index);
                }
            }
        }
        let products = |row: usize, column: usize| (0..k).map(move |inner| (a[row][inner], b[inner][column]));
        let bytes = product.factors[0].bits() == 8;
        let total = |to: Format, summand: u64, row: usize, column: usize| {
            if bytes {
                return sum_of_bytes(to, summand, products(row, column));
            }
            sum(to, Factor::open(to, summand), products(row, column))
        };
        let summands = &rows[sums + first + second..];
        for register in 0..sums {
            let result: Words = std::array::from_fn(|lane| {
                let summand = summands[register][lane];
                if product.half {
                    let part = |index: usize| {
                        let (row, column) = place(lane, 2 * register + index);
                        total(Format::HALF, (summand >> (16 * index) & 0xffff).into(), row, column) as u32
                    };
                    return part(1) << 16 | part(0);
                }
                let (row, column) = place(lane, register);
                if product.factors[0].is_integer() {
                    let sum = products(row, column).map(|(a, b)| a.whole() * b.whole()).sum();
                    return added(product, sum, summand);
                }
                total(Format::SINGLE, summand.into(), row, column) as u32
            });
            file.set_words(slots[register], lanes, &result);
        }
    }

    fn listed(&self, list: Slot, count: usize) -> &[Slot] {
        let start = list.value() as usize;
        &self.context.program.code.lists[start..start + count]
    }

    fn multiply_bits(&self, warp: &mut Warp, at: Current, lanes: u32, product: Product, list: Slot) {
        let [sums, first, second] = product.registers();
        let slots = self.listed(list, 2 * sums + first + second);
        let mut file = self.file(warp, at);
        let rows: Vec<Words> = slots.iter().map(|slot| *file.words(*slot)).collect();
        let (mut a, mut b) = ([[0u32; 8]; M], [[0u32; N]; 8]);
        for lane in 0..LANES {
            for (register, words) in rows[sums..][..first].iter().enumerate() {
                let (row, column) = left(product.tall, lane, register, 1);
                a[row][column] = words[lane];
            }
            for (register, words) in rows[sums + first..][..second].iter().enumerate() {
                let (row, column) = right(lane, register, 1);
                b[row][column] = words[lane];
            }
        }
        let common = product.factors[0] == Element::Common;
        for register in 0..sums {
            let result: Words = std::array::from_fn(|lane| {
                let (row, column) = place(lane, register);
                let count = |inner: usize| {
                    let (x, y) = (a[row][inner], b[inner][column]);
                    i64::from(if common { x & y } else { x ^ y }.count_ones())
                };
                let total = (0..usize::from(product.k) / 32).map(count).sum();
                added(product, total, rows[sums + first + second + register][lane])
            });
            file.set_words(slots[register], lanes, &result);
        }
    }

    /// Each product is fused into the sum, in the order of the columns.
    fn multiply_doubles(&self, warp: &mut Warp, at: Current, lanes: u32, product: Product, list: Slot) {
        let [sums, first, second] = product.registers();
        let slots = self.listed(list, 2 * sums + first + second);
        let mut file = self.file(warp, at);
        let rows: Vec<Longs> = slots.iter().map(|slot| *file.longs(*slot)).collect();
        let (mut a, mut b) = ([[0.0; 16]; M], [[0.0; N]; 16]);
        for lane in 0..LANES {
            for (register, longs) in rows[sums..][..first].iter().enumerate() {
                let (row, column) = left(product.tall, lane, register, 1);
                a[row][column] = f64::from_bits(longs[lane]);
            }
            for (register, longs) in rows[sums + first..][..second].iter().enumerate() {
                let (row, column) = right(lane, register, 1);
                b[row][column] = f64::from_bits(longs[lane]);
            }
        }
        for register in 0..sums {
            let result = std::array::from_fn(|lane| {
                let (row, column) = place(lane, register);
                let summand = f64::from_bits(rows[sums + first + second + register][lane]);
                let fused = |sum, inner: usize| double::fused(Rounding::Nearest, a[row][inner], b[inner][column], sum);
                (0..usize::from(product.k)).fold(summand, fused).to_bits()
            });
            file.set_longs(slots[register], lanes, &result);
        }
    }

    /// `movmatrix`: lane `l` holds two halves of row `l / 4`, and gets those of column `l / 4`.
    pub(crate) fn transpose(&self, warp: &mut Warp, at: Current, lanes: u32, [d, a]: [Slot; 2]) {
        let mut file = self.file(warp, at);
        let from = *file.words(a);
        let row = std::array::from_fn(|lane| {
            let half = |index: usize| {
                let (row, column) = (lane % 4 * 2 + index, lane / 4);
                from[row * 4 + column / 2] >> (16 * (column % 2)) & 0xffff
            };
            half(1) << 16 | half(0)
        });
        file.set_words(d, lanes, &row);
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

//! `mma`: matrix products, tile by tile.
//!
//! Floating-point elements are summed as the hardware does it: see [`dot`](crate::arith::dot). Doubles are
//! fused, one product after the other.

use super::layout;
use super::sparse::Choices;
use crate::arith::dot::{Factor, sum, sum_of_bytes};
use crate::arith::float::double;
use crate::arith::half::{Half, Narrow};
use crate::arith::round::{Format, Rounding};
use crate::device::host::Host;
use crate::device::memory::Memory;
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor};
use crate::lanes::{LANES, Longs, Words, by_lane};
use crate::program::matrix::{Element, Ending, Product, Tiles};
use crate::program::slot::Slot;

/// Columns of a tile.
const COLUMNS: usize = 8;

/// A factor of a tile: the elements that meet, line by line.
struct Side<T> {
    length: usize,
    elements: Vec<T>,
}

impl<T: Copy> Side<T> {
    /// Takes registers apart: each has `width` elements.
    fn new<W: Copy>(
        none: T,
        length: usize,
        width: usize,
        rows: &[[W; LANES]],
        open: impl Fn(W, usize) -> T,
    ) -> Side<T> {
        let lines = rows.len() * LANES * width / length;
        let mut elements = vec![none; lines * length];
        for (register, row) in rows.iter().enumerate() {
            for (lane, word) in row.iter().enumerate() {
                let (line, start) = layout::factor(lines > COLUMNS, lane, register, width);
                for index in 0..width {
                    elements[line * length + start + index] = open(*word, index);
                }
            }
        }
        Side { length, elements }
    }

    fn line(&self, line: usize) -> &[T] {
        &self.elements[line * self.length..][..self.length]
    }
}

/// The registers of one tile.
struct Tile<'r, W> {
    left: &'r [[W; LANES]],
    right: &'r [[W; LANES]],
    summands: &'r [[W; LANES]],
    /// The metadata of a sparse factor: the columns of its elements.
    choices: Option<&'r [W; LANES]>,
}

fn halves<W>(rows: &[W]) -> [&[W]; 2] {
    let (upper, lower) = rows.split_at(rows.len() / 2);
    [upper, lower]
}

/// The tiles of a product whose registers are these.
fn tiles<W>(product: Product, rows: &[[W; LANES]]) -> Vec<Tile<'_, W>> {
    let [_, first, second, third] = product.registers();
    let (a, rest) = rows.split_at(first);
    let (b, rest) = rest.split_at(second);
    let (summands, choices) = rest.split_at(third);
    let two = |left: [_; 2], right: [_; 2]| {
        let [upper, lower] = halves(summands);
        let tile = |index: usize, summands| Tile { left: left[index], right: right[index], summands, choices: None };
        vec![tile(0, upper), tile(1, lower)]
    };
    match product.tiles {
        Tiles::Small | Tiles::Tall => vec![Tile { left: a, right: b, summands, choices: choices.first() }],
        Tiles::Beside => two([a, a], halves(b)),
        Tiles::Below => two(halves(a), [b, b]),
        Tiles::Turned => two(halves(b), [a, a]),
    }
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
    if product.ending == Ending::Saturated {
        total.clamp(i32::MIN.into(), i32::MAX.into()) as u32
    } else {
        total as u32
    }
}

/// The registers of a tile's sums after rounding.
fn numbers(product: Product, tile: &Tile<'_, u32>) -> Vec<Words> {
    let [mut left, mut right] = product.factors;
    if product.tiles == Tiles::Turned {
        (left, right) = (right, left);
    }
    let (k, width) = (usize::from(product.k), 32 / left.bits());
    let sparse = tile.choices.zip(product.chosen_by).map(|(words, lanes)| Choices::new(left, k, words, lanes));
    let length = if sparse.is_some() { k / 2 } else { k };
    let a = Side::new(Factor::ZERO, length, width, tile.left, |word, index| element_of(left, word, index));
    let b = Side::new(Factor::ZERO, k, width, tile.right, |word, index| element_of(right, word, index));
    let [halves, from_halves] = product.halves;
    let one = |lane: usize, index: usize| {
        let (row, column) = layout::sum(lane, index);
        let (line, others) = (a.line(row), b.line(column));
        let meets = |place: usize| sparse.as_ref().map_or(place, |choices| choices.column(row, place));
        let products = (0..length).map(|place| (line[place], others[meets(place)]));
        let summand = if from_halves {
            tile.summands[index / 2][lane] >> (16 * (index % 2)) & 0xffff
        } else {
            tile.summands[index][lane]
        };
        if left.is_integer() {
            return added(product, products.map(|(a, b)| a.whole() * b.whole()).sum(), summand);
        }
        let from = if from_halves { Format::HALF } else { Format::SINGLE };
        // A half is widened to a single if the sum is one.
        let to = if halves && from_halves { Format::HALF } else { Format::SINGLE };
        let total = if left.bits() == 8 {
            sum_of_bytes(to, summand.into(), products)
        } else {
            // Eight columns of wide elements are two products of four.
            let first = if product.tiles == Tiles::Beside && left == Element::Tf32 { k / 2 } else { k };
            let part = sum(to, Factor::open(from, summand.into()), products.clone().take(first));
            if first < k { sum(to, Factor::open(to, part), products.skip(first)) } else { part }
        };
        if halves && to == Format::SINGLE {
            return Half::narrow(f32::from_bits(total as u32).into()).into();
        }
        total as u32
    };
    let register = |register: usize| -> Words {
        if halves {
            return by_lane(|lane| one(lane, 2 * register + 1) << 16 | one(lane, 2 * register));
        }
        by_lane(|lane| one(lane, register))
    };
    let sums = if product.tiles == Tiles::Small { 2 } else { 4 };
    (0..if halves { sums / 2 } else { sums }).map(register).collect()
}

fn bits(product: Product, tile: &Tile<'_, u32>) -> Vec<Words> {
    let words = usize::from(product.k) / 32;
    let (a, b) =
        (Side::new(0, words, 1, tile.left, |word, _| word), Side::new(0, words, 1, tile.right, |word, _| word));
    let common = product.factors[0] == Element::Common;
    let count = |(x, y): (&u32, &u32)| i64::from(if common { x & y } else { x ^ y }.count_ones());
    let register = |(register, summands): (usize, &Words)| {
        by_lane(|lane| {
            let (row, column) = layout::sum(lane, register);
            added(product, a.line(row).iter().zip(b.line(column)).map(count).sum(), summands[lane])
        })
    };
    tile.summands.iter().enumerate().map(register).collect()
}

/// Each product is fused into the sum, in the order of the columns.
fn doubles(product: Product, tile: &Tile<'_, u64>) -> Vec<Longs> {
    let rounding = match product.ending {
        Ending::Rounded(rounding) => rounding,
        Ending::Plain | Ending::Saturated => Rounding::Nearest,
    };
    let k = usize::from(product.k);
    let side = |rows| Side::new(0.0, k, 1, rows, |long, _| f64::from_bits(long));
    let (a, b) = (side(tile.left), side(tile.right));
    let register = |(register, summands): (usize, &Longs)| {
        by_lane(|lane| {
            let (row, column) = layout::sum(lane, register);
            let fused = |sum, (a, b): (&f64, &f64)| double::fused(rounding, *a, *b, f64::from_bits(sum));
            a.line(row).iter().zip(b.line(column)).fold(summands[lane], fused)
        })
    };
    tile.summands.iter().enumerate().map(register).collect()
}

impl<Memo: Memory + Host> Executor<'_, Memo> {
    pub(crate) fn multiply(&self, warp: &mut Warp, at: Current, lanes: u32, product: Product, list: Slot) {
        let counts = product.registers();
        let count = counts.iter().sum::<usize>() + usize::from(product.chosen_by.is_some());
        let slots = &self.context.program.code.lists[list.value() as usize..][..count];
        let (results, operands) = slots.split_at(counts[0]);
        let mut file = self.file(warp, at);
        if product.factors[0] == Element::F64 {
            let rows: Vec<Longs> = operands.iter().map(|slot| *file.longs(*slot)).collect();
            let sums = tiles(product, &rows).into_iter().flat_map(|tile| doubles(product, &tile));
            for (slot, row) in results.iter().zip(sums) {
                file.set_longs(*slot, lanes, &row);
            }
            return;
        }
        let rows: Vec<Words> = operands.iter().map(|slot| *file.words(*slot)).collect();
        let of = if product.factors[0].is_bit() { bits } else { numbers };
        let sums = tiles(product, &rows).into_iter().flat_map(|tile| of(product, &tile));
        for (slot, row) in results.iter().zip(sums) {
            file.set_words(*slot, lanes, &row);
        }
    }
}

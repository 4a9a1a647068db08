//! Atomic operations of a whole warp, checked once for all lanes.
//!
//! Lanes take their turns, lowest first, as they do in [lane-by-lane](crate::exec::instruction::atomic)
//! operations.

use super::processor::Processor;
use super::transfer::{Environment, Update};
use crate::device::direct::Direct;
use crate::exec::compute::atomic::changed;
use crate::exec::registers::{File, Lane, Written};
use crate::lanes::{LANES, Longs, lanes as each};
use crate::program::atomic::{Atom, Change};
use crate::program::slot::Slot;
use crate::program::space::Space;

/// The new value of a word, compiled once for each frequent operation and once for all others.
macro_rules! by_change {
    ($atomic:expr, $shared:expr, $made:ident => $body:expr) => {
        match ($atomic.change, $atomic.scalar) {
            (Change::Add, Atom::U32 | Atom::S32) => {
                by_change!(|old, b, _c| (old as u32).wrapping_add(b as u32).into(), $made, $body)
            }
            (Change::Add, Atom::U64 | Atom::S64) => by_change!(|old, b, _c| old.wrapping_add(b), $made, $body),
            (Change::Minimum, Atom::U32 | Atom::U64) => by_change!(|old, b, _c| old.min(b), $made, $body),
            (Change::Maximum, Atom::U32 | Atom::U64) => by_change!(|old, b, _c| old.max(b), $made, $body),
            (Change::And, _) => by_change!(|old, b, _c| old & b, $made, $body),
            (Change::Or, _) => by_change!(|old, b, _c| old | b, $made, $body),
            (Change::Exchange, _) => by_change!(|_old, b, _c| b, $made, $body),
            (change, scalar) => by_change!(|old, b, c| changed(change, scalar, $shared, old, b, c), $made, $body),
        }
    };
    (|$old:ident, $b:ident, $c:ident| $new:expr, $made:ident, $body:expr) => {{
        let $made = |$old: u64, $b: u64, $c: u64| -> u64 { $new };
        $body
    }};
}

/// A word that is changed at once.
trait Word: Written + Lane<Bits = Self> + Copy + Default + Into<u64> {
    const BYTES: usize;

    /// Changes a word, whose value may be known already; returns the old and the new value.
    fn change(shared: &mut [u8], place: u32, known: Option<Self>, made: impl FnOnce(u64) -> u64) -> Option<[Self; 2]>;
    fn cut(value: u64) -> Self;
}

macro_rules! words {
    ($($word:ty),*) => {$(
        impl Word for $word {
            const BYTES: usize = size_of::<$word>();

            #[inline(always)]
            fn change(
                shared: &mut [u8],
                place: u32,
                known: Option<$word>,
                made: impl FnOnce(u64) -> u64,
            ) -> Option<[$word; 2]> {
                let bytes = shared.get_mut(place as usize..)?.first_chunk_mut()?;
                let old = match known {
                    Some(old) => old,
                    None => <$word>::from_le_bytes(*bytes),
                };
                let new = made(old.into()) as $word;
                *bytes = new.to_le_bytes();
                Some([old, new])
            }

            #[inline(always)]
            fn cut(value: u64) -> $word {
                value as $word
            }
        }
    )*};
}

words!(u32, u64);

/// Changes memory for all lanes; `false`, and nothing is changed, if it has to be done otherwise.
#[inline(always)]
pub(crate) fn change<P: Processor>(update: Update<'_>, file: &mut File<'_>, around: &mut Environment<'_>) -> bool {
    match update.atomic.scalar.bytes() {
        4 => change_words::<P, u32>(update, file, around),
        8 => change_words::<P, u64>(update, file, around),
        _ => false,
    }
}

#[inline(always)]
fn change_words<P: Processor, W: Word>(update: Update<'_>, file: &mut File<'_>, around: &mut Environment<'_>) -> bool {
    let Update { mask, atomic, slots: &[d, address, offset, b, c, _], pc } = update;
    let addresses = file.addresses(address, atomic.wide, offset.value());
    let pattern = P::pattern(mask, &addresses, W::BYTES as u64);
    if !pattern.is_aligned(W::BYTES as u64) {
        return false;
    }
    let operands = [W::row(file, b), W::row(file, c)];
    let mut row = [W::default(); LANES];
    let is_done = match atomic.space {
        Space::Shared => {
            let Some(shared) = around.shared.as_deref_mut() else { return false };
            let is_inside = |address: u64| address.saturating_add(W::BYTES as u64) <= shared.len() as u64;
            // No address is above the bits of all, so that most accesses need no look at each.
            if !is_inside(pattern.bits) && !all(mask, &addresses, is_inside) {
                return false;
            }
            by_change!(atomic, true, made => change_shared(shared, mask, &addresses, operands, &mut row, made));
            true
        }
        Space::Global | Space::Generic if pattern.is_global() => {
            let leader = addresses[mask.trailing_zeros() as usize & 31];
            let Some(range) = around.ranges.range(around.memory, pc, leader) else { return false };
            by_change!(atomic, false, made => change_global(range, mask, &addresses, operands, &mut row, made))
        }
        _ => false,
    };
    if is_done && d != Slot::SINK {
        W::set_row(file, d, mask, &row);
    }
    is_done
}

/// `true` if the addresses of all lanes that run are as asked.
#[inline(always)]
fn all(mask: u32, addresses: &Longs, is_good: impl Fn(u64) -> bool) -> bool {
    let mut bad = 0;
    for (lane, address) in addresses.iter().enumerate() {
        bad |= u32::from(!is_good(*address)) << lane;
    }
    bad & mask == 0
}

/// Changes words that are aligned and inside.
#[inline(always)]
fn change_shared<W: Word>(
    shared: &mut [u8],
    mask: u32,
    addresses: &Longs,
    [b, c]: [&[W; LANES]; 2],
    row: &mut [W; LANES],
    made: impl Fn(u64, u64, u64) -> u64,
) {
    // A word that the lane before has written is not read again: counters that many lanes add to are the
    // common case.
    let (mut last, mut written) = (u32::MAX, W::default());
    for lane in 0..LANES {
        if mask >> lane & 1 == 0 {
            continue;
        }
        let place = addresses[lane] as u32;
        let known = (place == last).then_some(written);
        let change = |old| made(old, b[lane].into(), c[lane].into());
        if let Some([old, new]) = W::change(shared, place, known, change) {
            (row[lane], last, written) = (old, place, new);
        }
    }
}

/// Changes words, if all lie in the range.
#[inline(always)]
fn change_global<W: Word>(
    range: &Direct,
    mask: u32,
    addresses: &Longs,
    [b, c]: [&[W; LANES]; 2],
    row: &mut [W; LANES],
    made: impl Fn(u64, u64, u64) -> u64,
) -> bool {
    if !all(mask, addresses, |address| range.holds_word(address, W::BYTES)) {
        return false;
    }
    for lane in each(mask) {
        let change = |old| made(old, b[lane].into(), c[lane].into());
        row[lane] = range.update(addresses[lane], W::BYTES, change).map_or(row[lane], W::cut);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::vec_memory::VecMemory;
    use crate::exec::memory::processor::Portable;
    use crate::exec::memory::range_cache::RangeCache;
    use crate::exec::memory::traffic::Traffic;
    use crate::exec::registers::Registers;
    use crate::lanes::ALL;
    use crate::program::constants::Constants;
    use crate::program::function::Cleared;
    use crate::program::function::Counts;
    use crate::program::operation::Atomic;

    const CHANGES: [Change; 10] = [
        Change::Add,
        Change::Minimum,
        Change::Maximum,
        Change::Increment,
        Change::Decrement,
        Change::And,
        Change::Or,
        Change::Xor,
        Change::Exchange,
        Change::CompareAndSwap,
    ];
    const WORDS: [Atom; 5] = [Atom::U32, Atom::S32, Atom::F32, Atom::F16x2, Atom::Bf16x2];
    const LONGS: [Atom; 3] = [Atom::U64, Atom::S64, Atom::F64];
    const SIZE: u64 = 256;

    /// Memory and result afterwards; none if the operation was left to the slow path.
    type After = Option<(Vec<u8>, [u64; LANES])>;

    struct Case {
        atomic: Atomic,
        mask: u32,
        addresses: Longs,
        operands: [Longs; 2],
    }

    impl Case {
        fn bytes(&self) -> usize {
            usize::from(self.atomic.scalar.bytes())
        }

        fn before() -> Vec<u8> {
            (0..SIZE).map(|at| (at * 37 + at / 5) as u8).collect()
        }

        /// One lane after the other.
        fn apart(&self) -> After {
            let (mut memory, mut row, bytes) = (Case::before(), [0; LANES], self.bytes());
            for lane in each(self.mask) {
                let start = usize::try_from(self.addresses[lane]).ok()?;
                let there = memory.get_mut(start..start.checked_add(bytes)?).filter(|_| start.is_multiple_of(bytes))?;
                let mut all = [0; 8];
                all[..bytes].copy_from_slice(there);
                row[lane] = u64::from_le_bytes(all);
                let (atomic, is_shared) = (self.atomic, self.atomic.space == Space::Shared);
                let [b, c] = [self.operands[0][lane], self.operands[1][lane]];
                let new = changed(atomic.change, atomic.scalar, is_shared, row[lane], b, c);
                there.copy_from_slice(&new.to_le_bytes()[..bytes]);
            }
            Some((memory, row))
        }

        /// All at once.
        fn at_once<P: Processor>(&self) -> After {
            let memory = VecMemory::new(SIZE as usize).reached_directly();
            let mut shared = Case::before();
            let base = if self.atomic.space == Space::Shared { 0 } else { memory.upload(&shared) };
            let mut registers = Registers::default();
            registers.reset(Counts { words: 4, longs: 5, predicates: 2 }, &Cleared::default());
            let is_long = self.bytes() == 8;
            registers.longs[4].0 = self.addresses.map(|address| address.wrapping_add(base));
            for (index, operand) in self.operands.iter().enumerate() {
                registers.words[index + 2].0 = operand.map(|value| value as u32);
                registers.longs[index + 2].0 = *operand;
            }
            let mut around = Environment {
                memory: &memory,
                ranges: &mut RangeCache::default(),
                traffic: &mut Traffic::default(),
                shared: Some(&mut shared),
                arguments: &[],
                places: &[[0; LANES]; 3],
                block: [0; 3],
                block_size: [1; 3],
                grid: [1; 3],
            };
            let slots = [1, 4, 0, 2, 3, 0].map(Slot::register);
            let update = Update { mask: self.mask, atomic: &self.atomic, slots: &slots, pc: 0 };
            let constants = Constants::default();
            let mut file = File { registers: &mut registers, constants: &constants };
            let is_done = change::<P>(update, &mut file, &mut around);
            let row = if is_long { registers.longs[1].0 } else { registers.words[1].0.map(u64::from) };
            let memory = if base == 0 { shared } else { memory.read(base, SIZE as usize) };
            if !is_done {
                assert_eq!((memory, row), (Case::before(), [0; LANES]), "{:?}", self.atomic);
                return None;
            }
            Some((memory, row))
        }

        /// The same, where the processor has AVX2.
        fn at_once_with_avx2(&self) -> Option<After> {
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                return Some(self.at_once::<crate::exec::memory::processor::Avx2>());
            }
            None
        }
    }

    #[test]
    fn at_once_is_as_one_after_the_other() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 29
        };
        for (space, change) in [Space::Shared, Space::Global].into_iter().flat_map(|s| CHANGES.map(|c| (s, c))) {
            for scalar in WORDS.into_iter().chain(LONGS) {
                let (bytes, words) = (u64::from(scalar.bytes()), SIZE / u64::from(scalar.bytes()));
                let atomic = Atomic { space, change, scalar, wide: true };
                let patterns: [&mut dyn FnMut(u64) -> u64; 6] = [
                    &mut |_| 3,
                    &mut |lane| lane / 3,
                    &mut |lane| lane * 5 % words,
                    &mut |_| random() % 3,
                    &mut |lane| if lane == 9 { words } else { lane },
                    &mut |lane| if lane == 9 { u64::MAX / bytes } else { lane },
                ];
                for (index, pattern) in patterns.into_iter().enumerate() {
                    let addresses = std::array::from_fn(|lane| pattern(lane as u64).wrapping_mul(bytes));
                    for mask in [ALL, 0x8f0f_f0f1, 1 << 9, !(1 << 9)] {
                        let mut operand =
                            |lane: usize| (lane as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (lane % 40);
                        let operands =
                            [std::array::from_fn(&mut operand), std::array::from_fn(|lane| operand(lane + 7))];
                        let case = Case { atomic, mask, addresses, operands };
                        let after = case.at_once::<Portable>();
                        assert_eq!(
                            case.at_once_with_avx2().unwrap_or(after.clone()),
                            after,
                            "{atomic:?} for {mask:#x}"
                        );
                        assert_eq!(after, case.apart(), "{atomic:?} for {mask:#x}, pattern {index}");
                        assert_eq!(after.is_none(), index > 3 && mask >> 9 & 1 == 1);
                    }
                    let odd = std::array::from_fn(|lane| addresses[lane] + u64::from(lane == 20));
                    let operands = [[1; LANES]; 2];
                    assert_eq!(Case { atomic, mask: ALL, addresses: odd, operands }.at_once::<Portable>(), None);
                }
            }
        }
    }
}

//! Accesses against a model, and accesses that race.

use proptest::prelude::*;

#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::x86_64::{self, Vectors};
use super::{copy, fill, portable, read, read_element, update, write, write_element};

/// Bytes of the memory that the tests work on; more than one part of a staged copy, and many turns of each
/// loop.
const SIZE: usize = 3000;

fn numbered() -> Vec<u8> {
    (0..SIZE).map(|index| (index * 7 + index / 251) as u8).collect()
}

/// A start for the target and the source, and a size that fits behind both.
fn ranges() -> impl Strategy<Value = (usize, usize, usize)> {
    let size = prop_oneof![0..200_usize, 0..SIZE];
    size.prop_flat_map(|bytes| {
        let near = (0..=SIZE - bytes, 0..200_usize).prop_map(move |(to, ahead)| (to, (to + ahead).min(SIZE - bytes)));
        let any = (0..=SIZE - bytes, 0..=SIZE - bytes);
        (prop_oneof![near.clone(), near.prop_map(|(to, from)| (from, to)), any], Just(bytes))
    })
    .prop_map(|((to, from), bytes)| (to, from, bytes))
}

type Copy = unsafe fn(*mut u8, *const u8, usize);
type Fill = unsafe fn(*mut u8, [u8; 8], usize);

/// A loop of `x86_64.rs` with some vectors and a bound from which on stores go around the cache.
#[cfg(all(target_arch = "x86_64", not(miri)))]
macro_rules! with {
    ($function:ident, $vectors:expr, $streamed:expr) => {
        (concat!(stringify!($vectors), " from ", stringify!($streamed)), $vectors.fewest(), |to, from, bytes| {
            // SAFETY: the caller's promise; the caller has seen the size, and the list the vectors.
            unsafe { x86_64::$function(to, from, bytes, $vectors, $streamed) }
        })
    };
}

/// Every way to copy that this processor has, with the fewest bytes that it takes.
fn copies() -> Vec<(&'static str, usize, Copy)> {
    let mut all: Vec<(_, _, Copy)> = vec![("copy", 0, copy), ("portable", 0, portable::copy)];
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        all.push(with!(copy_many, Vectors::Sse, usize::MAX));
        all.push(with!(copy_many, Vectors::Sse, 0));
        if std::is_x86_feature_detected!("avx") {
            all.push(with!(copy_many, Vectors::Avx, usize::MAX));
            all.push(with!(copy_many, Vectors::Avx, 0));
        }
    }
    all
}

/// Every way to fill that this processor has, with the fewest bytes that it takes.
fn fills() -> Vec<(&'static str, usize, Fill)> {
    let mut all: Vec<(_, _, Fill)> = vec![("portable", 0, portable::fill)];
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        all.push(("fill", 0, x86_64::fill));
        all.push(with!(fill_many, Vectors::Sse, usize::MAX));
        all.push(with!(fill_many, Vectors::Sse, 0));
        if std::is_x86_feature_detected!("avx") {
            all.push(with!(fill_many, Vectors::Avx, usize::MAX));
            all.push(with!(fill_many, Vectors::Avx, 0));
        }
    }
    all
}

/// Miri is slow, and has no file system for failed cases.
fn config() -> ProptestConfig {
    if cfg!(miri) {
        return ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() };
    }
    ProptestConfig::with_cases(2000)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_copy_leaves_the_bytes_that_a_copy_within_a_slice_leaves((to, from, bytes) in ranges()) {
        let mut expected = numbered();
        expected.copy_within(from..from + bytes, to);
        for (name, fewest, copy) in copies() {
            if bytes < fewest {
                continue;
            }
            let mut memory = numbered();
            let start = memory.as_mut_ptr();
            // SAFETY: both ranges lie in the memory, which no other thread knows.
            unsafe { copy(start.add(to), start.add(from), bytes) };
            prop_assert!(memory == expected, "{name}: {bytes} bytes from {from} to {to}");
        }
    }

    #[test]
    fn a_fill_repeats_its_element((to, _, bytes) in ranges(), pattern: u32, element in prop_oneof![Just(1_u8), Just(2), Just(4)]) {
        let size = usize::from(element);
        let mut memory = numbered();
        let start = memory.as_ptr().addr();
        let to = (start + to).next_multiple_of(size) - start;
        let count = bytes.min(SIZE.saturating_sub(to)) / size;
        let bytes = count * size;
        if bytes == 0 {
            return Ok(());
        }
        let mut expected = numbered();
        for chunk in expected[to..to + bytes].chunks_mut(size) {
            chunk.copy_from_slice(&pattern.to_le_bytes()[..size]);
        }
        // SAFETY: aligned elements of the memory, which no other thread knows.
        unsafe { fill(memory.as_mut_ptr().add(to), pattern, element, count) };
        prop_assert!(memory == expected, "{count} elements of {element} bytes at {to}");
        let mut repeated = [0; 8];
        repeated.chunks_mut(size).for_each(|chunk| chunk.copy_from_slice(&pattern.to_le_bytes()[..size]));
        for (name, fewest, fill) in fills() {
            if bytes < fewest {
                continue;
            }
            memory.copy_from_slice(&numbered());
            // SAFETY: as above.
            unsafe { fill(memory.as_mut_ptr().add(to), repeated, bytes) };
            prop_assert!(memory == expected, "{name}: {count} elements of {element} bytes at {to}");
        }
    }

    #[test]
    fn buffers_are_read_and_written_at_any_alignment((to, from, bytes) in ranges()) {
        let mut memory = numbered();
        let mut expected = numbered();
        let (mut buffer, mut portably) = (vec![0; bytes], vec![0; bytes]);
        // SAFETY: the range lies in the memory, which no other thread knows.
        unsafe { read(memory.as_ptr().add(from), &mut buffer) };
        // SAFETY: as above.
        unsafe { portable::read(memory.as_ptr().add(from), &mut portably) };
        prop_assert_eq!(&buffer, &expected[from..from + bytes]);
        prop_assert_eq!(&portably, &buffer);
        buffer.reverse();
        expected[to..to + bytes].copy_from_slice(&buffer);
        // SAFETY: as above.
        unsafe { write(memory.as_mut_ptr().add(to), &buffer) };
        prop_assert_eq!(&memory, &expected);
        memory = numbered();
        // SAFETY: as above.
        unsafe { portable::write(memory.as_mut_ptr().add(to), &buffer) };
        prop_assert_eq!(&memory, &expected);
    }
}

#[test]
fn elements_are_read_and_written_at_any_alignment() {
    fn check<const N: usize>() {
        for at in 0..40 {
            let (mut memory, mut expected) = (numbered(), numbered());
            // SAFETY: the element lies in the memory, which no other thread knows.
            let mut element = unsafe { read_element::<N>(memory.as_ptr().add(at)) };
            assert_eq!(element[..], expected[at..at + N]);
            element.reverse();
            // SAFETY: as above.
            unsafe { write_element(memory.as_mut_ptr().add(at + 1), &element) };
            expected[at + 1..at + 1 + N].copy_from_slice(&element);
            assert_eq!(memory, expected, "{N} bytes at {at}");
        }
    }
    check::<1>();
    check::<2>();
    check::<4>();
    check::<8>();
    check::<16>();
    check::<32>();
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[test]
fn rows_are_read_and_written_by_vectors() {
    if !(std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma")) {
        return;
    }
    fn check<const N: usize>() {
        let bytes = 32 * N;
        for at in [0, 1, 4, 31, 32] {
            let (mut memory, mut expected) = (numbered(), numbered());
            let mut row = [[0; N]; 32];
            // SAFETY: the row lies in the memory, and the features were found.
            unsafe { crate::read_row_with_avx2(memory.as_ptr().add(at), &mut row) };
            assert_eq!(row.as_flattened(), &expected[at..at + bytes]);
            row.as_flattened_mut().reverse();
            // SAFETY: as above.
            unsafe { crate::write_row_with_avx2(memory.as_mut_ptr().add(at + 3), &row) };
            expected[at + 3..at + 3 + bytes].copy_from_slice(row.as_flattened());
            assert_eq!(memory, expected, "{bytes} bytes at {at}");
        }
    }
    check::<1>();
    check::<2>();
    check::<4>();
    check::<8>();
    check::<16>();
    check::<32>();
}

#[test]
fn an_update_changes_its_word_and_no_other() {
    for bytes in [2, 4, 8] {
        let mut words = [0x1122_3344_5566_7788_u64.to_le(); 3];
        // SAFETY: an aligned word in the middle, which no other thread knows.
        let old = unsafe { update(words.as_mut_ptr().add(1).cast(), bytes, |old| old + 1) };
        let mask = u64::MAX >> (64 - bytes * 8);
        assert_eq!(old, 0x1122_3344_5566_7788 & mask);
        assert_eq!(words.map(u64::from_le), [0x1122_3344_5566_7788, 0x1122_3344_5566_7789, 0x1122_3344_5566_7788]);
    }
}

/// Words that are written whole are never seen half: each has eight times the same byte.
#[test]
fn words_that_race_are_not_torn() {
    use std::sync::atomic::AtomicU64;
    let rounds: u64 = if cfg!(miri) { 20 } else { 20_000 };
    let words: Vec<AtomicU64> = (0..64).map(|_| AtomicU64::new(0)).collect();
    let start = || words.as_ptr().cast_mut().cast::<u8>();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..rounds {
                let element = [round as u8; 8];
                // SAFETY: a word of the memory, which is reached through atomics and this module only.
                unsafe { write_element(start().add(round as usize % 64 * 8), &element) };
            }
        });
        for _ in 0..rounds / 64 {
            for index in 0..64 {
                // SAFETY: as above.
                let seen = unsafe { read_element::<8>(start().add(index * 8)) };
                assert_eq!(seen, [seen[0]; 8]);
            }
        }
    });
}

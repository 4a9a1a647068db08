//! What is compiled once for each kind of processor, and not into the loop itself.
#![expect(unsafe_code, reason = "calls what needs a processor's features, from code that runs where they were found")]

use super::atomic::{self, Update};
use super::coalesced::{self, Transfer};
use super::pattern::{self, Pattern, Shape};
use super::{shared_words, single_element};
use crate::exec::interpreter::fast_path::Surroundings;
use crate::exec::registers::File;
use crate::lanes::{Longs, Words};
use crate::program::operation::Reach;
use crate::program::slot::Slot;

/// A processor of which nothing is known.
pub(crate) struct Anywhere;

/// One with AVX2 and FMA. Only code that runs where both were found names this type.
#[cfg(target_arch = "x86_64")]
pub(crate) struct WithAvx2;

/// Each access is a function of its own: those that are made often have little to keep, those that are rare need much room.
macro_rules! processors {
    ($($(#[$about:meta])* $access:ident, $with_avx2:ident = $module:ident::$function:ident $(, $n:literal)?;)*) => {
        pub(crate) trait Processor: Sized {
            fn shape(mask: u32, addresses: &Longs, size: u64) -> Shape;
            fn pattern<const N: usize>(mask: u32, addresses: &Longs) -> Pattern;
            fn load_words(shared: &[u8], addresses: &Words, offset: u32) -> Option<Words>;
            fn change(update: Update<'_>, file: &mut File<'_>, around: &mut Surroundings<'_>) -> bool;
            $($(#[$about])* fn $access(access: Transfer<'_>, file: &mut File<'_>, around: &mut Surroundings<'_>) -> bool;)*
        }

        impl Processor for Anywhere {
            fn shape(mask: u32, addresses: &Longs, size: u64) -> Shape {
                pattern::shape(mask, addresses, size)
            }

            fn pattern<const N: usize>(mask: u32, addresses: &Longs) -> Pattern {
                pattern::shape(mask, addresses, N as u64).pattern
            }

            fn load_words(shared: &[u8], addresses: &Words, offset: u32) -> Option<Words> {
                shared_words::load_words(shared, addresses, offset)
            }

            fn change(update: Update<'_>, file: &mut File<'_>, around: &mut Surroundings<'_>) -> bool {
                atomic::change(update, file, around)
            }

            $(fn $access(access: Transfer<'_>, file: &mut File<'_>, around: &mut Surroundings<'_>) -> bool {
                $module::$function::<Anywhere $(, $n)?>(access, file, around)
            })*
        }

        #[cfg(target_arch = "x86_64")]
        impl Processor for WithAvx2 {
            #[inline(always)]
            fn shape(mask: u32, addresses: &Longs, size: u64) -> Shape {
                // SAFETY: this type is named only where the features were found.
                unsafe { pattern::shape_with_avx2(mask, addresses, size) }
            }

            #[inline(always)]
            fn pattern<const N: usize>(mask: u32, addresses: &Longs) -> Pattern {
                // SAFETY: as in `shape`.
                unsafe { pattern::pattern_with_avx2::<N>(mask, addresses) }
            }

            #[inline(always)]
            fn load_words(shared: &[u8], addresses: &Words, offset: u32) -> Option<Words> {
                // SAFETY: as in `shape`.
                unsafe { pattern::load_words_with_avx2(shared, addresses, offset) }
            }

            #[inline(always)]
            fn change(update: Update<'_>, file: &mut File<'_>, around: &mut Surroundings<'_>) -> bool {
                // SAFETY: as in `shape`.
                unsafe { change_with_avx2(&update, file, around) }
            }

            $(#[inline(always)]
            fn $access(access: Transfer<'_>, file: &mut File<'_>, around: &mut Surroundings<'_>) -> bool {
                let Transfer { mask, reach, slots, pc } = access;
                // SAFETY: as in `shape`.
                unsafe { $with_avx2(mask, reach, slots, pc, file, around) }
            })*
        }

        $(#[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        #[inline(never)]
        fn $with_avx2(
            mask: u32,
            reach: &Reach,
            slots: &[Slot; 6],
            pc: usize,
            file: &mut File<'_>,
            around: &mut Surroundings<'_>,
        ) -> bool {
            // Each in a register on the way here: put together before the call, they would be read again before they are written.
            $module::$function::<WithAvx2 $(, $n)?>(Transfer { mask, reach, slots, pc }, file, around)
        })*
    };
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[inline(never)]
fn change_with_avx2(update: &Update<'_>, file: &mut File<'_>, around: &mut Surroundings<'_>) -> bool {
    atomic::change(*update, file, around)
}

processors! {
    /// One element for each lane of global memory, by its size.
    load_byte, load_byte_with_avx2 = single_element::load, 1;
    load_short, load_short_with_avx2 = single_element::load, 2;
    load_word, load_word_with_avx2 = single_element::load, 4;
    load_long, load_long_with_avx2 = single_element::load, 8;
    store_word, store_word_with_avx2 = single_element::store, 4;
    store_long, store_long_with_avx2 = single_element::store, 8;
    /// A word for each lane of shared memory.
    load_shared, load_shared_with_avx2 = shared_words::load;
    store_shared, store_shared_with_avx2 = shared_words::store;
    /// Whatever else.
    load, load_with_avx2 = coalesced::load;
    store, store_with_avx2 = coalesced::store;
}

//! The accesses of the fast path, compiled once for each kind of processor and not into the loop itself.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "calls functions that need AVX2, from code that runs where it was found")
)]

#[cfg(target_arch = "x86_64")]
use super::processor::Avx2;
use super::processor::{Portable, Processor};
use super::transfer::{Environment, Transfer, Update};
use super::{atomic, coalesced, shared_words, single_element};
use crate::exec::registers::File;
#[cfg(target_arch = "x86_64")]
use crate::program::{operation::AccessForm, slot::Slot};

/// Each access is a function of its own: those that are made often have little to keep, those that are rare
/// need much room.
macro_rules! accesses {
    ($($(#[$about:meta])* $access:ident, $with_avx2:ident = $module:ident::$function:ident $(, $n:literal)?;)*) => {
        pub(crate) trait Accesses: Processor {
            fn change(update: Update<'_>, file: &mut File<'_>, around: &mut Environment<'_>) -> bool;
            $($(#[$about])* fn $access(access: Transfer<'_>, file: &mut File<'_>, around: &mut Environment<'_>) -> bool;)*
        }

        impl Accesses for Portable {
            fn change(update: Update<'_>, file: &mut File<'_>, around: &mut Environment<'_>) -> bool {
                atomic::change::<Portable>(update, file, around)
            }

            $(fn $access(access: Transfer<'_>, file: &mut File<'_>, around: &mut Environment<'_>) -> bool {
                $module::$function::<Portable $(, $n)?>(access, file, around)
            })*
        }

        #[cfg(target_arch = "x86_64")]
        impl Accesses for Avx2 {
            #[inline(always)]
            fn change(update: Update<'_>, file: &mut File<'_>, around: &mut Environment<'_>) -> bool {
                // SAFETY: this type is named only where the features were found.
                unsafe { change_with_avx2(&update, file, around) }
            }

            $(#[inline(always)]
            fn $access(access: Transfer<'_>, file: &mut File<'_>, around: &mut Environment<'_>) -> bool {
                let Transfer { mask, form, slots, pc } = access;
                // SAFETY: this type is named only where the features were found.
                unsafe { $with_avx2(mask, form, slots, pc, file, around) }
            })*
        }

        $(#[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        #[inline(never)]
        fn $with_avx2(
            mask: u32,
            form: &AccessForm,
            slots: &[Slot; 6],
            pc: usize,
            file: &mut File<'_>,
            around: &mut Environment<'_>,
        ) -> bool {
            // Each in a register on the way here: put together before the call, they would be read again
            // before they are written.
            $module::$function::<Avx2 $(, $n)?>(Transfer { mask, form, slots, pc }, file, around)
        })*
    };
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[inline(never)]
fn change_with_avx2(update: &Update<'_>, file: &mut File<'_>, around: &mut Environment<'_>) -> bool {
    atomic::change::<Avx2>(*update, file, around)
}

accesses! {
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
    /// Every other access.
    load, load_with_avx2 = coalesced::load;
    store, store_with_avx2 = coalesced::store;
}

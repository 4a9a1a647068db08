//! The exported C functions: one thin function per row of the list, slot and default-stream variant.
#![expect(unsafe_code, reason = "C functions under C's names, whose pointers are C's promise")]
#![expect(clippy::too_many_arguments, reason = "as many as the C functions have")]

use std::ffi::c_void;

use warploom_sys::types::CUresult;
use warploom_sys::{Function, GetProcAddress, for_each_function};

use super::{entry, implemented};
use crate::ffi::Cross;
use crate::machine::slots::SLOTS;

macro_rules! shims {
    ($($family:ident $slot:ident $name:literal $version:literal $per_thread:literal $suffix:literal
        ($($argument:ident: $type:ty),*);)*) => {
        /// From C arguments to a body, for any slot.
        mod dispatch {
            use super::*;
            $(
                // One copy for all slots: inlined, every function would be compiled for each of them.
                #[inline(never)]
                pub(super) unsafe fn $slot(slot: usize, per_thread: bool $(, $argument: $type)*) -> CUresult {
                    // SAFETY: the C caller passed the pointers, under the contract of `cuda.h`.
                    $(let $argument = unsafe { $argument.cross() };)*
                    let values = |take: &mut dyn FnMut(&[u64])| take(&[$(<$type as Cross>::bits(&$argument)),*]);
                    entry::enter(slot, per_thread, Function::$slot, &values, &|call| {
                        implemented::$slot(call $(, $argument)*)
                    })
                }
            )*
        }

        /// The exported functions: the slot and the variant are generic parameters.
        mod exported {
            use super::*;
            $(
                pub(super) unsafe extern "C" fn $slot<const SLOT: usize, const PER_THREAD: bool>(
                    $($argument: $type),*
                ) -> CUresult {
                    // SAFETY: the arguments are passed on unchanged.
                    unsafe { dispatch::$slot(SLOT, PER_THREAD $(, $argument)*) }
                }
            )*
        }

        fn address_in<const SLOT: usize>(function: Function, per_thread: bool) -> *mut c_void {
            match function {
                $(
                    // The constant comes first, so that variants that do not exist are not compiled.
                    Function::$slot => if const { $per_thread != 0 } {
                        if per_thread {
                            exported::$slot::<SLOT, true> as *mut c_void
                        } else {
                            exported::$slot::<SLOT, false> as *mut c_void
                        }
                    } else {
                        exported::$slot::<SLOT, false> as *mut c_void
                    },
                )*
            }
        }
    };
}
for_each_function!(shims);

fn resolver_in<const SLOT: usize>() -> GetProcAddress {
    exported::cuGetProcAddress_v2::<SLOT, false>
}

/// Functions that find the C functions of a slot.
struct Finders {
    address: fn(Function, bool) -> *mut c_void,
    resolver: fn() -> GetProcAddress,
}

macro_rules! finders {
    ($($slot:literal)*) => { [$(Finders { address: address_in::<$slot>, resolver: resolver_in::<$slot> }),*] };
}
static FINDERS: [Finders; SLOTS] = finders!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);

/// The C function of a slot's machine.
pub(crate) fn address(slot: usize, function: Function, per_thread: bool) -> *mut c_void {
    (FINDERS[slot].address)(function, per_thread)
}

/// `cuGetProcAddress` of a slot's machine.
pub(crate) fn resolver(slot: usize) -> GetProcAddress {
    (FINDERS[slot].resolver)()
}

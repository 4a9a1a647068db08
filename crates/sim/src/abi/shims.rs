//! The exported C functions: one thin function per row of the list, slot and default-stream variant.
#![expect(unsafe_code, reason = "C functions under C's names, whose pointers are C's promise")]
#![expect(clippy::too_many_arguments, reason = "as many as the C functions have")]

use std::ffi::c_void;

use warploom_sys::types::CUresult;
use warploom_sys::{Function, GetProcAddress, for_each_function};

use super::invocation::{Invocation, Values};
use super::{entry, implemented};
use crate::ffi::Cross;
use crate::ffi::status::Status;
use crate::machine::call::Call;
use crate::machine::slots::SLOTS;

macro_rules! shims {
    ($($family:ident $slot:ident $name:literal $version:literal $per_thread:literal $suffix:literal
        ($($argument:ident: $type:ty),*);)*) => {
        /// Functions with their arguments.
        mod invocation {
            use super::*;
            $(
                pub(super) struct $slot {
                    $(pub(super) $argument: <$type as Cross>::View,)*
                }

                impl Invocation for $slot {
                    fn values(&self) -> Values {
                        Values::from_slice(&[$(<$type as Cross>::bits(&self.$argument)),*])
                    }

                    fn run(&self, call: &Call<'_>) -> Status {
                        implemented::$slot(call $(, self.$argument)*)
                    }
                }
            )*
        }

        /// From C arguments to a body, for any slot.
        mod dispatch {
            use super::*;
            $(
                // One copy for all slots: inlined, every function would be compiled for each of them.
                #[inline(never)]
                pub(super) unsafe fn $slot(slot: usize, per_thread: bool $(, $argument: $type)*) -> CUresult {
                    // SAFETY: the C caller passed the pointers, under the contract of `cuda.h`.
                    $(let $argument = unsafe { $argument.cross() };)*
                    entry::enter(slot, per_thread, Function::$slot, &invocation::$slot { $($argument),* })
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

        impl<const SLOT: usize> Addresses<SLOT> {
            /// Addresses by function: the variant for the legacy stream, and that for threads' own streams. A
            /// variant that does not exist is not in the value, and so is not compiled.
            const ALL: [[*mut c_void; 2]; Function::ALL.len()] = [$([
                exported::$slot::<SLOT, false> as *mut c_void,
                if $per_thread != 0 {
                    exported::$slot::<SLOT, true> as *mut c_void
                } else {
                    exported::$slot::<SLOT, false> as *mut c_void
                },
            ]),*];
        }
    };
}
for_each_function!(shims);

/// Addresses of a slot's functions.
struct Addresses<const SLOT: usize>;

fn address_in<const SLOT: usize>(function: Function, per_thread: bool) -> *mut c_void {
    let all: &'static [[*mut c_void; 2]] = const { &Addresses::<SLOT>::ALL };
    all[function.index()][usize::from(per_thread)]
}

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

//! The C functions themselves: one thin function per row of the list, slot and default-stream variant.
#![expect(unsafe_code, reason = "C functions under C's names, whose pointers are C's promise")]
#![expect(clippy::too_many_arguments, reason = "as many as the C functions have")]

use std::ffi::c_void;

use warploom_sys::types::CUresult;
use warploom_sys::{Function, GetProcAddress, for_each_function};

use crate::abi::{entry, implemented};
use crate::fault::Subject;
use crate::ffi::Cross;
use crate::ffi::status::Status;
use crate::machine::call::Call;
use crate::machine::slots::SLOTS;

macro_rules! shims {
    ($($family:ident $slot:ident $name:literal $version:literal $per_thread:literal $suffix:literal
        ($($argument:ident: $type:ty),*);)*) => {
        /// A body for everything, which says that it is not simulated; `implemented` puts real ones in front.
        #[expect(dead_code, reason = "what is implemented shadows what stands here")]
        pub(crate) mod unsupported {
            use super::*;
            $(
                pub(crate) fn $slot(call: &Call<'_>, $($argument: <$type as Cross>::View),*) -> Status {
                    $(let _ = $argument;)*
                    call.unsupported()
                }
            )*
        }

        /// From C arguments to a body, for whichever slot.
        mod dispatch {
            use super::*;
            $(
                pub(super) unsafe fn $slot(slot: usize, per_thread: bool $(, $argument: $type)*) -> CUresult {
                    // SAFETY: the pointers are what the C caller passed, under the contract of `cuda.h`.
                    $(let $argument = unsafe { $argument.cross() };)*
                    let naming = |name: &mut dyn FnMut(Subject)| {
                        let named = [$(Subject::of(stringify!($type), <$type as Cross>::bits(&$argument))),*];
                        <[Option<Subject>]>::iter(&named).copied().flatten().for_each(name);
                    };
                    entry::enter(slot, per_thread, Function::$slot, &naming, |call| {
                        implemented::$slot(call $(, $argument)*)
                    })
                }
            )*
        }

        /// The exported shape: the slot and the variant are part of the function.
        mod exported {
            use super::*;
            $(
                pub(super) unsafe extern "C" fn $slot<const SLOT: usize, const PER_THREAD: bool>(
                    $($argument: $type),*
                ) -> CUresult {
                    // SAFETY: handed on as they came.
                    unsafe { dispatch::$slot(SLOT, PER_THREAD $(, $argument)*) }
                }
            )*
        }

        fn address_in<const SLOT: usize>(function: Function, per_thread: bool) -> *mut c_void {
            match function {
                $(
                    // The constant comes first, so that variants nobody can ask for are not compiled.
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

/// How a slot's functions are found.
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

/// Where everything else of a slot's machine is found.
pub(crate) fn resolver(slot: usize) -> GetProcAddress {
    (FINDERS[slot].resolver)()
}

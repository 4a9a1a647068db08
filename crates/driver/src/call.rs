//! One method per driver function: the call, and its status as a `Result`.
#![expect(unsafe_code, reason = "calls C functions through the table")]

use warploom_sys::Function;
use warploom_sys::types::CUresult;

use crate::{Driver, DriverError, Error, Result, process};

#[inline]
fn check(function: Function, code: CUresult) -> Result<()> {
    if code == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(failed(function, code)) }
}

/// Out of the way of a call that succeeds: right after one, little of the caller's code is in the processor's
/// caches.
#[cold]
#[inline(never)]
fn failed(function: Function, code: CUresult) -> Error {
    if code == CUresult::CUDA_ERROR_NOT_INITIALIZED
        && let Some((parent, child)) = process::forked()
    {
        return Error::ForkedProcess { function, parent, child };
    }
    Error::Driver(DriverError { function, code })
}

macro_rules! calls {
    ($($family:ident $slot:ident $name:literal $version:literal $per_thread:literal $suffix:literal
        ($($argument:ident: $type:ty),*);)*) => {
        /// The driver's functions, under their names in `cuda.h`.
        #[expect(clippy::too_many_arguments, reason = "those of the C functions")]
        impl Driver {
            $(
                #[doc = concat!("Calls `", $name, "` in the form that CUDA ", stringify!($version), " introduced.")]
                ///
                /// # Safety
                ///
                #[doc = concat!("As `cuda.h` requires of `", stringify!($slot), "`.")]
                ///
                /// # Errors
                ///
                /// [`Error::Unsupported`] if the driver does not have it, [`Error::Driver`] if it fails, and
                /// [`Error::ForkedProcess`] in a child of the process that initialised the driver.
                #[inline]
                pub unsafe fn $slot(&self, $($argument: $type),*) -> Result<()> {
                    let inner = self.inner();
                    let Some(entry) = inner.table.$slot else {
                        return Err(self.unsupported(Function::$slot));
                    };
                    let code = if inner.observers.any() {
                        // The closure takes copies, so that the arguments may stay in registers on the other
                        // path.
                        //
                        // SAFETY: the caller keeps what `cuda.h` requires; `self` keeps the function
                        // callable.
                        inner.observe(Function::$slot, &mut move || unsafe { entry($($argument),*) })
                    } else {
                        // SAFETY: the caller keeps what `cuda.h` requires; `self` keeps the function
                        // callable.
                        unsafe { entry($($argument),*) }
                    };
                    check(Function::$slot, code)
                }
            )*

            /// `true` if the driver has the function.
            #[must_use]
            pub fn supports(&self, function: Function) -> bool {
                match function {
                    $(Function::$slot => self.table().$slot.is_some(),)*
                }
            }
        }
    };
}
warploom_sys::for_each_function!(calls);

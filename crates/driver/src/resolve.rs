//! Resolving the functions of a driver into a table.
//!
//! CUDA changes the ABI behind a name: `cuCtxCreate` takes three arguments in 3.2, five in 11.4 and four in
//! 12.5. A resolver asked at version v answers with the newest form that is not newer than v. So each slot is
//! asked for at the version that introduced its form, and only if the driver is as new as that.
#![expect(unsafe_code, reason = "asks a resolver, and gives the pointers it hands out their C types")]

use std::any::Any;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::path::PathBuf;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use warploom_sys::types::{CUdriverProcAddress_flags, CUdriverProcAddressQueryResult, CUresult, cuuint64_t};
use warploom_sys::{DriverTable, Function, GetProcAddress, Source};

use crate::{DriverError, DriverVersion, Error, NotADriver, Result};

/// The C signature of `cuGetProcAddress` in drivers 11.3 to 11.8, which have no `cuGetProcAddress_v2`.
pub(crate) type GetProcAddressV1 =
    unsafe extern "C" fn(symbol: *const c_char, pfn: *mut *mut c_void, version: c_int, flags: cuuint64_t) -> CUresult;

/// Either form of `cuGetProcAddress`.
#[derive(Clone, Copy)]
pub(crate) enum Resolver {
    V2(GetProcAddress),
    V1(GetProcAddressV1),
}

/// The origin of a driver: a [`Source`], or a library that need not have the newer resolver.
///
/// The constructor's caller makes the promise of [`Source::new`] for its resolver.
pub(crate) struct Origin {
    resolver: Resolver,
    pub(crate) keep_alive: Arc<dyn Any + Send + Sync>,
    pub(crate) description: Arc<str>,
    /// `true` if it is a library that the loader of this process knows.
    pub(crate) is_library: bool,
}

impl Origin {
    pub(crate) fn from_source(source: Source) -> Origin {
        Origin {
            resolver: Resolver::V2(source.resolve()),
            keep_alive: Arc::clone(source.keep_alive()),
            description: Arc::clone(source.description()),
            is_library: false,
        }
    }

    /// # Safety
    ///
    /// As for [`Source::new`], with `resolver` callable until the process ends.
    pub(crate) unsafe fn forever(resolver: Resolver, description: Arc<str>) -> Origin {
        Origin { resolver, keep_alive: Arc::new(()), description, is_library: true }
    }

    /// The version, as the driver reports it.
    pub(crate) fn version(&self) -> Result<DriverVersion> {
        let function = Function::cuDriverGetVersion;
        let Some(entry) = self.find(function, c"cuDriverGetVersion") else {
            let path = PathBuf::from(&*self.description);
            return Err(Error::NotADriver(Box::new(NotADriver { path, missing: function, why: None })));
        };
        // SAFETY: by the promise in `Origin`, this is the function that was asked for, and this is its C
        // signature.
        let entry = unsafe { transmute::<NonNull<c_void>, unsafe extern "C" fn(*mut c_int) -> CUresult>(entry) };
        let mut version = 0;
        // SAFETY: `version` is writable, and `self` keeps the function callable.
        let code = unsafe { entry(&raw mut version) };
        match code {
            CUresult::CUDA_SUCCESS => Ok(DriverVersion::from_raw(version)),
            code => Err(Error::Driver(DriverError { function, code })),
        }
    }

    /// The function, in the ABI of the version that introduced it.
    fn find(&self, function: Function, name: &CStr) -> Option<NonNull<c_void>> {
        let mut pointer = null_mut();
        let mut found = CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS;
        let version = function.version();
        // Stream 0 is the legacy default stream; the per-thread one has a handle of its own,
        // `CU_STREAM_PER_THREAD`.
        let flags = cuuint64_t::from(CUdriverProcAddress_flags::CU_GET_PROC_ADDRESS_LEGACY_STREAM.0);
        let status = match self.resolver {
            // SAFETY: `name` is terminated, both outputs are writable, and `self` keeps the resolver
            // callable.
            Resolver::V2(ask) => unsafe { ask(name.as_ptr(), &raw mut pointer, version, flags, &raw mut found) },
            // SAFETY: as above, with one output less.
            Resolver::V1(ask) => unsafe { ask(name.as_ptr(), &raw mut pointer, version, flags) },
        };
        if status == CUresult::CUDA_SUCCESS { NonNull::new(pointer) } else { None }
    }
}

/// `name`, which must end in the one nul it contains, as C takes it.
const fn terminated(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name with one nul, at its end"),
    }
}

macro_rules! resolve {
    ($($family:ident $slot:ident $name:literal $version:literal $per_thread:literal $suffix:literal
        ($($argument:ident: $type:ty),*);)*) => {
        impl Origin {
            /// Every function a driver of `version` has.
            pub(crate) fn table(&self, version: DriverVersion) -> DriverTable {
                let find = |function: Function, name| {
                    if function.version() <= version.as_raw() { self.find(function, name) } else { None }
                };
                DriverTable {
                    $($slot: find(Function::$slot, const { terminated(concat!($name, "\0")) }).map(|entry| {
                        // SAFETY: by the promise in `Origin`, this is the function that was asked for, in the
                        // ABI of the version that was asked for; the list gives the C signature of that pair.
                        unsafe { transmute::<NonNull<c_void>, unsafe extern "C" fn($($type),*) -> CUresult>(entry) }
                    }),)*
                }
            }
        }
    };
}
warploom_sys::for_each_function!(resolve);

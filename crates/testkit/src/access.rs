//! Recorded calls that change access to pools, argument by argument.
//!
//! A call counter does not see arguments. An [`AccessSpy`] stands between a machine and its users: it passes
//! everything on as it is, keeps the descriptors of `cuMemPoolSetAccess`, and can make `cuMemPoolGetAccess`
//! answer what no simulated machine answers by itself. It belongs to the thread that made it, and so do the
//! calls it sees.
#![expect(unsafe_code, reason = "stands in for two driver functions and their resolver")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::slice;

use warploom_driver::Driver;
use warploom_sim::Machine;
use warploom_sys::types::{
    CUdriverProcAddressQueryResult, CUmemAccess_flags, CUmemAccessDesc, CUmemLocation, CUmemoryPool, CUresult,
    cuuint64_t,
};
use warploom_sys::{GetProcAddress, Source};

use crate::TestResult;

type SetAccess = unsafe extern "C" fn(CUmemoryPool, *const CUmemAccessDesc, usize) -> CUresult;
type GetAccess = unsafe extern "C" fn(*mut CUmemAccess_flags, CUmemoryPool, *mut CUmemLocation) -> CUresult;

/// One call of `cuMemPoolSetAccess`: device and flags of each descriptor, in order.
pub type AccessWrite = Vec<(i32, u32)>;

#[derive(Default)]
struct Spied {
    resolve: Option<GetProcAddress>,
    set: Option<SetAccess>,
    get: Option<GetAccess>,
    writes: Vec<AccessWrite>,
    pretended: BTreeMap<i32, u32>,
}

thread_local! {
    static SPIED: RefCell<Spied> = RefCell::default();
}

/// Watches a driver on this thread; see the module. One at a time on a thread.
///
/// ```
/// use warploom_testkit::{AccessSpy, sim};
///
/// # fn main() -> warploom_testkit::TestResult {
/// let machine = sim::Machine::preset("pcie-pair")?;
/// let (driver, spy) = AccessSpy::open(&machine)?;
/// driver.initialize()?;
/// assert!(spy.take().is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AccessSpy {
    /// Keeps the spy on its thread.
    _here: std::marker::PhantomData<*const ()>,
}

impl AccessSpy {
    /// Opens a machine's driver with a spy in between.
    pub fn open(machine: &Machine) -> TestResult<(Driver, AccessSpy)> {
        let source = machine.source();
        SPIED.with_borrow_mut(|spied| *spied = Spied { resolve: Some(source.resolve()), ..Spied::default() });
        let description = format!("{}, spied on", source.description());
        // SAFETY: `resolve` hands out what the machine's own resolver does, which `source` vouches for and
        // whose keep-alive is passed on, and instead of two functions others with the same signatures.
        let source = unsafe { Source::new(resolve, source.keep_alive().clone(), description) };
        Ok((Driver::open(source)?, AccessSpy { _here: std::marker::PhantomData }))
    }

    /// The writes so far, in order; forgets them.
    #[must_use]
    pub fn take(&self) -> Vec<AccessWrite> {
        SPIED.with_borrow_mut(|spied| std::mem::take(&mut spied.writes))
    }

    /// Makes every pool report these flags for a device, regardless of its real access.
    pub fn pretend(&self, device: i32, flags: CUmemAccess_flags) {
        SPIED.with_borrow_mut(|spied| spied.pretended.insert(device, flags.0));
    }
}

impl Drop for AccessSpy {
    fn drop(&mut self) {
        // The functions stay: the driver may outlive the spy.
        SPIED.with_borrow_mut(|spied| {
            spied.writes.clear();
            spied.pretended.clear();
        });
    }
}

unsafe extern "C" fn resolve(
    symbol: *const c_char,
    pfn: *mut *mut c_void,
    version: c_int,
    flags: cuuint64_t,
    status: *mut CUdriverProcAddressQueryResult,
) -> CUresult {
    let Some(real) = SPIED.with_borrow(|spied| spied.resolve) else { return CUresult::CUDA_ERROR_NOT_FOUND };
    // SAFETY: the arguments are passed on as they came.
    let answer = unsafe { real(symbol, pfn, version, flags, status) };
    if answer != CUresult::CUDA_SUCCESS {
        return answer;
    }
    // SAFETY: a caller gives a terminated string and a writable pointer, which the call above has set.
    let (name, found) = unsafe { (CStr::from_ptr(symbol), *pfn) };
    if found.is_null() {
        return answer;
    }
    let replaced: *mut c_void = match name.to_bytes() {
        b"cuMemPoolSetAccess" => {
            // SAFETY: the machine found this function by its name, and it has had one signature since it
            // exists.
            SPIED.with_borrow_mut(|spied| spied.set = Some(unsafe { transmute::<*mut c_void, SetAccess>(found) }));
            set_access as SetAccess as *mut c_void
        }
        b"cuMemPoolGetAccess" => {
            // SAFETY: as above.
            SPIED.with_borrow_mut(|spied| spied.get = Some(unsafe { transmute::<*mut c_void, GetAccess>(found) }));
            get_access as GetAccess as *mut c_void
        }
        _ => return answer,
    };
    // SAFETY: as above, writable.
    unsafe { *pfn = replaced };
    answer
}

unsafe extern "C" fn set_access(pool: CUmemoryPool, map: *const CUmemAccessDesc, count: usize) -> CUresult {
    let Some(real) = SPIED.with_borrow(|spied| spied.set) else { return CUresult::CUDA_ERROR_NOT_FOUND };
    if !map.is_null() {
        // SAFETY: a caller gives an array of that length.
        let map = unsafe { slice::from_raw_parts(map, count) };
        let write = map.iter().map(|descriptor| (descriptor.location.id(), descriptor.flags.0)).collect();
        SPIED.with_borrow_mut(|spied| spied.writes.push(write));
    }
    // SAFETY: the arguments are passed on as they came.
    unsafe { real(pool, map, count) }
}

unsafe extern "C" fn get_access(
    flags: *mut CUmemAccess_flags,
    pool: CUmemoryPool,
    location: *mut CUmemLocation,
) -> CUresult {
    let Some(real) = SPIED.with_borrow(|spied| spied.get) else { return CUresult::CUDA_ERROR_NOT_FOUND };
    // SAFETY: the arguments are passed on as they came.
    let answer = unsafe { real(flags, pool, location) };
    if answer == CUresult::CUDA_SUCCESS {
        // SAFETY: the call succeeded, so both pointers were good.
        let device = unsafe { (*location).id() };
        if let Some(pretended) = SPIED.with_borrow(|spied| spied.pretended.get(&device).copied()) {
            // SAFETY: as above.
            unsafe { *flags = CUmemAccess_flags(pretended) };
        }
    }
    answer
}

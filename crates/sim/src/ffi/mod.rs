//! Raw C arguments, checked on the way in and out.
//!
//! An entry point's arguments become views before its body sees them: a pointer turns into [`Ptr`] or [`ConstPtr`],
//! everything else stays what it is. A view refuses null with the driver's own code, and what the kernel says is no good
//! if the machine checks pointers ([`vet`]); beyond that a C caller's promise (the pointer is null or good for what
//! `cuda.h` says) is all anyone has. It is taken once, in [`Cross::cross`], so the bodies need no `unsafe`. Alignment is
//! no part of it: programs get away without it on the processors that the driver runs on.
#![expect(unsafe_code, reason = "reads and writes through the pointers that C callers pass")]

pub(crate) mod handle;
pub(crate) mod status;
pub(crate) mod vet;

use std::ffi::{CStr, c_char, c_void};

use warploom_sys::types::*;

use self::vet::vet;
use crate::api::copy::{Intent, is_own};
use crate::ffi::status::{INVALID_VALUE, Status};

/// Turns a C argument into what a body takes.
pub(crate) trait Cross {
    type View;

    /// # Safety
    ///
    /// A pointer must be null or good for what `cuda.h` says the function does with it, until the call returns.
    unsafe fn cross(self) -> Self::View;

    /// The value of a handle, an address or a number; 0 for what is none of these.
    fn bits(_view: &Self::View) -> u64 {
        0
    }
}

/// A C pointer to something a body may write: an out-parameter, a host buffer, or an opaque handle.
pub(crate) struct Ptr<T>(*mut T);

/// A C pointer to something a body may read.
pub(crate) struct ConstPtr<T>(*const T);

impl<T> Clone for Ptr<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Ptr<T> {}
impl<T> Clone for ConstPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for ConstPtr<T> {}

impl<T> Cross for *mut T {
    type View = Ptr<T>;
    unsafe fn cross(self) -> Ptr<T> {
        Ptr(self)
    }
    fn bits(view: &Ptr<T>) -> u64 {
        view.address()
    }
}
impl<T> Cross for *const T {
    type View = ConstPtr<T>;
    unsafe fn cross(self) -> ConstPtr<T> {
        ConstPtr(self)
    }
}

/// What a C caller may hand over to be read or written as plain data; handles' opaque structs are not.
pub(crate) trait Plain: Copy {}
impl<T> Plain for *mut T {}
impl<T> Plain for *const T {}

impl<T: Plain, const N: usize> Plain for [T; N] {}

macro_rules! plain {
    ($($type:ty),* $(,)?) => { $(impl Plain for $type {})* };
}
plain!(
    u8,
    i8,
    u16,
    u32,
    i32,
    u64,
    i64,
    f32,
    usize,
    CUuuid,
    CUdevprop,
    CUmemLocation,
    CUmemAccessDesc,
    CUmemPoolProps,
    CUmemPoolPtrExportData,
    CUmemAllocationProp,
    CUDA_MEMCPY2D,
    CUDA_MEMCPY3D,
    CUDA_MEMCPY3D_PEER,
    CUmemcpyAttributes,
    CUstreamBatchMemOpParams,
    CUlaunchAttributeValue,
    CUctxCreateParams,
    CUexecAffinityParam,
    CUpointer_attribute,
    CUmem_range_attribute,
    CUfunc_cache,
    CUsharedconfig,
    CUdriverProcAddressQueryResult,
    CUmemAccess_flags,
    CUmoduleLoadingMode,
    CUDA_MEMCPY3D_BATCH_OP,
    CUmemRangeHandleType,
    CUstreamCaptureMode,
    CUstreamCaptureStatus,
    CUatomicOperation,
    CUjit_option,
    CUlibraryOption,
    CUlaunchConfig,
    CUlaunchAttribute,
    CUfunctionLoadingState,
    CUgraphEdgeData,
    CUgraphNodeType,
);

macro_rules! as_is {
    ($($type:ty),* $(,)?) => { $(impl Cross for $type {
        type View = Self;
        unsafe fn cross(self) -> Self { self }
    })* };
}
as_is!(
    u8,
    u16,
    u32,
    usize,
    f32,
    CUarray_format,
    CUdevResourceType,
    CUdevice_attribute,
    CUdevice_P2PAttribute,
    CUexecAffinityType,
    CUflushGPUDirectRDMAWritesScope,
    CUflushGPUDirectRDMAWritesTarget,
    CUfunc_cache,
    CUfunction_attribute,
    CUgraphMem_attribute,
    CUipcEventHandle,
    CUipcMemHandle,
    CUjitInputType,
    CUkernelNodeAttrID,
    CUlimit,
    CUmem_advise,
    CUmem_range_attribute,
    CUmemAllocationGranularity_flags,
    CUmemAllocationHandleType,
    CUmemAllocationType,
    CUmemLocation,
    CUmemPool_attribute,
    CUmemRangeHandleType,
    CUmulticastGranularity_flags,
    CUpointer_attribute,
    CUresult,
    CUsharedconfig,
    CUstreamCaptureMode,
    CUtensorMapDataType,
    CUtensorMapFloatOOBfill,
    CUtensorMapIm2ColWideMode,
    CUtensorMapInterleave,
    CUtensorMapL2promotion,
    CUtensorMapSwizzle,
);

impl Cross for i32 {
    type View = Self;
    unsafe fn cross(self) -> Self {
        self
    }
    fn bits(view: &Self) -> u64 {
        u64::from(view.cast_unsigned())
    }
}
impl Cross for u64 {
    type View = Self;
    unsafe fn cross(self) -> Self {
        self
    }
    fn bits(view: &Self) -> u64 {
        *view
    }
}

impl<F> Cross for Option<F> {
    type View = Self;
    unsafe fn cross(self) -> Self {
        self
    }
}

impl<T> Ptr<T> {
    /// What C passes for "none".
    pub(crate) const fn null() -> Self {
        Ptr(std::ptr::null_mut())
    }

    /// A pointer that C passed as part of a structure.
    pub(crate) const fn of_field(pointer: *mut T) -> Self {
        Ptr(pointer)
    }

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The pointer's value: an address, or the bits of a handle.
    pub(crate) fn address(self) -> u64 {
        self.0.addr() as u64
    }
}

impl<T: Plain> Ptr<T> {
    /// Fails as the driver does when an out-pointer is null, before anything has been changed.
    pub(crate) fn required(self) -> Result<Self, CUresult> {
        self.element(0, Intent::Write)
    }

    /// Fails as the driver does when the pointer to an array that is only read is null.
    pub(crate) fn given(self) -> Result<Self, CUresult> {
        self.element(0, Intent::Read)
    }

    /// Fails when an out-pointer that callers may leave out is no good, before anything has been changed.
    pub(crate) fn optional(self) -> Result<Self, CUresult> {
        if self.0.is_null() { Ok(self) } else { self.required() }
    }

    /// The pointer to an element of an array, if there can be one.
    fn element(self, index: usize, intent: Intent) -> Result<Self, CUresult> {
        if self.0.is_null() {
            return Err(INVALID_VALUE);
        }
        let element = self.0.wrapping_add(index);
        vet(element.addr() as u64, size_of::<T>() as u64, intent)?;
        Ok(Ptr(element))
    }

    /// Writes an out-parameter.
    pub(crate) fn write(self, value: T) -> Status {
        self.write_at(0, value)
    }

    /// Writes an out-parameter that callers may leave out.
    pub(crate) fn write_if_wanted(self, value: T) -> Status {
        if self.0.is_null() { Ok(()) } else { self.write(value) }
    }

    /// Reads a parameter that goes in and out.
    pub(crate) fn read(self) -> Result<T, CUresult> {
        self.required()?.read_at(0)
    }

    /// Writes element `index` of an array; the caller knows that C promised that many.
    pub(crate) fn write_at(self, index: usize, value: T) -> Status {
        let element = self.element(index, Intent::Write)?;
        // SAFETY: C promised an array of at least `index + 1` elements (the count is an argument of the same call), good
        // for writes until the call returns (`Cross::cross`).
        unsafe { element.0.write_unaligned(value) };
        Ok(())
    }

    /// Reads element `index` of an array; the caller knows that C promised that many.
    pub(crate) fn read_at(self, index: usize) -> Result<T, CUresult> {
        let element = self.element(index, Intent::Read)?;
        // SAFETY: as in `write_at`.
        Ok(unsafe { element.0.read_unaligned() })
    }
}

impl<T: Plain> Ptr<T> {
    /// Takes the pointer for one to the first bytes of what is there: a member of a union.
    pub(crate) fn part<U: Plain>(self) -> Ptr<U> {
        const { assert!(size_of::<U>() <= size_of::<T>() && align_of::<U>() <= align_of::<T>()) };
        Ptr(self.0.cast())
    }
}

impl Ptr<c_char> {
    /// Writes text with its terminator, cut to `capacity` bytes as the driver does.
    pub(crate) fn write_text(self, text: &str, capacity: usize) -> Status {
        if self.0.is_null() || capacity == 0 {
            return Err(INVALID_VALUE);
        }
        let length = text.len().min(capacity - 1);
        vet(self.address(), length as u64 + 1, Intent::Write)?;
        // SAFETY: C promised `capacity` bytes, and `length` is smaller.
        unsafe {
            self.0.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), length);
            self.0.add(length).write(0);
        }
        Ok(())
    }
}

impl Ptr<c_char> {
    /// Writes text cut to `capacity` bytes with its terminator, and zeros behind it up to the capacity.
    pub(crate) fn write_padded(self, text: &str, capacity: usize) -> Status {
        vet(self.address(), capacity as u64, Intent::Write)?;
        self.write_text(text, capacity)?;
        let length = text.len().min(capacity - 1);
        // SAFETY: C promised `capacity` bytes, and `length` is smaller.
        unsafe { self.0.add(length).write_bytes(0, capacity - length) };
        Ok(())
    }
}

impl Ptr<c_void> {
    /// Takes the pointer for one to `T`: the parameter's real type depends on another parameter.
    pub(crate) fn typed<T: Plain>(self) -> Ptr<T> {
        Ptr(self.0.cast())
    }

    pub(crate) fn raw(self) -> *mut c_void {
        self.0
    }
}

impl Ptr<c_void> {
    /// Takes the pointer for one to something that is only read.
    pub(crate) fn reading(self) -> ConstPtr<c_void> {
        ConstPtr(self.0)
    }
}

/// A pointer that C promised to keep good for longer than one call.
#[derive(Clone, Copy)]
pub(crate) struct Kept(usize);

impl Kept {
    /// A pointer that came as the value of an option.
    pub(crate) fn of_address(address: usize) -> Self {
        Self(address)
    }

    /// The pointer, for as long as the promise holds.
    pub(crate) fn pointer<T: Plain>(self) -> Ptr<T> {
        Ptr(std::ptr::with_exposed_provenance_mut(self.0))
    }
}

impl<T: Plain> Ptr<T> {
    /// The pointer to an element of an array that C promised to keep.
    pub(crate) fn kept_at(self, index: usize) -> Kept {
        Kept(self.0.wrapping_add(index).expose_provenance())
    }
}

impl Ptr<*mut c_void> {
    /// Element `index` of an array of out-pointers; the caller knows that C promised that many.
    pub(crate) fn pointer_at(self, index: usize) -> Result<Ptr<c_void>, CUresult> {
        self.read_at(index).map(Ptr)
    }
}

impl ConstPtr<c_void> {
    /// Takes the pointer for one to `T`: the parameter's real type depends on another parameter.
    pub(crate) fn typed<T: Plain>(self) -> ConstPtr<T> {
        ConstPtr(self.0.cast())
    }

    /// The first bytes of something that says itself how long it is, and so may lie: they are looked for, whether or not
    /// the machine checks pointers.
    pub(crate) fn bytes(&self, len: usize) -> Result<&[u8], CUresult> {
        let fits = len > 0 && isize::try_from(len).is_ok() && self.address().checked_add(len as u64).is_some();
        if self.0.is_null() || !fits || !is_own(self.address(), len as u64, Intent::Read) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: readable memory, as was just seen, that C promised to leave alone until the call returns; the borrow of
        // `self` is shorter.
        Ok(unsafe { std::slice::from_raw_parts(self.0.cast(), len) })
    }
}

impl<T> ConstPtr<T> {
    /// What C passes for "none".
    pub(crate) const fn null() -> Self {
        ConstPtr(std::ptr::null())
    }

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    pub(crate) fn address(self) -> u64 {
        self.0.addr() as u64
    }
}

impl<T: Plain> ConstPtr<T> {
    /// Takes the pointer for one to the first bytes of what is there: a member of a union.
    pub(crate) fn part<U: Plain>(self) -> ConstPtr<U> {
        const { assert!(size_of::<U>() <= size_of::<T>() && align_of::<U>() <= align_of::<T>()) };
        ConstPtr(self.0.cast())
    }

    pub(crate) fn read(self) -> Result<T, CUresult> {
        self.read_at(0)
    }

    /// Reads element `index` of an array; the caller knows that C promised that many.
    pub(crate) fn read_at(self, index: usize) -> Result<T, CUresult> {
        if self.0.is_null() {
            return Err(INVALID_VALUE);
        }
        let element = self.0.wrapping_add(index);
        vet(element.addr() as u64, size_of::<T>() as u64, Intent::Read)?;
        // SAFETY: C promised an array of at least `index + 1` elements (the count is an argument of the same call).
        Ok(unsafe { element.read_unaligned() })
    }
}

impl ConstPtr<c_char> {
    /// The text, if it is there and is UTF-8.
    pub(crate) fn text(&self) -> Result<&str, CUresult> {
        std::str::from_utf8(self.text_bytes()?).map_err(|_| INVALID_VALUE)
    }

    /// The text without its terminator, if it is there.
    pub(crate) fn text_bytes(&self) -> Result<&[u8], CUresult> {
        if self.0.is_null() {
            return Err(INVALID_VALUE);
        }
        vet(self.address(), 1, Intent::Read)?;
        // SAFETY: C promised a terminated string that lives until the call returns; the borrow of `self` is shorter.
        Ok(unsafe { CStr::from_ptr(self.0) }.to_bytes())
    }
}

//! Checked pointers: null is refused, and only plain data is read or written.
#![expect(unsafe_code, reason = "reads and writes through the pointers that C callers pass")]

use std::ffi::{CStr, c_char, c_void};

use warploom_sys::types::{CUDA_LAUNCH_PARAMS, CUlaunchAttribute, CUlaunchConfig, CUresult, CUstream, CUstream_st};

use super::host_memory::{Intent, is_own};
use super::plain::Plain;
use super::pointer_check::check;
use super::status::{INVALID_VALUE, Status};

/// A C pointer to memory that a body may write (an out-parameter, a host buffer), or an opaque handle.
pub(crate) struct Ptr<T>(*mut T);

/// A C pointer to memory that a body may read.
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

impl<T> Ptr<T> {
    /// The null pointer, which C passes for "none".
    pub(crate) const fn null() -> Self {
        Ptr(std::ptr::null_mut())
    }

    /// A pointer that C passed.
    ///
    /// # Safety
    ///
    /// The pointer must be null or good for what `cuda.h` says the function does with it, until the call
    /// returns.
    pub(super) const unsafe fn new(pointer: *mut T) -> Self {
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

    /// Fails when an optional out-pointer is not null and cannot be written, before anything has been
    /// changed.
    pub(crate) fn optional(self) -> Result<Self, CUresult> {
        if self.0.is_null() { Ok(self) } else { self.required() }
    }

    /// The pointer to an element of an array, if there can be one.
    fn element(self, index: usize, intent: Intent) -> Result<Self, CUresult> {
        if self.0.is_null() {
            return Err(INVALID_VALUE);
        }
        let element = self.0.wrapping_add(index);
        check(element.addr() as u64, size_of::<T>() as u64, intent)?;
        Ok(Ptr(element))
    }

    /// Writes an out-parameter.
    #[inline]
    pub(crate) fn write(self, value: T) -> Status {
        self.write_at(0, value)
    }

    /// Writes an optional out-parameter.
    pub(crate) fn write_if_wanted(self, value: T) -> Status {
        if self.0.is_null() { Ok(()) } else { self.write(value) }
    }

    /// Reads a parameter that goes in and out.
    pub(crate) fn read(self) -> Result<T, CUresult> {
        self.required()?.read_at(0)
    }

    /// Writes element `index` of an array; the caller knows that C promised that many.
    #[inline]
    pub(crate) fn write_at(self, index: usize, value: T) -> Status {
        let element = self.element(index, Intent::Write)?;
        // SAFETY: C promised an array of at least `index + 1` elements (the count is an argument of the same
        // call), good for writes until the call returns (`Cross::cross`).
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
    /// The same pointer as one to a member of a union, at its first byte.
    pub(crate) fn part<U: Plain>(self) -> Ptr<U> {
        const { assert!(size_of::<U>() <= size_of::<T>() && align_of::<U>() <= align_of::<T>()) };
        Ptr(self.0.cast())
    }
}

impl<T: Plain> Ptr<T> {
    /// The pointer to a member of the struct, some bytes behind its first. The pointer is not null.
    pub(super) fn behind<U: Plain>(self, bytes: usize) -> Ptr<U> {
        Ptr(self.0.wrapping_byte_add(bytes).cast())
    }
}

impl Ptr<c_char> {
    /// Writes text with its terminator, cut to `capacity` bytes as the driver does.
    pub(crate) fn write_text(self, text: &str, capacity: usize) -> Status {
        if self.0.is_null() || capacity == 0 {
            return Err(INVALID_VALUE);
        }
        let length = text.len().min(capacity - 1);
        check(self.address(), length as u64 + 1, Intent::Write)?;
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
        check(self.address(), capacity as u64, Intent::Write)?;
        self.write_text(text, capacity)?;
        let length = text.len().min(capacity - 1);
        // SAFETY: C promised `capacity` bytes, and `length` is smaller.
        unsafe { self.0.add(length).write_bytes(0, capacity - length) };
        Ok(())
    }
}

impl Ptr<c_void> {
    /// The same pointer as one to `T`: the parameter's real type depends on another parameter.
    pub(crate) fn typed<T: Plain>(self) -> Ptr<T> {
        Ptr(self.0.cast())
    }

    pub(crate) fn raw(self) -> *mut c_void {
        self.0
    }
}

impl Ptr<c_void> {
    /// The same pointer, for reading only.
    pub(crate) fn reading(self) -> ConstPtr<c_void> {
        ConstPtr(self.0)
    }
}

/// A pointer that C promised to keep good for longer than one call. Only the pointers of a call can become
/// one.
#[derive(Clone, Copy)]
pub(crate) struct Kept(usize);

impl Kept {
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
    /// Element `index` of an array of pointers that C promised to keep good.
    pub(crate) fn kept_pointer_at(self, index: usize) -> Result<Kept, CUresult> {
        self.read_at(index).map(|pointer| Kept(pointer.expose_provenance()))
    }

    /// Element `index` of an array of out-pointers; the caller knows that C promised that many.
    pub(crate) fn pointer_at(self, index: usize) -> Result<Ptr<c_void>, CUresult> {
        self.read_at(index).map(Ptr)
    }
}

impl ConstPtr<c_void> {
    /// The same pointer as one to `T`: the parameter's real type depends on another parameter.
    pub(crate) fn typed<T: Plain>(self) -> ConstPtr<T> {
        ConstPtr(self.0.cast())
    }

    /// The first bytes of data whose length is in the data itself and may be wrong: the kernel is asked for
    /// them, even if the machine does not check pointers.
    pub(crate) fn bytes(&self, len: usize) -> Result<&[u8], CUresult> {
        let fits = len > 0 && isize::try_from(len).is_ok() && self.address().checked_add(len as u64).is_some();
        if self.0.is_null() || !fits || !is_own(self.address(), len as u64, Intent::Read) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: readable memory, as was just seen, that C promised to leave alone until the call returns;
        // the borrow of `self` is shorter.
        Ok(unsafe { std::slice::from_raw_parts(self.0.cast(), len) })
    }
}

impl<T> ConstPtr<T> {
    /// A pointer that C passed.
    ///
    /// # Safety
    ///
    /// As for [`Ptr::new`].
    pub(super) const unsafe fn new(pointer: *const T) -> Self {
        ConstPtr(pointer)
    }

    /// The null pointer, which C passes for "none".
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
    /// The same pointer as one to a member of a union, at its first byte.
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
        check(element.addr() as u64, size_of::<T>() as u64, Intent::Read)?;
        // SAFETY: C promised an array of at least `index + 1` elements (the count is an argument of the same
        // call).
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
        check(self.address(), 1, Intent::Read)?;
        // SAFETY: C promised a terminated string that lives until the call returns; the borrow of `self` is
        // shorter.
        Ok(unsafe { CStr::from_ptr(self.0) }.to_bytes())
    }
}

impl ConstPtr<CUlaunchConfig> {
    /// Reads a launch configuration; its attributes are an array that C promised with it.
    pub(crate) fn read_with_attributes(self) -> Result<(CUlaunchConfig, Ptr<CUlaunchAttribute>), CUresult> {
        let config = self.read()?;
        Ok((config, Ptr(config.attrs)))
    }
}

impl Ptr<CUDA_LAUNCH_PARAMS> {
    /// Reads an element of a list of launches; its arguments are an array that C promised with it.
    pub(crate) fn read_launch_at(self, index: usize) -> Result<(CUDA_LAUNCH_PARAMS, Ptr<*mut c_void>), CUresult> {
        let params = self.read_at(index)?;
        Ok((params, Ptr(params.kernelParams)))
    }
}

impl Ptr<CUstream_st> {
    /// A stream handle that C passed inside a structure. A handle is never followed, so any value is fine.
    pub(crate) const fn of_handle(stream: CUstream) -> Self {
        Ptr(stream)
    }
}

//! JIT options of a caller, and the buffers for the compiler's log.

use std::ffi::{c_char, c_uint, c_void};

use warploom_sys::types::CUjit_option;

use crate::ffi::status::{INVALID_VALUE, Status};
use crate::ffi::{Kept, Ptr};
use crate::machine::call::Call;
use crate::machine::code::image::Refusal;

/// The options of a load, as C passes them: names and values.
#[derive(Clone, Copy)]
pub(super) struct Options {
    names: Ptr<CUjit_option>,
    values: Ptr<*mut c_void>,
    count: usize,
}

/// A log buffer: the option of the buffer, and the option of its size.
pub(super) type LogBuffer = (CUjit_option, CUjit_option);

pub(super) const ERRORS: LogBuffer =
    (CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
pub(super) const INFORMATION: LogBuffer =
    (CUjit_option::CU_JIT_INFO_LOG_BUFFER, CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);

impl Options {
    pub(super) const NONE: Options = Options { names: Ptr::null(), values: Ptr::null(), count: 0 };

    /// Reads the options, if all are known. Most concern machine code and have no effect here.
    pub(super) fn new(
        call: &Call<'_>,
        names: Ptr<CUjit_option>,
        values: Ptr<*mut c_void>,
        count: c_uint,
    ) -> Status<Options> {
        let options = Options { names, values, count: count as usize };
        for index in 0..options.count {
            let name = names.read_at(index)?;
            values.read_at(index)?;
            if name.0 >= CUjit_option::CU_JIT_NUM_OPTIONS.0 {
                return Err(call.refuse(INVALID_VALUE, format!("there is no option {} of the compiler", name.0)));
            }
        }
        Ok(options)
    }

    fn position(&self, wanted: CUjit_option) -> Option<usize> {
        (0..self.count).find(|index| self.names.read_at(*index) == Ok(wanted))
    }

    /// The value of an option, if given.
    pub(super) fn value(&self, wanted: CUjit_option) -> Status<Option<usize>> {
        let value = self.position(wanted).map(|index| self.values.read_at(index)).transpose()?;
        Ok(value.map(|value| value.expose_provenance()))
    }

    /// The value of a pointer option, if given; C keeps it valid as long as the linker.
    pub(super) fn pointer(&self, wanted: CUjit_option) -> Status<Option<Kept>> {
        self.position(wanted).map(|index| self.values.kept_pointer_at(index)).transpose()
    }

    /// The slot of an option's value, if the option is given.
    pub(super) fn slot(&self, wanted: CUjit_option) -> Option<Kept> {
        self.position(wanted).map(|index| self.values.kept_at(index))
    }

    /// The bound on the registers of a thread, if given.
    pub(super) fn max_registers(&self, call: &Call<'_>) -> Status<Option<u32>> {
        match self.value(CUjit_option::CU_JIT_MAX_REGISTERS)? {
            Some(0) => Err(call.refuse(INVALID_VALUE, "a thread has at least one register; the bound is 0")),
            // The value is an unsigned int in a pointer.
            bound => Ok(bound.map(|bound| bound as u32)),
        }
    }

    /// `true` if one of the options is about a log.
    pub(super) fn has_log(&self) -> bool {
        let options = [ERRORS, INFORMATION].into_iter().flat_map(|(buffer, size)| [buffer, size]);
        options.into_iter().any(|option| self.position(option).is_some())
    }

    /// Writes text into a log buffer, and its length into the size option.
    fn write(&self, (buffer, size): LogBuffer, text: &str) -> Status {
        let (Some(buffer), Some(size)) = (self.position(buffer), self.position(size)) else { return Ok(()) };
        let capacity = self.values.pointer_at(size)?.address() as usize;
        let buffer: Ptr<c_char> = self.values.pointer_at(buffer)?.typed();
        let mut written = 0;
        if capacity > 0 && !buffer.is_null() {
            buffer.write_text(text, capacity)?;
            written = text.len().min(capacity);
        }
        self.values.write_at(size, std::ptr::without_provenance_mut(written))
    }

    /// Writes the outcome of a compilation to the caller's logs.
    pub(super) fn write_logs(&self, refusal: Option<&Refusal>) -> Status {
        self.write(ERRORS, refusal.map_or("", |refusal| &refusal.log))?;
        self.write(INFORMATION, "")?;
        match self.position(CUjit_option::CU_JIT_WALL_TIME) {
            Some(time) => self.values.write_at(time, std::ptr::null_mut()),
            None => Ok(()),
        }
    }

    /// Writes the outcome of a load to the caller's logs and to the machine's.
    pub(super) fn tell<T>(&self, call: &Call<'_>, outcome: Result<T, Refusal>) -> Status<T> {
        self.write_logs(outcome.as_ref().err())?;
        outcome.map_err(|refusal| call.refuse_with_advice(refusal.code, refusal.reason, refusal.advice))
    }
}

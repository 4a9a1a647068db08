//! Linker logs, written to the buffers given to cuLinkCreate.

use std::ffi::c_char;

use warploom_ptx::{Program, VariableSpace};
use warploom_sys::types::CUjit_option;

use crate::api::module::options::{ERRORS, INFORMATION, LogBuffer, Options};
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::code::{Log, Logs};

impl Log {
    fn new(call: &Call<'_>, options: &Options, (buffer, size): LogBuffer) -> Status<Option<Log>> {
        let Some(buffer) = options.pointer(buffer)? else { return Ok(None) };
        let (Some(capacity), Some(size)) = (options.value(size)?, options.slot(size)) else {
            return Err(call.refuse(INVALID_VALUE, "a buffer for a log, and not how large it is"));
        };
        Ok(Some(Log { buffer, capacity, size, text: String::new() }))
    }

    fn add(&mut self, text: &str) -> Status {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
        if self.capacity > 0 {
            let buffer: Ptr<c_char> = self.buffer.pointer();
            buffer.write_text(&self.text, self.capacity)?;
        }
        let written = self.text.len().min(self.capacity);
        self.size.pointer::<usize>().write(written)
    }

    /// Writes an empty text.
    fn begin(&self) -> Status {
        if self.capacity > 0 {
            let buffer: Ptr<c_char> = self.buffer.pointer();
            buffer.write_text("", self.capacity)?;
        }
        Ok(())
    }
}

impl Logs {
    pub(super) fn new(call: &Call<'_>, options: &Options) -> Status<Logs> {
        let logs = Logs {
            errors: Log::new(call, options, ERRORS)?,
            information: Log::new(call, options, INFORMATION)?,
            is_verbose: options.value(CUjit_option::CU_JIT_LOG_VERBOSE)?.is_some_and(|value| value != 0),
            time: options.slot(CUjit_option::CU_JIT_WALL_TIME),
        };
        logs.errors.iter().chain(&logs.information).try_for_each(Log::begin)?;
        Ok(logs)
    }

    pub(super) fn error(&mut self, text: &str) -> Status {
        self.errors.as_mut().map_or(Ok(()), |log| log.add(text))
    }

    /// Writes the result of the link.
    pub(super) fn complete(&mut self, program: &Program) -> Status {
        for log in self.errors.iter().chain(&self.information).filter(|log| log.text.is_empty()) {
            log.size.pointer::<usize>().write(0)?;
        }
        if let Some(time) = self.time {
            // No time passes: the bits of 0.0.
            time.pointer::<usize>().write(0)?;
        }
        let Some(information) = self.information.as_mut().filter(|_| self.is_verbose) else { return Ok(()) };
        let is_global = |variable: &&warploom_ptx::Variable| variable.space == VariableSpace::Global;
        let bytes: u64 = program.variables().iter().filter(is_global).map(|variable| variable.size).sum();
        information.add(&format!("info    : {bytes} bytes gmem"))?;
        program.kernels().try_for_each(|kernel| {
            information.add(&format!("info    : Function properties for '{}':", kernel.name()))?;
            information.add(&format!(
                "info    : {} stack, {} bytes smem, {} bytes cmem[0]",
                kernel.local_bytes(),
                kernel.shared_bytes(),
                kernel.parameter_bytes()
            ))
        })
    }
}

//! Linking by the driver.
#![expect(unsafe_code, reason = "calls the driver's linker, and reads the code that it made")]

use std::ffi::CString;
use std::ptr::{null_mut, without_provenance_mut};

use warploom_driver::sys::types::{CUjit_option, CUjitInputType, CUlinkState};

use super::LinkError;
use super::option::LinkOption;
use crate::context::Current;
use crate::diagnostics::{self, Subject};
use crate::kernel::HEADER;
use crate::kernel::jit::{Logs, RawOptions};
use crate::program::{Architecture, CodeKind, ObjectCode};
use crate::{Context, Driver, Result};

/// The size of a log buffer: it has lines for every kernel, and lives as long as the link.
const ROOM: u32 = 4 << 20;

/// A link of a driver's. Only this file has its handle, which is alive as long as this is; so are the logs
/// and the options, which the driver writes to until then.
pub(super) struct DriverLink<'c> {
    driver: &'c Driver,
    raw: CUlinkState,
    logs: Logs,
    _options: RawOptions,
    /// The context that the driver compiles for.
    _current: Current<'c>,
}

/// The number that drivers have for a kind of code, if they link it.
fn number(code: &ObjectCode) -> Result<CUjitInputType, LinkError> {
    Ok(match code.kind() {
        CodeKind::Ptx => CUjitInputType::CU_JIT_INPUT_PTX,
        CodeKind::Cubin => CUjitInputType::CU_JIT_INPUT_CUBIN,
        CodeKind::Fatbin => CUjitInputType::CU_JIT_INPUT_FATBINARY,
        CodeKind::Object => CUjitInputType::CU_JIT_INPUT_OBJECT,
        CodeKind::Library => CUjitInputType::CU_JIT_INPUT_LIBRARY,
        CodeKind::LtoIr => return Err(LinkError::NotForDrivers { name: code.name().to_owned(), kind: code.kind() }),
    })
}

/// Pieces, with the kinds and names that a driver is told.
pub(super) type Pieces<'p> = Vec<(&'p ObjectCode, CUjitInputType, CString)>;

/// Refuses code that drivers do not link.
pub(super) fn pieces(inputs: &[ObjectCode]) -> Result<Pieces<'_>, LinkError> {
    let piece = |code| Ok((code, number(code)?, super::linker::c_string(code.name())?));
    inputs.iter().map(piece).collect()
}

impl<'c> DriverLink<'c> {
    pub(super) fn new(context: &'c Context, options: &[LinkOption], target: Architecture) -> Result<DriverLink<'c>> {
        let jit = LinkOption::jit(options)?;
        let (driver, current, logs) = (context.driver(), context.current()?, Logs::new(ROOM));
        let mut raw_options = RawOptions::new(&jit, &logs);
        raw_options.names.push(CUjit_option::CU_JIT_TARGET);
        raw_options.values.push(without_provenance_mut(target.driver_number() as usize));
        let count = u32::try_from(raw_options.names.len()).unwrap_or(u32::MAX);
        let (names, values) = (raw_options.names.as_mut_ptr(), raw_options.values.as_mut_ptr());
        let mut link = DriverLink { driver, raw: null_mut(), logs, _options: raw_options, _current: current };
        // SAFETY: as many options as there are, whose buffers and values live until the link is destroyed,
        // and a writable place for the handle.
        unsafe { driver.cuLinkCreate_v2(count, names, values, &raw mut link.raw) }
            .map_err(|error| link.refused(error))?;
        Ok(link)
    }

    pub(super) fn add(&self, (code, kind, name): &(&ObjectCode, CUjitInputType, CString)) -> Result<()> {
        // PTX is counted with its end.
        let ended = [code.bytes(), &[0][..usize::from(code.kind() == CodeKind::Ptx)]].concat();
        // Some kinds are read as the words they consist of, and the start of all as that of any.
        let mut words = vec![0_u64; ended.len().max(HEADER).div_ceil(8)];
        let data = words.as_mut_ptr().cast::<u8>();
        // SAFETY: there is room for all bytes, and it is not theirs.
        unsafe { ended.as_ptr().copy_to_nonoverlapping(data, ended.len()) };
        let (size, name) = (ended.len(), name.as_ptr());
        // SAFETY: the link is alive; the bytes and the text live until the call returns, which copies what it
        // needs. The bytes are PTX without a zero, or a binary that NVIDIA's tools made, as all `ObjectCode`.
        unsafe { self.driver.cuLinkAddData_v2(self.raw, *kind, data.cast(), size, name, 0, null_mut(), null_mut()) }
            .map_err(|error| self.refused(error))?;
        Ok(())
    }

    /// The code, and the driver's log.
    pub(super) fn complete(self) -> Result<(Vec<u8>, String)> {
        let (mut image, mut size) = (null_mut(), 0);
        // SAFETY: the link is alive, and both are writable.
        unsafe { self.driver.cuLinkComplete(self.raw, &raw mut image, &raw mut size) }
            .map_err(|error| self.refused(error))?;
        if image.is_null() {
            return Ok((Vec::new(), self.logs.text()));
        }
        // SAFETY: the driver has made that many bytes, which stay until the link is destroyed.
        let bytes = unsafe { std::slice::from_raw_parts(image.cast::<u8>(), size) };
        Ok((bytes.to_vec(), self.logs.text()))
    }

    fn refused(&self, error: warploom_driver::Error) -> LinkError {
        LinkError::Driver { error, log: self.logs.text() }
    }
}

impl Drop for DriverLink<'_> {
    fn drop(&mut self) {
        if self.raw.is_null() {
            return;
        }
        // SAFETY: the link is alive, and this is the end of it.
        let destroyed = unsafe { self.driver.cuLinkDestroy(self.raw) };
        diagnostics::report(|| Subject::Link, destroyed);
    }
}

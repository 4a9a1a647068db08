//! Kernel parameters, as the driver reports them.
#![expect(unsafe_code, reason = "asks the driver about the parameters of a kernel")]

use warploom_driver::Function;
use warploom_driver::sys::types::CUresult;

use super::{Kernel, LaunchError};
use crate::{Context, Error, Result};

/// Offset and size of a kernel parameter, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParameterInfo {
    /// Its offset.
    pub offset: usize,
    /// Its size.
    pub size: usize,
}

impl Kernel {
    /// Its parameters, in order.
    ///
    /// The driver is asked once.
    ///
    /// # Errors
    ///
    /// The driver's error; needs driver 12.4.
    #[doc(alias = "cuKernelGetParamInfo")]
    pub fn parameters(&self) -> Result<&[ParameterInfo]> {
        if let Some(known) = self.shared().parameters.get() {
            return Ok(known);
        }
        let read = self.read_parameters()?;
        Ok(self.shared().parameters.get_or_init(|| read))
    }

    /// Asks as it is, and again with a context current if the driver wants one; which one makes no
    /// difference.
    fn read_parameters(&self) -> Result<Box<[ParameterInfo]>> {
        match self.ask_parameters() {
            Err(Error::Driver(error)) if error.code() == Some(CUresult::CUDA_ERROR_INVALID_CONTEXT) => {
                self.some_context()?.scope(|| self.ask_parameters())?
            }
            answer => answer,
        }
    }

    /// A primary context, of a device that is in use if there is one.
    fn some_context(&self) -> Result<Context> {
        let devices = self.driver().devices()?;
        for device in &devices {
            if device.has_active_context()? {
                return device.context();
            }
        }
        self.driver().device(0)?.context()
    }

    fn ask_parameters(&self) -> Result<Box<[ParameterInfo]>> {
        let (mut count, driver) = (usize::MAX, self.driver());
        if driver.supports(Function::cuKernelGetParamCount) {
            // SAFETY: `count` is writable, and the kernel is held.
            unsafe { driver.cuKernelGetParamCount(self.as_raw(), &raw mut count) }?;
        }
        let mut parameters = Vec::new();
        while parameters.len() < count {
            let mut info = ParameterInfo { offset: 0, size: 0 };
            let (index, offset, size) = (parameters.len(), &raw mut info.offset, &raw mut info.size);
            // SAFETY: both are writable, and the kernel is held.
            match unsafe { driver.cuKernelGetParamInfo(self.as_raw(), index, offset, size) } {
                Ok(()) => parameters.push(info),
                // One past the last: nothing else about the call can be invalid.
                Err(error) if count == usize::MAX && error.code() == Some(CUresult::CUDA_ERROR_INVALID_VALUE) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(parameters.into())
    }

    /// Refuses arguments of other sizes than it takes. A driver that knows no sizes is not asked.
    #[inline]
    pub(super) fn verify(&self, sizes: &[usize]) -> Result<()> {
        match self.shared().parameters.get() {
            Some(known) => compare(sizes, known),
            None if self.driver().supports(Function::cuKernelGetParamInfo) => compare(sizes, self.parameters()?),
            None => Ok(()),
        }
    }
}

#[inline]
fn compare(given: &[usize], takes: &[ParameterInfo]) -> Result<()> {
    if given.len() != takes.len() {
        return Err(LaunchError::ArgumentCount { given: given.len(), takes: takes.len() }.into());
    }
    match given.iter().zip(takes).position(|(given, takes)| *given != takes.size) {
        None => Ok(()),
        Some(index) => Err(LaunchError::ArgumentSize { index, given: given[index], takes: takes[index].size }.into()),
    }
}

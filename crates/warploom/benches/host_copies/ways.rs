//! The ways to copy: the driver's calls for pageable memory, and warploom's.
#![expect(unsafe_code, reason = "calls through the bare table, which is what the rest is measured by")]

use warploom::sys::types::CUresult;
use warploom::{Buffer, DeviceMemory, Driver, Stream};

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// A way to copy.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    Upload,
    UploadAndWait,
    OurUpload,
    Download,
    DownloadAndWait,
    OurDownload,
}

impl Way {
    pub(crate) const UPLOADS: &[Way] = &[Way::Upload, Way::UploadAndWait, Way::OurUpload];
    pub(crate) const DOWNLOADS: &[Way] = &[Way::Download, Way::DownloadAndWait, Way::OurDownload];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::Upload => "cuMemcpyHtoD",
            Way::UploadAndWait => "cuMemcpyHtoDAsync and wait",
            Way::OurUpload => "warploom copy_from_host",
            Way::Download => "cuMemcpyDtoH",
            Way::DownloadAndWait => "cuMemcpyDtoHAsync and wait",
            Way::OurDownload => "warploom copy_to_host",
        }
    }
}

/// Memory of both sides.
pub(crate) struct Setup {
    driver: Driver,
    stream: Stream,
    device: Buffer,
    host: Vec<u8>,
}

/// A function of the bare table.
macro_rules! function {
    ($driver:expr, $name:ident) => {
        $driver.table().$name.ok_or(concat!("the driver has no ", stringify!($name)))?
    };
}

fn success(code: CUresult) -> Result<(), String> {
    if code == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(format!("a call through the table answered {code}")) }
}

impl Setup {
    pub(crate) fn new(driver: &Driver, bytes: usize) -> Outcome<Setup> {
        driver.initialize()?;
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let device = DeviceMemory::new(&context).zeroed(bytes, &stream)?;
        stream.synchronize()?;
        let host = (0..bytes).map(|at| (at % 251) as u8).collect();
        Ok(Setup { driver: driver.clone(), stream, device, host })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.host.len()
    }

    pub(crate) fn copy(&mut self, way: Way) -> Outcome {
        let (device, bytes, stream) = (self.device.as_raw(), self.bytes(), self.stream.as_raw());
        match way {
            Way::OurUpload => self.device.copy_from_host(&self.host, &self.stream)?,
            Way::OurDownload => self.device.copy_to_host(&mut self.host, &self.stream)?,
            Way::Upload => {
                let copy = function!(self.driver, cuMemcpyHtoD_v2);
                let host = self.host.as_ptr().cast();
                // SAFETY: both have as many bytes; the call returns when the host's have been read.
                self.stream.context().scope(|| success(unsafe { copy(device, host, bytes) }))??;
            }
            Way::Download => {
                let copy = function!(self.driver, cuMemcpyDtoH_v2);
                let host = self.host.as_mut_ptr().cast();
                // SAFETY: both have as many bytes; the call returns when the host's have been written.
                self.stream.context().scope(|| success(unsafe { copy(host, device, bytes) }))??;
            }
            Way::UploadAndWait => {
                let copy = function!(self.driver, cuMemcpyHtoDAsync_v2);
                // SAFETY: both have as many bytes, which are there until the wait is over.
                success(unsafe { copy(device, self.host.as_ptr().cast(), bytes, stream) })?;
                self.stream.synchronize()?;
            }
            Way::DownloadAndWait => {
                let copy = function!(self.driver, cuMemcpyDtoHAsync_v2);
                // SAFETY: both have as many bytes, which are there until the wait is over.
                success(unsafe { copy(self.host.as_mut_ptr().cast(), device, bytes, stream) })?;
                self.stream.synchronize()?;
            }
        }
        Ok(())
    }

    /// Every byte is as it was in the beginning.
    pub(crate) fn check(&self) -> Outcome {
        let is_right = self.host.iter().enumerate().all(|(at, byte)| *byte == (at % 251) as u8);
        if is_right { Ok(()) } else { Err("the copies have changed a byte".into()) }
    }
}

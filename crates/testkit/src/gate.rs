//! Gates: streams wait at one until the test opens it.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

use warploom_driver::{Driver, Error};
use warploom_sys::types::{CUdeviceptr, CUstream};

use crate::call;

/// A word that streams wait for. It is page-locked memory that the host writes: on a GPU, a stream that would
/// write it might have to queue behind the very stream that waits.
///
/// It belongs to the context that was current when it was made, which must be current again when it is
/// dropped.
#[derive(Debug)]
pub struct Gate {
    driver: Driver,
    word: *mut u32,
}

impl Gate {
    /// Makes a closed gate.
    pub fn new(driver: &Driver) -> Result<Gate, Error> {
        let mut memory = null_mut();
        call!(driver.cuMemHostAlloc(&mut memory, size_of::<u32>(), 0))?;
        let gate = Gate { driver: driver.clone(), word: memory.cast() };
        gate.write(0);
        Ok(gate)
    }

    /// Lets work that is enqueued on a stream from now on wait for the gate.
    #[expect(clippy::not_unsafe_ptr_arg_deref, reason = "a stream's handle is a pointer that only the driver reads")]
    pub fn hold(&self, stream: CUstream) -> Result<(), Error> {
        let driver = &self.driver;
        call!(driver.cuStreamWaitValue32_v2(stream, self.word.expose_provenance() as CUdeviceptr, 1, 0))
    }

    /// Opens the gate, and does not wait for the streams behind it.
    pub fn open(&self) {
        self.write(1);
    }

    /// Opens the gate and waits until all work of the current context is done.
    pub fn open_and_wait(&self) -> Result<(), Error> {
        let driver = &self.driver;
        self.open();
        call!(driver.cuCtxSynchronize())
    }

    #[expect(unsafe_code, reason = "writes memory that a device reads")]
    fn write(&self, value: u32) {
        // SAFETY: page-locked memory of this gate, aligned to pages, which every reader reads as a whole.
        unsafe { AtomicU32::from_ptr(self.word) }.store(value, Ordering::SeqCst);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let driver = &self.driver;
        // Streams may still be on their way past the word. The first wait reports a kernel's failure, the
        // second one waits; a lost context fails both and runs nothing any more.
        self.open_and_wait().or_else(|_| self.open_and_wait()).unwrap_or_default();
        call!(driver.cuMemFreeHost(self.word.cast())).unwrap_or_default();
    }
}

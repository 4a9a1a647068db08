//! Gates: streams that wait until a test lets them go on.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

use warploom::sys::types::CUdeviceptr;
use warploom::{Context, Result, Stream};
use warploom_testkit::call;

/// A word that a stream waits for. It is page-locked memory that the host writes: on a GPU, a stream that
/// would write it might have to queue behind the very stream that waits.
pub(crate) struct Gate {
    context: Context,
    word: *mut c_void,
}

impl Gate {
    /// Holds up what is enqueued next on a stream.
    pub(crate) fn close(stream: &Stream) -> Result<Gate> {
        let (context, driver) = (stream.context().clone(), stream.context().driver());
        let mut word = null_mut();
        context.scope(|| call!(driver.cuMemHostAlloc(&mut word, 64, 0)))??;
        let gate = Gate { context: context.clone(), word };
        gate.write(0);
        stream.with_raw(|raw| call!(driver.cuStreamWaitValue32_v2(raw, word.addr() as CUdeviceptr, 1, 0)))??;
        Ok(gate)
    }

    /// Lets the stream go on.
    pub(crate) fn open(&self) {
        self.write(1);
    }

    #[expect(unsafe_code, reason = "writes memory that a device reads")]
    fn write(&self, value: u32) {
        // SAFETY: page-locked memory of this gate, aligned to pages, which everybody accesses atomically.
        unsafe { AtomicU32::from_ptr(self.word.cast()) }.store(value, Ordering::SeqCst);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
        let driver = self.context.driver();
        // What was held up may still be on its way past the word. A context that is lost has nothing on its
        // way.
        self.context.synchronize().or_else(|_| self.context.synchronize()).unwrap_or_default();
        call!(driver.cuMemFreeHost(self.word)).unwrap_or_default();
    }
}

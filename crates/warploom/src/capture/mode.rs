//! Capture modes: global, thread-local and relaxed.

use std::marker::PhantomData;

use warploom_driver::sys::types::CUstreamCaptureMode;

/// The threads on which a capture forbids unsafe calls: one of [`Relaxed`], [`ThreadLocal`] and [`Global`].
#[doc(alias = "CUstreamCaptureMode")]
pub trait Mode: sealed::Mode {}

/// No thread. The capture may end on another thread.
#[derive(Clone, Copy, Debug)]
pub struct Relaxed;

/// The thread that began, where it also has to end.
///
/// ```compile_fail,E0277
/// # use warploom::Driver;
/// # use warploom::capture::ThreadLocal;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// # let stream = driver.device(0)?.context()?.stream()?;
/// let capture = stream.capture(ThreadLocal)?;
/// std::thread::spawn(move || capture.end()); // it stays on its thread
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ThreadLocal;

/// All threads, unless they have told the driver otherwise. It ends on the thread that began.
#[derive(Clone, Copy, Debug)]
pub struct Global;

impl Mode for Relaxed {}
impl Mode for ThreadLocal {}
impl Mode for Global {}

/// Keeps [`Mode`] to the driver's.
mod sealed {
    use super::{CUstreamCaptureMode, Global, PhantomData, Relaxed, ThreadLocal};

    pub trait Mode {
        const MODE: CUstreamCaptureMode;
        /// Not `Send` for captures that must end on the thread that began them.
        type Stays: Default;
    }

    impl Mode for Relaxed {
        const MODE: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        type Stays = ();
    }

    impl Mode for ThreadLocal {
        const MODE: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        type Stays = PhantomData<*const ()>;
    }

    impl Mode for Global {
        const MODE: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
        type Stays = PhantomData<*const ()>;
    }
}

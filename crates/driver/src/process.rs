//! The process that initialised a driver, to recognise a child made by `fork`.
//!
//! A driver that was initialised answers `CUDA_ERROR_NOT_INITIALIZED` to every call in a child, as it does
//! before `cuInit`. The two are told apart only after that answer, so that no other call does more.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// The last process that initialised a driver; 0 if none has. A child inherits its parent's.
static INITIALIZED_BY: AtomicU32 = AtomicU32::new(0);

/// Notes that this process has initialised a driver.
pub(crate) fn initialized() {
    INITIALIZED_BY.store(process::id(), Ordering::Relaxed);
}

/// The process that initialised a driver and this one, if this one was forked from it since.
pub(crate) fn forked() -> Option<(u32, u32)> {
    let (by, this) = (INITIALIZED_BY.load(Ordering::Relaxed), process::id());
    (by != 0 && by != this).then_some((by, this))
}

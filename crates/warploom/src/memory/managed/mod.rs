//! Managed memory: one address for the host and every device, and pages that move to whoever touches them.
//!
//! - **A [`ManagedBuffer`] is a buffer like any other**, from [`ManagedMemory`], from a [`ManagedPool`], or from elsewhere.
//! - **The host borrows.** A `&[T]` of managed memory is had when every stream that wrote it is done, and while there is one no
//!   call can enqueue a write.
//! - **Whether memory is managed is asked first**, before anything else about a call is looked at: of the resource that it came
//!   from, which costs nothing, and of the driver for other memory, once.
//!
//! System memory that a device reaches through the host's own page tables (HMM, ATS) is not recognised as managed.

mod buffer;
mod foreign;
mod host;
mod memory;
mod pool;
mod state;

pub use buffer::ManagedBuffer;
pub use memory::ManagedMemory;
pub use pool::ManagedPool;
pub(super) use state::{ManagedState, asks_managed};

use std::sync::Once;

use crate::Context;

/// Says once in the life of the process that managed memory is not for host and devices at the same time, since nothing else
/// would: the host that touches it while a kernel runs, any kernel, is ended by the system.
fn warn_of_exclusive_access(context: &Context) {
    static WARNED: Once = Once::new();
    WARNED.call_once(|| {
        let device = context.device().ordinal();
        tracing::warn!(
            target: "warploom",
            device,
            "the host must not touch managed memory while any kernel runs: device {device} does not share it"
        );
    });
}

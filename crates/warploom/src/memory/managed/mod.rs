//! Managed memory: one address for the host and every device, with pages that migrate.
//!
//! - **A [`ManagedBuffer`] is a buffer like any other**, from [`ManagedMemory`], from a [`ManagedPool`], or
//!   from other code. It has more operations than a buffer: on all of it, or on a part ([`ManagedRange`]).
//! - **Advice lives in the driver.** It is asked by every read and told by every change; nothing is kept
//!   here.
//! - **Prefetch and discard are work of a stream** that the caller names. Discarding borrows exclusively, as
//!   writing does: the contents are gone.
//! - **The host borrows.** A `&[T]` of managed memory is had when every stream that wrote it is done, and
//!   while there is one no call can enqueue a write.
//! - **The kind of memory is checked first**, before all other checks of a call: the resource that it came
//!   from answers, which costs nothing, or the driver for other memory, once.
//!
//! Pages are the driver's unit. Two ranges that share one share its advice and its location.
//!
//! System memory that a device reaches through the host's own page tables (HMM, ATS) is not recognised as
//! managed.

mod accessed_by;
mod advice;
mod advise;
mod batch;
mod buffer;
mod discard;
mod driver_location;
mod error;
mod foreign;
mod host;
mod locations;
mod memory;
mod prefetch;
mod range;
mod state;
mod whole_buffer;

pub use accessed_by::AccessedBy;
pub use advise::{Advice, advise};
pub use buffer::ManagedBuffer;
pub use discard::{discard_batch, discard_prefetch_batch};
pub use error::ManagedError;
pub use locations::Locations;
pub use memory::ManagedMemory;
pub use prefetch::prefetch_batch;
pub use range::{ManagedRange, ManagedRangeMut};
pub(super) use state::{ManagedState, asks_managed};

use std::sync::atomic::{AtomicBool, Ordering};

use warploom_driver::user_code;

use crate::Context;

/// Warns once per process that managed memory is not for host and devices at the same time,
/// since nothing else would: the host that touches it while a kernel runs, any kernel, is ended by the
/// system.
pub(super) fn warn_of_exclusive_access(context: &Context) {
    static IS_WARNED: AtomicBool = AtomicBool::new(false);
    if IS_WARNED.swap(true, Ordering::Relaxed) {
        return;
    }
    let device = context.device().ordinal();
    user_code::emit(move || {
        tracing::warn!(
            target: "warploom",
            device,
            "the host must not touch managed memory while any kernel runs: device {device} does not share it"
        );
    });
}

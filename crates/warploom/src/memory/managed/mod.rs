//! Managed memory, which moves to whoever touches it.

mod memory;
mod pool;

pub use memory::ManagedMemory;
pub use pool::ManagedPool;

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

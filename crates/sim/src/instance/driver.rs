//! The driver of a machine: its C functions.

use std::ffi::c_void;
use std::ptr::NonNull;

use warploom_sys::{Function, Source};

use super::machine::Machine;
use crate::abi::shims;

impl Machine {
    /// One of the machine's C functions, found without a driver call, unlike through [`Machine::source`];
    /// `per_thread` for the variant in which stream 0 is the per-thread default stream, where there is one.
    /// `None` if the machine's driver is older than it, or a fault plan hides it.
    ///
    /// The function has the signature of its row of the list. It can be called as long as the process lives;
    /// it answers `CUDA_ERROR_DEINITIALIZED` when the machine is gone.
    #[must_use]
    pub fn function(&self, function: Function, per_thread: bool) -> Option<NonNull<c_void>> {
        let variant = function.per_thread().filter(|_| per_thread);
        let since = variant.map_or(function.version(), |(since, _)| since);
        let is_there = since <= self.topology().driver_version && !self.core().faults.hides(function);
        NonNull::new(self.core().address_of(function, variant.is_some())).filter(|_| is_there)
    }

    /// The machine's driver, as a source from which a driver can be opened.
    #[must_use]
    #[expect(unsafe_code, reason = "vouches for the functions of its slot")]
    pub fn source(&self) -> Source {
        let resolve = shims::resolver(self.core().slot);
        let keep_alive = self.keep_alive();
        let description = format!("simulated machine, {} devices", self.topology().devices.len());
        // SAFETY: the resolver hands out this slot's functions, each made from the row of the list that names
        // its ABI and signature; they refuse to work, rather than misbehave, even when the machine is gone.
        unsafe { Source::new(resolve, keep_alive, description) }
    }
}

impl From<&Machine> for Source {
    fn from(machine: &Machine) -> Source {
        machine.source()
    }
}

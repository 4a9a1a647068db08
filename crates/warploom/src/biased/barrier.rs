//! The memory barrier that one thread makes all threads of the process pass.

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use std::sync::OnceLock;

    use rustix::thread::{MembarrierCommand, membarrier};

    /// `true` if the process is registered for the barrier; asked once, since the first answer takes the system
    /// a moment.
    pub(crate) fn is_available() -> bool {
        static IS_REGISTERED: OnceLock<bool> = OnceLock::new();
        *IS_REGISTERED.get_or_init(|| membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok())
    }

    /// Has every thread of the process pass a memory barrier before this returns.
    ///
    /// # Panics
    ///
    /// If the system refuses now what it has registered before, as it does when the process has forbidden
    /// itself the call since.
    pub(crate) fn pass_everywhere() {
        let passed = membarrier(MembarrierCommand::PrivateExpedited);
        assert!(passed.is_ok(), "membarrier was registered, and is refused now: {passed:?}; allow it to the process");
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod system {
    /// There is no such barrier.
    pub(crate) fn is_available() -> bool {
        false
    }

    /// Never called: without the barrier, no value is biased.
    pub(crate) fn pass_everywhere() {}
}

pub(crate) use system::{is_available, pass_everywhere};

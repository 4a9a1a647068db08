//! Event options: timing, blocking waits.

use std::marker::PhantomData;

use warploom_driver::sys::types::CUevent_flags;

/// `true` if events have a time: [`Timed`] or [`Untimed`].
pub trait Timing: kind::Kind {}

/// An event that knows when it was reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Timed;

/// An event that does not know when it was reached, which is cheaper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Untimed;

impl Timing for Timed {}
impl Timing for Untimed {}

/// Keeps [`Timing`] to its two types.
mod kind {
    use super::{CUevent_flags, Timed, Untimed};

    pub trait Kind: Send + Sync + Unpin + 'static {
        const FLAGS: u32;
    }

    impl Kind for Timed {
        const FLAGS: u32 = CUevent_flags::CU_EVENT_DEFAULT.0;
    }

    impl Kind for Untimed {
        const FLAGS: u32 = CUevent_flags::CU_EVENT_DISABLE_TIMING.0;
    }
}

/// Options of an event that [`Stream::record_with`](crate::Stream::record_with) records.
///
/// ```
/// use warploom::{Driver, EventOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let stream = driver.device(0)?.context()?.stream()?;
/// let point = stream.record_with(EventOptions::untimed().blocking_sync())?;
/// point.synchronize()?; // the thread sleeps
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct EventOptions<T: Timing = Untimed> {
    is_blocking_sync: bool,
    timing: PhantomData<T>,
}

impl EventOptions<Untimed> {
    /// Without a time.
    pub fn untimed() -> EventOptions<Untimed> {
        EventOptions { is_blocking_sync: false, timing: PhantomData }
    }
}

impl EventOptions<Timed> {
    /// With a time.
    pub fn timed() -> EventOptions<Timed> {
        EventOptions { is_blocking_sync: false, timing: PhantomData }
    }
}

impl<T: Timing> EventOptions<T> {
    /// A thread that waits for it sleeps, where it would keep a processor busy otherwise: slower to go on,
    /// and cheaper.
    pub fn blocking_sync(mut self) -> EventOptions<T> {
        self.is_blocking_sync = true;
        self
    }

    /// `CU_EVENT_*`.
    pub(super) fn flags(self) -> u32 {
        let sync = if self.is_blocking_sync { CUevent_flags::CU_EVENT_BLOCKING_SYNC.0 } else { 0 };
        T::FLAGS | sync
    }
}

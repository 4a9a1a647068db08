//! Watching for resets of primary contexts.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::{ContextError, Device, Error, Result};

/// The most changes that wait for a reader.
const KEPT: usize = 64;

/// A device's primary context was reset, or found to have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct GenerationChange {
    /// The device.
    pub device: u32,
    /// The generation that its primary context is in from now on, or will be in when it is next asked for.
    pub generation: u64,
}

/// Tells when primary contexts are reset; made by
/// [`Driver::watch_generations`](crate::Driver::watch_generations).
///
/// A reset that others in the process do is told when this crate notices it: when the device is asked for its
/// context, by [`Context::check`](crate::Context::check) or by [`Mesh::refresh`](crate::Mesh::refresh).
///
/// A watch keeps neither driver nor devices. A reader that falls 64 changes behind, or reads on when the
/// driver is gone, gets [`ContextError::WatchLost`] after the kept changes.
///
/// ```
/// use warploom::Driver;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("pcie-pair")?)?;
/// let watch = driver.watch_generations()?;
/// let context = driver.device(1)?.context()?;
/// assert_eq!(watch.try_recv()?, None);
/// // SAFETY: nothing but the context was made on the device.
/// unsafe { driver.device(1)?.reset_context() }?;
/// let change = watch.recv()?;
/// assert_eq!((change.device, change.generation), (1, context.generation() + 1));
/// # Ok(())
/// # }
/// ```
pub struct GenerationWatch {
    changes: Receiver<GenerationChange>,
    is_lost: Arc<AtomicBool>,
}

impl GenerationWatch {
    pub(super) fn over(devices: &[Device]) -> GenerationWatch {
        let (sender, changes) = mpsc::sync_channel(KEPT);
        let is_lost = Arc::new(AtomicBool::new(false));
        for device in devices {
            let (changes, is_lost) = (sender.clone(), Arc::downgrade(&is_lost));
            device.primary_generations().add_watcher(Watcher { device: device.ordinal(), changes, is_lost });
        }
        GenerationWatch { changes, is_lost }
    }

    /// The next change, if there has been one.
    ///
    /// # Errors
    ///
    /// [`ContextError::WatchLost`] if changes may have been missed.
    pub fn try_recv(&self) -> Result<Option<GenerationChange>> {
        match self.changes.try_recv() {
            Ok(change) => Ok(Some(change)),
            Err(TryRecvError::Empty) if !self.is_lost.load(Ordering::Acquire) => Ok(None),
            Err(_) => Err(ContextError::WatchLost.into()),
        }
    }

    /// Waits for the next change.
    ///
    /// # Errors
    ///
    /// [`ContextError::WatchLost`] if changes may have been missed.
    pub fn recv(&self) -> Result<GenerationChange> {
        match self.try_recv()? {
            Some(change) => Ok(change),
            None => self.changes.recv().map_err(|_| Error::Context(ContextError::WatchLost)),
        }
    }

    /// Waits for the next change, for a while.
    ///
    /// # Errors
    ///
    /// [`ContextError::WatchLost`] if changes may have been missed.
    pub fn recv_timeout(&self, time: Duration) -> Result<Option<GenerationChange>> {
        match self.try_recv()? {
            Some(change) => Ok(Some(change)),
            None => match self.changes.recv_timeout(time) {
                Ok(change) => Ok(Some(change)),
                Err(RecvTimeoutError::Timeout) => Ok(None),
                Err(RecvTimeoutError::Disconnected) => Err(ContextError::WatchLost.into()),
            },
        }
    }
}

impl fmt::Debug for GenerationWatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("GenerationWatch").field("is_lost", &self.is_lost).finish_non_exhaustive()
    }
}

/// A watcher of one device.
#[derive(Debug)]
pub(super) struct Watcher {
    device: u32,
    changes: SyncSender<GenerationChange>,
    /// Of the watch, and gone with it.
    is_lost: Weak<AtomicBool>,
}

impl Watcher {
    /// `true` if the watch is there.
    pub(super) fn is_watched(&self) -> bool {
        self.is_lost.strong_count() > 0
    }

    /// Sends without waiting; returns `false` if the watch is gone.
    pub(super) fn tell(&self, generation: u64) -> bool {
        match self.changes.try_send(GenerationChange { device: self.device, generation }) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                if let Some(is_lost) = self.is_lost.upgrade() {
                    is_lost.store(true, Ordering::Release);
                }
                false
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }
}

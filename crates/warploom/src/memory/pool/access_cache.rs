//! A cache of the devices that have access to a pool's memory.
//!
//! The driver is the only storage of a pool's peers, and asking it costs a call. It is asked before every
//! direct copy, so an answer *yes* is kept until the access of a pool of the same device is changed through
//! the same [`Driver`](crate::Driver). Where other code takes access away, a copy that was to be direct is
//! made by the driver in another way, and is right all the same.

use std::sync::{Mutex, PoisonError};

use crate::{Device, LiveSet as _, PeerSet, Result};

/// The answers *yes* of one pool.
#[derive(Default)]
pub(super) struct AccessCache {
    known: Mutex<Known>,
}

#[derive(Clone, Copy, Default)]
struct Known {
    /// The time of the query, counted in changes.
    at: u64,
    /// One bit for each of the first 64 devices.
    devices: u64,
}

impl AccessCache {
    /// `true` if a device, which is not the pool's own, may use its memory. No driver call if that is known.
    pub(super) fn include(&self, device: &Device, (owner, peers): (&Device, PeerSet<'_>)) -> Result<bool> {
        let bit = 1_u64.checked_shl(device.ordinal()).unwrap_or(0);
        let now = owner.pool_changes();
        let known = *self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.at == now && known.devices & bit != 0 {
            return Ok(true);
        }
        let is_granted = peers.contains(device)?;
        if is_granted {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let earlier = if known.at == now { known.devices } else { 0 };
            *known = Known { at: now, devices: earlier | bit };
        }
        Ok(is_granted)
    }
}

//! Queues: chains of ops, each behind the one before it.

use crate::id::{OpId, QueueId};
use crate::order::Moment;

/// A chain of ops.
#[derive(Debug)]
pub struct Queue<T> {
    pub(crate) generation: u32,
    /// The unit whose executor runs its ops.
    pub(crate) unit: u16,
    /// The user's data.
    pub owner: T,
    /// The oldest unfinished op.
    pub(crate) head: Option<OpId>,
    /// The newest op, if it is unfinished.
    pub tail: Option<OpId>,
    /// Virtual time before which nothing more can start: its last finished op ended then, or something it
    /// waited for.
    pub busy_until: u64,
    /// Everything that is before the next op.
    pub clock: Moment,
    /// Its newest op comes after the newest one of its hub.
    pub(crate) has_followed: bool,
    /// It stands in the hub's list.
    pub(crate) is_recent: bool,
    /// Of a hub: the spokes that got an op, or waited for one, after its own newest op.
    pub(crate) recent: Vec<QueueId>,
    /// Its stream is gone; it goes when its last op is done.
    pub(crate) retired: bool,
    /// Version of the host's knowledge that it was last told.
    pub(crate) told: u64,
    /// Waits for values in memory that are not over.
    pub(crate) value_waits: u32,
    /// The last walk that came by.
    pub(crate) walked: u32,
    /// In lazy order: ready ops beside its chain, with some that have started since.
    pub(crate) ready_beside: Vec<OpId>,
}

impl<T> Queue<T> {
    pub(crate) fn new((generation, clock): (u32, Moment), unit: u16, owner: T) -> Self {
        Self {
            generation,
            unit,
            owner,
            head: None,
            tail: None,
            busy_until: 0,
            clock,
            has_followed: false,
            is_recent: false,
            recent: Vec::new(),
            retired: false,
            told: 0,
            value_waits: 0,
            walked: 0,
            ready_beside: Vec::new(),
        }
    }
}

//! Events: points in a queue, and the virtual time at which they were reached.

use crate::context::Context;
use crate::engine::{OpId, OrderClock};
use crate::handles::{Handle, Kind, Object};

pub(crate) struct Event {
    pub(crate) context: Handle<Context>,
    pub(crate) flags: u32,
    /// The newest record; a wait captures it when the wait is called.
    pub(crate) record: Option<Record>,
    /// What is ordered before the newest record.
    pub(crate) clock: OrderClock,
    serial: u64,
}

/// One record of an event.
#[derive(Clone, Copy)]
pub(crate) struct Record {
    pub(crate) op: OpId,
    pub(crate) serial: u64,
    /// Virtual time, once reached.
    pub(crate) time: Option<u64>,
}

impl Object for Event {
    const KIND: Kind = Kind::Event;
}

impl Event {
    pub(crate) fn new(context: Handle<Context>, flags: u32) -> Self {
        Self { context, flags, record: None, clock: OrderClock::default(), serial: 0 }
    }

    /// A number for the next record, by which its op will be recognised.
    pub(crate) fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Called when a record's op is done; a record that has been replaced is nobody's business any more.
    pub(crate) fn recorded(&mut self, serial: u64, time: u64) {
        if let Some(record) = &mut self.record
            && record.serial == serial
        {
            record.time = Some(time);
        }
    }
}

//! Events: the newest record, and the work ordered before it.

use std::sync::Arc;

use warploom_engine::{Moment, OpId};

use crate::ffi::handle::{ContextHandle, kind};
use crate::machine::capture::CapturedRecord;
use crate::machine::objects::Object;
use crate::memory::SharedRecords;

/// An event.
pub(crate) struct Event {
    pub(crate) context: ContextHandle,
    pub(crate) flags: u32,
    /// The newest record; a wait captures it when the wait is called.
    pub(crate) record: Option<Record>,
    /// The newest record, if it was made during a capture.
    pub(crate) captured: Option<CapturedRecord>,
    /// The work ordered before the newest record.
    pub(crate) clock: Moment,
    pub(crate) serial: u64,
    /// The records that other processes see, of an event for several processes.
    pub(crate) shared: Option<Arc<SharedRecords>>,
    /// Opened by a handle of another process.
    pub(crate) is_opened: bool,
}

/// One record of an event.
#[derive(Clone, Copy)]
pub(crate) struct Record {
    /// The op of the record; a record in an idle queue needs none.
    pub(crate) op: Option<OpId>,
    pub(crate) serial: u64,
    /// Virtual time, once reached.
    pub(crate) time: Option<u64>,
    /// `true` if it was reached after a fault, by which the host learns of that.
    pub(crate) follows_fault: bool,
}

impl Object for Event {
    type Kind = kind::Event;
}

impl Event {
    pub(crate) fn new(context: ContextHandle, flags: u32) -> Self {
        Self {
            context,
            flags,
            record: None,
            captured: None,
            clock: Moment::default(),
            serial: 0,
            shared: None,
            is_opened: false,
        }
    }

    /// The serial of the next record, which identifies its op.
    pub(crate) fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Called when a record's op is done. Has no effect on a record that has been replaced.
    pub(crate) fn recorded(&mut self, serial: u64, time: u64, follows_fault: bool) {
        if let Some(record) = &mut self.record
            && record.serial == serial
        {
            (record.time, record.follows_fault) = (Some(time), follows_fault);
        }
    }
}

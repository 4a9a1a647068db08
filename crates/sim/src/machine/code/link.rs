//! Linkers: the parts added so far, and the buffers for their logs.

use warploom_ptx::link::Part;
use warploom_sys::types::CUresult;

use super::image::Target;
use crate::ffi::Kept;
use crate::ffi::handle::kind;
use crate::machine::objects::Object;

/// The inputs of a link.
pub(crate) struct Link {
    pub(crate) target: Target,
    /// The bound on the registers of a thread, for parts without one of their own.
    pub(crate) max_registers: Option<u32>,
    pub(crate) parts: Vec<Part>,
    pub(crate) state: LinkState,
    pub(crate) logs: Logs,
}

pub(crate) enum LinkState {
    Open,
    Broken(CUresult),
    Incomplete,
    /// The linked image; the caller has a pointer to it.
    Done {
        _image: Box<[u8]>,
    },
}

impl Object for Link {
    type Kind = kind::Link;
}

/// The buffers for errors and for information, and their contents.
pub(crate) struct Logs {
    pub(crate) errors: Option<Log>,
    pub(crate) information: Option<Log>,
    pub(crate) is_verbose: bool,
    /// Output for the elapsed time.
    pub(crate) time: Option<Kept>,
}

pub(crate) struct Log {
    pub(crate) buffer: Kept,
    pub(crate) capacity: usize,
    /// Output for the number of bytes.
    pub(crate) size: Kept,
    pub(crate) text: String,
}

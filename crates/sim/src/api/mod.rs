//! Driver functions, one folder a family: the family's state and its entry points.

pub(crate) mod annotations;
pub(crate) mod capture;
pub(crate) mod context;
pub(crate) mod copy;
pub(crate) mod coredump;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod fill;
pub(crate) mod graph;
pub(crate) mod init;
pub(crate) mod ipc;
pub(crate) mod logs;
pub(crate) mod managed;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod notification;
pub(crate) mod peer;
pub(crate) mod pointer;
pub(crate) mod pool;
pub(crate) mod primary;
pub(crate) mod profiler;
mod shared;
pub(crate) mod stream;
pub(crate) mod vmm;

//! Errors of starting a machine.

use std::time::Duration;

use crate::fault::FaultError;
use crate::machine::slots;
use crate::topology::TopologyError;

/// An error at the start of a machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The description of the machine is wrong.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The fault plan is wrong, or does not fit the machine.
    #[error("fault plan: {0}")]
    Faults(#[from] FaultError),
    /// There are as many machines as a process can have.
    #[error(
        "{} machines are running and none ended within {waited:?}; drop one, with every driver opened on it",
        slots::SLOTS
    )]
    NoSlot {
        /// The time spent waiting.
        waited: Duration,
    },
    /// The operating system has no address space for the devices' memory.
    #[error(
        "no address space for the devices' memory: {0}; every device needs about three times its capacity, none of it \
         as memory: raise `ulimit -v`, and do not set vm.overcommit_memory to 2"
    )]
    AddressSpace(#[source] std::io::Error),
}

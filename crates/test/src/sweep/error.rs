//! Errors of a sweep that cannot begin.

use warploom_driver::Error as DriverError;
use warploom_sim::StartError;
use warploom_sim::fault::FaultError;

/// An error at the start of a machine for a sweep.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The machine did not start.
    #[error(transparent)]
    Machine(#[from] StartError),
    /// Its driver could not be opened or initialised.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The machine refused the fault plan.
    #[error(transparent)]
    Faults(#[from] FaultError),
}

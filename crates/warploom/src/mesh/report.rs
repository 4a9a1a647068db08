//! Reports of enabled, refused and failed pairs of devices.

use std::fmt;

use crate::{Device, DeviceRef, Error};

/// The outcome of enabling access from one device to memory of another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerOutcome {
    /// Access was enabled now.
    Enabled,
    /// Access was enabled before.
    AlreadyEnabled,
    /// No link leads there.
    NotCapable,
    /// It could not be enabled; [`PeerError::TooMany`](crate::PeerError::TooMany) if the accessor has as many
    /// peers as it can have.
    Failed(Error),
    /// Access was enabled and disabled again, since another pair failed.
    Undone,
}

impl PeerOutcome {
    /// `true` if there is access.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        matches!(self, PeerOutcome::Enabled | PeerOutcome::AlreadyEnabled)
    }
}

impl fmt::Display for PeerOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerOutcome::Enabled => formatter.write_str("enabled"),
            PeerOutcome::AlreadyEnabled => formatter.write_str("already enabled"),
            PeerOutcome::NotCapable => formatter.write_str("not capable"),
            PeerOutcome::Failed(error) => write!(formatter, "failed: {error}"),
            PeerOutcome::Undone => formatter.write_str("enabled and undone"),
        }
    }
}

/// The outcome for one ordered pair of devices.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PairReport {
    /// The device that reads or writes.
    pub accessor: Device,
    /// The device whose memory it is.
    pub owner: Device,
    /// The outcome.
    pub outcome: PeerOutcome,
}

/// The outcomes of all ordered pairs of a mesh's contexts; printed, a line for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnableReport {
    pub(super) pairs: Vec<PairReport>,
}

impl EnableReport {
    /// Every ordered pair: by accessor, then by owner.
    #[must_use]
    pub fn pairs(&self) -> &[PairReport] {
        &self.pairs
    }

    /// The outcome of one pair; `None` if it is not in the mesh.
    pub fn get(&self, accessor: impl Into<DeviceRef>, owner: impl Into<DeviceRef>) -> Option<&PeerOutcome> {
        let (accessor, owner) = (accessor.into(), owner.into());
        let found = self.pairs.iter().find(|pair| accessor.names(&pair.accessor) && owner.names(&pair.owner));
        found.map(|pair| &pair.outcome)
    }

    /// The pairs that are capable and failed, with their errors.
    pub fn failures(&self) -> impl Iterator<Item = (&PairReport, &Error)> {
        self.pairs.iter().filter_map(|pair| match &pair.outcome {
            PeerOutcome::Failed(error) => Some((pair, error)),
            _ => None,
        })
    }
}

impl fmt::Display for EnableReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, PairReport { accessor, owner, outcome }) in self.pairs.iter().enumerate() {
            let line = if at == 0 { "" } else { "\n" };
            write!(formatter, "{line}{accessor} to memory of {owner}: {outcome}")?;
        }
        Ok(())
    }
}

/// The outcomes for the peers of one pool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolReport {
    /// The pool's device.
    pub owner: Device,
    /// Every other device of the mesh, ascending, with its outcome.
    pub peers: Vec<(Device, PeerOutcome)>,
}

/// The outcomes of [`Mesh::open`](crate::Mesh::open), on both layers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MeshReport {
    /// Between the contexts.
    pub contexts: EnableReport,
    /// To the pools, in the order in which they were given.
    pub pools: Vec<PoolReport>,
}

impl MeshReport {
    /// Every error on either layer.
    pub fn failures(&self) -> impl Iterator<Item = &Error> {
        let pools = self.pools.iter().flat_map(|pool| &pool.peers).filter_map(|(_, outcome)| match outcome {
            PeerOutcome::Failed(error) => Some(error),
            _ => None,
        });
        self.contexts.failures().map(|(_, error)| error).chain(pools)
    }
}

//! Meshes: contexts with peer access to each other's memory.
//!
//! There are layers of access, and none implies another:
//!
//! | memory | devices that may use it besides its own | opened by |
//! |---|---|---|
//! | of a [`DevicePool`] | the pool's [peers](crate::PeerSet) | [`Mesh::grant_pools`] |
//! | [virtual](crate::VirtualMemory) | the devices it was made for | [`VirtualOptions::peer`](crate::VirtualOptions::peer) |
//! | other memory of a context | contexts with peer access to it | [`Mesh::enable`] |
//! | managed and page-locked | everyone | nothing |
//!
//! [`Mesh::open`] opens contexts and pools, and reports on each. A [`Topology`] has the *capable* pairs, a
//! mesh the *enabled* ones; a pair that failed can be tried again.
//!
//! [`Mesh::copy`] copies between devices, ordered after earlier work on both ends, without a wait of the
//! host.
//!
//! Access is a property of the driver's contexts and not of the mesh: it stays when the mesh is dropped,
//! until [`Mesh::disable`] or the end of a context. Pairs without the device of a context that ends keep theirs:
//!
//! | a context of the mesh | its place in the mesh | access from and to it |
//! |---|---|---|
//! | is the primary one, given back and retained again while others held it | the same | stays |
//! | is the primary one, and was reset | the device's new primary context has it | ended; [`Mesh::refresh`] enables it again, or the next copy ([`Mesh::set_auto_refresh`]) |
//! | was created, and the device's primary context was reset | the same | stays |
//! | was replaced by another one that was created | none | none: copies are [`PeerError::ContextUnavailable`](crate::PeerError::ContextUnavailable) until a mesh is enabled with it |
//!
//! Access that the driver reports when it is to be enabled again counts as enabled by others. The capabilities
//! of a [`Topology`] are those of the hardware, which a reset does not change.
//!
//! Every change is logged by `tracing`, with the target `warploom::mesh`: access that was enabled or disabled
//! and contexts that were rebuilt at the level `info`, access that could not be enabled or disabled at
//! `warn`.
#![expect(unsafe_code, reason = "enables and disables access between raw contexts")]

mod access;
mod auto_refresh;
mod copy;
mod enable;
mod log;
mod pools;
mod report;
mod ticket;

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use warploom_driver::user_code::{Mutex, MutexGuard};

pub use copy::CopyPolicy;
pub use report::{EnableReport, MeshReport, PairReport, PeerOutcome, PoolReport};
pub use ticket::Ticket;

use crate::{Context, Device, DevicePool, Error, Result, Topology};

/// Contexts, at most one for each device, with access to each other's memory.
///
/// ```
/// use warploom::{Driver, Mesh, PeerOutcome, Topology};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("asymmetric")?)?;
/// let contexts = driver.devices()?.iter().map(|device| device.context()).collect::<Result<Vec<_>, _>>()?;
/// let topology = Topology::probe(&driver.devices()?)?;
/// let (mesh, report) = Mesh::enable(&topology, &contexts)?;
/// assert_eq!(report.get(0, 1), Some(&PeerOutcome::Enabled));
/// assert_eq!(report.get(0, 2), Some(&PeerOutcome::NotCapable)); // the other way only
/// assert!(mesh.is_enabled(2, 0)? && report.failures().next().is_none());
/// mesh.disable()?;
/// # Ok(())
/// # }
/// ```
pub struct Mesh {
    topology: Topology,
    /// Held while access is changed, so that changes are serialised and readers do not wait for one.
    changes: Mutex<()>,
    state: RwLock<State>,
    is_auto_refreshed: AtomicBool,
}

/// The enabled pairs, by position.
#[derive(Clone)]
struct State {
    /// For each device of the topology.
    contexts: Vec<Option<Context>>,
    /// For each accessor, for each owner.
    access: Vec<Access>,
}

/// `true` if one context has access to another's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    None,
    /// Enabled here.
    Ours,
    /// Found enabled.
    Others,
}

impl Mesh {
    /// The capabilities of the devices, enabled or not.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The context that a device takes part with; `None` if it does not.
    #[must_use]
    pub fn context(&self, device: &Device) -> Option<Context> {
        self.state().contexts.iter().flatten().find(|context| context.device() == device).cloned()
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, state: State) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = state;
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.changes.lock()
    }
}

impl State {
    fn at(&self, accessor: usize, owner: usize) -> usize {
        accessor * self.contexts.len() + owner
    }

    /// `true` if access is enabled, in the present generations of both contexts.
    fn is_enabled(&self, accessor: usize, owner: usize) -> bool {
        self.access[self.at(accessor, owner)] != Access::None && self.is_alive(accessor) && self.is_alive(owner)
    }

    fn is_alive(&self, at: usize) -> bool {
        self.contexts[at].as_ref().is_some_and(Context::is_current_generation)
    }
}

impl fmt::Debug for Mesh {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        let taking_part: Vec<u32> = state.contexts.iter().flatten().map(|context| context.device().ordinal()).collect();
        let enabled = state.access.iter().filter(|access| **access != Access::None).count();
        drop(state); // the program's writer may use the mesh
        formatter.debug_struct("Mesh").field("devices", &taking_part).field("enabled", &enabled).finish()
    }
}

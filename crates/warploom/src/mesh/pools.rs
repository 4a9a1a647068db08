//! Granting a mesh's devices access to pools.

use std::collections::BTreeSet;

use super::{Context, Device, DevicePool, Mesh, MeshReport, PeerOutcome, PoolReport, Result, Topology};
use crate::{DeviceRef, LiveSet as _};

impl Mesh {
    /// Opens both layers: access between the contexts, as [`Mesh::enable`], and the pools to all of their
    /// devices, as [`Mesh::grant_pools`]. The report has an outcome for each.
    ///
    /// ```
    /// use warploom::{DevicePool, Driver, LiveSet, Mesh, Topology};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("hgx-a100-4")?)?;
    /// let contexts = driver.devices()?.iter().map(|device| device.context()).collect::<Result<Vec<_>, _>>()?;
    /// let pool = DevicePool::new(&contexts[0])?;
    /// let (_mesh, report) = Mesh::open(&Topology::probe(&driver.devices()?)?, &contexts, &[&pool])?;
    /// assert!(report.failures().next().is_none());
    /// assert_eq!(pool.peers().len()?, 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Mesh::enable`] and [`Mesh::grant_pools`], before any driver call.
    pub fn open(topology: &Topology, contexts: &[Context], pools: &[&DevicePool]) -> Result<(Mesh, MeshReport)> {
        let mesh = Mesh::of(topology, contexts)?;
        mesh.check_pools(pools)?;
        let report = MeshReport { contexts: mesh.complete(), pools: mesh.grant_checked(pools) };
        Ok((mesh, report))
    }

    /// Lets every device of the mesh use the memory of these pools, where it can:
    /// [`LiveSet::extend`](crate::LiveSet::extend) for each pool, so one call that changes access. Other
    /// peers of a pool stay.
    ///
    /// # Errors
    ///
    /// Before any driver call: [`DeviceError::NotInTopology`](crate::DeviceError::NotInTopology) for a pool
    /// of another device, [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch),
    /// [`ContextError::Stale`](crate::ContextError::Stale). The error of a pool is in its report.
    pub fn grant_pools(&self, pools: &[&DevicePool]) -> Result<Vec<PoolReport>> {
        self.check_pools(pools)?;
        Ok(self.grant_checked(pools))
    }

    fn check_pools(&self, pools: &[&DevicePool]) -> Result<()> {
        for pool in pools {
            self.topology.position(&DeviceRef::from(pool.context().device()))?;
            pool.context().check_generation()?;
        }
        Ok(())
    }

    fn grant_checked(&self, pools: &[&DevicePool]) -> Vec<PoolReport> {
        let taking_part: Vec<Device> =
            self.state().contexts.iter().flatten().map(|context| context.device().clone()).collect();
        pools.iter().map(|pool| self.grant(pool, &taking_part)).collect()
    }

    fn grant(&self, pool: &DevicePool, devices: &[Device]) -> PoolReport {
        let owner = pool.context().device();
        let mut peers: Vec<(Device, PeerOutcome)> = Vec::new();
        for device in devices.iter().filter(|device| *device != owner) {
            let outcome = match self.topology.can_access(device, owner) {
                Ok(true) => PeerOutcome::Enabled,
                Ok(false) => PeerOutcome::NotCapable,
                Err(error) => PeerOutcome::Failed(error),
            };
            peers.push((device.clone(), outcome));
        }
        let wanted: BTreeSet<Device> =
            peers.iter().filter(|(_, outcome)| outcome.is_enabled()).map(|(device, _)| device.clone()).collect();
        let granted = pool.peers().snapshot().and_then(|before| {
            pool.peers().extend(wanted.difference(&before).cloned())?;
            Ok(before)
        });
        for (device, outcome) in peers.iter_mut().filter(|(_, outcome)| outcome.is_enabled()) {
            match &granted {
                Ok(before) if before.contains(device) => *outcome = PeerOutcome::AlreadyEnabled,
                Ok(_) => {}
                Err(error) => *outcome = PeerOutcome::Failed(error.clone()),
            }
        }
        PoolReport { owner: owner.clone(), peers }
    }
}

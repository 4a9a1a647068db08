//! Refreshing a mesh by itself after a context was reset.

use std::sync::atomic::Ordering;

use super::{Context, Error, Mesh, Result};
use crate::PeerError;

impl Mesh {
    /// Sets `true` to have the mesh [refreshed](Mesh::refresh) by the first copy that finds access missing
    /// after a primary context was reset. It is `false` at first: such copies are refused until the mesh is
    /// refreshed.
    ///
    /// Copies that have their access ask nothing more of the driver. Access that cannot be enabled again is
    /// the error of the copy, and logged.
    ///
    /// ```
    /// use warploom::{DeviceMemory, Driver, Mesh, Topology};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("pcie-pair")?)?;
    /// let contexts = [driver.device(0)?.context()?, driver.device(1)?.context()?];
    /// let (mesh, _) = Mesh::enable(&Topology::probe(&driver.devices()?)?, &contexts)?;
    /// mesh.set_auto_refresh(true);
    /// // SAFETY: nothing but the context was made on the device.
    /// unsafe { driver.device(1)?.reset_context() }?;
    ///
    /// let (near, far) = (&contexts[0], driver.device(1)?.context()?);
    /// let source = DeviceMemory::new(near).upload(b"as before", &near.stream()?)?;
    /// let mut arrived = DeviceMemory::new(&far).allocate::<u8>(source.len())?;
    /// mesh.copy(&source, &mut arrived, &far.stream()?)?; // enabled again
    /// assert!(mesh.is_enabled(0, 1)? && mesh.is_enabled(1, 0)?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_auto_refresh(&self, on: bool) {
        self.is_auto_refreshed.store(on, Ordering::Relaxed);
    }

    /// Refreshes the mesh if it is to be and a context of it was reset; otherwise returns the error that a
    /// copy has met.
    #[cold]
    pub(super) fn refresh_after(&self, error: Error) -> Result<()> {
        let is_stale = |context: &Context| !context.is_current_generation();
        let is_missing = matches!(error, Error::Peer(PeerError::NotEnabled { .. }));
        if is_missing
            && self.is_auto_refreshed.load(Ordering::Relaxed)
            && self.state().contexts.iter().flatten().any(is_stale)
        {
            return self.refresh().map(drop);
        }
        Err(error)
    }
}

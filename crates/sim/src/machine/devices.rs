//! Devices of a machine, as calls see them.

use crate::machine::device::Device;
use crate::machine::world::World;

impl World {
    /// The devices, by ordinal.
    pub(crate) fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The devices, for changes of a single one.
    pub(crate) fn devices_mut(&mut self) -> &mut [Device] {
        &mut self.devices
    }
}

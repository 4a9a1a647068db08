//! One device of a machine.

use super::attribute::DeviceAttributes;
use super::error::TopologyError;
use super::link::{Link, check_bandwidth};
use super::model::DeviceModel;
use super::pci::PciAddress;
use super::quantity::TIB;
use super::uuid;

/// The most memory a device can have, 1 TiB.
pub const MAX_MEMORY: u64 = TIB;
/// The longest name in bytes, so that it fits the usual 256-byte buffer with its end marker.
pub const MAX_NAME: usize = 255;

/// Everything a simulated driver says about one device, and what the virtual clock needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceSpec {
    /// The model it was made from.
    pub model: DeviceModel,
    /// The product name.
    pub name: String,
    /// Bytes of device memory.
    pub total_memory: u64,
    /// Bytes of it that a context takes before the program has allocated anything.
    pub context_memory: u64,
    /// Bytes per second between the multiprocessors and the device's memory.
    pub memory_bandwidth: u64,
    /// Its identity.
    pub uuid: [u8; 16],
    /// Its place on the bus.
    pub pci: PciAddress,
    /// The host's NUMA node it is attached to.
    pub numa_node: u32,
    /// The link to the host's memory.
    pub host_link: Link,
    /// Its attributes.
    pub attributes: DeviceAttributes,
}

/// Memory that a context takes for itself, as measured on an H200 with driver 13.0: code, local memory and
/// queues.
const CONTEXT_MEMORY: u64 = 552_402_944;

impl DeviceModel {
    /// A device of this model at a place in the machine, on its own bus and attached to NUMA node 0.
    pub fn spec(self, ordinal: usize) -> DeviceSpec {
        let sheet = self.sheet();
        let bus = u8::try_from(ordinal.saturating_add(1)).unwrap_or(u8::MAX);
        DeviceSpec {
            model: self,
            name: sheet.product.to_owned(),
            total_memory: sheet.memory,
            context_memory: CONTEXT_MEMORY,
            memory_bandwidth: sheet.memory_bandwidth,
            uuid: uuid::derive(self.name(), ordinal),
            pci: PciAddress::on_bus(bus),
            numa_node: 0,
            host_link: sheet.host_link,
            attributes: DeviceAttributes::layered(sheet.layers),
        }
    }
}

impl DeviceSpec {
    /// The UUID as management tools print it.
    pub fn uuid_text(&self) -> String {
        uuid::format(&self.uuid)
    }

    /// Another amount of memory. What contexts take shrinks along where it would be more than half of it.
    pub fn set_memory(&mut self, bytes: u64) {
        self.total_memory = bytes;
        self.context_memory = self.context_memory.min(bytes / 2);
    }

    /// Refuses what no device could be.
    pub(super) fn check(&self, numa_nodes: u32) -> Result<(), TopologyError> {
        check_name(&self.name)?;
        check_memory(self.total_memory)?;
        check_context_memory(self.context_memory, self.total_memory)?;
        check_bandwidth("memory_bandwidth", self.memory_bandwidth)?;
        self.pci.check()?;
        check_numa_node(self.numa_node, numa_nodes)?;
        self.host_link.check()
    }
}

/// Refuses a name that no buffer could carry.
pub(super) fn check_name(name: &str) -> Result<(), TopologyError> {
    if name.contains('\0') {
        return Err(TopologyError::malformed("device name", name, "a name cannot contain a zero byte"));
    }
    if !(1..=MAX_NAME).contains(&name.len()) {
        let reason = format!("{} bytes, expected 1 to {MAX_NAME}", name.len());
        return Err(TopologyError::malformed("device name", name, reason));
    }
    Ok(())
}

/// Refuses a device without memory and one with more than there are addresses for.
fn check_memory(bytes: u64) -> Result<(), TopologyError> {
    if (1..=MAX_MEMORY).contains(&bytes) {
        return Ok(());
    }
    Err(TopologyError::out_of_range("memory", bytes, 1, MAX_MEMORY))
}

/// Refuses contexts that would not leave any memory.
pub(super) fn check_context_memory(bytes: u64, total: u64) -> Result<(), TopologyError> {
    let most = total.saturating_sub(1);
    if bytes <= most {
        return Ok(());
    }
    Err(TopologyError::out_of_range("context_memory", bytes, 0, most))
}

/// Refuses a node that the host does not have.
fn check_numa_node(node: u32, nodes: u32) -> Result<(), TopologyError> {
    if node < nodes {
        return Ok(());
    }
    Err(TopologyError::out_of_range("numa_node", node, 0, nodes.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_makes_a_sound_device() {
        for model in DeviceModel::ALL {
            assert_eq!(model.spec(0).check(1), Ok(()), "{model}");
        }
    }

    #[test]
    fn limits_are_named() {
        let refused = |result: Result<(), TopologyError>| result.map_err(|error| error.to_string());
        assert_eq!(refused(check_memory(0)), Err("memory is 0, expected 1 to 1099511627776".to_owned()));
        assert_eq!(refused(check_memory(TIB)), Ok(()));
        assert!(check_memory(TIB + 1).is_err());
        assert_eq!(refused(check_numa_node(2, 2)), Err("numa_node is 2, expected 0 to 1".to_owned()));
        assert_eq!(refused(check_context_memory(5, 5)), Err("context_memory is 5, expected 0 to 4".to_owned()));
        assert_eq!(
            refused(check_name("")),
            Err("device name \"\" is not valid: 0 bytes, expected 1 to 255".to_owned())
        );
        assert!(check_name("a\0b").is_err());
        assert!(check_name(&"n".repeat(256)).is_err());
    }
}

//! Device attributes: their numbers, their names, and which driver knows them.

mod table;

pub use self::table::number;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::error::TopologyError;
use crate::nearest::nearest;

/// Names that older headers used, with the number that has a newer name today.
const ALIASES: &[(&str, i32)] = &[
    ("shared_memory_per_block", number::MAX_SHARED_MEMORY_PER_BLOCK),
    ("registers_per_block", number::MAX_REGISTERS_PER_BLOCK),
    ("maximum_texture2d_array_width", number::MAXIMUM_TEXTURE2D_LAYERED_WIDTH),
    ("maximum_texture2d_array_height", number::MAXIMUM_TEXTURE2D_LAYERED_HEIGHT),
    ("maximum_texture2d_array_numslices", number::MAXIMUM_TEXTURE2D_LAYERED_LAYERS),
    ("virtual_address_management_supported", number::VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED),
];

/// One attribute that a driver can be asked for.
#[doc(alias = "CUdevice_attribute")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute {
    /// The number that programs pass to the driver.
    pub number: i32,
    /// The name used in files: the C constant in lower case without its prefix.
    pub name: &'static str,
    /// The first driver version that answers it; an older one calls the number invalid.
    pub since: i32,
}

impl Attribute {
    /// Every attribute, by ascending number.
    pub const ALL: &'static [Attribute] = table::ALL;

    /// The attribute with this number.
    pub fn by_number(number: i32) -> Option<&'static Attribute> {
        let index = Self::ALL.binary_search_by_key(&number, |attribute| attribute.number).ok()?;
        Self::ALL.get(index)
    }

    /// The attribute with this name, which may be an outdated one.
    pub fn by_name(name: &str) -> Option<&'static Attribute> {
        let current = Self::ALL.iter().find(|attribute| attribute.name == name);
        current.or_else(|| {
            let (_, number) = ALIASES.iter().find(|(alias, _)| *alias == name)?;
            Self::by_number(*number)
        })
    }

    /// The name closest to a misspelt one, if any is close.
    pub(super) fn nearest_name(name: &str) -> Option<&'static str> {
        nearest(name, Self::ALL.iter().map(|attribute| attribute.name))
    }

    /// Origin of a value that a device does not store.
    fn origin(self) -> Option<&'static str> {
        match self.number {
            number::PCI_BUS_ID | number::PCI_DEVICE_ID | number::PCI_DOMAIN_ID => Some("pci"),
            number::HOST_NUMA_ID => Some("numa_node"),
            number::MULTI_GPU_BOARD_GROUP_ID => Some("the device's ordinal"),
            _ => None,
        }
    }

    /// The values that make sense. The rest of the simulator divides by some of these and sizes tables by
    /// others.
    fn range(self) -> RangeInclusive<i32> {
        match self.number {
            // Warps are 32 lanes wide in every instruction that names a lane.
            number::WARP_SIZE => 32..=32,
            number::MAX_THREADS_PER_BLOCK
            | number::MAX_BLOCK_DIM_X
            | number::MAX_BLOCK_DIM_Y
            | number::MAX_BLOCK_DIM_Z => 1..=1024,
            number::MAX_GRID_DIM_X
            | number::MAX_GRID_DIM_Y
            | number::MAX_GRID_DIM_Z
            | number::CLOCK_RATE
            | number::MEMORY_CLOCK_RATE
            | number::MULTIPROCESSOR_COUNT
            | number::MAX_THREADS_PER_MULTIPROCESSOR
            | number::MAX_BLOCKS_PER_MULTIPROCESSOR
            | number::MAX_REGISTERS_PER_BLOCK
            | number::MAX_REGISTERS_PER_MULTIPROCESSOR
            | number::TEXTURE_ALIGNMENT
            | number::TEXTURE_PITCH_ALIGNMENT
            | number::SURFACE_ALIGNMENT
            | number::COMPUTE_CAPABILITY_MAJOR => 1..=i32::MAX,
            number::COMPUTE_CAPABILITY_MINOR
            | number::MAX_SHARED_MEMORY_PER_BLOCK
            | number::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
            | number::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
            | number::RESERVED_SHARED_MEMORY_PER_BLOCK
            | number::TOTAL_CONSTANT_MEMORY
            | number::L2_CACHE_SIZE
            | number::ASYNC_ENGINE_COUNT => 0..=i32::MAX,
            _ if self.name.ends_with("_supported") => 0..=1,
            _ => i32::MIN..=i32::MAX,
        }
    }
}

/// Attributes of one device, by number.
///
/// A device has a value for every attribute, even for those its machine's driver is too old to know: that
/// check belongs to [`Topology::attribute`](super::Topology::attribute). Attributes that repeat another fact
/// about the device (its PCI address, its NUMA node, its ordinal) are not stored here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceAttributes {
    values: BTreeMap<i32, i32>,
}

impl DeviceAttributes {
    /// The values of the given layers, later ones over earlier ones.
    pub(super) fn layered(layers: &[&[(i32, i32)]]) -> Self {
        Self { values: layers.iter().copied().flatten().copied().collect() }
    }

    /// The stored value of an attribute; nothing for a number that is unknown or derived.
    pub fn get(&self, number: i32) -> Option<i32> {
        self.values.get(&number).copied()
    }

    /// Replaces a value.
    ///
    /// Refuses unknown numbers, attributes that follow from another field, and values no device could have.
    pub fn set(&mut self, number: i32, value: i32) -> Result<(), TopologyError> {
        let attribute = Attribute::by_number(number).ok_or(TopologyError::UnknownAttribute { number })?;
        if let Some(origin) = attribute.origin() {
            return Err(TopologyError::DerivedAttribute { name: attribute.name, origin });
        }
        let range = attribute.range();
        if !range.contains(&value) {
            return Err(TopologyError::out_of_range(attribute.name, value, *range.start(), *range.end()));
        }
        self.values.insert(number, value);
        Ok(())
    }

    /// All stored values, by ascending number.
    pub fn iter(&self) -> impl Iterator<Item = (i32, i32)> + '_ {
        self.values.iter().map(|(number, value)| (*number, *value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_ascends_and_has_no_name_twice() {
        assert!(Attribute::ALL.is_sorted_by(|a, b| a.number < b.number));
        let names: std::collections::BTreeSet<_> = Attribute::ALL.iter().map(|a| a.name).collect();
        assert_eq!(names.len(), Attribute::ALL.len());
    }

    #[test]
    fn names_and_numbers_lead_to_the_same_attribute() {
        for attribute in Attribute::ALL {
            assert_eq!(Attribute::by_number(attribute.number), Some(attribute));
            assert_eq!(Attribute::by_name(attribute.name), Some(attribute));
        }
        assert_eq!(Attribute::by_name("multiprocessor_count").map(|a| a.number), Some(16));
    }

    #[test]
    fn outdated_names_are_understood() {
        for (alias, number) in ALIASES {
            assert_eq!(Attribute::by_name(alias).map(|a| a.number), Some(*number));
        }
    }

    #[test]
    fn unknown_attributes_are_not_found() {
        for number in [i32::MIN, -1, 0, 159, 160, 162, i32::MAX] {
            assert_eq!(Attribute::by_number(number), None);
        }
        assert_eq!(Attribute::by_name("MULTIPROCESSOR_COUNT"), None);
    }

    #[test]
    fn every_version_is_one_a_machine_can_have() {
        for attribute in Attribute::ALL {
            assert!(crate::parse::version::check(attribute.since).is_ok(), "{attribute:?}");
        }
    }

    #[test]
    fn a_value_no_device_could_have_is_refused() {
        let mut attributes = DeviceAttributes::layered(&[]);
        let refused = attributes.set(number::WARP_SIZE, 64).map_err(|error| error.to_string());
        assert_eq!(refused, Err("warp_size is 64, expected 32".to_owned()));
        let refused = attributes.set(number::MEMORY_POOLS_SUPPORTED, 2).map_err(|error| error.to_string());
        assert_eq!(refused, Err("memory_pools_supported is 2, expected 0 to 1".to_owned()));
        assert_eq!(attributes.get(number::WARP_SIZE), None);
    }

    #[test]
    fn a_derived_attribute_names_its_origin() {
        let mut attributes = DeviceAttributes::layered(&[]);
        let refused = attributes.set(number::PCI_BUS_ID, 3).map_err(|error| error.to_string());
        assert_eq!(refused, Err("attribute pci_bus_id follows from pci and cannot be set itself".to_owned()));
    }
}

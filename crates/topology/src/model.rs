//! Device models: named products with the values their drivers report.
//!
//! A model is a sheet of facts whose attributes come in layers: what every GPU says, what its architecture
//! says, what the product says. A later layer wins, so a fact is written once, at the widest place where it
//! is true. The values of `h200` are those a real driver (13.0) answered; the others follow published
//! specifications and the pattern of their architecture.

mod ada;
mod ampere;
mod blackwell;
mod common;
mod hopper;
mod turing;

use std::fmt;
use std::str::FromStr;

use super::error::TopologyError;
use super::link::Link;

/// A product that a machine can contain.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceModel {
    /// H200 SXM5: compute capability 9.0, 141 GB.
    H200,
    /// H100 SXM5: compute capability 9.0, 80 GB.
    H100,
    /// H100 on a PCI Express card: compute capability 9.0, 80 GB.
    H100Pcie,
    /// The GPU of a Grace Hopper package: compute capability 9.0, 96 GB, coherent with the host.
    Gh200,
    /// A100 SXM4: compute capability 8.0, 80 GB.
    A100,
    /// A100 SXM4 with half the memory: compute capability 8.0, 40 GB.
    A100Gb40,
    /// T4: compute capability 7.5, 16 GB.
    T4,
    /// One GPU of a Grace Blackwell package: compute capability 10.0, 192 GB, coherent with the host.
    Gb200,
    /// GeForce RTX 4070 Laptop under Linux: compute capability 8.9, 8 GB.
    Laptop,
}

/// The facts of one model.
pub(super) struct Sheet {
    name: &'static str,
    pub(super) product: &'static str,
    pub(super) memory: u64,
    pub(super) memory_bandwidth: u64,
    pub(super) host_link: Link,
    pub(super) layers: &'static [&'static [(i32, i32)]],
}

impl DeviceModel {
    /// Every model there is.
    pub const ALL: &'static [DeviceModel] = &[
        Self::H200,
        Self::H100,
        Self::H100Pcie,
        Self::Gh200,
        Self::A100,
        Self::A100Gb40,
        Self::T4,
        Self::Gb200,
        Self::Laptop,
    ];

    pub(super) fn sheet(self) -> &'static Sheet {
        match self {
            Self::H200 => &hopper::H200,
            Self::H100 => &hopper::H100,
            Self::H100Pcie => &hopper::H100_PCIE,
            Self::Gh200 => &hopper::GH200,
            Self::A100 => &ampere::A100,
            Self::A100Gb40 => &ampere::A100_40,
            Self::T4 => &turing::T4,
            Self::Gb200 => &blackwell::GB200,
            Self::Laptop => &ada::LAPTOP,
        }
    }

    /// The name used in files.
    pub fn name(self) -> &'static str {
        self.sheet().name
    }
}

impl fmt::Display for DeviceModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DeviceModel {
    type Err = TopologyError;

    fn from_str(name: &str) -> Result<Self, TopologyError> {
        let found = Self::ALL.iter().copied().find(|model| model.name() == name);
        found.ok_or_else(|| {
            let known = Self::ALL.iter().map(|model| model.name()).collect();
            TopologyError::unknown_name("device model", name, known)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::attribute::{Attribute, number};
    use super::*;

    #[test]
    fn names_lead_back_to_their_model() {
        for model in DeviceModel::ALL {
            assert_eq!(model.name().parse(), Ok(*model));
        }
        let unknown = "h10".parse::<DeviceModel>().map_err(|error| error.to_string());
        let known = "h200, h100, h100-pcie, gh200, a100, a100-40, t4, gb200, laptop";
        assert_eq!(unknown, Err(format!("unknown device model \"h10\", did you mean \"h100\"?; known are {known}")));
    }

    #[test]
    fn every_model_answers_every_attribute_it_stores() {
        let derived = [
            number::PCI_BUS_ID,
            number::PCI_DEVICE_ID,
            number::PCI_DOMAIN_ID,
            number::MULTI_GPU_BOARD_GROUP_ID,
            number::HOST_NUMA_ID,
        ];
        for model in DeviceModel::ALL {
            let attributes = model.spec(0).attributes;
            for attribute in Attribute::ALL {
                let stored = attributes.get(attribute.number).is_some();
                assert_eq!(stored, !derived.contains(&attribute.number), "{model} {}", attribute.name);
            }
            assert_eq!(attributes.iter().count(), Attribute::ALL.len() - derived.len());
        }
    }

    /// `model/h200.txt` holds number and value of all that a driver of version 13.0 answered, less the place
    /// on the bus.
    #[test]
    fn the_h200_answers_as_the_real_one() {
        let topology = super::super::Topology::preset("h200").unwrap();
        let mut answers = std::collections::BTreeMap::new();
        for line in include_str!("model/h200.txt").lines() {
            let (number, value) = line.split_once(' ').unwrap();
            answers.insert(number.parse::<i32>().unwrap(), value.parse::<i32>().unwrap());
        }
        for number in (-1..=200).filter(|number| ![number::PCI_BUS_ID, number::PCI_DEVICE_ID].contains(number)) {
            assert_eq!(topology.attribute(0, number), answers.get(&number).copied(), "{number}");
        }
        assert_eq!(topology.devices[0].total_memory, 150_109_880_320);
    }

    #[test]
    fn every_value_would_be_accepted_from_a_file() {
        for model in DeviceModel::ALL {
            let mut attributes = model.spec(0).attributes;
            for (number, value) in attributes.clone().iter() {
                assert_eq!(attributes.set(number, value), Ok(()), "{model} {number}");
            }
        }
    }

    #[test]
    fn memory_moves_about_as_fast_as_its_clock_and_width_say() {
        for model in DeviceModel::ALL {
            let spec = model.spec(0);
            let value = |number| spec.attributes.get(number).map_or(0, i64::from);
            let peak = value(number::MEMORY_CLOCK_RATE) * 1000 * 2 * value(number::GLOBAL_MEMORY_BUS_WIDTH) / 8;
            let difference = i64::try_from(spec.memory_bandwidth).unwrap().abs_diff(peak);
            assert!(difference < spec.memory_bandwidth / 20, "{model}: {peak}");
        }
    }

    #[test]
    fn shared_memory_fits_the_multiprocessor() {
        for model in DeviceModel::ALL {
            let attributes = model.spec(0).attributes;
            let value = |number| attributes.get(number).unwrap_or(0);
            let block = value(number::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
            let reserved = value(number::RESERVED_SHARED_MEMORY_PER_BLOCK);
            assert_eq!(block + reserved, value(number::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR), "{model}");
        }
    }
}

//! Ampere for data centres: compute capability 8.0.

use super::super::attribute::number::*;
use super::super::link::{Link, PcieGeneration};
use super::super::quantity::{GB, MIB};
use super::Sheet;
use super::common::{IMAGES, LAUNCH, MEMORY, SHARING, nvidia};

const AMPERE: &[(i32, i32)] = &[
    (COMPUTE_CAPABILITY_MAJOR, 8),
    (COMPUTE_CAPABILITY_MINOR, 0),
    (SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2),
    (MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 164 << 10),
    (MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 163 << 10),
    (L2_CACHE_SIZE, 40 << 20),
    (MAX_PERSISTING_L2_CACHE_SIZE, 30 << 20),
    (CLOCK_RATE, 1_410_000),
    (MULTIPROCESSOR_COUNT, 108),
    (LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT, 108),
    (GLOBAL_MEMORY_BUS_WIDTH, 5120),
];

pub(super) static A100: Sheet = Sheet {
    name: "a100",
    product: "NVIDIA A100-SXM4-80GB",
    memory: 81_092 * MIB,
    memory_bandwidth: 2_039 * GB,
    host_link: Link::pcie(PcieGeneration::Four),
    layers: &[
        LAUNCH,
        IMAGES,
        MEMORY,
        SHARING,
        AMPERE,
        &[(MEMORY_CLOCK_RATE, 1_593_000), (GPU_PCI_DEVICE_ID, nvidia(0x20b2)), (GPU_PCI_SUBSYSTEM_ID, nvidia(0x1463))],
    ],
};

pub(super) static A100_40: Sheet = Sheet {
    name: "a100-40",
    product: "NVIDIA A100-SXM4-40GB",
    memory: 40_337 * MIB,
    memory_bandwidth: 1_555 * GB,
    host_link: Link::pcie(PcieGeneration::Four),
    layers: &[
        LAUNCH,
        IMAGES,
        MEMORY,
        SHARING,
        AMPERE,
        &[(MEMORY_CLOCK_RATE, 1_215_000), (GPU_PCI_DEVICE_ID, nvidia(0x20b0)), (GPU_PCI_SUBSYSTEM_ID, nvidia(0x134f))],
    ],
};

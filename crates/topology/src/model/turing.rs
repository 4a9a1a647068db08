//! Turing: compute capability 7.5.

use super::super::attribute::number::*;
use super::super::link::{Link, PcieGeneration};
use super::super::quantity::{GB, MIB};
use super::Sheet;
use super::common::{IMAGES, LAUNCH, MEMORY, SHARING, nvidia};

/// No window over the second-level cache, no compressible memory, half the threads of its successors.
const TURING: &[(i32, i32)] = &[
    (COMPUTE_CAPABILITY_MAJOR, 7),
    (COMPUTE_CAPABILITY_MINOR, 5),
    (SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 32),
    (MAX_THREADS_PER_MULTIPROCESSOR, 1024),
    (MAX_BLOCKS_PER_MULTIPROCESSOR, 16),
    (MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 64 << 10),
    (MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 64 << 10),
    (RESERVED_SHARED_MEMORY_PER_BLOCK, 0),
    (MAX_PERSISTING_L2_CACHE_SIZE, 0),
    (MAX_ACCESS_POLICY_WINDOW_SIZE, 0),
    (GENERIC_COMPRESSION_SUPPORTED, 0),
];

pub(super) static T4: Sheet = Sheet {
    name: "t4",
    product: "Tesla T4",
    memory: 15_095 * MIB,
    memory_bandwidth: 320 * GB,
    host_link: Link::pcie(PcieGeneration::Three),
    layers: &[
        LAUNCH,
        IMAGES,
        MEMORY,
        SHARING,
        TURING,
        &[
            (L2_CACHE_SIZE, 4 << 20),
            (CLOCK_RATE, 1_590_000),
            (MULTIPROCESSOR_COUNT, 40),
            (LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT, 40),
            (MEMORY_CLOCK_RATE, 5_001_000),
            (GLOBAL_MEMORY_BUS_WIDTH, 256),
            (GPU_PCI_DEVICE_ID, nvidia(0x1eb8)),
            (GPU_PCI_SUBSYSTEM_ID, nvidia(0x12a2)),
        ],
    ],
};

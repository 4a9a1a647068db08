//! Hopper: compute capability 9.0.

use super::super::attribute::number::*;
use super::super::link::{Link, PcieGeneration};
use super::super::quantity::{GB, MIB};
use super::Sheet;
use super::common::{COHERENT, FABRIC, IMAGES, LAUNCH, MEMORY, SHARING, nvidia};

const HOPPER: &[(i32, i32)] = &[
    (COMPUTE_CAPABILITY_MAJOR, 9),
    (COMPUTE_CAPABILITY_MINOR, 0),
    (SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2),
    (MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 228 << 10),
    (MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 << 10),
    (CLUSTER_LAUNCH, 1),
    (TENSOR_MAP_ACCESS_SUPPORTED, 1),
    (MEM_SYNC_DOMAIN_COUNT, 4),
    (UNIFIED_FUNCTION_POINTERS, 1),
    (MAX_ACCESS_POLICY_WINDOW_SIZE, 128 << 20),
    (L2_CACHE_SIZE, 50 << 20),
    (MAX_PERSISTING_L2_CACHE_SIZE, 32_768_000),
    (CLOCK_RATE, 1_980_000),
    (MULTIPROCESSOR_COUNT, 132),
    (LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT, 132),
];

pub(super) static H200: Sheet = Sheet {
    name: "h200",
    product: "NVIDIA H200",
    memory: 150_109_880_320,
    memory_bandwidth: 4_815 * GB,
    host_link: Link::pcie(PcieGeneration::Five),
    layers: &[
        LAUNCH,
        IMAGES,
        MEMORY,
        SHARING,
        FABRIC,
        HOPPER,
        &[
            (L2_CACHE_SIZE, 60 << 20),
            (MAX_PERSISTING_L2_CACHE_SIZE, 39_321_600),
            (MEMORY_CLOCK_RATE, 3_201_000),
            (GLOBAL_MEMORY_BUS_WIDTH, 6016),
            (GPU_PCI_DEVICE_ID, nvidia(0x2335)),
            (GPU_PCI_SUBSYSTEM_ID, nvidia(0x18bf)),
        ],
    ],
};

pub(super) static H100: Sheet = Sheet {
    name: "h100",
    product: "NVIDIA H100 80GB HBM3",
    memory: 81_008 * MIB,
    memory_bandwidth: 3_352 * GB,
    host_link: Link::pcie(PcieGeneration::Five),
    layers: &[
        LAUNCH,
        IMAGES,
        MEMORY,
        SHARING,
        FABRIC,
        HOPPER,
        &[
            (MEMORY_CLOCK_RATE, 2_619_000),
            (GLOBAL_MEMORY_BUS_WIDTH, 5120),
            (GPU_PCI_DEVICE_ID, nvidia(0x2330)),
            (GPU_PCI_SUBSYSTEM_ID, nvidia(0x16c1)),
        ],
    ],
};

pub(super) static H100_PCIE: Sheet = Sheet {
    name: "h100-pcie",
    product: "NVIDIA H100 PCIe",
    memory: 80_998 * MIB,
    memory_bandwidth: 2_039 * GB,
    host_link: Link::pcie(PcieGeneration::Five),
    layers: &[
        LAUNCH,
        IMAGES,
        MEMORY,
        SHARING,
        FABRIC,
        HOPPER,
        &[
            (CLOCK_RATE, 1_755_000),
            (MULTIPROCESSOR_COUNT, 114),
            (LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT, 114),
            (MEMORY_CLOCK_RATE, 1_593_000),
            (GLOBAL_MEMORY_BUS_WIDTH, 5120),
            (GPU_PCI_DEVICE_ID, nvidia(0x2331)),
            (GPU_PCI_SUBSYSTEM_ID, nvidia(0x1626)),
        ],
    ],
};

pub(super) static GH200: Sheet = Sheet {
    name: "gh200",
    product: "NVIDIA GH200 480GB",
    memory: 97_280 * MIB,
    memory_bandwidth: 4_022 * GB,
    host_link: Link::c2c(),
    layers: &[
        LAUNCH,
        IMAGES,
        MEMORY,
        SHARING,
        FABRIC,
        HOPPER,
        COHERENT,
        &[
            (L2_CACHE_SIZE, 60 << 20),
            (MAX_PERSISTING_L2_CACHE_SIZE, 39_321_600),
            (MEMORY_CLOCK_RATE, 2_619_000),
            (GLOBAL_MEMORY_BUS_WIDTH, 6144),
            (GPU_PCI_DEVICE_ID, nvidia(0x2342)),
            (GPU_PCI_SUBSYSTEM_ID, nvidia(0x16eb)),
        ],
    ],
};

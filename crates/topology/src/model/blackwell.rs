//! Blackwell for data centres: compute capability 10.0.

use super::super::attribute::number::*;
use super::super::link::Link;
use super::super::quantity::{GB, GIB};
use super::Sheet;
use super::common::{COHERENT, FABRIC, IMAGES, LAUNCH, MEMORY, SHARING, nvidia};

const BLACKWELL: &[(i32, i32)] = &[
    (COMPUTE_CAPABILITY_MAJOR, 10),
    (COMPUTE_CAPABILITY_MINOR, 0),
    (SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2),
    (MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 228 << 10),
    (MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 << 10),
    (CLUSTER_LAUNCH, 1),
    (TENSOR_MAP_ACCESS_SUPPORTED, 1),
    (MEM_SYNC_DOMAIN_COUNT, 4),
    (UNIFIED_FUNCTION_POINTERS, 1),
    (MAX_ACCESS_POLICY_WINDOW_SIZE, 128 << 20),
    // The decompression engine takes Deflate, Snappy and LZ4.
    (MEM_DECOMPRESS_ALGORITHM_MASK, 0b111),
    (MEM_DECOMPRESS_MAXIMUM_LENGTH, 4 << 20),
    (ATOMIC_REDUCTION_SUPPORTED, 1),
];

pub(super) static GB200: Sheet = Sheet {
    name: "gb200",
    product: "NVIDIA GB200",
    memory: 185 * GIB,
    memory_bandwidth: 7_672 * GB,
    host_link: Link::c2c(),
    layers: &[
        LAUNCH,
        IMAGES,
        MEMORY,
        SHARING,
        FABRIC,
        BLACKWELL,
        COHERENT,
        &[
            (HOST_NUMA_MULTINODE_IPC_SUPPORTED, 1),
            (ASYNC_ENGINE_COUNT, 4),
            (L2_CACHE_SIZE, 132_644_864),
            (MAX_PERSISTING_L2_CACHE_SIZE, 82_903_040),
            (CLOCK_RATE, 2_062_000),
            (MULTIPROCESSOR_COUNT, 152),
            (LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT, 152),
            (MEMORY_CLOCK_RATE, 3_996_000),
            (GLOBAL_MEMORY_BUS_WIDTH, 7680),
            (GPU_PCI_DEVICE_ID, nvidia(0x2941)),
            (GPU_PCI_SUBSYSTEM_ID, nvidia(0x2046)),
        ],
    ],
};

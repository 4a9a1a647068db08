//! Ada: compute capability 8.9.

use super::super::attribute::number::*;
use super::super::link::{Link, PcieGeneration};
use super::super::quantity::{GB, MIB};
use super::Sheet;
use super::common::{IMAGES, LAUNCH, MEMORY, SHARING, nvidia};

const ADA: &[(i32, i32)] = &[
    (COMPUTE_CAPABILITY_MAJOR, 8),
    (COMPUTE_CAPABILITY_MINOR, 9),
    (SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 64),
    (MAX_THREADS_PER_MULTIPROCESSOR, 1536),
    (MAX_BLOCKS_PER_MULTIPROCESSOR, 24),
    (MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 100 << 10),
    (MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 99 << 10),
];

/// A consumer product that also drives a display: kernels time out, memory has no ECC, network cards get no
/// access.
pub(super) static LAPTOP: Sheet = Sheet {
    name: "laptop",
    product: "NVIDIA GeForce RTX 4070 Laptop GPU",
    memory: 7_940 * MIB,
    memory_bandwidth: 256 * GB,
    // Eight lanes of generation four move as much as sixteen of generation three.
    host_link: Link::pcie(PcieGeneration::Three),
    layers: &[
        LAUNCH,
        IMAGES,
        MEMORY,
        SHARING,
        ADA,
        &[
            (KERNEL_EXEC_TIMEOUT, 1),
            (ECC_ENABLED, 0),
            (ASYNC_ENGINE_COUNT, 1),
            (GPU_DIRECT_RDMA_SUPPORTED, 0),
            (GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 0),
            (GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, 0),
            (GPU_DIRECT_RDMA_WRITES_ORDERING, 0),
            (L2_CACHE_SIZE, 32 << 20),
            (MAX_PERSISTING_L2_CACHE_SIZE, 22 << 20),
            (CLOCK_RATE, 2_175_000),
            (MULTIPROCESSOR_COUNT, 36),
            (LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT, 36),
            (MEMORY_CLOCK_RATE, 8_001_000),
            (GLOBAL_MEMORY_BUS_WIDTH, 128),
            (GPU_PCI_DEVICE_ID, nvidia(0x2820)),
            (GPU_PCI_SUBSYSTEM_ID, nvidia(0x2820)),
        ],
    ],
};

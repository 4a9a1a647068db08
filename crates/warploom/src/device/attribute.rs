//! Device attributes, as the driver numbers them.

use std::fmt;

use warploom_driver::sys::types::CUdevice_attribute;

macro_rules! attributes {
    ($($(#[$doc:meta])* $name:ident = $constant:ident;)*) => {
        /// An attribute of a device: one number; flags are not 0 if set.
        ///
        /// `Display` writes the constant's name in `cuda.h`. A driver knows the attributes of its own version
        /// and of the versions before it.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u32)]
        pub enum DeviceAttribute {
            $(
                $(#[$doc])*
                #[doc = concat!("\n\nIn C: `", stringify!($constant), "`.")]
                $name = CUdevice_attribute::$constant.0,
            )*
        }

        impl DeviceAttribute {
            /// Every attribute, in the order of `cuda.h`.
            pub const ALL: &[DeviceAttribute] = &[$(DeviceAttribute::$name),*];

            /// Its name in `cuda.h`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(DeviceAttribute::$name => stringify!($constant),)*
                }
            }
        }
    };
}

impl DeviceAttribute {
    /// The driver's own number for it.
    #[must_use]
    pub const fn as_raw(self) -> CUdevice_attribute {
        CUdevice_attribute(self as u32)
    }
}

impl fmt::Display for DeviceAttribute {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

attributes! {
    /// The most threads of a block.
    MaxThreadsPerBlock = CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
    /// The most threads of a block along x.
    MaxBlockDimX = CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X;
    /// The most threads of a block along y.
    MaxBlockDimY = CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y;
    /// The most threads of a block along z.
    MaxBlockDimZ = CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z;
    /// The most blocks of a grid along x.
    MaxGridDimX = CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X;
    /// The most blocks of a grid along y.
    MaxGridDimY = CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y;
    /// The most blocks of a grid along z.
    MaxGridDimZ = CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z;
    /// Bytes of shared memory that a block may use without asking for more.
    MaxSharedMemoryPerBlock = CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK;
    /// Bytes of constant memory for a module.
    TotalConstantMemory = CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY;
    /// Threads of a warp.
    WarpSize = CU_DEVICE_ATTRIBUTE_WARP_SIZE;
    /// The most bytes between two rows of a copy.
    MaxPitch = CU_DEVICE_ATTRIBUTE_MAX_PITCH;
    /// Registers of 32 bits that a block may use.
    MaxRegistersPerBlock = CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK;
    /// The highest clock of the multiprocessors, in kilohertz.
    ClockRate = CU_DEVICE_ATTRIBUTE_CLOCK_RATE;
    /// The alignment of a texture's address.
    TextureAlignment = CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT;
    /// `true` if copies run beside kernels; `AsyncEngineCount` says how many.
    GpuOverlap = CU_DEVICE_ATTRIBUTE_GPU_OVERLAP;
    /// Multiprocessors.
    MultiprocessorCount = CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    /// `true` if kernels may run only so long.
    KernelExecTimeout = CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT;
    /// `true` if it shares the host's memory.
    Integrated = CU_DEVICE_ATTRIBUTE_INTEGRATED;
    /// `true` if host memory can be mapped for it.
    CanMapHostMemory = CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY;
    /// The compute mode.
    ComputeMode = CU_DEVICE_ATTRIBUTE_COMPUTE_MODE;
    /// The width of a 1D texture.
    MaxTexture1dWidth = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH;
    /// The width of a 2D texture.
    MaxTexture2dWidth = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH;
    /// The height of a 2D texture.
    MaxTexture2dHeight = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT;
    /// The width of a 3D texture.
    MaxTexture3dWidth = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH;
    /// The height of a 3D texture.
    MaxTexture3dHeight = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT;
    /// The depth of a 3D texture.
    MaxTexture3dDepth = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH;
    /// The width of a layered 2D texture.
    MaxTexture2dLayeredWidth = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH;
    /// The height of a layered 2D texture.
    MaxTexture2dLayeredHeight = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT;
    /// The layers of a layered 2D texture.
    MaxTexture2dLayeredLayers = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS;
    /// The alignment of a surface's address.
    SurfaceAlignment = CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT;
    /// `true` if kernels run beside each other.
    ConcurrentKernels = CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS;
    /// `true` if its memory corrects errors.
    EccEnabled = CU_DEVICE_ATTRIBUTE_ECC_ENABLED;
    /// Its bus.
    PciBusId = CU_DEVICE_ATTRIBUTE_PCI_BUS_ID;
    /// Its slot on the bus.
    PciDeviceId = CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID;
    /// `true` if Windows runs it for computing only.
    TccDriver = CU_DEVICE_ATTRIBUTE_TCC_DRIVER;
    /// The highest clock of the memory, in kilohertz.
    MemoryClockRate = CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE;
    /// Bits that its memory moves at once.
    GlobalMemoryBusWidth = CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH;
    /// Bytes of level 2 cache.
    L2CacheSize = CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE;
    /// The most threads resident on a multiprocessor.
    MaxThreadsPerMultiprocessor = CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR;
    /// Engines that copy beside kernels.
    AsyncEngineCount = CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT;
    /// `true` if its addresses and the host's are one space.
    UnifiedAddressing = CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING;
    /// The width of a layered 1D texture.
    MaxTexture1dLayeredWidth = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH;
    /// The layers of a layered 1D texture.
    MaxTexture1dLayeredLayers = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS;
    /// `true` if 2D textures can be gathered; obsolete.
    CanTexture2dGather = CU_DEVICE_ATTRIBUTE_CAN_TEX2D_GATHER;
    /// The width of a 2D texture for gathering.
    MaxTexture2dGatherWidth = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH;
    /// The height of a 2D texture for gathering.
    MaxTexture2dGatherHeight = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT;
    /// The width of a 3D texture of the other shape; 0 if there is none.
    MaxTexture3dWidthAlternate = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE;
    /// The height of a 3D texture of the other shape; 0 if there is none.
    MaxTexture3dHeightAlternate = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE;
    /// The depth of a 3D texture of the other shape; 0 if there is none.
    MaxTexture3dDepthAlternate = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE;
    /// The domain of its bus.
    PciDomainId = CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID;
    /// The pitch alignment of a 2D texture in linear memory.
    TexturePitchAlignment = CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT;
    /// The width of a cubemap texture.
    MaxTextureCubemapWidth = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH;
    /// The width of a layered cubemap texture.
    MaxTextureCubemapLayeredWidth = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH;
    /// The layers of a layered cubemap texture.
    MaxTextureCubemapLayeredLayers = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS;
    /// The width of a 1D surface.
    MaxSurface1dWidth = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH;
    /// The width of a 2D surface.
    MaxSurface2dWidth = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH;
    /// The height of a 2D surface.
    MaxSurface2dHeight = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT;
    /// The width of a 3D surface.
    MaxSurface3dWidth = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH;
    /// The height of a 3D surface.
    MaxSurface3dHeight = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT;
    /// The depth of a 3D surface.
    MaxSurface3dDepth = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH;
    /// The width of a layered 1D surface.
    MaxSurface1dLayeredWidth = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH;
    /// The layers of a layered 1D surface.
    MaxSurface1dLayeredLayers = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS;
    /// The width of a layered 2D surface.
    MaxSurface2dLayeredWidth = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH;
    /// The height of a layered 2D surface.
    MaxSurface2dLayeredHeight = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT;
    /// The layers of a layered 2D surface.
    MaxSurface2dLayeredLayers = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS;
    /// The width of a cubemap surface.
    MaxSurfaceCubemapWidth = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH;
    /// The width of a layered cubemap surface.
    MaxSurfaceCubemapLayeredWidth = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH;
    /// The layers of a layered cubemap surface.
    MaxSurfaceCubemapLayeredLayers = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS;
    /// The width of a 1D texture in linear memory, of the largest elements.
    MaxTexture1dLinearWidth = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH;
    /// The width of a 2D texture in linear memory.
    MaxTexture2dLinearWidth = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH;
    /// The height of a 2D texture in linear memory.
    MaxTexture2dLinearHeight = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT;
    /// Bytes of a row of a 2D texture in linear memory.
    MaxTexture2dLinearPitch = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH;
    /// The width of a mipmapped 2D texture.
    MaxTexture2dMipmappedWidth = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH;
    /// The height of a mipmapped 2D texture.
    MaxTexture2dMipmappedHeight = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT;
    /// 9 of compute capability 9.0.
    ComputeCapabilityMajor = CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    /// 0 of compute capability 9.0.
    ComputeCapabilityMinor = CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR;
    /// The width of a mipmapped 1D texture.
    MaxTexture1dMipmappedWidth = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH;
    /// `true` if streams have priorities.
    StreamPrioritiesSupported = CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED;
    /// `true` if level 1 caches global memory.
    GlobalL1CacheSupported = CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED;
    /// `true` if level 1 caches local memory.
    LocalL1CacheSupported = CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED;
    /// Bytes of shared memory of a multiprocessor.
    MaxSharedMemoryPerMultiprocessor = CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR;
    /// Registers of 32 bits of a multiprocessor.
    MaxRegistersPerMultiprocessor = CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR;
    /// `true` if it can use managed memory.
    ManagedMemory = CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY;
    /// `true` if it shares a board with other devices.
    MultiGpuBoard = CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD;
    /// A number that the devices of a board share.
    MultiGpuBoardGroupId = CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID;
    /// `true` if the link to the host carries atomic operations.
    HostNativeAtomicSupported = CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED;
    /// The ratio of `f32` to `f64` throughput.
    SingleToDoublePrecisionPerfRatio = CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO;
    /// `true` if it can access any memory of the host, registered or not.
    PageableMemoryAccess = CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS;
    /// `true` if host and device can access managed memory at the same time.
    ConcurrentManagedAccess = CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS;
    /// `true` if kernels can be interrupted.
    ComputePreemptionSupported = CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED;
    /// `true` if registered memory has one address on host and device.
    CanUseHostPointerForRegisteredMemory = CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM;
    /// `true` if streams can wait for and write values, by the first form of these functions.
    CanUseStreamMemOpsV1 = CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1;
    /// `true` if these values can have 64 bits, in the first form.
    CanUse64BitStreamMemOpsV1 = CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1;
    /// `true` if streams can wait for a NOR, in the first form.
    CanUseStreamWaitValueNorV1 = CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1;
    /// `true` if the blocks of a kernel can wait for each other.
    CooperativeLaunch = CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH;
    /// `true` if kernels on several devices can; obsolete.
    CooperativeMultiDeviceLaunch = CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH;
    /// Bytes of shared memory that a block may use if its kernel asks for them.
    MaxSharedMemoryPerBlockOptIn = CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
    /// `true` if a stream can wait for writes from outside to arrive.
    CanFlushRemoteWrites = CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES;
    /// `true` if host memory can be registered.
    HostRegisterSupported = CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED;
    /// `true` if it reads the host's page tables for that.
    PageableMemoryAccessUsesHostPageTables = CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES;
    /// `true` if the host accesses managed memory on the device without moving it.
    DirectManagedMemoryAccessFromHost = CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST;
    /// `true` if addresses and memory can be had apart.
    VirtualMemoryManagementSupported = CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
    /// `true` if such memory can be shared as a file descriptor.
    HandleTypePosixFileDescriptorSupported = CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED;
    /// `true` if it can be shared as a Windows handle.
    HandleTypeWin32HandleSupported = CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED;
    /// `true` if it can be shared as a Windows KMT handle.
    HandleTypeWin32KmtHandleSupported = CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED;
    /// The most blocks resident on a multiprocessor.
    MaxBlocksPerMultiprocessor = CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR;
    /// `true` if memory can be compressed.
    GenericCompressionSupported = CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED;
    /// Bytes of level 2 cache that can be set apart for lines that stay.
    MaxPersistingL2CacheSize = CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE;
    /// Bytes that one access policy can cover.
    MaxAccessPolicyWindowSize = CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE;
    /// `true` if other devices on the bus can access virtual memory directly.
    GpuDirectRdmaWithCudaVmmSupported = CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED;
    /// Bytes of shared memory that the driver keeps of every block.
    ReservedSharedMemoryPerBlock = CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK;
    /// `true` if arrays can be mapped in part.
    SparseCudaArraySupported = CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED;
    /// `true` if host memory can be registered for reading.
    ReadOnlyHostRegisterSupported = CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED;
    /// `true` if timeline semaphores of graphics interfaces can be used.
    TimelineSemaphoreInteropSupported = CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED;
    /// `true` if it has pools.
    MemoryPoolsSupported = CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
    /// `true` if other devices on the bus can access its memory directly.
    GpuDirectRdmaSupported = CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED;
    /// The ways to flush such writes: bits of `CUflushGPUDirectRDMAWritesOptions`.
    GpuDirectRdmaFlushWritesOptions = CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS;
    /// The scope in which such writes arrive in order: a `CUGPUDirectRDMAWritesOrdering`.
    GpuDirectRdmaWritesOrdering = CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING;
    /// The ways to share pools: bits of `CUmemAllocationHandleType`.
    MempoolSupportedHandleTypes = CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES;
    /// `true` if blocks can be launched in clusters.
    ClusterLaunch = CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH;
    /// `true` if arrays can be mapped later.
    DeferredMappingCudaArraySupported = CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED;
    /// `true` if streams can wait for and write values of 64 bits.
    CanUse64BitStreamMemOps = CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS;
    /// `true` if streams can wait for a NOR.
    CanUseStreamWaitValueNor = CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR;
    /// `true` if its memory can be shared as a dma-buf.
    DmaBufSupported = CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED;
    /// `true` if events can be shared between processes.
    IpcEventSupported = CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED;
    /// Domains in which memory operations are ordered apart.
    MemSyncDomainCount = CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT;
    /// `true` if kernels can use tensor maps.
    TensorMapAccessSupported = CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED;
    /// `true` if memory can be shared across a fabric.
    HandleTypeFabricSupported = CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED;
    /// `true` if function pointers are the same on every device.
    UnifiedFunctionPointers = CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS;
    /// `true` if its memory is a NUMA node: a `CUdeviceNumaConfig`.
    NumaConfig = CU_DEVICE_ATTRIBUTE_NUMA_CONFIG;
    /// The NUMA node of its own memory.
    NumaId = CU_DEVICE_ATTRIBUTE_NUMA_ID;
    /// `true` if one write can reach several devices.
    MulticastSupported = CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED;
    /// `true` if a server shares it between processes.
    MpsEnabled = CU_DEVICE_ATTRIBUTE_MPS_ENABLED;
    /// The NUMA node of the host that is closest.
    HostNumaId = CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID;
    /// `true` if it can be shared with Direct3D 12.
    D3d12CigSupported = CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED;
    /// The formats it can decompress: bits of `CUmemDecompressAlgorithm`.
    MemDecompressAlgorithmMask = CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK;
    /// The most bytes it can decompress at once.
    MemDecompressMaximumLength = CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_MAXIMUM_LENGTH;
    /// `true` if it can be shared with Vulkan.
    VulkanCigSupported = CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED;
    /// The product's device and vendor number on the bus.
    GpuPciDeviceId = CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID;
    /// The product's subsystem and its vendor's number on the bus.
    GpuPciSubsystemId = CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID;
    /// `true` if virtual memory can be on a NUMA node of the host.
    HostNumaVirtualMemoryManagementSupported = CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
    /// `true` if pools can be on a NUMA node of the host.
    HostNumaMemoryPoolsSupported = CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED;
    /// `true` if memory of a NUMA node can be shared across machines.
    HostNumaMultinodeIpcSupported = CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED;
    /// `true` if pools can be on the host.
    HostMemoryPoolsSupported = CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED;
    /// `true` if virtual memory can be on the host.
    HostVirtualMemoryManagementSupported = CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
    /// `true` if memory on the host can be shared as a dma-buf.
    HostAllocDmaBufSupported = CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED;
    /// `true` if the link to the host carries only some atomic operations.
    OnlyPartialHostNativeAtomicSupported = CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED;
    /// `true` if it has atomic operations that return nothing.
    AtomicReductionSupported = CU_DEVICE_ATTRIBUTE_ATOMIC_REDUCTION_SUPPORTED;
    /// Parts of the device with memory of their own.
    LocalityDomainCount = CU_DEVICE_ATTRIBUTE_LOCALITY_DOMAIN_COUNT;
    /// Bytes of shared memory of a block beyond the usual most.
    MaxOversizedSharedMemoryPerBlock = CU_DEVICE_ATTRIBUTE_MAX_OVERSIZED_SHARED_MEMORY_PER_BLOCK;
    /// `true` if streams can be shared with Direct3D 12.
    D3d12CigStreamsSupported = CU_DEVICE_ATTRIBUTE_D3D12_CIG_STREAMS_SUPPORTED;
    /// `true` if a dma-buf of its memory can be mapped.
    DmaBufMmapSupported = CU_DEVICE_ATTRIBUTE_DMA_BUF_MMAP_SUPPORTED;
    /// `true` if it has logical endpoints for one receiver.
    LogicalEndpointUnicastSupported = CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_UNICAST_SUPPORTED;
    /// `true` if it has logical endpoints for several receivers.
    LogicalEndpointMulticastSupported = CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_MULTICAST_SUPPORTED;
    /// `true` if logical endpoints count operations.
    LogicalEndpointCountedOpsSupported = CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_COUNTED_OPS_SUPPORTED;
    /// `true` if the owner of a logical endpoint can use it.
    LogicalEndpointUnicastAccessOnOwnerDeviceSupported = CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_UNICAST_ACCESS_ON_OWNER_DEVICE_SUPPORTED;
    /// Multiprocessors of such a part.
    LocalityDomainMultiprocessorCount = CU_DEVICE_ATTRIBUTE_LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT;
    /// The ways to share logical endpoints.
    LogicalEndpointSupportedHandleTypes = CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_SUPPORTED_HANDLE_TYPES;
    /// `true` if other devices on the bus can access memory of such a part.
    GpuDirectRdmaWithLocalizedMemorySupported = CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_LOCALIZED_MEMORY_SUPPORTED;
}

//! Optional features of a device.

use super::Properties;
use crate::device::DeviceAttribute as A;

impl Properties {
    /// `true` if it shares the host's memory.
    #[must_use]
    pub fn is_integrated(&self) -> bool {
        self.is(A::Integrated)
    }

    /// `true` if its memory corrects errors.
    #[must_use]
    pub fn has_ecc(&self) -> bool {
        self.is(A::EccEnabled)
    }

    /// `true` if Windows runs it for computing only.
    #[must_use]
    pub fn is_tcc(&self) -> bool {
        self.is(A::TccDriver)
    }

    /// `true` if a server shares it between processes.
    #[must_use]
    pub fn is_multi_process(&self) -> bool {
        self.is(A::MpsEnabled)
    }

    /// `true` if kernels may run only so long.
    #[must_use]
    pub fn has_kernel_timeout(&self) -> bool {
        self.is(A::KernelExecTimeout)
    }

    /// `true` if kernels run beside each other.
    #[must_use]
    pub fn has_concurrent_kernels(&self) -> bool {
        self.is(A::ConcurrentKernels)
    }

    /// `true` if kernels can be interrupted.
    #[must_use]
    pub fn has_compute_preemption(&self) -> bool {
        self.is(A::ComputePreemptionSupported)
    }

    /// `true` if the blocks of a kernel can wait for each other.
    #[must_use]
    pub fn has_cooperative_launch(&self) -> bool {
        self.is(A::CooperativeLaunch)
    }

    /// `true` if blocks can be launched in clusters.
    #[must_use]
    pub fn has_cluster_launch(&self) -> bool {
        self.is(A::ClusterLaunch)
    }

    /// `true` if kernels can use tensor maps.
    #[must_use]
    pub fn has_tensor_maps(&self) -> bool {
        self.is(A::TensorMapAccessSupported)
    }

    /// `true` if streams have priorities.
    #[must_use]
    pub fn has_stream_priorities(&self) -> bool {
        self.is(A::StreamPrioritiesSupported)
    }

    /// `true` if its addresses and the host's are one space.
    #[must_use]
    pub fn has_unified_addressing(&self) -> bool {
        self.is(A::UnifiedAddressing)
    }

    /// `true` if host memory can be mapped for it.
    #[must_use]
    pub fn can_map_host_memory(&self) -> bool {
        self.is(A::CanMapHostMemory)
    }

    /// `true` if host memory can be registered.
    #[must_use]
    pub fn can_register_host_memory(&self) -> bool {
        self.is(A::HostRegisterSupported)
    }

    /// `true` if host memory can be registered for reading.
    #[must_use]
    pub fn can_register_read_only_host_memory(&self) -> bool {
        self.is(A::ReadOnlyHostRegisterSupported)
    }

    /// `true` if it can use managed memory.
    #[must_use]
    pub fn has_managed_memory(&self) -> bool {
        self.is(A::ManagedMemory)
    }

    /// `true` if host and device can access managed memory at the same time.
    #[must_use]
    pub fn has_concurrent_managed_access(&self) -> bool {
        self.is(A::ConcurrentManagedAccess)
    }

    /// `true` if the host accesses managed memory on the device without moving it.
    #[must_use]
    pub fn has_direct_managed_access_from_host(&self) -> bool {
        self.is(A::DirectManagedMemoryAccessFromHost)
    }

    /// `true` if it can access any memory of the host, registered or not.
    #[must_use]
    pub fn has_pageable_memory_access(&self) -> bool {
        self.is(A::PageableMemoryAccess)
    }

    /// `true` if it reads the host's page tables for that.
    #[must_use]
    pub fn uses_host_page_tables(&self) -> bool {
        self.is(A::PageableMemoryAccessUsesHostPageTables)
    }

    /// `true` if the link to the host carries atomic operations.
    #[must_use]
    pub fn has_host_native_atomics(&self) -> bool {
        self.is(A::HostNativeAtomicSupported)
    }

    /// `true` if it has pools.
    #[must_use]
    pub fn has_memory_pools(&self) -> bool {
        self.is(A::MemoryPoolsSupported)
    }

    /// `true` if pools can be on the host.
    #[must_use]
    pub fn has_host_memory_pools(&self) -> bool {
        self.is(A::HostMemoryPoolsSupported)
    }

    /// `true` if pools can be on a NUMA node of the host.
    #[must_use]
    pub fn has_host_numa_memory_pools(&self) -> bool {
        self.is(A::HostNumaMemoryPoolsSupported)
    }

    /// `true` if addresses and memory can be had apart.
    #[must_use]
    pub fn has_virtual_memory(&self) -> bool {
        self.is(A::VirtualMemoryManagementSupported)
    }

    /// `true` if virtual memory can be on the host.
    #[must_use]
    pub fn has_host_virtual_memory(&self) -> bool {
        self.is(A::HostVirtualMemoryManagementSupported)
    }

    /// `true` if virtual memory can be on a NUMA node of the host.
    #[must_use]
    pub fn has_host_numa_virtual_memory(&self) -> bool {
        self.is(A::HostNumaVirtualMemoryManagementSupported)
    }

    /// `true` if virtual memory can be shared as a file descriptor.
    #[must_use]
    pub fn can_share_file_descriptors(&self) -> bool {
        self.is(A::HandleTypePosixFileDescriptorSupported)
    }

    /// `true` if memory can be shared across a fabric.
    #[must_use]
    pub fn can_share_across_fabric(&self) -> bool {
        self.is(A::HandleTypeFabricSupported)
    }

    /// `true` if its memory can be shared as a dma-buf.
    #[must_use]
    pub fn can_share_dma_buf(&self) -> bool {
        self.is(A::DmaBufSupported)
    }

    /// `true` if events can be shared between processes.
    #[must_use]
    pub fn has_ipc_events(&self) -> bool {
        self.is(A::IpcEventSupported)
    }

    /// `true` if other devices on the bus can access its memory directly.
    #[must_use]
    pub fn has_gpu_direct_rdma(&self) -> bool {
        self.is(A::GpuDirectRdmaSupported)
    }

    /// `true` if one write can reach several devices.
    #[must_use]
    pub fn has_multicast(&self) -> bool {
        self.is(A::MulticastSupported)
    }

    /// `true` if memory can be compressed.
    #[must_use]
    pub fn has_generic_compression(&self) -> bool {
        self.is(A::GenericCompressionSupported)
    }

    /// `true` if streams can wait for and write values of 64 bits.
    #[must_use]
    pub fn has_64_bit_stream_memory_operations(&self) -> bool {
        self.is(A::CanUse64BitStreamMemOps)
    }

    /// `true` if timeline semaphores of graphics interfaces can be used.
    #[must_use]
    pub fn has_timeline_semaphores(&self) -> bool {
        self.is(A::TimelineSemaphoreInteropSupported)
    }
}

//! Kernel attributes: registers, shared memory, block size.
#![expect(unsafe_code, reason = "asks the driver about a kernel")]

use warploom_driver::sys::types::{CUfunction_attribute, CUresult};

use super::{Kernel, LaunchError};
use crate::device::same_driver;
use crate::{Device, Result};

macro_rules! attributes {
    ($($(#[doc = $doc:literal])* $name:ident $field:ident = $raw:ident;)*) => {
        /// An attribute of a kernel on one device.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum KernelAttribute {
            $($(#[doc = $doc])* $name,)*
        }

        impl KernelAttribute {
            /// The driver's number of it.
            #[must_use]
            pub fn as_raw(self) -> CUfunction_attribute {
                match self {
                    $(KernelAttribute::$name => CUfunction_attribute::$raw,)*
                }
            }
        }

        /// All attributes of a kernel on one device. Sizes are in bytes; flags are 0 or 1.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct KernelAttributes {
            $($(#[doc = $doc])* pub $field: i32,)*
        }

        impl Kernel {
            /// All attributes, on a device: a driver call each.
            ///
            /// # Errors
            ///
            /// As [`Kernel::attribute`].
            pub fn attributes(&self, device: &Device) -> Result<KernelAttributes> {
                Ok(KernelAttributes {
                    $($field: self.attribute(KernelAttribute::$name, device)?,)*
                })
            }
        }
    };
}
attributes! {
    /// The most threads that a block can have, for the registers and memory that each takes.
    MaxThreadsPerBlock max_threads_per_block = CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
    /// The shared memory of a block that the code says itself.
    StaticShared static_shared = CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
    /// The constant memory that its library has.
    Constant constant = CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES;
    /// The local memory of each thread.
    Local local = CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES;
    /// The registers of each thread.
    Registers registers = CU_FUNC_ATTRIBUTE_NUM_REGS;
    /// The virtual architecture that it was compiled for: 90 for 9.0.
    PtxVersion ptx_version = CU_FUNC_ATTRIBUTE_PTX_VERSION;
    /// The architecture that its binary is for: 90 for 9.0.
    BinaryVersion binary_version = CU_FUNC_ATTRIBUTE_BINARY_VERSION;
    /// `true` if it was compiled with loads cached at all levels.
    CacheModeCa cache_mode_ca = CU_FUNC_ATTRIBUTE_CACHE_MODE_CA;
    /// The most dynamic shared memory that a block may have; can be set.
    MaxDynamicShared max_dynamic_shared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    /// The preferred share of shared memory in a multiprocessor's memory, in percent, or -1; can be set.
    SharedCarveout shared_carveout = CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
    /// `true` if it can only be launched in clusters.
    ClusterSizeMustBeSet cluster_size_must_be_set = CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET;
    /// The width that clusters must have, or 0; can be set.
    RequiredClusterWidth required_cluster_width = CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;
    /// The height that clusters must have, or 0; can be set.
    RequiredClusterHeight required_cluster_height = CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT;
    /// The depth that clusters must have, or 0; can be set.
    RequiredClusterDepth required_cluster_depth = CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH;
    /// `true` if clusters may be larger than every device can have them; can be set.
    NonPortableClusterSize non_portable_cluster_size = CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
    /// The scheduling policy of cluster blocks; can be set.
    ClusterScheduling cluster_scheduling = CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
}

impl Kernel {
    /// An attribute, on a device.
    ///
    /// # Errors
    ///
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) for a device of another driver,
    /// and the driver's error, which has the kernel loaded there for this.
    #[doc(alias = "cuKernelGetAttribute")]
    pub fn attribute(&self, attribute: KernelAttribute, device: &Device) -> Result<i32> {
        same_driver(self.driver(), device.driver())?;
        let mut value = 0;
        // SAFETY: `value` is writable, and the kernel is held.
        unsafe {
            self.driver().cuKernelGetAttribute(&raw mut value, attribute.as_raw(), self.as_raw(), device.as_raw())
        }?;
        Ok(value)
    }

    /// Sets an attribute on a device, for every launch from now on. Not all can be set.
    ///
    /// # Errors
    ///
    /// [`LaunchError::AttributeRefused`] for a value that it cannot have on the device, and as
    /// [`Kernel::attribute`].
    #[doc(alias = "cuKernelSetAttribute")]
    pub fn set_attribute(&self, attribute: KernelAttribute, value: i32, device: &Device) -> Result<()> {
        same_driver(self.driver(), device.driver())?;
        // SAFETY: the kernel is held; values that the attribute cannot have are refused.
        let set =
            unsafe { self.driver().cuKernelSetAttribute(attribute.as_raw(), value, self.as_raw(), device.as_raw()) };
        // Also if it failed, since it may have been set all the same.
        self.shared().limits.forget(device);
        set.map_err(|error| match (error.code(), self.attribute(attribute, device)) {
            (Some(CUresult::CUDA_ERROR_INVALID_VALUE), Ok(current)) => {
                LaunchError::AttributeRefused { attribute, value, current, device: device.ordinal() }.into()
            }
            _ => error.into(),
        })
    }
}

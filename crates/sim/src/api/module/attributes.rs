//! Kernel attributes on a device: values, and the settings that can be changed.

use warploom_sys::types::{CUclusterSchedulingPolicy, CUfunc_cache, CUfunction_attribute};

use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_HANDLE, INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::code::{Binary, Facts, Settings};
use crate::topology::number;

/// Allocation unit of registers, per warp.
const REGISTER_GROUP: u32 = 256;
/// Parts of a multiprocessor, each with registers of its own.
const PARTS: u32 = 4;

/// The launch limits of a device.
#[derive(Clone, Copy)]
pub(super) struct Limits<'c> {
    call: &'c Call<'c>,
    device: usize,
}

impl<'c> Limits<'c> {
    pub(super) fn new(call: &'c Call<'c>, device: u16) -> Self {
        Self { call, device: device.into() }
    }

    pub(super) fn of(&self, attribute: i32) -> u32 {
        self.call.core().topology.attribute(self.device, attribute).map_or(0, i32::unsigned_abs)
    }

    /// Bytes per second between the processors and their memory.
    pub(super) fn memory_bandwidth(&self) -> u64 {
        self.call.core().topology.devices.get(self.device).map_or(0, |device| device.memory_bandwidth)
    }

    /// Maximum threads of a block of a kernel.
    pub(super) fn threads(&self, facts: &Facts<'_>) -> u32 {
        let device = self.of(number::MAX_THREADS_PER_BLOCK);
        facts.most_threads().map_or(device, |bound| bound.min(device.into()) as u32)
    }

    /// Warps that a multiprocessor has registers for, a quarter of them in each of its parts.
    pub(super) fn warps_by_registers(&self, facts: &Facts<'_>) -> u32 {
        let warp = (facts.registers() * self.of(number::WARP_SIZE)).next_multiple_of(REGISTER_GROUP);
        (self.of(number::MAX_REGISTERS_PER_MULTIPROCESSOR) / PARTS).checked_div(warp).unwrap_or(0) * PARTS
    }

    /// Maximum threads of a block of a kernel with its registers.
    fn threads_by_registers(&self, facts: &Facts<'_>) -> u32 {
        self.threads(facts).min(self.warps_by_registers(facts) * self.of(number::WARP_SIZE))
    }

    /// Default limit on the dynamic shared memory of a launch, in bytes.
    fn usual_dynamic_shared(&self, facts: &Facts<'_>) -> u32 {
        self.of(number::MAX_SHARED_MEMORY_PER_BLOCK).saturating_sub(facts.shared())
    }

    /// Highest limit that can be set on the dynamic shared memory of a launch, in bytes.
    pub(super) fn most_dynamic_shared(&self, facts: &Facts<'_>) -> u32 {
        self.of(number::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN).saturating_sub(facts.shared())
    }

    /// The limit on the dynamic shared memory of a launch, in bytes.
    pub(super) fn dynamic_shared(&self, facts: &Facts<'_>, settings: &Settings) -> u32 {
        settings.dynamic_shared.unwrap_or_else(|| self.usual_dynamic_shared(facts))
    }

    /// The most dynamic shared memory, in bytes, of any launch of the kernel. At least the default limit,
    /// even if a smaller one was set.
    pub(super) fn any_dynamic_shared(&self, facts: &Facts<'_>, settings: &Settings) -> u32 {
        self.dynamic_shared(facts, settings).max(self.usual_dynamic_shared(facts))
    }

    /// The value of a kernel attribute.
    pub(super) fn get(&self, facts: &Facts<'_>, settings: &Settings, attribute: CUfunction_attribute) -> Status<i32> {
        type A = CUfunction_attribute;
        let number = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
        Ok(match attribute {
            A::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK => number(self.threads_by_registers(facts)),
            A::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES => number(facts.shared()),
            A::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES => i32::try_from(facts.constants()).unwrap_or(i32::MAX),
            A::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES => number(facts.local()),
            A::CU_FUNC_ATTRIBUTE_NUM_REGS => number(facts.registers()),
            A::CU_FUNC_ATTRIBUTE_PTX_VERSION => number(facts.written_for()),
            A::CU_FUNC_ATTRIBUTE_BINARY_VERSION => number(facts.loaded_for()),
            A::CU_FUNC_ATTRIBUTE_CACHE_MODE_CA => 0,
            A::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => number(self.dynamic_shared(facts, settings)),
            A::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => settings.carveout.unwrap_or(-1),
            A::CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET => facts.kernel.required_cluster().is_some().into(),
            A::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH
            | A::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT
            | A::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH => {
                let axis = (attribute.0 - A::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH.0) as usize;
                let required = facts.kernel.required_cluster().map(|sizes| number(sizes[axis]));
                required.or(settings.cluster[axis]).unwrap_or(0)
            }
            A::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED => settings.allows_non_portable().into(),
            A::CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE => settings.cluster_policy.unwrap_or(0),
            other => {
                let reason = format!("kernels have no attribute {}", other.0);
                return Err(self.call.refuse(INVALID_VALUE, reason));
            }
        })
    }

    /// Sets an attribute of a kernel, if it is settable and the value valid.
    pub(super) fn set(
        &self,
        facts: &Facts<'_>,
        settings: &mut Settings,
        attribute: CUfunction_attribute,
        value: i32,
    ) -> Status {
        type A = CUfunction_attribute;
        let refuse = |reason: String| Err(self.call.refuse(INVALID_VALUE, reason));
        match attribute {
            A::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => {
                let most = self.most_dynamic_shared(facts);
                match u32::try_from(value) {
                    Ok(bytes) if bytes <= most => settings.dynamic_shared = Some(bytes),
                    _ => return refuse(format!("{value} bytes of dynamic shared memory; at most {most} can be had")),
                }
            }
            A::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => match value {
                -1..=100 => settings.carveout = Some(value),
                _ => return refuse(format!("a carveout of {value}; it is a percentage, or -1")),
            },
            A::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH
            | A::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT
            | A::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH => {
                let axis = (attribute.0 - A::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH.0) as usize;
                let required = facts.kernel.required_cluster().map(|sizes| i64::from(sizes[axis]));
                if value < 0 || required.is_some_and(|required| required != i64::from(value)) {
                    return refuse(format!("a cluster of {value} blocks; the kernel takes {required:?}"));
                }
                settings.cluster[axis] = Some(value);
            }
            A::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED => settings.non_portable_cluster = Some(value),
            A::CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE => {
                check_policy(self.call, value as u32)?;
                settings.cluster_policy = Some(value);
            }
            other => return refuse(format!("attribute {} of kernels cannot be set", other.0)),
        }
        Ok(())
    }
}

/// Refuses an unknown cluster scheduling policy.
pub(crate) fn check_policy(call: &Call<'_>, policy: u32) -> Status {
    if policy > CUclusterSchedulingPolicy::CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING.0 {
        return Err(call.refuse(INVALID_VALUE, format!("there is no way {policy} to spread clusters")));
    }
    Ok(())
}

/// Refuses an unknown cache configuration.
pub(super) fn check_cache(call: &Call<'_>, wish: CUfunc_cache) -> Status {
    if wish.0 > CUfunc_cache::CU_FUNC_CACHE_PREFER_EQUAL.0 {
        return Err(call.refuse(INVALID_VALUE, format!("{} is no preference of caches", wish.0)));
    }
    Ok(())
}

/// The offset and size of a kernel parameter, if it exists.
pub(super) fn parameter(
    call: &Call<'_>,
    (binary, kernel): (&Binary, usize),
    index: usize,
    (offset, size): (Ptr<usize>, Ptr<usize>),
) -> Status {
    offset.required()?;
    size.optional()?;
    let parameters = binary.facts(kernel).ok_or(INVALID_HANDLE)?.parameters();
    let parameter = parameters.get(index).ok_or_else(|| {
        call.refuse(INVALID_VALUE, format!("the kernel has {} parameters, and so no number {index}", parameters.len()))
    })?;
    offset.write(parameter.offset as usize)?;
    size.write_if_wanted(parameter.size as usize)
}

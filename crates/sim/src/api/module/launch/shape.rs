//! Launch configuration: grid and block dimensions, and the device limits on them.
#![expect(unsafe_code, reason = "reads members of a C union that its attribute's name tells apart")]

use warploom_sys::types::{CUlaunchAttribute, CUlaunchAttributeID, CUlaunchConfig, CUresult};

use crate::api::module::attributes::{Limits, check_policy};
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::machine::call::Call;
use crate::machine::code::{Facts, Settings};
use crate::machine::launch::Shape;
use crate::topology::number;

fn product(sizes: [u32; 3]) -> u64 {
    sizes.iter().fold(1, |all, size| all.saturating_mul(u64::from(*size)))
}

impl Shape {
    pub(super) fn new(grid: [u32; 3], block: [u32; 3], shared: u32) -> Self {
        Self { grid, block, shared, cooperative: false, cluster: None }
    }

    /// The launch configuration with its relevant attributes. Attributes that are only scheduling hints have
    /// no effect.
    pub(in crate::api::module) fn of(
        call: &Call<'_>,
        config: &CUlaunchConfig,
        attributes: Ptr<CUlaunchAttribute>,
    ) -> Status<Self> {
        type A = CUlaunchAttributeID;
        let grid = [config.gridDimX, config.gridDimY, config.gridDimZ];
        let block = [config.blockDimX, config.blockDimY, config.blockDimZ];
        let mut shape = Self::new(grid, block, config.sharedMemBytes);
        for index in 0..config.numAttrs as usize {
            let attribute = attributes.read_at(index)?;
            match attribute.id {
                A::CU_LAUNCH_ATTRIBUTE_COOPERATIVE => {
                    // SAFETY: an integer, for which every bit pattern is valid.
                    shape.cooperative = unsafe { attribute.value.cooperative } != 0;
                }
                A::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
                    // SAFETY: three integers, for which every bit pattern is valid.
                    let cluster = unsafe { attribute.value.clusterDim };
                    shape.cluster = Some([cluster.x, cluster.y, cluster.z]);
                }
                A::CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE => {
                    // SAFETY: an integer, for which every bit pattern is valid.
                    let policy = unsafe { attribute.value.clusterSchedulingPolicyPreference };
                    check_policy(call, policy.0)?;
                }
                A::CU_LAUNCH_ATTRIBUTE_IGNORE
                | A::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW
                | A::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY
                | A::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
                | A::CU_LAUNCH_ATTRIBUTE_PRIORITY
                | A::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP
                | A::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN
                | A::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => {}
                A::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT
                | A::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT
                | A::CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION
                | A::CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE => {
                    let reason = format!("launch attribute {} is not simulated", attribute.id.0);
                    return Err(call.refuse(NOT_SUPPORTED, reason));
                }
                other => return Err(call.refuse(INVALID_VALUE, format!("there is no launch attribute {}", other.0))),
            }
        }
        Ok(shape)
    }

    /// Threads of a block.
    pub(in crate::api::module) fn threads(&self) -> u64 {
        product(self.block)
    }

    pub(super) fn blocks(&self) -> u64 {
        product(self.grid)
    }

    /// Refuses configurations beyond the limits of the device or the kernel.
    pub(super) fn check(&self, call: &Call<'_>, limits: &Limits<'_>, facts: &Facts<'_>, settings: &Settings) -> Status {
        let refuse = |reason: String| Err(call.refuse(INVALID_VALUE, reason));
        let grid = [number::MAX_GRID_DIM_X, number::MAX_GRID_DIM_Y, number::MAX_GRID_DIM_Z].map(|of| limits.of(of));
        let block = [number::MAX_BLOCK_DIM_X, number::MAX_BLOCK_DIM_Y, number::MAX_BLOCK_DIM_Z].map(|of| limits.of(of));
        let fits =
            |sizes: [u32; 3], most: [u32; 3]| sizes.iter().zip(most).all(|(size, most)| (1..=most).contains(size));
        if !fits(self.grid, grid) {
            return refuse(format!("a grid of {:?} blocks; each dimension is at least 1, at most {grid:?}", self.grid));
        }
        if !fits(self.block, block) {
            return refuse(format!(
                "blocks of {:?} threads; each dimension is at least 1, at most {block:?}",
                self.block
            ));
        }
        let (threads, most) = (self.threads(), limits.threads(facts));
        if threads > most.into() {
            return refuse(format!("blocks of {threads} threads; the kernel takes up to {most}"));
        }
        if let Some(required) = facts.kernel.required_threads().filter(|required| *required != self.block) {
            return refuse(format!("blocks of {:?} threads; the kernel takes {required:?}", self.block));
        }
        let most = limits.dynamic_shared(facts, settings);
        if self.shared > most {
            return refuse(format!(
                "{} bytes of dynamic shared memory; the kernel may have {most}, or what its attribute \
                 MAX_DYNAMIC_SHARED_SIZE_BYTES is set to",
                self.shared
            ));
        }
        let resident = limits.resident_blocks(facts, settings, threads as u32, self.shared.into());
        if self.cooperative && self.blocks() > resident {
            let reason = format!("{} blocks that wait for each other; {resident} run at once", self.blocks());
            return Err(call.refuse(CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, reason));
        }
        Ok(())
    }
}

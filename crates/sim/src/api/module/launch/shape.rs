//! Launch configuration: grid and block dimensions, and the device limits on them.
#![expect(unsafe_code, reason = "reads members of a C union that its attribute's name tells apart")]

use warploom_sys::types::{CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchConfig, CUresult};

use crate::api::module::attributes::{Limits, check_policy};
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::machine::call::Call;
use crate::machine::code::{Facts, Settings};
use crate::machine::graph::{Edge, KernelAttributes};
use crate::machine::launch::{KernelEvent, LaunchOrder, Shape};
use crate::topology::number;

fn product(sizes: [u32; 3]) -> u64 {
    sizes.iter().fold(1, |all, size| all.saturating_mul(u64::from(*size)))
}

/// Attributes of a launch: those that its node has, too, and those that order the launch.
#[derive(Clone, Copy, Default)]
pub(in crate::api::module) struct LaunchAttributes {
    pub(super) node: KernelAttributes,
    pub(super) order: LaunchOrder,
}

/// Takes over a launch attribute. Attributes that are only scheduling hints have no effect.
fn apply(
    call: &Call<'_>,
    LaunchAttributes { node: attributes, order }: &mut LaunchAttributes,
    id: CUlaunchAttributeID,
    value: &CUlaunchAttributeValue,
) -> Status {
    type A = CUlaunchAttributeID;
    // SAFETY: the members are integers and structs of integers, for which every bit pattern is valid.
    unsafe {
        match id {
            A::CU_LAUNCH_ATTRIBUTE_COOPERATIVE => attributes.cooperative = Some(value.cooperative != 0),
            A::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
                let cluster = value.clusterDim;
                attributes.cluster = Some([cluster.x, cluster.y, cluster.z]);
            }
            A::CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE => {
                let policy = value.clusterSchedulingPolicyPreference.0;
                check_policy(call, policy)?;
                attributes.cluster_policy = Some(policy);
            }
            A::CU_LAUNCH_ATTRIBUTE_PRIORITY => attributes.priority = Some(value.priority),
            A::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN => attributes.domain = Some(value.memSyncDomain.0),
            A::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION => {
                order.overlaps_previous = value.programmaticStreamSerializationAllowed != 0;
            }
            A::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT => {
                let given = value.programmaticEvent;
                let at_start = given.triggerAtBlockStart != 0;
                let edge = if at_start { Edge::FROM_BLOCK_START } else { Edge::FROM_TRIGGER };
                order.programmatic = Some(KernelEvent::new(given.event, given.flags, edge));
            }
            A::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT => {
                let given = value.launchCompletionEvent;
                order.launch_completion = Some(KernelEvent::new(given.event, given.flags, Edge::FROM_LAUNCH));
            }
            A::CU_LAUNCH_ATTRIBUTE_IGNORE
            | A::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW
            | A::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY
            | A::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP
            | A::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => {}
            A::CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION
            | A::CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE => {
                let reason = format!("launch attribute {} is not simulated", id.0);
                return Err(call.refuse(NOT_SUPPORTED, reason));
            }
            other => return Err(call.refuse(INVALID_VALUE, format!("there is no launch attribute {}", other.0))),
        }
    }
    Ok(())
}

impl Shape {
    pub(super) fn new(grid: [u32; 3], block: [u32; 3], shared: u32) -> Self {
        Self { grid, block, shared, cooperative: false, cluster: None }
    }

    /// The launch configuration with its attributes.
    pub(in crate::api::module) fn of(
        call: &Call<'_>,
        config: &CUlaunchConfig,
        attributes: Ptr<CUlaunchAttribute>,
    ) -> Status<(Self, LaunchAttributes)> {
        let grid = [config.gridDimX, config.gridDimY, config.gridDimZ];
        let block = [config.blockDimX, config.blockDimY, config.blockDimZ];
        let shape = Self::new(grid, block, config.sharedMemBytes);
        let mut set = LaunchAttributes::default();
        for index in 0..config.numAttrs as usize {
            let attribute = attributes.read_at(index)?;
            apply(call, &mut set, attribute.id, &attribute.value)?;
        }
        Ok((shape.with(&set.node), set))
    }

    /// The shape with the attributes that belong to it.
    pub(super) fn with(self, attributes: &KernelAttributes) -> Self {
        let cooperative = attributes.cooperative.unwrap_or(self.cooperative);
        Self { cooperative, cluster: attributes.cluster.or(self.cluster), ..self }
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

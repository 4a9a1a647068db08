//! Attributes of kernel nodes: cuGraphKernelNodeGetAttribute, SetAttribute and CopyAttributes.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::sync::Arc;

use warploom_sys::types::{CUgraphNode_st, CUkernelNodeAttrID, CUkernelNodeAttrValue};

use super::named_node;
use super::params::other_kind;
use crate::api::module::{check_policy, with_attributes};
use crate::api::stream::{checked_domain, checked_domains, checked_window};
use crate::ffi::handle::NodeHandle;
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::graph::{KernelAttributes, KernelNode, NodeWork};
use crate::machine::stream::{AccessWindow, Attributes, clamp};

type Id = CUkernelNodeAttrID;
type Value = CUkernelNodeAttrValue;

fn kernel(call: &Call<'_>, world: &Guard<'_>, raw: Ptr<CUgraphNode_st>) -> Status<(NodeHandle, Arc<KernelNode>)> {
    let (handle, node) = named_node(call, world, raw)?;
    match &node.work {
        NodeWork::Kernel(kernel) => Ok((handle, Arc::clone(kernel))),
        _ => Err(other_kind(call)),
    }
}

fn unknown(call: &Call<'_>, attribute: Id) -> Status {
    Err(call.refuse(INVALID_VALUE, format!("attribute {} is not one of a kernel node", attribute.0)))
}

/// Writes as many bytes as the attribute has; the rest of the caller's union is unchanged.
pub(crate) fn cuGraphKernelNodeGetAttribute(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    attribute: Id,
    value: Ptr<Value>,
) -> Status {
    value.required()?;
    let world = call.world();
    let (_, node) = kernel(call, &world, node)?;
    let (set, unset) = (&node.attributes, Attributes::default());
    match attribute {
        Id::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW => value.part().write(set.window.unwrap_or(unset.window).words()),
        Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE => value.part().write(i32::from(node.call.shape.cooperative)),
        Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => value.part().write(node.call.shape.cluster.unwrap_or([0; 3])),
        Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE => {
            value.part().write(set.cluster_policy.unwrap_or(0))
        }
        Id::CU_LAUNCH_ATTRIBUTE_PRIORITY => value.part().write(clamp(set.priority.unwrap_or(unset.priority))),
        Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP => value.part().write(set.domains.unwrap_or(unset.domains)),
        Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN => value.part().write(set.domain.unwrap_or(unset.domain)),
        Id::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => value.part().write(set.carveout.unwrap_or(0)),
        Id::CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE => value.part().write([0_u64; 2]),
        _ => unknown(call, attribute),
    }
}

/// Percent of shared memory, at most; all bits mean the default.
const MOST_CARVEOUT: u32 = 100;

pub(crate) fn cuGraphKernelNodeSetAttribute(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    attribute: Id,
    value: ConstPtr<Value>,
) -> Status {
    let mut world = call.world();
    let (handle, node) = kernel(call, &world, node)?;
    let (mut set, device) = (node.attributes, node.call.device);
    match attribute {
        Id::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW => {
            let window = AccessWindow::from_words(value.part().read()?);
            set.window = Some(checked_window(call, device, window)?);
        }
        Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE => set.cooperative = Some(value.part::<i32>().read()? != 0),
        Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
            set.cluster = Some(value.part::<[u32; 3]>().read()?).filter(|cluster| *cluster != [0; 3]);
        }
        Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE => {
            let policy = value.part().read()?;
            check_policy(call, policy)?;
            set.cluster_policy = Some(policy);
        }
        Id::CU_LAUNCH_ATTRIBUTE_PRIORITY => set.priority = Some(value.part().read()?),
        Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP => {
            set.domains = Some(checked_domains(call, device, value.part().read()?)?);
        }
        Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN => set.domain = Some(checked_domain(call, value.part().read()?)?),
        Id::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => {
            let carveout = value.part().read()?;
            if carveout > MOST_CARVEOUT && carveout != u32::MAX {
                return Err(call.refuse(INVALID_VALUE, format!("{carveout} percent of shared memory")));
            }
            set.carveout = Some(carveout);
        }
        Id::CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE => {
            if value.part::<i32>().read()? != 0 {
                return Err(call.refuse(NOT_SUPPORTED, "updates of nodes from the device are not simulated"));
            }
        }
        _ => return unknown(call, attribute),
    }
    replace(call, &mut world, (handle, &node), set)
}

/// Gives a kernel node other attributes, if it can be launched with them.
fn replace(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    (handle, node): (NodeHandle, &KernelNode),
    attributes: KernelAttributes,
) -> Status {
    let new = with_attributes(call, world, node, attributes)?;
    world.graphs_mut().replace_work(handle, NodeWork::Kernel(Arc::new(new)));
    Ok(())
}

pub(crate) fn cuGraphKernelNodeCopyAttributes(
    call: &Call<'_>,
    to: Ptr<CUgraphNode_st>,
    from: Ptr<CUgraphNode_st>,
) -> Status {
    let mut world = call.world();
    let (handle, to) = kernel(call, &world, to)?;
    let (_, from) = kernel(call, &world, from)?;
    if to.call.context != from.call.context {
        return Err(call.refuse(INVALID_VALUE, "the nodes are of different contexts"));
    }
    replace(call, &mut world, (handle, &to), from.attributes)
}

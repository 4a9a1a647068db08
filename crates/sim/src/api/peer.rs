//! Peer access between devices: cuDeviceCanAccessPeer, cuCtxEnablePeerAccess, cuDeviceGetP2PAttribute.
//!
//! The topology's matrix states the possible accesses, for each direction separately. Access is enabled
//! between two contexts, and ends with either of them.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_int, c_uint};

use warploom_sys::types::{CUatomicOperation, CUctx_st, CUdevice, CUdevice_P2PAttribute, CUresult};

use crate::api::device::{capabilities, check_question, ordinal};
use crate::ffi::handle::{ContextHandle, Handle};
use crate::ffi::status::{CONTEXT_IS_DESTROYED, INVALID_CONTEXT, INVALID_DEVICE, INVALID_VALUE, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::machine::context::Context;
use crate::machine::objects::Objects;
use crate::topology::{Atomics, PeerAttribute};

pub(crate) fn cuDeviceCanAccessPeer(call: &Call<'_>, can: Ptr<c_int>, device: CUdevice, peer: CUdevice) -> Status {
    can.required()?;
    let (device, peer) = (ordinal(call, device)?, ordinal(call, peer)?);
    can.write(c_int::from(call.core().topology.peers.can_access(device, peer)))
}

/// Two different devices.
fn pair(call: &Call<'_>, from: CUdevice, to: CUdevice) -> Status<(usize, usize)> {
    let (accessor, owner) = (ordinal(call, from)?, ordinal(call, to)?);
    if accessor == owner {
        return Err(call.refuse(INVALID_DEVICE, format!("no link leads from device {from} to itself")));
    }
    Ok((accessor, owner))
}

pub(crate) fn cuDeviceGetP2PAttribute(
    call: &Call<'_>,
    value: Ptr<c_int>,
    attribute: CUdevice_P2PAttribute,
    from: CUdevice,
    to: CUdevice,
) -> Status {
    value.required()?;
    let (accessor, owner) = pair(call, from, to)?;
    let topology = &call.core().topology;
    let known = PeerAttribute::by_number(attribute.0.cast_signed(), topology.driver_version).ok_or_else(|| {
        call.refuse(
            INVALID_VALUE,
            format!("driver {} knows no link attribute {}", topology.driver_version, attribute.0),
        )
    })?;
    value.write(topology.peers.attribute(known, accessor, owner))
}

pub(crate) fn cuDeviceGetP2PAtomicCapabilities(
    call: &Call<'_>,
    out: Ptr<c_uint>,
    operations: ConstPtr<CUatomicOperation>,
    count: c_uint,
    from: CUdevice,
    to: CUdevice,
) -> Status {
    check_question(call, out, operations, count)?;
    let (accessor, owner) = pair(call, from, to)?;
    let atomics = call.core().topology.peers.link(accessor, owner).map_or(Atomics::None, |link| link.atomics);
    capabilities(call, out, operations, count, atomics)
}

/// A peer context by its handle; null is refused.
fn named(call: &Call<'_>, contexts: &Objects<Context>, peer: Ptr<CUctx_st>) -> Status<(ContextHandle, u16)> {
    let handle = Handle::from_bits(peer.address());
    let code = if contexts.is_past(handle) { CONTEXT_IS_DESTROYED } else { INVALID_CONTEXT };
    Ok((handle, call.object(contexts, handle, code)?.device))
}

pub(crate) fn cuCtxEnablePeerAccess(call: &Call<'_>, peer: Ptr<CUctx_st>, flags: c_uint) -> Status {
    let mut world = call.world();
    let current = call.context(&world)?;
    if flags != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x} and must be 0")));
    }
    let (peer, owner) = named(call, world.contexts(), peer)?;
    let peers = &call.core().topology.peers;
    let Some(context) = world.contexts_mut().get_mut(current) else { return Err(INVALID_CONTEXT) };
    let accessor = context.device;
    if !peers.can_access(accessor.into(), owner.into()) {
        let reason = format!("device {accessor} cannot reach the memory of device {owner}");
        return Err(call.refuse(CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, reason));
    }
    if context.peers.contains(&peer) {
        return Err(call.refuse(CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "access is enabled already"));
    }
    if context.peers.len() >= peers.max_peers as usize {
        let reason = format!("the context has {} peers, the most there can be", peers.max_peers);
        return Err(call.refuse(CUresult::CUDA_ERROR_TOO_MANY_PEERS, reason));
    }
    context.peers.insert(peer);
    Ok(())
}

pub(crate) fn cuCtxDisablePeerAccess(call: &Call<'_>, peer: Ptr<CUctx_st>) -> Status {
    let mut world = call.world();
    let current = call.context(&world)?;
    let (peer, _) = named(call, world.contexts(), peer)?;
    let Some(context) = world.contexts_mut().get_mut(current) else { return Err(INVALID_CONTEXT) };
    if !context.peers.remove(&peer) {
        return Err(call.refuse(CUresult::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "access is not enabled"));
    }
    Ok(())
}

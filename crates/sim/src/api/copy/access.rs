//! Operands of copies: the memory at an address, and the contexts that have access to it.
#![expect(unsafe_code, reason = "takes a C caller's word for host memory")]

use warploom_sys::types::CUresult;

use crate::api::pool::AccessLevel;
use crate::ffi::handle::{ContextHandle, PoolHandle};
use crate::ffi::host_memory::{Intent, is_own};
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::world::World;
use crate::memory::{Allocation, Backing, Home, Side, SimAddress};
use crate::process::thread;

/// The kind of memory at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    Device,
    /// Page-locked, registered or managed: host memory that a device reads and writes by itself.
    Shared,
    /// The program's own memory, unknown to the driver.
    Pageable,
}

/// An operand of a copy or fill: memory that was found and is accessible.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResolvedOperand {
    pub(crate) place: SimAddress,
    pub(crate) memory: Memory,
    /// The context it was allocated in.
    pub(crate) owner: Option<ContextHandle>,
    /// `SYNC_MEMOPS` is set for this memory: synchronous functions always wait.
    pub(crate) sync_memops: bool,
}

/// The memory type that a call names, which limits the kinds of memory it accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// A device pointer.
    Device,
    /// The device pointer of a fill, which may be in a pool of the host.
    Filled,
    /// A host pointer, or a unified one.
    Any,
}

/// The devices whose access rights an operation needs.
///
/// A copy between two pools is made by the device of its stream or by the owner of its destination: one of
/// them has to have access to both ends.
#[derive(Clone, Copy)]
pub(crate) struct Actor {
    /// The device of the stream, or of the context that the call names for this end.
    device: u16,
    /// Destination and source, where the owner of the destination may act, too.
    ends: Option<[u64; 2]>,
}

impl Actor {
    /// A device that acts alone: of a fill, or of one end of a peer copy.
    pub(crate) fn alone(device: u16) -> Self {
        Self { device, ends: None }
    }

    /// The actors of a copy on a stream of `device`.
    pub(crate) fn copying(device: u16, to: u64, from: u64) -> Self {
        Self { device, ends: Some([to, from]) }
    }

    fn reaches(self, world: &World, pool: PoolHandle) -> bool {
        world.pool_access(pool, self.device) != AccessLevel::None || self.owner_reaches_both(world)
    }

    /// `true` if both ends are memory of pools, and the owner of the destination has access to both.
    fn owner_reaches_both(self, world: &World) -> bool {
        let block = |address| match &world.memory().containing(address)?.backing {
            Backing::Pool(block) => Some((block.pool, block.home)),
            _ => None,
        };
        let Some([to, from]) = self.ends else { return false };
        let (Some((to, Home::Device(owner))), Some((from, _))) = (block(to), block(from)) else { return false };
        [to, from].into_iter().all(|pool| world.pool_access(pool, owner) != AccessLevel::None)
    }
}

/// The memory at an address, if the actor has the requested access to all of it.
pub(crate) fn find(
    call: &Call<'_>,
    world: &World,
    actor: Actor,
    (named, address): (Named, u64),
    len: u64,
    intent: Intent,
) -> Status<ResolvedOperand> {
    let device = actor.device;
    let refuse = |reason: String| -> CUresult { call.refuse(INVALID_VALUE, reason) };
    let outside = |reason: String| -> CUresult {
        call.found_outside(world, address, len, intent == Intent::Write);
        refuse(reason)
    };
    let Some(first) = world.memory().containing(address) else {
        if let Some(place) = world.graphs().memory.place(address, len).filter(|_| call.feeds_graph()) {
            return Ok(ResolvedOperand { place, memory: Memory::Device, owner: None, sync_memops: false });
        }
        return match named {
            Named::Device | Named::Filled => Err(outside(format!("{address:#x} is in no allocation of the driver's"))),
            Named::Any => pageable(address, len, intent).map_err(outside),
        };
    };
    let end = world.memory().end_of_run(first, address.saturating_add(len));
    if len > end - address {
        let there = end - address;
        return Err(outside(format!("{len} bytes at {address:#x} do not fit the {there} that are left there")));
    }
    let memory = match &first.backing {
        Backing::Device | Backing::Imported(_) => Memory::Device,
        Backing::Variable(variable) if variable.managed.is_some() => Memory::Shared,
        Backing::Variable(_) => Memory::Device,
        Backing::PageLocked(_) | Backing::Registered { .. } | Backing::Managed(_) => Memory::Shared,
        Backing::Pool(block) => {
            // For a copy, memory of host pools is host memory: it needs no access rights, and is invalid as a
            // device pointer.
            let is_the_hosts = matches!(block.home, Home::Host(_));
            if is_the_hosts && named == Named::Device {
                return Err(refuse(format!(
                    "{address:#x} is in a pool of the host, and so not what a device pointer is for"
                )));
            }
            let needs_access = !is_the_hosts || named == Named::Filled;
            if needs_access && !actor.reaches(world, block.pool) {
                return Err(refuse(format!("{address:#x} is in a pool that device {device} has no access to")));
            }
            located(first)
        }
        Backing::Graph(block) => {
            if block.device != device && !block.peers.contains(&device) {
                return Err(refuse(format!("{address:#x} is memory of a graph that device {device} has no access to")));
            }
            Memory::Device
        }
        Backing::Mapped(_) => {
            if world.mapped_access(address, len, device, intent == Intent::Write).is_err() {
                return Err(refuse(format!("{address:#x} is in a mapping that device {device} may not {intent:?}")));
            }
            let has_current = || thread::with_contexts(call.core().id, |stack| !stack.is_empty());
            if named != Named::Filled && len > first.end() - address && !has_current() {
                return Err(refuse(format!(
                    "{len} bytes at {address:#x} are in several mappings, which a copy takes only where a context is current"
                )));
            }
            located(first)
        }
    };
    // Opening memory of another process enabled the peer access that it needs.
    let owner = first.context.filter(|_| !matches!(first.backing, Backing::Imported(_)));
    Ok(ResolvedOperand { place: first.place(address), memory, owner, sync_memops: first.sync_memops == Some(true) })
}

/// Memory of pools and mappings, on a device or on the host.
fn located(allocation: &Allocation) -> Memory {
    if allocation.side == Side::Host { Memory::Shared } else { Memory::Device }
}

/// `true` if work of `context` has direct access to the memory. A copy can be staged through the host; a fill
/// cannot.
pub(crate) fn reaches(world: &World, context: ContextHandle, end: &ResolvedOperand) -> bool {
    let Some(context) = world.contexts().get(context) else { return false };
    let (Side::Device(holder), Some(owner)) = (end.place.side(), end.owner) else { return true };
    holder == context.device || end.memory != Memory::Device || context.peers.contains(&owner)
}

/// Pageable memory of the program, if the range is mapped.
fn pageable(address: u64, len: u64, intent: Intent) -> Result<ResolvedOperand, String> {
    if address == 0 {
        return Err("a null pointer".to_owned());
    }
    if !is_own(address, len, intent) {
        return Err(format!(
            "{len} bytes at {address:#x} are no memory of the program's or the driver's; the real driver would crash here"
        ));
    }
    // SAFETY: mapped memory of the process, as was just found; the C caller keeps it so until the op is done.
    let place = unsafe { SimAddress::new(address, address as usize, Side::Host) };
    Ok(ResolvedOperand { place, memory: Memory::Pageable, owner: None, sync_memops: false })
}

//! Operands of copies: the memory at an address, and the contexts that have access to it.
#![expect(unsafe_code, reason = "takes a C caller's word for host memory")]

use warploom_sys::types::CUresult;

use crate::api::pool::AccessLevel;
use crate::ffi::handle::ContextHandle;
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

/// An address as a call names it, and the bytes from there on.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    pub(crate) named: Named,
    pub(crate) address: u64,
    pub(crate) len: u64,
}

/// Memory that was found, and the allocation that it is in.
struct Found<'a> {
    operand: ResolvedOperand,
    range: Range,
    intent: Intent,
    /// `None` for pageable memory, and for memory of a graph that a later launch backs.
    allocation: Option<&'a Allocation>,
}

impl Found<'_> {
    /// `true` if a device has the access to all of the range that its use needs.
    fn admits(&self, world: &World, device: u16) -> bool {
        let Some(allocation) = self.allocation else { return true };
        match &allocation.backing {
            // Memory of host pools is host memory to a copy; a device that fills it needs a grant.
            Backing::Pool(block) if matches!(block.home, Home::Host(_)) && self.range.named != Named::Filled => true,
            Backing::Pool(block) => world.pool_access(block.pool, device) != AccessLevel::None,
            Backing::Graph(block) => block.device == device || block.peers.contains(&device),
            Backing::Mapped(_) => {
                let Range { address, len, .. } = self.range;
                world.mapped_access(address, len, device, self.intent == Intent::Write).is_ok()
            }
            Backing::Device
            | Backing::Imported(_)
            | Backing::PageLocked(_)
            | Backing::Registered { .. }
            | Backing::Managed(_)
            | Backing::Variable(_) => true,
        }
    }

    /// The device that owns the memory.
    fn owner(&self) -> Option<u16> {
        match self.allocation?.side {
            Side::Device(device) => Some(device),
            Side::Host => None,
        }
    }
}

/// The ends of a copy, destination first, if the copy is allowed.
///
/// # Rule of access
///
/// One device that takes part in the copy must have access to both ends. The device of the stream (or of the
/// node's context), the owner of either end, and the device of the current context take part.
///
/// | memory | devices with access, for a copy |
/// |---|---|
/// | of a pool | its owner, those that were granted the pool; all, if it is managed or the host's |
/// | of a mapping | those that were given the right to read or to write; all, if the host was, for host memory |
/// | of a graph | its device, and the peers of its node |
/// | everything else: `cuMemAlloc`, variables, imported, managed, page-locked, pageable | all: without peer access, a copy of it is staged |
///
/// A copy between two contexts that the call names differs if they are of two devices: the device of each
/// context needs access to its own end only, so that pool memory needs no grant.
pub(super) fn ends(
    call: &Call<'_>,
    world: &World,
    devices: [u16; 2],
    to: Range,
    from: Range,
) -> Status<[ResolvedOperand; 2]> {
    let to = find(call, world, to, Intent::Write)?;
    let from = find(call, world, from, Intent::Read)?;
    let has_both = |device: u16| to.admits(world, device) && from.admits(world, device);
    let [to_device, from_device] = devices;
    if to_device != from_device {
        for (end, device) in [(&to, to_device), (&from, from_device)] {
            if !end.admits(world, device) {
                let address = end.range.address;
                return Err(call.refuse(INVALID_VALUE, format!("device {device} has no access to {address:#x}")));
            }
        }
    } else if !has_both(to_device) {
        let current = thread::with_contexts(call.core().id, |stack| stack.last().copied());
        let current = current.and_then(|context| world.contexts().get(context)).map(|context| context.device);
        if ![to.owner(), from.owner(), current].into_iter().flatten().any(has_both) {
            return Err(call.refuse(
                INVALID_VALUE,
                format!(
                    "no device that takes part has access to both {:#x} and {:#x}: not device {to_device}, an owner \
                     of either, or the current device",
                    to.range.address, from.range.address
                ),
            ));
        }
    }
    Ok([to.operand, from.operand])
}

/// The destination of a fill by a device, which needs access to it.
pub(crate) fn filled(call: &Call<'_>, world: &World, device: u16, address: u64, len: u64) -> Status<ResolvedOperand> {
    let found = find(call, world, Range { named: Named::Filled, address, len }, Intent::Write)?;
    if !found.admits(world, device) {
        return Err(call.refuse(INVALID_VALUE, format!("device {device} has no access to {address:#x}")));
    }
    Ok(found.operand)
}

/// The memory at an address, if all of the range is there and is of a kind that the call accepts.
fn find<'a>(call: &Call<'_>, world: &'a World, range: Range, intent: Intent) -> Status<Found<'a>> {
    let Range { named, address, len } = range;
    let refuse = |reason: String| -> CUresult { call.refuse(INVALID_VALUE, reason) };
    let outside = |reason: String| -> CUresult {
        call.found_outside(world, address, len, intent == Intent::Write);
        refuse(reason)
    };
    let Some(first) = world.memory().containing(address) else {
        let later = world.graphs().memory.place(address, len).filter(|_| call.feeds_graph());
        let operand = match (later, named) {
            (Some(place), _) => ResolvedOperand { place, memory: Memory::Device, owner: None, sync_memops: false },
            (None, Named::Any) => pageable(address, len, intent).map_err(outside)?,
            (None, Named::Device | Named::Filled) => {
                return Err(outside(format!("{address:#x} is in no allocation of the driver's")));
            }
        };
        return Ok(Found { operand, range, intent, allocation: None });
    };
    let end = world.memory().end_of_run(first, address.saturating_add(len));
    if len > end - address {
        let there = end - address;
        return Err(outside(format!("{len} bytes at {address:#x} do not fit the {there} that are left there")));
    }
    let memory = match &first.backing {
        Backing::Device | Backing::Imported(_) | Backing::Graph(_) => Memory::Device,
        Backing::Variable(variable) if variable.managed.is_some() => Memory::Shared,
        Backing::Variable(_) => Memory::Device,
        Backing::PageLocked(_) | Backing::Registered { .. } | Backing::Managed(_) => Memory::Shared,
        Backing::Pool(block) if matches!(block.home, Home::Host(_)) && named == Named::Device => {
            return Err(refuse(format!(
                "{address:#x} is in a pool of the host, and so not what a device pointer is for"
            )));
        }
        Backing::Mapped(_) if named != Named::Filled && len > first.end() - address => {
            if !thread::has_context(call.core().id) {
                return Err(refuse(format!(
                    "{len} bytes at {address:#x} are in several mappings, which a copy takes only where a context is current"
                )));
            }
            located(first)
        }
        Backing::Pool(_) | Backing::Mapped(_) => located(first),
    };
    // Opening memory of another process enabled the peer access that it needs.
    let owner = first.context.filter(|_| !matches!(first.backing, Backing::Imported(_)));
    let operand =
        ResolvedOperand { place: first.place(address), memory, owner, sync_memops: first.sync_memops == Some(true) };
    Ok(Found { operand, range, intent, allocation: Some(first) })
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

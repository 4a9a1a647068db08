//! Advice on managed memory: cuMemAdvise.
//!
//! On a host with one NUMA node, advice with a node as its location is accepted and has no effect, for any
//! memory. Memory of managed pools accepts no other advice.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::{CUdevice, CUdeviceptr, CUmem_advise, CUmemLocation, CUmemLocationType};

use super::requested_location::{check_kind, check_shares, shares};
use super::{range, requested_location};
use crate::ffi::status::{INVALID_DEVICE, INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::machine::call::Call;
use crate::memory::{Backing, Page, RequestedLocation, Residence};

/// Valid advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Advice {
    ReadMostly(bool),
    Preferred(Option<RequestedLocation>),
    AccessedBy(Residence, bool),
}

impl Advice {
    /// Reads the location only if the advice has one.
    fn new(call: &Call<'_>, advice: CUmem_advise, place: impl FnOnce() -> Status<RequestedLocation>) -> Status<Self> {
        Ok(match advice {
            CUmem_advise::CU_MEM_ADVISE_SET_READ_MOSTLY => Advice::ReadMostly(true),
            CUmem_advise::CU_MEM_ADVISE_UNSET_READ_MOSTLY => Advice::ReadMostly(false),
            CUmem_advise::CU_MEM_ADVISE_SET_PREFERRED_LOCATION => Advice::Preferred(Some(place()?)),
            CUmem_advise::CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION => Advice::Preferred(None),
            CUmem_advise::CU_MEM_ADVISE_SET_ACCESSED_BY | CUmem_advise::CU_MEM_ADVISE_UNSET_ACCESSED_BY => {
                let place = place()?.place;
                if let Residence::HostNode(node) = place {
                    let reason = format!("memory is accessed by devices or the host, not by its NUMA node {node}");
                    return Err(call.refuse(INVALID_VALUE, reason));
                }
                Advice::AccessedBy(place, advice == CUmem_advise::CU_MEM_ADVISE_SET_ACCESSED_BY)
            }
            CUmem_advise(other) => return Err(call.refuse(INVALID_VALUE, format!("{other} is no advice"))),
        })
    }

    /// The location that the advice sets.
    fn place(self) -> Option<Residence> {
        match self {
            Advice::Preferred(request) => request.map(|request| request.place),
            Advice::AccessedBy(place, _) => Some(place),
            Advice::ReadMostly(_) => None,
        }
    }

    fn apply(self, page: &mut Page) {
        match self {
            Advice::ReadMostly(set) => {
                page.read_mostly = set;
                if !set {
                    collapse(page);
                }
            }
            // The node of the calling thread is kept as a plain node.
            Advice::Preferred(request) => page.preferred = request,
            Advice::AccessedBy(place, true) => {
                page.accessed_by.insert(place);
            }
            Advice::AccessedBy(place, false) => {
                page.accessed_by.remove(&place);
            }
        }
    }
}

/// Leaves one copy of a page: at its preferred location, if the page has one.
fn collapse(page: &mut Page) {
    let preferred = page.preferred().filter(|place| page.resident.contains(place));
    if let Some(place) = preferred.or_else(|| page.resident.first().copied()) {
        page.settle(place);
    }
}

/// The common part of both forms; `names_node` if the location is a NUMA node.
fn advise(
    call: &Call<'_>,
    address: CUdeviceptr,
    bytes: usize,
    advice: CUmem_advise,
    place: impl FnOnce() -> Status<RequestedLocation>,
    names_node: bool,
) -> Status {
    let mut world = call.world();
    let context = call.context(&world)?;
    let device = world.device_of(context)?;
    let advice = Advice::new(call, advice, place)?;
    let topology = &call.core().topology;
    if names_node && topology.numa_nodes == 1 {
        return Ok(());
    }
    let found = range::allocation(call, world.memory(), address, bytes)?;
    if matches!(found.backing, Backing::Pool(_)) {
        return Err(call.refuse(NOT_SUPPORTED, format!("{address:#x} is memory of a pool, which takes no advice")));
    }
    let range = range::managed(call, world.memory(), address, bytes)?;
    if let Some(place) = advice.place() {
        check_shares(call, place)?;
    }
    if shares(topology, device) {
        world.managed_memory_mut().pages_mut().update(&range, |page, _| advice.apply(page));
        return Ok(());
    }
    // Read-mostly has no effect on devices without concurrent managed access.
    match advice {
        Advice::ReadMostly(_) | Advice::Preferred(None) | Advice::AccessedBy(_, false) => Ok(()),
        Advice::Preferred(Some(_)) | Advice::AccessedBy(_, true) => {
            Err(call.refuse(INVALID_DEVICE, format!("device {device} has no concurrent managed access")))
        }
    }
}

pub(crate) fn cuMemAdvise(
    call: &Call<'_>,
    address: CUdeviceptr,
    bytes: usize,
    advice: CUmem_advise,
    device: CUdevice,
) -> Status {
    advise(call, address, bytes, advice, || requested_location::of_ordinal(call, device), false)
}

pub(crate) fn cuMemAdvise_v2(
    call: &Call<'_>,
    address: CUdeviceptr,
    bytes: usize,
    advice: CUmem_advise,
    location: CUmemLocation,
) -> Status {
    let is_node = matches!(
        location.type_,
        CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA | CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT
    );
    let place = || requested_location::of_location(call, location, INVALID_VALUE);
    call.current()?;
    check_kind(call, location)?;
    advise(call, address, bytes, advice, place, is_node)
}

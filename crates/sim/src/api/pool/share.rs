//! Memory pools between processes: pools as file descriptors, and their memory as export data.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_ulonglong, c_void};

use warploom_sys::types::{
    CUdeviceptr, CUmemAllocationHandleType, CUmemPoolHandle_st, CUmemPoolPtrExportData, CUmemoryPool, CUresult,
};

use super::named;
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, NOT_PERMITTED, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::pool::pointer_data::PointerData;
use crate::machine::pool::{CHUNK, Exportable, PointerError, Pool, Sharing, WORDS};
use crate::memory::shadow::Journal;
use crate::memory::{Allocation, Backing, Details, Header, Home, NewObject, SharedKind, SharedObject};

const DESCRIPTOR: u32 = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR.0;
const FABRIC: u32 = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_FABRIC.0;

/// The kinds of homes in the details of a shared object.
const ON_DEVICE: u64 = 1;
const ON_NODE: u64 = 2;

/// The sharing of a new pool: with a shared object if it can be exported as a file descriptor.
pub(super) fn sharing_of(call: &Call<'_>, pool: &Pool) -> Status<Sharing> {
    if pool.handle_types != DESCRIPTOR {
        return Ok(Sharing::Private);
    }
    let mut details = Details::default();
    (details[0], details[1]) = match pool.home {
        Home::Device(device) => (ON_DEVICE, device.into()),
        Home::Host(Some(node)) => (ON_NODE, node.into()),
        Home::Host(None) | Home::Managed(_) => return Ok(Sharing::Private),
    };
    let object = SharedObject::create(&NewObject {
        kind: SharedKind::Pool,
        size: pool.space.len,
        words: WORDS,
        machine: call.core().digest(),
        device: call.shared_device(pool.home.side()),
        details,
    });
    let failed = |error| call.refuse(OUT_OF_MEMORY, format!("no file for the memory of the pool: {error}"));
    Ok(Sharing::Exportable(Exportable::new(object.map_err(failed)?)))
}

/// The home of an imported pool, if a machine of this description has it.
fn home_of(call: &Call<'_>, header: &Header) -> Option<Home> {
    let [kind, id, ..] = header.details;
    let (id, topology) = (u16::try_from(id).ok()?, &call.core().topology);
    let home = match kind {
        ON_DEVICE if usize::from(id) < topology.devices.len() => Home::Device(id),
        ON_NODE if u32::from(id) < topology.numa_nodes => Home::Host(Some(id)),
        _ => return None,
    };
    let is_sound = header.size > 0 && header.size.is_multiple_of(CHUNK) && header.words == WORDS;
    (is_sound && header.device == call.shared_device(home.side())).then_some(home)
}

pub(crate) fn cuMemPoolExportToShareableHandle(
    call: &Call<'_>,
    out: Ptr<c_void>,
    pool: Ptr<CUmemPoolHandle_st>,
    kind: CUmemAllocationHandleType,
    flags: c_ulonglong,
) -> Status {
    let out = out.typed::<i32>();
    out.required()?;
    let mut world = call.world();
    let handle = named(call, world.pools(), pool)?;
    let Some(pool) = world.pools_mut().get_mut(handle) else { return Err(INVALID_VALUE) };
    let possible = pool.handle_types;
    if !kind.0.is_power_of_two() || kind.0 & possible == 0 {
        let reason = format!("handle type is {:#x}; the pool was created for {possible:#x}", kind.0);
        return Err(call.refuse(INVALID_VALUE, reason));
    }
    if flags != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; there are none")));
    }
    if possible & FABRIC != 0 {
        let reason = "a pool for fabric handles needs a channel that this machine does not have";
        return Err(call.refuse(NOT_PERMITTED, reason));
    }
    let Sharing::Exportable(shared) = &mut pool.sharing else { return Err(INVALID_VALUE) };
    call.give_descriptor(shared.object(), out)?;
    shared.is_exported = true;
    Ok(())
}

pub(crate) fn cuMemPoolImportFromShareableHandle(
    call: &Call<'_>,
    out: Ptr<CUmemoryPool>,
    handle: Ptr<c_void>,
    kind: CUmemAllocationHandleType,
    flags: c_ulonglong,
) -> Status {
    out.required()?;
    if flags != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; there are none")));
    }
    let object = call.open_shared(handle, kind, SharedKind::Pool)?;
    let home = home_of(call, object.header())
        .ok_or_else(|| call.refuse(CUresult::CUDA_ERROR_UNKNOWN, "the header of the shared object is damaged"))?;
    let mut world = call.world();
    let known = world.import_again(object.header().id);
    let added = known.or_else(|| world.import_pool(object, home));
    let pool = added.ok_or_else(|| call.refuse(OUT_OF_MEMORY, "all handles of pools are used"))?;
    out.write(pool.as_raw())
}

pub(crate) fn cuMemPoolExportPointer(
    call: &Call<'_>,
    out: Ptr<CUmemPoolPtrExportData>,
    address: CUdeviceptr,
) -> Status {
    out.required()?;
    let mut world = call.world();
    let Some(Allocation { size, backing: Backing::Pool(block), .. }) = world.memory().at(address) else {
        return Err(call.refuse(INVALID_VALUE, format!("{address:#x} is not the start of a pool's memory")));
    };
    let (size, handle, offset) = (*size, block.pool, block.offset);
    let shared = match world.pools_mut().get_mut(handle).map(|pool| &mut pool.sharing) {
        Some(Sharing::Exportable(shared)) if shared.is_exported => shared,
        Some(Sharing::Exportable(_)) => {
            return Err(call.refuse(INVALID_VALUE, "the pool has not been exported; export it before its memory"));
        }
        _ => return Err(call.refuse(INVALID_VALUE, format!("{address:#x} is memory of a pool that is not exportable"))),
    };
    let data = shared.export(offset, size).ok_or_else(|| {
        call.refuse(OUT_OF_MEMORY, "too many allocations of the pool are exported; free some of them")
    })?;
    let journal = Journal::of(shared.object());
    // From now on others may write it.
    world.memory_mut().mark_written(address);
    world.track_shared(address, journal, offset);
    out.write(CUmemPoolPtrExportData { reserved: data.encode() })
}

pub(crate) fn cuMemPoolImportPointer(
    call: &Call<'_>,
    out: Ptr<CUdeviceptr>,
    pool: Ptr<CUmemPoolHandle_st>,
    data: Ptr<CUmemPoolPtrExportData>,
) -> Status {
    out.required()?;
    let data = PointerData::decode(&data.read()?.reserved);
    let mut world = call.world();
    let handle = named(call, world.pools(), pool)?;
    let pool = world.pools().get(handle).ok_or(INVALID_VALUE)?;
    let Sharing::Imported(imported) = &pool.sharing else {
        return Err(call.refuse(INVALID_VALUE, "memory is imported into imported pools, and this one is not"));
    };
    let is_of_host = matches!(pool.home, Home::Host(_));
    let data = imported.find(data).map_err(|error: PointerError| call.refuse(INVALID_VALUE, error.to_string()))?;
    // The driver does not count imports: one free ends all of them.
    if let Some(address) = world.imported_at(handle, data.offset) {
        if is_of_host {
            let reason = format!("the memory is imported already, at {address:#x}");
            return Err(call.refuse(CUresult::CUDA_ERROR_ALREADY_MAPPED, reason));
        }
        return out.write(address);
    }
    let address = world.import_allocation(handle, &data).map_err(|error| {
        call.refuse(OUT_OF_MEMORY, format!("the operating system could not map {} bytes: {error}", data.size))
    })?;
    out.write(address)
}

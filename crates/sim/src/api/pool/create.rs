//! Creation and destruction of memory pools: cuMemPoolCreate and cuMemPoolDestroy.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::{CUmemPoolHandle_st, CUmemPoolProps, CUmemoryPool};

use super::{named, share};
use crate::ffi::status::{INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::machine::pool::{Pool, Sharing};
use crate::memory::Home;
use crate::topology::number;

/// Size of the address range of a pool in host memory, which the simulator does not limit otherwise.
const HOST_ROOM: u64 = 256 << 30;
/// More than the address space of a process.
const MOST_ROOM: u64 = 1 << 46;
/// The first driver version that reads the byte after the usage.
const RDMA_FLAG: i32 = 13040;

pub(crate) fn cuMemPoolCreate(call: &Call<'_>, out: Ptr<CUmemoryPool>, props: ConstPtr<CUmemPoolProps>) -> Status {
    out.required()?;
    let props = props.read()?;
    let home = Home::named(call, &props.location, props.allocType)?;
    check(call, home, &props)?;
    let mut pool = Pool::of_home(call, home, props.maxSize as u64)
        .ok_or_else(|| call.refuse(OUT_OF_MEMORY, format!("no addresses for {} bytes", props.maxSize)))?;
    pool.handle_types = props.handleTypes.0;
    pool.usage = props.usage;
    pool.sharing = share::sharing_of(call, &pool)?;
    let handle = call.world().pools_mut().insert(pool).ok_or(OUT_OF_MEMORY)?;
    out.write(handle.as_raw())
}

fn check(call: &Call<'_>, home: Home, props: &CUmemPoolProps) -> Status {
    let refuse = |reason: String| Err(call.refuse(INVALID_VALUE, reason));
    let topology = &call.core().topology;
    let rdma_is_reserved = topology.driver_version < RDMA_FLAG;
    if props.reserved.iter().any(|byte| *byte != 0) || rdma_is_reserved && props.gpuDirectRDMACapable != 0 {
        return refuse("the reserved bytes of the properties are not zero".to_owned());
    }
    let exportable = match home {
        Home::Device(device) => topology.attribute(device.into(), number::MEMPOOL_SUPPORTED_HANDLE_TYPES),
        Home::Host(Some(_)) => topology.attribute(0, number::MEMPOOL_SUPPORTED_HANDLE_TYPES),
        Home::Host(None) | Home::Managed(_) => None,
    };
    let exportable = exportable.unwrap_or(0).cast_unsigned();
    if props.handleTypes.0 & !exportable != 0 {
        return refuse(format!("handle types are {:#x}; possible are {exportable:#x}", props.handleTypes.0));
    }
    if matches!(home, Home::Managed(_)) && props.maxSize != 0 {
        return refuse(format!("maxSize is {}; a pool of managed memory has none", props.maxSize));
    }
    Ok(())
}

impl Pool {
    /// An empty pool; `None` if the address range is too large.
    fn of_home(call: &Call<'_>, home: Home, max_size: u64) -> Option<Pool> {
        let room = match home {
            _ if max_size != 0 => max_size,
            // A little more than the device's memory, because of fragmentation.
            Home::Device(device) => {
                let memory = call.core().topology.devices.get(usize::from(device))?.total_memory;
                memory + memory / 4
            }
            Home::Host(_) | Home::Managed(_) => HOST_ROOM,
        };
        (room <= MOST_ROOM).then(|| Pool::new(home, max_size, room))
    }

    /// The default pool of a home.
    pub(super) fn default_of(call: &Call<'_>, home: Home) -> Option<Pool> {
        let mut pool = Pool::of_home(call, home, 0)?;
        pool.is_default = true;
        Some(pool)
    }
}

pub(crate) fn cuMemPoolDestroy(call: &Call<'_>, pool: Ptr<CUmemPoolHandle_st>) -> Status {
    let mut world = call.world();
    let handle = named(call, world.pools(), pool)?;
    if world.pools().get(handle).is_some_and(|pool| pool.is_default) {
        return Err(call.refuse(INVALID_VALUE, "a default pool cannot be destroyed"));
    }
    if world.forget_import(handle) {
        return Ok(());
    }
    if let Some(Sharing::Imported(imported)) = world.pools().get(handle).map(|pool| &pool.sharing)
        && imported.allocations > 0
    {
        let reason = format!("{} imported allocations of the imported pool are not freed", imported.allocations);
        return Err(call.refuse(INVALID_VALUE, reason));
    }
    world.destroy_pool(handle);
    Ok(())
}

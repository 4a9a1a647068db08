//! Attributes of memory pools: cuMemPoolGetAttribute and cuMemPoolSetAttribute.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_void;

use warploom_sys::types::{CUmemPool_attribute as Attribute, CUmemPoolHandle_st};

use super::own;
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::pool::Pool;

/// The first driver version that reports a pool's creation properties.
const PROPERTIES: i32 = 13020;
/// The first driver version with locality domains.
const LOCALITY: i32 = 13040;
/// `CU_MEM_POOL_CREATE_USAGE_HW_DECOMPRESS`.
const HW_DECOMPRESS: u16 = 2;

/// An attribute's value, in the width that C programs read and write.
enum Value {
    Int(i32),
    Wide(u64),
}

impl Pool {
    fn attribute(&self, attribute: Attribute, driver_version: i32) -> Option<Value> {
        let since = match attribute.0 {
            ..9 => 0,
            9..=14 => PROPERTIES,
            _ => LOCALITY,
        };
        if driver_version < since {
            return None;
        }
        let (location_type, location_id) = self.home.location();
        Some(match attribute {
            Attribute::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES => Value::Int(self.reuse.follow_events.into()),
            Attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC => Value::Int(self.reuse.opportunistic.into()),
            Attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES => {
                Value::Int(self.reuse.internal_dependencies.into())
            }
            Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => Value::Wide(self.threshold),
            Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT => Value::Wide(self.space.reserved),
            Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => Value::Wide(self.reserved_high),
            Attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT => Value::Wide(self.used),
            Attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH => Value::Wide(self.used_high),
            Attribute::CU_MEMPOOL_ATTR_ALLOCATION_TYPE => Value::Int(self.home.allocation_type().0.cast_signed()),
            Attribute::CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES => Value::Int(self.handle_types.cast_signed()),
            Attribute::CU_MEMPOOL_ATTR_LOCATION_ID => Value::Int(location_id),
            Attribute::CU_MEMPOOL_ATTR_LOCATION_TYPE => Value::Int(location_type.0.cast_signed()),
            Attribute::CU_MEMPOOL_ATTR_MAX_POOL_SIZE => {
                Value::Wide(if self.max_size == 0 { 0 } else { self.space.len })
            }
            Attribute::CU_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED => Value::Int((self.usage & HW_DECOMPRESS != 0).into()),
            Attribute::CU_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID => Value::Int(-1),
            _ => return None,
        })
    }
}

pub(crate) fn cuMemPoolGetAttribute(
    call: &Call<'_>,
    pool: Ptr<CUmemPoolHandle_st>,
    attribute: Attribute,
    out: Ptr<c_void>,
) -> Status {
    let world = call.world();
    let handle = own(call, world.pools(), pool)?;
    let version = call.core().topology.driver_version;
    let value = world.pools().get(handle).and_then(|pool| pool.attribute(attribute, version));
    match value.ok_or_else(|| unknown(call, attribute))? {
        Value::Int(value) => out.typed().write(value),
        Value::Wide(value) => out.typed().write(value),
    }
}

pub(crate) fn cuMemPoolSetAttribute(
    call: &Call<'_>,
    pool: Ptr<CUmemPoolHandle_st>,
    attribute: Attribute,
    value: Ptr<c_void>,
) -> Status {
    let mut world = call.world();
    let handle = own(call, world.pools(), pool)?;
    let Some(pool) = world.pools_mut().get_mut(handle) else { return Err(INVALID_VALUE) };
    let flag = || Ok(value.typed::<i32>().read()? != 0);
    let reset = || match value.typed::<u64>().read()? {
        0 => Ok(()),
        other => Err(call.refuse(INVALID_VALUE, format!("a high watermark can be reset to 0, not to {other}"))),
    };
    match attribute {
        Attribute::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES => pool.reuse.follow_events = flag()?,
        Attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC => pool.reuse.opportunistic = flag()?,
        Attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES => pool.reuse.internal_dependencies = flag()?,
        Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => pool.threshold = value.typed::<u64>().read()?,
        Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => {
            reset()?;
            pool.reserved_high = pool.space.reserved;
        }
        Attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH => {
            reset()?;
            pool.used_high = pool.used;
        }
        _ => return Err(unknown(call, attribute)),
    }
    Ok(())
}

fn unknown(call: &Call<'_>, attribute: Attribute) -> warploom_sys::types::CUresult {
    call.refuse(INVALID_VALUE, format!("attribute {} is unknown, or not to be set", attribute.0.cast_signed()))
}

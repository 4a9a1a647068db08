//! Pointer attributes: cuPointerGetAttribute, cuPointerGetAttributes, cuPointerSetAttribute.
#![expect(non_snake_case, reason = "the functions have C's names")]

mod value;

use std::ffi::{c_uint, c_void};

use value::{Asker, Value};
use warploom_sys::types::{CUdeviceptr, CUpointer_attribute};

use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::memory::Backing;

/// Refuses attributes that the simulated driver version does not know.
fn check(call: &Call<'_>, attribute: CUpointer_attribute) -> Status {
    let driver = call.core().topology.driver_version;
    if value::since(attribute).is_some_and(|since| since <= driver) {
        return Ok(());
    }
    Err(call.refuse(INVALID_VALUE, format!("{} is no pointer attribute of a {driver} driver", attribute.0)))
}

pub(crate) fn cuPointerGetAttribute(
    call: &Call<'_>,
    data: Ptr<c_void>,
    attribute: CUpointer_attribute,
    address: CUdeviceptr,
) -> Status {
    if data.is_null() {
        return Err(call.refuse(INVALID_VALUE, "there is nowhere to write the attribute"));
    }
    check(call, attribute)?;
    let world = call.world();
    let Some(allocation) = world.memory().containing(address) else {
        return Err(call.refuse(INVALID_VALUE, format!("{address:#x} is in no allocation of this driver")));
    };
    let asker = Asker::new(call, &world);
    match asker.value(attribute, allocation, address) {
        Some(value) => value.write(data),
        None => {
            Value::zero(attribute).write(data)?;
            Err(call.refuse(INVALID_VALUE, format!("the memory at {address:#x} has no attribute {}", attribute.0)))
        }
    }
}

pub(crate) fn cuPointerGetAttributes(
    call: &Call<'_>,
    count: c_uint,
    attributes: Ptr<CUpointer_attribute>,
    data: Ptr<*mut c_void>,
    address: CUdeviceptr,
) -> Status {
    if count == 0 || attributes.is_null() || data.is_null() {
        return Err(call.refuse(INVALID_VALUE, format!("{count} attributes, and where to write them, are needed")));
    }
    let world = call.world();
    let allocation = world.memory().containing(address);
    let asker = Asker::new(call, &world);
    for index in 0..count as usize {
        let attribute = attributes.read_at(index)?;
        check(call, attribute)?;
        let out = data.pointer_at(index)?;
        if out.is_null() {
            return Err(call.refuse(INVALID_VALUE, format!("there is nowhere to write attribute {index} of the list")));
        }
        // Unlike the query of one attribute, a list succeeds for every pointer.
        let value = match allocation {
            Some(allocation) => asker.value(attribute, allocation, address).unwrap_or_else(|| Value::zero(attribute)),
            None => Value::of_unknown(attribute, address, world.virtual_memory().reservation(address)),
        };
        value.write(out)?;
    }
    Ok(())
}

pub(crate) fn cuPointerSetAttribute(
    call: &Call<'_>,
    value: ConstPtr<c_void>,
    attribute: CUpointer_attribute,
    address: CUdeviceptr,
) -> Status {
    let value = value.typed::<u32>().read()?;
    if attribute != CUpointer_attribute::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS {
        return Err(call.refuse(INVALID_VALUE, format!("attribute {} cannot be set", attribute.0)));
    }
    let mut world = call.world();
    let Some(allocation) = world.memory_mut().containing_mut(address) else {
        return Err(call.refuse(INVALID_VALUE, format!("{address:#x} is in no allocation of this driver")));
    };
    if matches!(allocation.backing, Backing::Mapped(_)) {
        return Err(call.refuse(NOT_SUPPORTED, "mapped memory cannot be made to synchronise its copies"));
    }
    allocation.sync_memops = Some(value != 0);
    Ok(())
}

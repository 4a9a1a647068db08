//! Stream attributes: cuStreamGetAttribute, cuStreamSetAttribute, cuStreamCopyAttributes.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::{CUlaunchAttributeID, CUlaunchAttributeValue, CUstream_st};

use crate::ffi::status::{INVALID_VALUE, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::machine::stream::{AccessWindow, clamp};
use crate::topology::number;

type Id = CUlaunchAttributeID;
type Value = CUlaunchAttributeValue;

fn unknown(call: &Call<'_>, attribute: Id) -> Status {
    Err(call.refuse(INVALID_VALUE, format!("attribute {} is not one of a stream", attribute.0)))
}

/// Writes as many bytes as the attribute has; the rest of the caller's union is unchanged.
pub(crate) fn cuStreamGetAttribute(
    call: &Call<'_>,
    stream: Ptr<CUstream_st>,
    attribute: Id,
    value: Ptr<Value>,
) -> Status {
    value.required()?;
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    let attributes = world.queue(queue).owner.traits.attributes;
    match attribute {
        Id::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW => value.part().write(attributes.window.words()),
        Id::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY => value.part().write(attributes.synchronization),
        Id::CU_LAUNCH_ATTRIBUTE_PRIORITY => value.part().write(attributes.priority),
        Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP => value.part().write(attributes.domains),
        Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN => value.part().write(attributes.domain),
        _ => unknown(call, attribute),
    }
}

pub(crate) fn cuStreamSetAttribute(
    call: &Call<'_>,
    stream: Ptr<CUstream_st>,
    attribute: Id,
    value: ConstPtr<Value>,
) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    let owner = &world.queue(queue).owner;
    let (mut attributes, device) = (owner.traits.attributes, owner.device);
    match attribute {
        Id::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW => {
            attributes.window = checked_window(call, device, AccessWindow::from_words(value.part().read()?))?;
        }
        Id::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY => {
            attributes.synchronization = value.part().read()?;
            if !(1..=4).contains(&attributes.synchronization) {
                let reason = format!("the policy is {}, expected 1 to 4", attributes.synchronization);
                return Err(call.refuse(INVALID_VALUE, reason));
            }
        }
        Id::CU_LAUNCH_ATTRIBUTE_PRIORITY => attributes.priority = clamp(value.part().read()?),
        Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP => {
            attributes.domains = checked_domains(call, device, value.part().read()?)?;
        }
        Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN => {
            attributes.domain = checked_domain(call, value.part().read()?)?;
        }
        _ => return unknown(call, attribute),
    }
    world.set_attributes(queue, attributes);
    Ok(())
}

fn device_attribute(call: &Call<'_>, device: u16, number: i32) -> i32 {
    call.core().topology.devices.get(usize::from(device)).and_then(|device| device.attributes.get(number)).unwrap_or(0)
}

/// `CU_ACCESS_PROPERTY_PERSISTING`.
const PERSISTING: u32 = 2;

/// The driver checks the hit ratio, the size and the miss property, but neither the address nor the hit
/// property.
pub(crate) fn checked_window(call: &Call<'_>, device: u16, window: AccessWindow) -> Status<AccessWindow> {
    if !(0.0..=1.0).contains(&window.hit_ratio) {
        return Err(call.refuse(INVALID_VALUE, format!("the hit ratio is {}, expected 0 to 1", window.hit_ratio)));
    }
    if window.miss == PERSISTING {
        return Err(call.refuse(INVALID_VALUE, "what misses cannot be persisting"));
    }
    let most = device_attribute(call, device, number::MAX_ACCESS_POLICY_WINDOW_SIZE);
    if window.bytes > u64::try_from(most).unwrap_or(0) {
        return Err(call.refuse(INVALID_VALUE, format!("the window has {} bytes, at most {most} work", window.bytes)));
    }
    Ok(window)
}

/// The domains that the default and the remote domain map to, if the device has them.
pub(crate) fn checked_domains(call: &Call<'_>, device: u16, domains: [u8; 2]) -> Status<[u8; 2]> {
    let count = device_attribute(call, device, number::MEM_SYNC_DOMAIN_COUNT);
    if domains.iter().any(|domain| i32::from(*domain) >= count) {
        let reason = format!("the domains are {domains:?}, and the device has {count}");
        return Err(call.refuse(INVALID_VALUE, reason));
    }
    Ok(domains)
}

/// A domain, if it is the default or the remote one.
pub(crate) fn checked_domain(call: &Call<'_>, domain: u32) -> Status<u32> {
    match domain {
        0 | 1 => Ok(domain),
        _ => Err(call.refuse(INVALID_VALUE, format!("the domain is {domain}, expected 0 or 1"))),
    }
}

pub(crate) fn cuStreamCopyAttributes(call: &Call<'_>, to: Ptr<CUstream_st>, from: Ptr<CUstream_st>) -> Status {
    let mut world = call.world();
    let to = call.queue(&mut world, to)?;
    let from = call.queue(&mut world, from)?;
    let source = world.queue(from);
    if world.queue(to).owner.context != source.owner.context {
        return Err(call.refuse(INVALID_VALUE, "the streams are of different contexts"));
    }
    let attributes = source.owner.traits.attributes;
    world.set_attributes(to, attributes);
    Ok(())
}

//! Devices: how many, who they are, what they can do.

use cudarc::driver::{CudaContext, sys::CUdevice_attribute as Attribute};

use crate::{Check, Outcome};

pub const CHECKS: &[Check] = &[
    ("there are four devices", there_are_four_devices),
    ("a device has a name, memory and an identifier", a_device_has_a_name_memory_and_an_identifier),
    ("attributes are those of the model", attributes_are_those_of_the_model),
    ("a device that is not there is refused", a_device_that_is_not_there_is_refused),
    ("a context can be created beside the primary one", a_context_can_be_created_beside_the_primary_one),
];

fn there_are_four_devices() -> Outcome {
    // The first check, and so also the first call of the process.
    cudarc::driver::result::init()?;
    assert_eq!(CudaContext::device_count()?, 4);
    Ok(())
}

fn a_device_has_a_name_memory_and_an_identifier() -> Outcome {
    let (first, last) = (CudaContext::new(0)?, CudaContext::new(3)?);
    assert!(first.name()?.contains("A100"), "{}", first.name()?);
    assert!(first.total_mem()? > 30 << 30);
    let (free, total) = first.mem_get_info()?;
    assert!(free <= total);
    assert_ne!(first.uuid()?.bytes, last.uuid()?.bytes);
    assert_eq!(last.ordinal(), 3);
    Ok(())
}

fn attributes_are_those_of_the_model() -> Outcome {
    let context = CudaContext::new(0)?;
    assert_eq!(context.compute_capability()?, (8, 0));
    assert_eq!(context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?, 32);
    assert_eq!(context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?, 108);
    assert!(context.has_async_alloc());
    Ok(())
}

fn a_device_that_is_not_there_is_refused() -> Outcome {
    let refused = CudaContext::new(4).err().ok_or("there is a fifth device")?;
    assert_eq!(refused.error_name()?.to_str()?, "CUDA_ERROR_INVALID_DEVICE");
    Ok(())
}

fn a_context_can_be_created_beside_the_primary_one() -> Outcome {
    let (primary, created) = (CudaContext::new(0)?, CudaContext::new_non_primary(0, 0)?);
    assert_ne!(primary.cu_ctx(), created.cu_ctx());
    assert!(primary.is_primary() && !created.is_primary());
    let stream = created.new_stream()?;
    assert_eq!(stream.clone_dtoh(&stream.clone_htod(&[1u8, 2, 3])?)?, [1, 2, 3]);
    Ok(())
}

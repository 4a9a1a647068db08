//! Memory: from pools, pinned and managed; copies both ways and on the device.

use cudarc::driver::sys::{CUmemAttach_flags, CUmemPool_attribute};
use cudarc::driver::{CudaContext, result};

use crate::{Check, Outcome};

pub const CHECKS: &[Check] = &[
    ("numbers come back as they went", numbers_come_back_as_they_went),
    ("a slice can be copied", a_slice_can_be_copied),
    ("pinned memory is copied both ways", pinned_memory_is_copied_both_ways),
    ("managed memory is written on the host and read on the device", managed_memory_is_shared),
    ("plain memory works beside pools", plain_memory_works_beside_pools),
    ("a pool says what is in use", a_pool_says_what_is_in_use),
];

fn numbers_come_back_as_they_went() -> Outcome {
    let stream = CudaContext::new(0)?.new_stream()?;
    let sent: Vec<f64> = (0..33_333).map(|number| f64::from(number) * 0.5).collect();
    let there = stream.clone_htod(&sent)?;
    let copied = stream.clone_dtod(&there)?;
    drop(there);
    assert_eq!(stream.clone_dtoh(&copied)?, sent);
    let mut zeroed = copied;
    stream.memset_zeros(&mut zeroed)?;
    assert!(stream.clone_dtoh(&zeroed)?.iter().all(|number| *number == 0.0));
    Ok(())
}

fn a_slice_can_be_copied() -> Outcome {
    let stream = CudaContext::new(0)?.new_stream()?;
    let mut there = stream.alloc_zeros::<u16>(1000)?;
    stream.memcpy_htod(&[9u16; 100], &mut there.slice_mut(450..550))?;
    let received = stream.clone_dtoh(&there.slice(400..600))?;
    assert!(received[..50].iter().chain(&received[150..]).all(|number| *number == 0));
    assert!(received[50..150].iter().all(|number| *number == 9));
    Ok(())
}

fn pinned_memory_is_copied_both_ways() -> Outcome {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    // SAFETY: both are written before they are read.
    let (mut up, mut down) = unsafe { (context.alloc_pinned::<u32>(10_000)?, context.alloc_pinned::<u32>(10_000)?) };
    for (number, place) in (0..).zip(up.as_mut_slice()?) {
        *place = number * 3;
    }
    let mut there = stream.alloc_zeros::<u32>(10_000)?;
    stream.memcpy_htod(&up, &mut there)?;
    stream.memcpy_dtoh(&there, &mut down)?;
    assert_eq!(down.as_slice()?, up.as_slice()?);
    Ok(())
}

fn managed_memory_is_shared() -> Outcome {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    // SAFETY: written before it is read.
    let mut shared = unsafe { context.alloc_unified::<u8>(5000, true) }?;
    shared.as_mut_slice()?.fill(0x3c);
    shared.attach(&stream, CUmemAttach_flags::CU_MEM_ATTACH_SINGLE)?;
    assert_eq!(stream.clone_dtoh(&stream.clone_dtod(&shared)?)?, [0x3c; 5000]);
    Ok(())
}

fn plain_memory_works_beside_pools() -> Outcome {
    let _context = CudaContext::new(0)?;
    let mut received = [0u8; 1000];
    // SAFETY: the memory is freed once, after its last use, and both copies have their size.
    unsafe {
        let there = result::malloc_sync(received.len())?;
        result::memset_d8_sync(there, 0x77, received.len())?;
        result::memcpy_dtoh_sync(&mut received, there)?;
        result::free_sync(there)?;
    }
    assert_eq!(received, [0x77; 1000]);
    Ok(())
}

fn a_pool_says_what_is_in_use() -> Outcome {
    let context = CudaContext::new(2)?;
    let stream = context.new_stream()?;
    let used = || -> Result<u64, Box<dyn std::error::Error>> {
        let mut used = 0u64;
        let attribute = CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT;
        // SAFETY: this attribute is a 64-bit number.
        unsafe {
            let pool = result::device::get_default_mem_pool(context.cu_device())?;
            result::mem_pool::get_attribute(pool, attribute, (&raw mut used).cast())?;
        }
        Ok(used)
    };
    let there = stream.alloc_zeros::<u8>(1 << 20)?;
    assert!(used()? >= 1 << 20);
    drop(there);
    stream.synchronize()?;
    assert_eq!(used()?, 0);
    Ok(())
}

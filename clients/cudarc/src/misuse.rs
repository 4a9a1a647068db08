//! What a program can get wrong, and the error it gets for it.

use cudarc::driver::{CudaContext, DriverError, result, sys};

use crate::{Check, Outcome};

pub const CHECKS: &[Check] = &[
    ("more memory than there is is refused", more_memory_than_there_is_is_refused),
    ("memory is freed once", memory_is_freed_once),
    ("no place for an answer is refused", no_place_for_an_answer_is_refused),
    ("an error has a name and a text", an_error_has_a_name_and_a_text),
];

fn more_memory_than_there_is_is_refused() -> Outcome {
    let stream = CudaContext::new(0)?.new_stream()?;
    let refused = stream.alloc_zeros::<u8>(1 << 50).err();
    assert_eq!(refused, Some(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)));
    assert_eq!(stream.clone_dtoh(&stream.clone_htod(&[5u8])?)?, [5], "and nothing else has changed");
    Ok(())
}

fn memory_is_freed_once() -> Outcome {
    let _context = CudaContext::new(0)?;
    // SAFETY: the second attempt is the check; the driver looks addresses up before it uses them.
    let again = unsafe {
        let there = result::malloc_sync(256)?;
        result::free_sync(there)?;
        result::free_sync(there)
    };
    assert_eq!(again, Err(DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE)));
    Ok(())
}

fn no_place_for_an_answer_is_refused() -> Outcome {
    let context = CudaContext::new(0)?;
    // SAFETY: null is refused.
    let answers = unsafe {
        [
            sys::cuDeviceGetCount(std::ptr::null_mut()),
            sys::cuStreamCreate(std::ptr::null_mut(), 0),
            sys::cuDeviceGet(std::ptr::null_mut(), context.cu_device()),
        ]
    };
    assert_eq!(answers, [sys::CUresult::CUDA_ERROR_INVALID_VALUE; 3]);
    Ok(())
}

fn an_error_has_a_name_and_a_text() -> Outcome {
    let error = DriverError(sys::CUresult::CUDA_ERROR_INVALID_CONTEXT);
    assert_eq!(error.error_name()?.to_str()?, "CUDA_ERROR_INVALID_CONTEXT");
    assert!(!error.error_string()?.is_empty());
    Ok(())
}

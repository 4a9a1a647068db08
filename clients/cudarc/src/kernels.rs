//! Kernels from PTX: on one device and on all, with shared memory, variables, and what goes wrong.

use std::sync::Arc;

use cudarc::driver::sys::{CUfunction_attribute, CUresult};
use cudarc::driver::{CudaContext, CudaModule, DriverError, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

use crate::{Check, Outcome};

pub const CHECKS: &[Check] = &[
    ("a kernel computes", a_kernel_computes),
    ("every device runs the kernel", every_device_runs_the_kernel),
    ("blocks share the memory they are given", blocks_share_the_memory_they_are_given),
    ("a cooperative launch runs all blocks", a_cooperative_launch_runs_all_blocks),
    ("variables of a module are read and written", variables_of_a_module_are_read_and_written),
    ("a kernel says what it needs", a_kernel_says_what_it_needs),
    ("text that is no PTX is refused", text_that_is_no_ptx_is_refused),
    ("a kernel that is not there is not found", a_kernel_that_is_not_there_is_not_found),
    ("blocks that are too large are refused", blocks_that_are_too_large_are_refused),
];

const N: usize = 1000;

fn load(device: usize) -> Result<(Arc<CudaContext>, Arc<CudaModule>), DriverError> {
    let context = CudaContext::new(device)?;
    let module = context.load_module(Ptx::from_src(include_str!("../../saxpy.ptx")))?;
    Ok((context, module))
}

fn numbers(scale: f32) -> Vec<f32> {
    (0..N).map(|at| at as f32 * scale - 7.0).collect()
}

/// Runs the kernel, on a device, and compares.
fn computes(device: usize, cooperative: bool) -> Outcome {
    let (context, module) = load(device)?;
    let (stream, kernel) = (context.new_stream()?, module.load_function("saxpy")?);
    let (x, y) = (numbers(0.5), numbers(0.25));
    let from = stream.clone_htod(&x)?;
    let mut to = stream.clone_htod(&y)?;
    let (a, n) = (1.5_f32, N as u32);
    let mut launch = stream.launch_builder(&kernel);
    launch.arg(&a).arg(&from).arg(&mut to).arg(&n);
    let config = LaunchConfig { grid_dim: (8, 1, 1), block_dim: (128, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: the kernel takes these, and both have as many elements as it is told.
    unsafe { if cooperative { launch.launch_cooperative(config) } else { launch.launch(config) } }?;
    let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| a.mul_add(*x, *y)).collect();
    assert_eq!(stream.clone_dtoh(&to)?, expected);
    Ok(())
}

fn a_kernel_computes() -> Outcome {
    computes(0, false)
}

fn every_device_runs_the_kernel() -> Outcome {
    (0..usize::try_from(CudaContext::device_count()?)?).try_for_each(|device| computes(device, false))
}

fn a_cooperative_launch_runs_all_blocks() -> Outcome {
    computes(1, true)
}

fn blocks_share_the_memory_they_are_given() -> Outcome {
    let (context, module) = load(0)?;
    let (stream, kernel) = (context.new_stream()?, module.load_function("reverse")?);
    let sent: Vec<u32> = (0..400).collect();
    let mut rows = stream.clone_htod(&sent)?;
    let config = LaunchConfig { grid_dim: (4, 1, 1), block_dim: (100, 1, 1), shared_mem_bytes: 400 };
    // SAFETY: four rows of a hundred numbers, and room for one of them in each block.
    unsafe { stream.launch_builder(&kernel).arg(&mut rows).launch(config) }?;
    let expected: Vec<u32> = sent.chunks(100).flat_map(|row| row.iter().rev().copied()).collect();
    assert_eq!(stream.clone_dtoh(&rows)?, expected);
    Ok(())
}

fn variables_of_a_module_are_read_and_written() -> Outcome {
    let (context, module) = load(0)?;
    let (stream, kernel) = (context.new_stream()?, module.load_function("saxpy")?);
    let mut counter = module.get_global("done", &stream)?;
    assert_eq!(counter.len(), 4);
    stream.memcpy_htod(&40_u32.to_le_bytes(), &mut counter)?;
    let from = stream.clone_htod(&numbers(1.0))?;
    let mut to = stream.clone_htod(&numbers(1.0))?;
    let (a, n) = (1.0_f32, 100_u32);
    let mut launch = stream.launch_builder(&kernel);
    launch.arg(&a).arg(&from).arg(&mut to).arg(&n);
    // SAFETY: the kernel takes these, and both have more elements than it is told.
    unsafe { launch.launch(LaunchConfig::for_num_elems(n)) }?;
    assert_eq!(stream.clone_dtoh(&counter)?, 140_u32.to_le_bytes());
    Ok(())
}

fn a_kernel_says_what_it_needs() -> Outcome {
    let (_context, module) = load(0)?;
    let kernel = module.load_function("saxpy")?;
    let most = kernel.get_attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
    assert_eq!(most, 1024);
    assert!(kernel.occupancy_max_active_blocks_per_multiprocessor(128, 0, None)? >= 1);
    kernel.set_attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536)?;
    Ok(())
}

fn text_that_is_no_ptx_is_refused() -> Outcome {
    let refused = CudaContext::new(0)?.load_module(Ptx::from_src(".version 7.0\n.target sm_70\nnonsense"));
    assert_eq!(refused.err().map(|error| error.0), Some(CUresult::CUDA_ERROR_INVALID_PTX));
    Ok(())
}

fn a_kernel_that_is_not_there_is_not_found() -> Outcome {
    let (_context, module) = load(0)?;
    assert_eq!(module.load_function("saxpys").err().map(|error| error.0), Some(CUresult::CUDA_ERROR_NOT_FOUND));
    Ok(())
}

fn blocks_that_are_too_large_are_refused() -> Outcome {
    let (context, module) = load(0)?;
    let (stream, kernel) = (context.new_stream()?, module.load_function("reverse")?);
    let mut rows = stream.alloc_zeros::<u32>(2048)?;
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (2048, 1, 1), shared_mem_bytes: 8192 };
    // SAFETY: it is refused.
    let refused = unsafe { stream.launch_builder(&kernel).arg(&mut rows).launch(config) };
    assert_eq!(refused.err().map(|error| error.0), Some(CUresult::CUDA_ERROR_INVALID_VALUE));
    Ok(())
}

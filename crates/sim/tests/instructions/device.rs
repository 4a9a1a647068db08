//! Runs variants on a driver, the simulated one or the real one.

use std::ffi::CString;
use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUdeviceptr, CUmodule};
use warploom_testkit::{Primary, TestResult, call};

use crate::kernel::{self, BLOCK};
use crate::operands::operands;
use crate::variant::{OPERANDS, RESULTS, Variant};

/// Kernels of one module.
const KERNELS: usize = 1000;

/// Bytes from the operands' start to what a variant may write, and more than it writes.
const SCRATCH: usize = 32768;

/// The results of each variant: for each result, the values of all cases, cut to their width.
pub(crate) fn run(driver: &Driver, variants: &[Variant]) -> TestResult<Vec<Vec<Vec<u64>>>> {
    let _primary = Primary::of(driver, 0)?;
    let most = variants.iter().map(|variant| variant.cases).max().unwrap_or_default();
    let (mut from, mut into) = (0, 0);
    call!(driver.cuMemAlloc_v2(&mut from, SCRATCH + most * 8 * OPERANDS.len()))?;
    call!(driver.cuMemAlloc_v2(&mut into, most * 8 * RESULTS.len()))?;
    let mut results = Vec::new();
    for some in variants.chunks(KERNELS) {
        let (text, mut module) = (CString::new(kernel::module(some))?, null_mut());
        if let Err(error) = call!(driver.cuModuleLoadData(&mut module, text.as_ptr().cast())) {
            return Err(format!("{error}\n{}", refused(driver, some)?.join("\n")).into());
        }
        for (index, variant) in some.iter().enumerate() {
            let answer = ask(driver, module, index, variant, from, into);
            results.push(answer.map_err(|error| format!("{}: {error}", variant.text))?);
        }
        call!(driver.cuModuleUnload(module))?;
    }
    call!(driver.cuMemFree_v2(from))?;
    call!(driver.cuMemFree_v2(into))?;
    Ok(results)
}

/// The variants that make a module invalid.
fn refused(driver: &Driver, variants: &[Variant]) -> TestResult<Vec<String>> {
    let mut list = Vec::new();
    for variant in variants {
        let (text, mut module) = (CString::new(kernel::module(std::slice::from_ref(variant)))?, null_mut());
        match call!(driver.cuModuleLoadData(&mut module, text.as_ptr().cast())) {
            Ok(()) => call!(driver.cuModuleUnload(module))?,
            Err(_) => list.push(format!("refused: {}", variant.text)),
        }
    }
    Ok(list)
}

fn ask(
    driver: &Driver,
    module: CUmodule,
    index: usize,
    variant: &Variant,
    from: CUdeviceptr,
    into: CUdeviceptr,
) -> TestResult<Vec<Vec<u64>>> {
    let (name, mut function) = (CString::new(format!("k{index}"))?, null_mut());
    call!(driver.cuModuleGetFunction(&mut function, module, name.as_ptr()))?;
    let entered = operands(variant).concat();
    call!(driver.cuMemcpyHtoD_v2(from, entered.as_ptr().cast(), entered.len() * 8))?;
    let mut left = vec![0_u64; variant.cases * variant.results.len()];
    call!(driver.cuMemsetD8_v2(into, 0, left.len() * 8))?;
    let (threads, mut arguments) =
        (BLOCK.min(variant.cases), [&raw const from, &raw const into].map(|at| at.cast_mut().cast()));
    let blocks = variant.cases / threads;
    let (blocks, threads) = (blocks as u32, threads as u32);
    call!(driver.cuLaunchKernel(
        function,
        blocks,
        1,
        1,
        threads,
        1,
        1,
        0,
        null_mut(),
        arguments.as_mut_ptr(),
        null_mut()
    ))?;
    call!(driver.cuMemcpyDtoH_v2(left.as_mut_ptr().cast(), into, left.len() * 8))?;
    let cut = |index: usize| {
        let mask = u64::MAX >> (64 - 8 * variant.results[index].bytes());
        left[index * variant.cases..][..variant.cases].iter().map(|value| value & mask).collect()
    };
    Ok((0..variant.results.len()).map(cut).collect())
}

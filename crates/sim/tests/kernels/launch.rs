//! Kernels that run.

use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicU32, Ordering};

use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUfunction_attribute, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchConfig};
use warploom_testkit::{Primary, TestResult, answers, call, driver_tests};

use crate::arguments;
use crate::support::{Module, bits, cooperative, download, launch, memory, reduce, system, time, upload, vector};

fn ramp(count: u32) -> Vec<u32> {
    (0..count).collect()
}

driver_tests! {
    fn a_kernel_computes(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &vector())?;
        let saxpy = module.function("saxpy")?;
        let (n, a) = (1000_u32, 3.0_f32);
        let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let y: Vec<f32> = (0..n).map(|i| 1.0 / (i + 1) as f32).collect();
        let (on_x, on_y) = (upload(driver, &bits(&x))?, upload(driver, &bits(&y))?);
        launch(driver, saxpy, (4, 256), null_mut(), &mut arguments!(a, on_x, on_y, n))?;
        let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| a.mul_add(*x, *y)).collect();
        assert_eq!(download(driver, on_y, n as usize)?, bits(&expected));
        call!(driver.cuMemFree_v2(on_x))?;
        call!(driver.cuMemFree_v2(on_y))?;
    }

    fn values_written_by_a_kernel_can_be_read(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &vector())?;
        let add = module.function("add_u32")?;
        let (n, mut result, mut stream) = (32_u32, 0, null_mut());
        let a = upload(driver, &ramp(n))?;
        call!(driver.cuMemAlloc_v2(&mut result, 128))?;
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        launch(driver, add, (1, 32), stream, &mut arguments!(a, a, result, n))?;
        let mut words = [0_u32; 32];
        call!(driver.cuMemcpyDtoHAsync_v2(words.as_mut_ptr().cast(), result, 128, stream))?;
        call!(driver.cuStreamSynchronize(stream))?;
        assert_eq!(words.to_vec(), ramp(n).iter().map(|i| i * 2).collect::<Vec<_>>());
        call!(driver.cuMemFree_v2(a))?;
        call!(driver.cuMemFree_v2(result))?;
        call!(driver.cuStreamDestroy_v2(stream))?;
    }

    fn launches_follow_each_other_in_their_stream(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &vector())?;
        let add = module.function("add_u32")?;
        let mut stream = null_mut();
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        let n = 300_u32;
        let (a, b) = (upload(driver, &ramp(n))?, upload(driver, &vec![1; n as usize])?);
        for _ in 0..10 {
            launch(driver, add, (3, 128), stream, &mut arguments!(a, b, a, n))?;
        }
        call!(driver.cuStreamSynchronize(stream))?;
        assert_eq!(download(driver, a, n as usize)?, ramp(n).iter().map(|i| i + 10).collect::<Vec<_>>());
        call!(driver.cuMemFree_v2(a))?;
        call!(driver.cuMemFree_v2(b))?;
        call!(driver.cuStreamDestroy_v2(stream))?;
    }

    fn arguments_can_be_passed_in_one_buffer(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &vector())?;
        let add = module.function("add_u32")?;
        let n = 64_u32;
        let (a, c) = (upload(driver, &ramp(n))?, upload(driver, &vec![0; n as usize])?);
        let packed: [u64; 4] = [a, a, c, n.into()];
        let mut size = 28_usize;
        let mut extra = [without_provenance_mut(1), packed.as_ptr().cast_mut().cast(), without_provenance_mut(2), (&raw mut size).cast(), null_mut()];
        call!(driver.cuLaunchKernel(add, 1, 1, 1, 64, 1, 1, 0, null_mut(), null_mut(), extra.as_mut_ptr()))?;
        assert_eq!(download(driver, c, n as usize)?, ramp(n).iter().map(|i| i * 2).collect::<Vec<_>>());
        call!(driver.cuMemFree_v2(a))?;
        call!(driver.cuMemFree_v2(c))?;
    }

    fn shared_memory_and_barriers_work(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &reduce())?;
        let function = module.function("reduce_shared")?;
        let n = 4096_u32;
        let (x, sums) = (upload(driver, &ramp(n))?, upload(driver, &[0; 8])?);
        launch(driver, function, (8, 256), null_mut(), &mut arguments!(x, sums, n))?;
        let total: u32 = download(driver, sums, 8)?.iter().sum();
        assert_eq!(total, n * (n - 1) / 2);
        call!(driver.cuMemFree_v2(x))?;
        call!(driver.cuMemFree_v2(sums))?;
    }

    fn dynamic_shared_memory_is_as_large_as_the_launch_says(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &memory())?;
        let reverse = module.function("reverse_dynamic")?;
        let (x, y) = (upload(driver, &ramp(128))?, upload(driver, &[0; 128])?);
        let mut arguments = arguments!(x, y);
        call!(driver.cuLaunchKernel(
            reverse, 1, 1, 1, 128, 1, 1, 512, null_mut(), arguments.as_mut_ptr(), null_mut()
        ))?;
        assert_eq!(download(driver, y, 128)?, ramp(128).into_iter().rev().collect::<Vec<_>>());
        call!(driver.cuMemFree_v2(x))?;
        call!(driver.cuMemFree_v2(y))?;
    }

    fn an_extended_launch_takes_attributes(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &vector())?;
        let add = module.function("add_u32")?;
        let n = 32_u32;
        let a = upload(driver, &ramp(n))?;
        // SAFETY: all of it is numbers and pointers that may be zero.
        #[expect(unsafe_code, reason = "a C structure of zeros")]
        let (mut attribute, mut config): (CUlaunchAttribute, CUlaunchConfig) = unsafe { std::mem::zeroed() };
        attribute.id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attribute.value.cooperative = 1;
        (config.gridDimX, config.gridDimY, config.gridDimZ) = (1, 1, 1);
        (config.blockDimX, config.blockDimY, config.blockDimZ) = (32, 1, 1);
        (config.attrs, config.numAttrs) = (&raw mut attribute, 1);
        let mut arguments = arguments!(a, a, a, n);
        call!(driver.cuLaunchKernelEx(&config, add, arguments.as_mut_ptr(), null_mut()))?;
        assert_eq!(download(driver, a, n as usize)?, ramp(n).iter().map(|i| i * 2).collect::<Vec<_>>());
        attribute.id = CUlaunchAttributeID(77);
        config.attrs = &raw mut attribute;
        answers!(
            driver.cuLaunchKernelEx(&config, add, arguments.as_mut_ptr(), null_mut()),
            CUDA_ERROR_INVALID_VALUE
        );
        call!(driver.cuMemFree_v2(a))?;
    }

    fn blocks_of_a_cooperative_launch_wait_for_each_other(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &cooperative())?;
        let rotate = module.function("grid_rotate_add")?;
        let (n, rounds) = (4 * 64, 4_u32);
        let (x, y) = (upload(driver, &ramp(n))?, upload(driver, &vec![0; n as usize])?);
        let mut arguments = arguments!(x, y, rounds);
        call!(driver.cuLaunchCooperativeKernel(rotate, 4, 1, 1, 64, 1, 1, 0, null_mut(), arguments.as_mut_ptr()))?;
        let mut expected = ramp(n);
        for _ in 0..rounds {
            expected = (0..n as usize).map(|i| expected[i] + expected[(i + 1) % n as usize]).collect();
        }
        assert_eq!(download(driver, x, n as usize)?, expected);
        call!(driver.cuMemFree_v2(x))?;
        call!(driver.cuMemFree_v2(y))?;
    }

    fn a_kernel_takes_memory_while_it_runs(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &system())?;
        let heap_sums = module.function("heap_sums")?;
        let y = upload(driver, &[0; 64])?;
        launch(driver, heap_sums, (1, 64), null_mut(), &mut arguments!(y))?;
        let expected: Vec<u32> = (0..64).map(|i| i * (i + 1) / 2).collect();
        assert_eq!(download(driver, y, 64)?, expected);
        call!(driver.cuMemFree_v2(y))?;
    }

    fn a_kernel_that_waits_for_the_host_holds_up_its_stream_alone(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (module, vectors) = (Module::load(driver, &time())?, Module::load(driver, &vector())?);
        let (wait, add) = (module.function("latch")?, vectors.function("add_u32")?);
        let (mut held, mut free, mut latch) = (null_mut(), null_mut(), null_mut());
        call!(driver.cuStreamCreate(&mut held, 1))?;
        call!(driver.cuStreamCreate(&mut free, 1))?;
        call!(driver.cuMemHostAlloc(&mut latch, 4, 0))?;
        let latch: *mut u32 = latch.cast();
        // SAFETY: four bytes of the host's that no one else uses yet.
        #[expect(unsafe_code, reason = "writes page-locked memory")]
        unsafe { latch.write_volatile(0) };
        let (n, a, seen) = (32_u32, upload(driver, &[1; 32])?, upload(driver, &[0])?);
        launch(driver, wait, (1, 1), held, &mut arguments!(latch, seen))?;
        launch(driver, add, (1, 32), free, &mut arguments!(a, a, a, n))?;
        call!(driver.cuStreamSynchronize(free))?;
        answers!(driver.cuStreamQuery(held), CUDA_ERROR_NOT_READY);
        #[expect(unsafe_code, reason = "writes page-locked memory")]
        // SAFETY: as above, and aligned; the kernel reads it meanwhile, by atomic accesses.
        unsafe { AtomicU32::from_ptr(latch) }.store(9, Ordering::Relaxed);
        call!(driver.cuStreamSynchronize(held))?;
        assert_eq!((download(driver, seen, 1)?, download(driver, a, 32)?), (vec![9], vec![2; 32]));
        call!(driver.cuMemFreeHost(latch.cast()))?;
        call!(driver.cuMemFree_v2(a))?;
        call!(driver.cuMemFree_v2(seen))?;
        call!(driver.cuStreamDestroy_v2(held))?;
        call!(driver.cuStreamDestroy_v2(free))?;
    }

    sim fn handles_that_are_no_code_are_refused(driver) {
        let primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &vector())?;
        let (saxpy, mut value, mut out) = (module.function("saxpy")?, 0, null_mut());
        for bits in [0_usize, 1, 0xdead_beef, usize::MAX, primary.context.addr(), module.handle.addr()] {
            let handle = without_provenance_mut(bits);
            answers!(
                driver.cuLaunchKernel(handle, 1, 1, 1, 1, 1, 1, 0, null_mut(), null_mut(), null_mut()),
                CUDA_ERROR_INVALID_HANDLE
            );
            answers!(
                driver.cuFuncGetAttribute(&mut value, CUfunction_attribute(0), handle),
                CUDA_ERROR_INVALID_HANDLE
            );
        }
        for bits in [0_usize, 1, 0xdead_beef, usize::MAX, primary.context.addr(), saxpy.addr()] {
            let handle: *mut std::ffi::c_void = without_provenance_mut(bits);
            answers!(
                driver.cuModuleGetFunction(&mut out, handle.cast(), c"saxpy".as_ptr()),
                CUDA_ERROR_INVALID_HANDLE
            );
            answers!(driver.cuLibraryUnload(handle.cast()), CUDA_ERROR_INVALID_HANDLE);
            answers!(driver.cuKernelGetFunction(&mut out, handle.cast()), CUDA_ERROR_INVALID_HANDLE);
        }
    }

    fn kernels_reach_page_locked_and_managed_memory(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &vector())?;
        let add = module.function("add_u32")?;
        let (n, mut pinned, mut managed) = (64_u32, null_mut(), 0);
        call!(driver.cuMemHostAlloc(&mut pinned, 256, 0))?;
        call!(driver.cuMemAllocManaged(&mut managed, 256, 1))?;
        call!(driver.cuMemsetD32_v2(managed, 5, 64))?;
        let mut at_device = 0;
        call!(driver.cuMemHostGetDevicePointer_v2(&mut at_device, pinned, 0))?;
        call!(driver.cuMemsetD32_v2(at_device, 2, 64))?;
        launch(driver, add, (1, 64), null_mut(), &mut arguments!(managed, at_device, at_device, n))?;
        call!(driver.cuCtxSynchronize())?;
        assert_eq!(download(driver, at_device, 64)?, [7; 64]);
        call!(driver.cuMemFreeHost(pinned))?;
        call!(driver.cuMemFree_v2(managed))?;
    }
}

#[test]
fn output_of_kernels_goes_to_the_machines_output() -> TestResult {
    let printed = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let sink = std::sync::Arc::clone(&printed);
    let machine = Machine::builder()
        .topology(Topology::preset("h200")?)
        .mode(Mode::Sync)
        .output(move |text| sink.lock().expect("nobody panics").push_str(text))
        .start()?;
    let driver = Driver::open(&machine)?;
    driver.initialize()?;
    let _primary = Primary::of(&driver, 0)?;
    let module = Module::load(&driver, &system())?;
    launch(&driver, module.function("print_greeting")?, (2, 32), null_mut(), &mut [])?;
    assert_eq!(*printed.lock().expect("nobody panics"), "hello\n");
    Ok(())
}

//! What kernels are like, and how many blocks of them a device holds.

use std::ptr::null_mut;

use warploom_testkit::sys::types::CUfunction_attribute as Attribute;
use warploom_testkit::{Primary, answers, call, driver_tests};

use crate::support::{Module, bounds, memory, reduce, vector};

driver_tests! {
    fn a_kernel_tells_what_it_needs(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (plain, bounded) = (Module::load(driver, &vector())?, Module::load(driver, &bounds())?);
        let reducing = Module::load(driver, &reduce())?;
        let get = |function, attribute| {
            let mut value = -2;
            call!(driver.cuFuncGetAttribute(&mut value, attribute, function)).map(|()| value)
        };
        let saxpy = plain.function("saxpy")?;
        assert_eq!(get(saxpy, Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?, 1024);
        assert_eq!(get(saxpy, Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?, 0);
        assert_eq!(get(saxpy, Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?, 0);
        assert_eq!(get(saxpy, Attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION)?, 75);
        assert_eq!(get(saxpy, Attribute::CU_FUNC_ATTRIBUTE_BINARY_VERSION)?, 90);
        assert_eq!(get(saxpy, Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)?, 49152);
        assert_eq!(get(saxpy, Attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)?, -1);
        assert!((1..=255).contains(&get(saxpy, Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?));
        let function = bounded.function("bounded")?;
        assert_eq!(get(function, Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?, 128);
        let function = reducing.function("reduce_shared")?;
        assert_eq!(get(function, Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?, 1024);
        let mut value = 0;
        answers!(driver.cuFuncGetAttribute(&mut value, Attribute(99), saxpy), CUDA_ERROR_INVALID_VALUE);
    }

    fn more_dynamic_shared_memory_is_had_by_asking_for_it(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &memory())?;
        let reverse = module.function("reverse_dynamic")?;
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        call!(driver.cuFuncSetAttribute(reverse, attribute, 200_000))?;
        let mut bytes = 0;
        call!(driver.cuFuncGetAttribute(&mut bytes, attribute, reverse))?;
        assert_eq!(bytes, 200_000);
        answers!(driver.cuFuncSetAttribute(reverse, attribute, 300_000), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuFuncSetAttribute(reverse, attribute, -1), CUDA_ERROR_INVALID_VALUE);
        let shared = Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
        answers!(driver.cuFuncSetAttribute(reverse, shared, 0), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuFuncGetAttribute(&mut bytes, attribute, reverse))?;
        assert_eq!(bytes, 200_000);
    }

    fn occupancy_is_limited_by_threads_and_by_shared_memory(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &vector())?;
        let saxpy = module.function("saxpy")?;
        let active = |threads, dynamic| {
            let mut blocks = -1;
            call!(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, saxpy, threads, dynamic))
                .map(|()| blocks)
        };
        assert_eq!(active(1024, 0)?, 2);
        assert_eq!(active(256, 0)?, 8);
        assert_eq!(active(32, 0)?, 32);
        // 228 KiB, of which each block takes 1 KiB more than it asks for.
        assert_eq!(active(32, 40_000)?, 5);
        let (mut grid, mut block) = (0, 0);
        call!(driver.cuOccupancyMaxPotentialBlockSize(&mut grid, &mut block, saxpy, None, 0, 0))?;
        assert_eq!((grid, block), (2 * 132, 1024));
        call!(driver.cuOccupancyMaxPotentialBlockSize(&mut grid, &mut block, saxpy, None, 0, 256))?;
        assert_eq!((grid, block), (8 * 132, 256));
        let mut bytes = 0;
        call!(driver.cuOccupancyAvailableDynamicSMemPerBlock(&mut bytes, saxpy, 2, 1024))?;
        assert!(bytes > 100_000 && bytes < 120_000, "{bytes}");
        answers!(
            driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(null_mut(), saxpy, 32, 0),
            CUDA_ERROR_INVALID_VALUE
        );
        let mut blocks = 0;
        answers!(
            driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, saxpy, 0, 0),
            CUDA_ERROR_INVALID_VALUE
        );
    }
}

//! Attributes and occupancy of kernels.

use std::ffi::CString;
use std::ptr::null_mut;

use warploom_testkit::sys::types::CUfunction_attribute as Attribute;
use warploom_testkit::{Primary, answers, call, driver_tests};

use crate::support::{Module, bounds, memory, reduce, vector};

/// A kernel with 79 values that are live at once.
fn many_values(directives: &str) -> CString {
    let mut body = String::new();
    for value in 1..80 {
        body.push_str(&format!("ld.volatile.global.u32 %r{value}, [%rd1+{}];\n", 4 * value));
    }
    for value in 1..80 {
        body.push_str(&format!("st.volatile.global.u32 [%rd1+{}], %r{value};\n", 4 * value));
    }
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 data) {directives} {{\n\
         .reg .b32 %r<80>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [data];\n{body}ret; }}\n"
    );
    CString::new(text).expect("a text without zeros")
}

/// A kernel that calls a function, and one that calls a function which calls itself.
fn calls() -> CString {
    let kernel = |name: &str, callee: &str| {
        format!(
            ".visible .entry {name}(.param .u64 data) {{ .reg .b32 %r<3>; .reg .b64 %rd1; ld.param.u64 %rd1, [data];
             ld.global.u32 %r1, [%rd1]; call (%r2), {callee}, (%r1); st.global.u32 [%rd1], %r2; ret; }}\n"
        )
    };
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .func (.reg .b32 back) twice(.reg .b32 from) {{ add.u32 back, from, from; ret; }}\n\
         .func (.reg .b32 back) again(.reg .b32 from) {{ .reg .pred %p; .reg .b32 %q; mov.u32 back, from;
         setp.gt.u32 %p, from, 5; @!%p bra done; sub.u32 back, from, 1; call (%q), again, (back);
         add.u32 back, %q, from; done: ret; }}\n{}{}",
        kernel("direct", "twice"),
        kernel("recursive", "again")
    );
    CString::new(text).expect("a text without zeros")
}

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

    fn registers_follow_need_and_bounds(driver) {
        let _primary = Primary::of(driver, 0)?;
        // Directives, the option, the registers that an H200 answered, and local bytes: the assembler of a
        // driver spills up to twice as many as `ptxas`.
        for (directives, option, registers, local) in [
            ("", None, 72..=120, 0..=0),
            ("", Some(1000), 72..=120, 0..=0),
            ("", Some(64), 64..=64, 60..=200),
            (".maxntid 1024, 1, 1", Some(16), 64..=64, 60..=200),
            ("", Some(40), 40..=40, 132..=440),
            (".maxnreg 40", Some(16), 40..=40, 132..=440),
            (".maxntid 256, 1, 1 .minnctapersm 6", Some(128), 40..=40, 132..=440),
            ("", Some(32), 32..=32, 168..=560),
            (".maxntid 512, 1, 1 .minnctapersm 4", None, 32..=32, 168..=560),
            ("", Some(1), 24..=24, 240..=410),
        ] {
            let module = Module::bounded(driver, &many_values(directives), option)?;
            let function = module.function("k")?;
            let get = |attribute| {
                let mut value = -2;
                call!(driver.cuFuncGetAttribute(&mut value, attribute, function)).map(|()| value)
            };
            let what = format!("{directives} {option:?}");
            let found = get(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?;
            assert!(registers.contains(&found), "{what}: {found} registers");
            let found = get(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?;
            assert!(local.contains(&found), "{what}: {found} bytes");
            if registers.start() != registers.end() {
                assert_eq!(get(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?, 640, "{what}");
                let mut blocks = -1;
                call!(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, function, 256, 0))?;
                assert_eq!(blocks, 2, "{what}");
            }
        }
        let none = Module::bounded(driver, &many_values(""), Some(0));
        assert!(none.is_err_and(|error| error.to_string().contains("CUDA_ERROR_INVALID_VALUE")));
    }

    fn calls_take_the_registers_of_the_convention_only_if_they_follow_it(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &calls())?;
        for (kernel, registers) in [("direct", 8..=10), ("recursive", 24..=24)] {
            let mut found = -2;
            let function = module.function(kernel)?;
            call!(driver.cuFuncGetAttribute(&mut found, Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS, function))?;
            assert!(registers.contains(&found), "{kernel}: {found} registers");
        }
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

    /// The table that an H200 answers.
    fn shared_memory_is_divided_among_the_blocks_of_a_multiprocessor(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (plain, reducing) = (Module::load(driver, &vector())?, Module::load(driver, &reduce())?);
        let (none, some) = (plain.function("saxpy")?, reducing.function("reduce_shared")?);
        let active = |function, dynamic| {
            let mut blocks = -1;
            call!(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, function, 32, dynamic)).map(|()| blocks)
        };
        let available = |function, blocks| {
            let mut bytes = 0;
            call!(driver.cuOccupancyAvailableDynamicSMemPerBlock(&mut bytes, function, blocks, 32)).map(|()| bytes)
        };
        let shares = [(5, 46_592), (7, 33_280), (8, 29_184), (16, 14_592), (20, 11_648), (31, 7_424), (32, 7_296)];
        for (blocks, share) in [(1, 49_152), (2, 49_152), (4, 49_152)].into_iter().chain(shares) {
            assert_eq!(available(none, blocks)?, share, "{blocks} blocks");
            assert_eq!(available(some, blocks)?, share - 1024, "{blocks} blocks");
        }
        let mut bytes = 0;
        for blocks in [0, 33] {
            answers!(
                driver.cuOccupancyAvailableDynamicSMemPerBlock(&mut bytes, none, blocks, 32),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        assert_eq!((active(none, 49_152)?, active(none, 49_153)?), (4, 0));
        assert_eq!((active(some, 8192)?, active(some, 16_384)?, active(some, 49_152)?), (22, 12, 0));
        let most = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        call!(driver.cuFuncSetAttribute(none, most, 232_448))?;
        for (blocks, share) in [(1, 232_448), (2, 116_736), (3, 77_824), (4, 58_368)].into_iter().chain(shares) {
            assert_eq!(available(none, blocks)?, share, "{blocks} blocks");
        }
        let held = [(60_000, 3), (115_712, 2), (116_736, 1), (232_448, 1), (232_449, 0)];
        for (dynamic, blocks) in held {
            assert_eq!(active(none, dynamic)?, blocks, "{dynamic} bytes");
        }
        call!(driver.cuFuncSetAttribute(none, most, 100))?;
        assert_eq!((available(none, 1)?, available(none, 32)?), (100, 100));
        assert_eq!((active(none, 49_152)?, active(none, 49_153)?), (4, 0), "a launch is refused, the question is not");
    }

    fn a_preference_for_cache_leaves_less_shared_memory(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &vector())?;
        let saxpy = module.function("saxpy")?;
        let carveout = Attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
        let active = |dynamic| {
            let mut blocks = -1;
            call!(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, saxpy, 32, dynamic)).map(|()| blocks)
        };
        call!(driver.cuFuncSetAttribute(saxpy, carveout, 0))?;
        for (dynamic, blocks) in [(0, 8), (1, 7), (1000, 4), (1024, 4), (8192, 1), (49_152, 1), (49_153, 0)] {
            assert_eq!(active(dynamic)?, blocks, "{dynamic} bytes");
        }
        for (blocks, share) in [(1, 49_152), (2, 4096), (3, 2688), (4, 2048), (5, 1536), (7, 1152), (8, 1024)] {
            let mut bytes = 0;
            call!(driver.cuOccupancyAvailableDynamicSMemPerBlock(&mut bytes, saxpy, blocks, 32))?;
            assert_eq!(bytes, share, "{blocks} blocks");
        }
        call!(driver.cuFuncSetAttribute(saxpy, carveout, 100))?;
        assert_eq!((active(0)?, active(8192)?), (32, 25));
        answers!(driver.cuFuncSetAttribute(saxpy, carveout, 101), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuFuncSetAttribute(saxpy, carveout, -2), CUDA_ERROR_INVALID_VALUE);
    }

    fn the_best_block_is_the_largest_that_fills_a_multiprocessor(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &vector())?;
        let saxpy = module.function("saxpy")?;
        let best = |dynamic, limit| {
            let (mut grid, mut block) = (-1, -1);
            call!(driver.cuOccupancyMaxPotentialBlockSize(&mut grid, &mut block, saxpy, None, dynamic, limit))
                .map(|()| (grid, block))
        };
        assert_eq!((best(0, 100)?, best(0, 2000)?), ((4224, 64), (264, 1024)));
        assert_eq!((best(40_000, 0)?, best(60_000, 0)?), ((264, 1024), (0, 0)));
        let (mut grid, mut block) = (0, 0);
        answers!(
            driver.cuOccupancyMaxPotentialBlockSize(&mut grid, &mut block, saxpy, None, 0, -1),
            CUDA_ERROR_INVALID_VALUE
        );
    }
}

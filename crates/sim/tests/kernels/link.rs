//! The driver's linker. What it answers and logs is what an H200 answered and logged.

use std::ffi::{CStr, CString, c_void};
use std::ptr::{null, null_mut};

use warploom_testkit::driver::{Driver, Error};
use warploom_testkit::sys::types::{CUjit_option, CUjitInputType, CUlinkState};
use warploom_testkit::{Primary, TestResult, answers, call, driver_tests};

use crate::arguments;
use crate::support::{File, download, launch, upload};

type Kind = CUjitInputType;

const HEADER: &str = ".version 8.3\n.target sm_75\n.address_size 64\n";

/// A kernel that adds `counter` to what `add5` makes of a number.
const MAIN: &str = "
.extern .func (.param .b32 r) add5(.param .b32 a);
.extern .global .align 4 .u32 counter;
.visible .entry kmain(.param .u64 p)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p];
    cvta.to.global.u64 %rd2, %rd1;
    ld.global.u32 %r1, [%rd2];
    { .param .b32 a0; .param .b32 r0; st.param.b32 [a0], %r1; call.uni (r0), add5, (a0); ld.param.b32 %r2, [r0]; }
    ld.global.u32 %r3, [counter];
    add.s32 %r4, %r2, %r3;
    st.global.u32 [%rd2], %r4;
    ret;
}";

fn function(linkage: &str, add: u32) -> String {
    format!(
        "{linkage} .func (.param .b32 r) add5(.param .b32 a)
         {{ .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.s32 %r2, %r1, {add}; st.param.b32 [r], %r2; ret; }}\n"
    )
}

fn variable(linkage: &str, value: u32) -> String {
    format!("{linkage} .global .align 4 .u32 counter = {value};\n")
}

fn library(linkage: &str, add: u32, value: u32) -> String {
    variable(linkage, value) + &function(linkage, add)
}

/// A linker with a log, destroyed when it is dropped.
struct Linker {
    driver: Driver,
    state: CUlinkState,
    log: Vec<u8>,
    values: Vec<*mut c_void>,
}

impl Linker {
    fn new(driver: &Driver) -> TestResult<Linker> {
        let mut log = vec![0_u8; 1024];
        let mut options = [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = vec![log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(log.len())];
        let mut state = null_mut();
        call!(driver.cuLinkCreate_v2(2, options.as_mut_ptr(), values.as_mut_ptr(), &mut state))?;
        Ok(Linker { driver: driver.clone(), state, log, values })
    }

    fn add(&self, name: &CStr, body: &str) -> Result<(), Error> {
        let text = CString::new(format!("{HEADER}{body}")).expect("a text without zeros");
        self.add_bytes(Kind::CU_JIT_INPUT_PTX, name, text.as_bytes_with_nul())
    }

    fn add_bytes(&self, kind: Kind, name: &CStr, bytes: &[u8]) -> Result<(), Error> {
        let driver = &self.driver;
        let data = bytes.as_ptr().cast_mut().cast();
        call!(driver.cuLinkAddData_v2(self.state, kind, data, bytes.len(), name.as_ptr(), 0, null_mut(), null_mut()))
    }

    fn complete(&self) -> Result<*mut c_void, Error> {
        let (driver, mut image, mut size) = (&self.driver, null_mut(), 0);
        call!(driver.cuLinkComplete(self.state, &mut image, &mut size)).inspect(|()| assert!(size > 64))?;
        Ok(image)
    }

    /// The text of the log, and its reported length.
    fn log(&self) -> TestResult<(&str, usize)> {
        Ok((CStr::from_bytes_until_nul(&self.log)?.to_str()?, self.values[1].addr()))
    }

    /// The kernel's result for 7.
    fn run(&self) -> TestResult<u32> {
        let (driver, mut module, mut function) = (&self.driver, null_mut(), null_mut());
        call!(driver.cuModuleLoadData(&mut module, self.complete()?))?;
        call!(driver.cuModuleGetFunction(&mut function, module, c"kmain".as_ptr()))?;
        let number = upload(driver, &[7])?;
        launch(driver, function, (1, 1), null_mut(), &mut arguments!(number))?;
        let found = download(driver, number, 1)?[0];
        call!(driver.cuMemFree_v2(number))?;
        call!(driver.cuModuleUnload(module))?;
        Ok(found)
    }
}

impl Drop for Linker {
    fn drop(&mut self) {
        let driver = &self.driver;
        call!(driver.cuLinkDestroy(self.state)).expect("it is alive");
    }
}

macro_rules! refused {
    ($outcome:expr, $code:ident) => {
        let code = warploom_testkit::code_of($outcome.map(drop));
        assert_eq!(code, warploom_testkit::sys::types::CUresult::$code);
    };
}

driver_tests! {
    fn texts_that_need_each_other_become_one_image(driver) {
        let _primary = Primary::of(driver, 0)?;
        for order in [[c"main", c"lib"], [c"lib", c"main"]] {
            let linker = Linker::new(driver)?;
            for name in order {
                let text = if name == c"main" { MAIN.to_owned() } else { library(".visible", 5, 100) };
                linker.add(name, &text)?;
            }
            assert_eq!(linker.run()?, 112);
            assert_eq!(linker.log()?, ("", 0));
        }
    }

    fn an_image_is_a_library_too_and_lasts_as_long_as_its_linker(driver) {
        let _primary = Primary::of(driver, 0)?;
        let linker = Linker::new(driver)?;
        linker.add(c"main", MAIN)?;
        linker.add(c"lib", &library(".visible", 5, 100))?;
        let (image, mut library, mut kernel) = (linker.complete()?, null_mut(), null_mut());
        call!(driver.cuLibraryLoadData(&mut library, image, null_mut(), null_mut(), 0, null_mut(), null_mut(), 0))?;
        drop(linker);
        call!(driver.cuLibraryGetKernel(&mut kernel, library, c"kmain".as_ptr()))?;
        let number = upload(driver, &[7])?;
        launch(driver, kernel.cast(), (1, 1), null_mut(), &mut arguments!(number))?;
        assert_eq!(download(driver, number, 1)?, [112]);
        call!(driver.cuMemFree_v2(number))?;
        call!(driver.cuLibraryUnload(library))?;
    }

    fn an_undefined_symbol_is_logged_when_the_link_is_completed(driver) {
        let _primary = Primary::of(driver, 0)?;
        let linker = Linker::new(driver)?;
        linker.add(c"main.ptx", MAIN)?;
        refused!(linker.complete(), CUDA_ERROR_INVALID_SOURCE);
        let expected = "error   : Undefined reference to 'add5' in 'main.ptx'\n\
                        error   : Undefined reference to 'counter' in 'main.ptx'";
        assert_eq!(linker.log()?, (expected, expected.len()));
        refused!(linker.add(c"lib.ptx", &library(".visible", 5, 100)), CUDA_ERROR_INVALID_VALUE);
        refused!(linker.complete(), CUDA_ERROR_INVALID_SOURCE);
    }

    fn a_symbol_defined_twice_is_logged_when_the_second_is_added(driver) {
        let _primary = Primary::of(driver, 0)?;
        let linker = Linker::new(driver)?;
        linker.add(c"main.ptx", MAIN)?;
        linker.add(c"lib.ptx", &library(".visible", 5, 100))?;
        refused!(linker.add(c"lib2.ptx", &library(".visible", 6, 100)), CUDA_ERROR_INVALID_SOURCE);
        let expected = "error   : Multiple definition of 'add5' in 'lib2.ptx', first defined in 'lib.ptx'\n\
                        error   : Multiple definition of 'counter' in 'lib2.ptx', first defined in 'main.ptx'";
        assert_eq!(linker.log()?, (expected, expected.len()));
        refused!(linker.add(c"only.ptx", ".visible .entry only() { ret; }"), CUDA_ERROR_INVALID_SOURCE);
        refused!(linker.complete(), CUDA_ERROR_INVALID_SOURCE);
    }

    fn declarations_that_do_not_fit_are_logged(driver) {
        let _primary = Primary::of(driver, 0)?;
        let wide = ".visible .global .align 8 .u64 counter = 100;";
        let constant = ".visible .const .align 4 .u32 counter = 100;";
        let other = function(".visible", 5).replace("(.param .b32 a)", "(.param .b64 a)");
        for (text, expected) in [
            (wide, "error   : Size doesn't match for 'counter' in 'other.ptx', first specified in 'main.ptx'"),
            (constant, "error   : Memory space doesn't match for 'counter' in 'other.ptx', first specified in 'main.ptx'"),
            (&other, "error   : Prototype doesn't match for 'add5' in 'other.ptx', first defined in 'other.ptx'"),
        ] {
            let linker = Linker::new(driver)?;
            linker.add(c"main.ptx", MAIN)?;
            refused!(linker.add(c"other.ptx", text), CUDA_ERROR_INVALID_SOURCE);
            assert_eq!(linker.log()?, (expected, expected.len()));
        }
    }

    fn weak_and_common_definitions_give_way(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (weak, other) = (library(".weak", 5, 100), library(".weak", 6, 200));
        let (strong, five) = (library(".visible", 6, 100), function(".visible", 5));
        let common = ".common .global .align 4 .u32 counter;".to_owned();
        let larger = ".common .global .align 8 .b8 counter[16];".to_owned();
        for (texts, expected) in [
            (vec![&weak, &other], 112),
            (vec![&other, &weak], 213),
            (vec![&weak, &strong], 113),
            (vec![&strong, &weak], 113),
            (vec![&five, &common], 12),
            (vec![&five, &common, &larger], 12),
            (vec![&five, &common, &variable(".visible", 100)], 112),
        ] {
            let linker = Linker::new(driver)?;
            linker.add(c"main.ptx", MAIN)?;
            for text in texts {
                linker.add(c"piece.ptx", text)?;
            }
            assert_eq!(linker.run()?, expected);
        }
    }

    fn a_piece_that_is_wrong_alone_is_left_out(driver) {
        let _primary = Primary::of(driver, 0)?;
        let linker = Linker::new(driver)?;
        linker.add(c"main", MAIN)?;
        refused!(linker.add(c"bad", ".visible .entry bad() {\n  no such;\n}"), CUDA_ERROR_INVALID_PTX);
        let (log, length) = linker.log()?;
        assert!(log.starts_with("ptxas application ptx input, line 5; error   : "), "{log}");
        assert_eq!(length, log.len());
        let newer = CString::new(HEADER.replace("8.3", "9.9"))?;
        refused!(
            linker.add_bytes(Kind::CU_JIT_INPUT_PTX, c"newer", newer.as_bytes_with_nul()),
            CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        );
        linker.add(c"lib", &library(".visible", 5, 100))?;
        assert_eq!(linker.run()?, 112);
    }

    fn names_that_texts_keep_to_themselves_do_not_meet(driver) {
        let _primary = Primary::of(driver, 0)?;
        let own = |kernel: &str| format!(".func own(.param .b32 a) {{ ret; }}\n.visible .entry {kernel}() {{ .param .b32 q; call own, (q); ret; }}");
        let linker = Linker::new(driver)?;
        linker.add(c"one", &own("one"))?;
        linker.add(c"two", &own("two"))?;
        let (mut module, mut count) = (null_mut(), 0);
        call!(driver.cuModuleLoadData(&mut module, linker.complete()?))?;
        call!(driver.cuModuleGetFunctionCount(&mut count, module))?;
        assert_eq!(count, 2);
        call!(driver.cuModuleUnload(module))?;
    }

    fn pieces_are_found_in_containers(driver) {
        let _primary = Primary::of(driver, 0)?;
        let images: [(Kind, &[u8]); 4] = [
            (Kind::CU_JIT_INPUT_FATBINARY, include_bytes!("images/link/lib.fatbin")),
            (Kind::CU_JIT_INPUT_CUBIN, include_bytes!("images/link/libline.rdc.cubin")),
            (Kind::CU_JIT_INPUT_OBJECT, include_bytes!("images/link/o_ptx.o")),
            (Kind::CU_JIT_INPUT_LIBRARY, include_bytes!("images/link/o.a")),
        ];
        for (kind, bytes) in images {
            // The driver may want them aligned, which a constant of bytes is not.
            let words: Vec<u64> = bytes.chunks(8).map(crate::support::word).collect();
            let linker = Linker::new(driver)?;
            linker.add(c"main", MAIN)?;
            let data = words.as_ptr().cast_mut().cast();
            call!(driver.cuLinkAddData_v2(
                linker.state, kind, data, bytes.len(), c"lib".as_ptr(), 0, null_mut(), null_mut()
            ))?;
            assert_eq!(linker.run()?, 112, "kind {}", kind.0);
        }
        let linker = Linker::new(driver)?;
        refused!(linker.add_bytes(Kind::CU_JIT_INPUT_OBJECT, c"none", b"hello\0"), CUDA_ERROR_UNKNOWN);
    }

    fn code_that_is_finished_is_not_linked(driver) {
        let _primary = Primary::of(driver, 0)?;
        let linker = Linker::new(driver)?;
        linker.add(c"main", MAIN)?;
        let only = include_bytes!("images/link/only.cubin");
        refused!(linker.add_bytes(Kind::CU_JIT_INPUT_CUBIN, c"only", only), CUDA_ERROR_NO_BINARY_FOR_GPU);
        refused!(linker.add(c"lib", &library(".visible", 5, 100)), CUDA_ERROR_NO_BINARY_FOR_GPU);
        refused!(linker.complete(), CUDA_ERROR_NO_BINARY_FOR_GPU);
    }

    sim fn machine_code_that_has_no_ptx_is_of_no_use(driver) {
        let _primary = Primary::of(driver, 0)?;
        let images: [(Kind, &[u8]); 2] = [
            (Kind::CU_JIT_INPUT_CUBIN, include_bytes!("images/link/lib.rdc.cubin")),
            (Kind::CU_JIT_INPUT_FATBINARY, include_bytes!("images/link/librdc.fatbin")),
        ];
        for (kind, bytes) in images {
            let linker = Linker::new(driver)?;
            refused!(linker.add_bytes(kind, c"lib", bytes), CUDA_ERROR_NO_BINARY_FOR_GPU);
            assert!(linker.log()?.0.contains("-lineinfo"), "{:?}", linker.log()?);
        }
    }

    fn pieces_are_read_from_files(driver) {
        let _primary = Primary::of(driver, 0)?;
        let linker = Linker::new(driver)?;
        for (name, text) in [("main.ptx", MAIN.to_owned()), ("lib.ptx", library(".visible", 5, 100))] {
            let file = File::new(name, format!("{HEADER}{text}").as_bytes())?;
            let path = file.name.as_ptr();
            call!(driver.cuLinkAddFile_v2(linker.state, Kind::CU_JIT_INPUT_PTX, path, 0, null_mut(), null_mut()))?;
        }
        let add = |kind, path| {
            call!(driver.cuLinkAddFile_v2(linker.state, kind, path, 0, null_mut(), null_mut()))
        };
        refused!(add(Kind::CU_JIT_INPUT_PTX, c"/no/such/file".as_ptr()), CUDA_ERROR_FILE_NOT_FOUND);
        refused!(add(Kind::CU_JIT_INPUT_PTX, null()), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(linker.run()?, 112);
    }

    fn an_image_is_for_the_architecture_that_was_asked_for(driver) {
        let _primary = Primary::of(driver, 0)?;
        for (target, loads) in [(90, true), (80, false), (100, false)] {
            let (mut options, mut state) = ([CUjit_option::CU_JIT_TARGET], null_mut());
            let mut values = [std::ptr::without_provenance_mut(target)];
            call!(driver.cuLinkCreate_v2(1, options.as_mut_ptr(), values.as_mut_ptr(), &mut state))?;
            let (mut image, mut module) = (null_mut(), null_mut());
            call!(driver.cuLinkComplete(state, &mut image, null_mut()))?;
            let loaded = call!(driver.cuModuleLoadData(&mut module, image));
            if loads {
                loaded?;
                call!(driver.cuModuleUnload(module))?;
            } else {
                refused!(loaded, CUDA_ERROR_NO_BINARY_FOR_GPU);
            }
            call!(driver.cuLinkDestroy(state))?;
        }
    }

    fn mistakes_around_linking_are_refused(driver) {
        let mut state = null_mut();
        answers!(driver.cuLinkCreate_v2(0, null_mut(), null_mut(), &mut state), CUDA_ERROR_INVALID_CONTEXT);
        let _primary = Primary::of(driver, 0)?;
        answers!(driver.cuLinkCreate_v2(0, null_mut(), null_mut(), null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuLinkCreate_v2(1, null_mut(), null_mut(), &mut state), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuLinkDestroy(null_mut()), CUDA_ERROR_INVALID_HANDLE);
        let mut buffer = [0_u8; 20];
        let mut values = [buffer.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(buffer.len())];
        for option in [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option(99)] {
            let mut options = [option];
            answers!(
                driver.cuLinkCreate_v2(1, options.as_mut_ptr(), values.as_mut_ptr(), &mut state),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        let linker = Linker::new(driver)?;
        let text = CString::new(format!("{HEADER}.visible .entry only() {{ ret; }}"))?;
        let (data, size) = (text.as_ptr().cast_mut().cast::<c_void>(), text.as_bytes_with_nul().len());
        for (kind, data, size) in [
            (Kind::CU_JIT_INPUT_PTX, null_mut(), size),
            (Kind::CU_JIT_INPUT_PTX, data, 0),
            (CUjitInputType(9), data, size),
        ] {
            answers!(
                driver.cuLinkAddData_v2(linker.state, kind, data, size, c"x".as_ptr(), 0, null_mut(), null_mut()),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        let mut options =
            [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        answers!(
            driver.cuLinkAddData_v2(
                linker.state, Kind::CU_JIT_INPUT_PTX, data, size, c"x".as_ptr(), 2, options.as_mut_ptr(),
                values.as_mut_ptr()
            ),
            CUDA_ERROR_INVALID_VALUE
        );
        for kind in [Kind::CU_JIT_INPUT_PTX, Kind::CU_JIT_INPUT_CUBIN, Kind::CU_JIT_INPUT_FATBINARY] {
            let linker = Linker::new(driver)?;
            refused!(linker.add_bytes(kind, c"garbage", b"hello\0"), CUDA_ERROR_INVALID_IMAGE);
        }
        linker.add_bytes(Kind::CU_JIT_INPUT_PTX, c"only", text.as_bytes())?;
        answers!(driver.cuLinkComplete(linker.state, null_mut(), null_mut()), CUDA_ERROR_INVALID_VALUE);
        linker.complete()?;
        refused!(linker.complete(), CUDA_ERROR_INVALID_HANDLE);
        refused!(linker.add(c"late", ""), CUDA_ERROR_INVALID_VALUE);
    }

    sim fn a_linker_that_is_gone_is_named(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (mut state, mut image) = (null_mut(), null_mut());
        call!(driver.cuLinkCreate_v2(0, null_mut(), null_mut(), &mut state))?;
        call!(driver.cuLinkDestroy(state))?;
        answers!(driver.cuLinkDestroy(state), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuLinkComplete(state, &mut image, null_mut()), CUDA_ERROR_INVALID_HANDLE);
    }
}

//! Code in containers: fatbins and cubins.

use std::ffi::c_void;
use std::ptr::null_mut;

use warploom_sim::topology::Topology;
use warploom_sim::{Mode, Order};
use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUmodule, CUresult};
use warploom_testkit::{Primary, TestResult, answers, call, code_of, driver_tests, open};

use crate::arguments;
use crate::support::{File, download, launch, upload, word};

const IMAGES: [(&str, &[u8]); 5] = [
    ("plain.fatbin", include_bytes!("images/plain.fatbin")),
    ("lz4.fatbin", include_bytes!("images/lz4.fatbin")),
    ("zstd.fatbin", include_bytes!("images/zstd.fatbin")),
    ("lineinfo.cubin", include_bytes!("images/lineinfo.cubin")),
    // Of a compiler that is newer than the driver, which could not read the text.
    ("newer.cubin", include_bytes!("images/newer.cubin")),
];

/// Two files, linked with each other: by nvlink, by nvJitLink, and by nvJitLink from LTO-IR.
const LINKED: [(&str, &[u8]); 3] = [
    ("linked.cubin", include_bytes!("images/linked/linked.cubin")),
    ("nvjitlink.cubin", include_bytes!("images/linked/nvjitlink.cubin")),
    ("lto.cubin", include_bytes!("images/linked/lto.cubin")),
];

macro_rules! choices {
    ($($name:literal $expected:literal)*) => {
        [$(($name, include_bytes!(concat!("images/choice/", $name, ".fatbin")), $expected)),*]
    };
}

/// Fatbins, and the number that the member writes that an H200 chooses.
const CHOICES: [(&str, &[u8], u32); 8] = choices! {
    "texts" 1090
    "older_texts" 1080
    "equal_texts" 1091
    "specific_text" 1099
    "cubin_and_text" 2090
    "equal_cubins" 2090
    "specific_cubin" 2099
    "other_cubin" 1075
};

/// Loads a module, increments a number with it, and unloads it.
fn increments(driver: &Driver, module: CUmodule) -> TestResult {
    let (mut function, number) = (null_mut(), upload(driver, &[41])?);
    call!(driver.cuModuleGetFunction(&mut function, module, c"increment".as_ptr()))?;
    launch(driver, function, (1, 1), null_mut(), &mut arguments!(number))?;
    assert_eq!(download(driver, number, 1)?, [42]);
    call!(driver.cuMemFree_v2(number))?;
    Ok(call!(driver.cuModuleUnload(module))?)
}

/// The wrapper structure of embedded fatbins.
#[repr(C)]
struct Wrapper {
    magic: u32,
    version: u32,
    data: *const c_void,
    unused: *const c_void,
}

driver_tests! {
    fn code_is_found_in_every_container(driver) {
        let _primary = Primary::of(driver, 0)?;
        for (name, image) in IMAGES {
            let mut module = null_mut();
            // The driver may want them aligned, which a constant of bytes is not.
            let words: Vec<u64> = image.chunks(8).map(word).collect();
            call!(driver.cuModuleLoadData(&mut module, words.as_ptr().cast())).map_err(|error| format!("{name}: {error}"))?;
            increments(driver, module)?;
        }
    }

    fn code_is_read_from_files(driver) {
        let _primary = Primary::of(driver, 0)?;
        for (name, image) in IMAGES.into_iter().chain([("increment.ptx", &include_bytes!("images/increment.ptx")[..])]) {
            let file = File::new(name, image)?;
            let mut module = null_mut();
            call!(driver.cuModuleLoad(&mut module, file.name.as_ptr())).map_err(|error| format!("{name}: {error}"))?;
            increments(driver, module)?;
        }
    }

    fn the_fatbin_wrapper_of_a_host_compiler_is_no_image(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (mut module, words): (_, Vec<u64>) = (null_mut(), IMAGES[1].1.chunks(8).map(word).collect());
        let wrapper = Wrapper { magic: 0x4662_43b1, version: 1, data: words.as_ptr().cast(), unused: null_mut() };
        assert!(wrapper.version == 1 && wrapper.unused.is_null() && wrapper.magic != 0 && !wrapper.data.is_null());
        let image = (&raw const wrapper).cast();
        answers!(driver.cuModuleLoadFatBinary(&mut module, image), CUDA_ERROR_INVALID_IMAGE);
        answers!(driver.cuModuleLoadData(&mut module, image), CUDA_ERROR_INVALID_IMAGE);
        call!(driver.cuModuleLoadFatBinary(&mut module, words.as_ptr().cast()))?;
        increments(driver, module)?;
    }

    fn parts_of_a_linked_cubin_use_each_other(driver) {
        let _primary = Primary::of(driver, 0)?;
        for (name, image) in LINKED {
            let words: Vec<u64> = image.chunks(8).map(word).collect();
            let mut module = null_mut();
            call!(driver.cuModuleLoadData(&mut module, words.as_ptr().cast())).map_err(|error| format!("{name}: {error}"))?;
            let (mut function, into) = (null_mut(), upload(driver, &[0; 16])?);
            call!(driver.cuModuleGetFunction(&mut function, module, c"linked".as_ptr()))?;
            let mut arguments = arguments!(into);
            call!(driver.cuLaunchKernel(
                function, 1, 1, 1, 8, 1, 1, 32, null_mut(), arguments.as_mut_ptr(), null_mut()
            ))?;
            let expected: Vec<u32> = (0..8).map(|i| (3 * i + 8) * 10 + 2 * i + (i % 4 + 1) + 5).collect();
            let doubled: Vec<u32> = (0..8).map(|i| 2 * i).collect();
            assert_eq!(download(driver, into, 16)?, [expected, doubled].concat(), "{name}");
            call!(driver.cuModuleGetFunction(&mut function, module, c"other".as_ptr()))?;
            launch(driver, function, (1, 1), null_mut(), &mut arguments!(into))?;
            assert_eq!(download(driver, into, 1)?, [608], "{name}");
            call!(driver.cuMemFree_v2(into))?;
            call!(driver.cuModuleUnload(module))?;
        }
    }

    fn a_member_of_a_fatbin_is_chosen(driver) {
        let _primary = Primary::of(driver, 0)?;
        for (name, image, expected) in CHOICES {
            let words: Vec<u64> = image.chunks(8).map(word).collect();
            let mut module = null_mut();
            call!(driver.cuModuleLoadData(&mut module, words.as_ptr().cast())).map_err(|error| format!("{name}: {error}"))?;
            let (mut function, into) = (null_mut(), upload(driver, &[0])?);
            call!(driver.cuModuleGetFunction(&mut function, module, c"k".as_ptr()))?;
            launch(driver, function, (1, 1), null_mut(), &mut arguments!(into))?;
            assert_eq!(download(driver, into, 1)?, [expected], "{name}");
            call!(driver.cuMemFree_v2(into))?;
            call!(driver.cuModuleUnload(module))?;
        }
        let none: Vec<u64> = include_bytes!("images/choice/later_text.fatbin").chunks(8).map(word).collect();
        let mut module = null_mut();
        answers!(driver.cuModuleLoadData(&mut module, none.as_ptr().cast()), CUDA_ERROR_NO_BINARY_FOR_GPU);
    }

    // The H200 was asked with a driver for CUDA 13.0.
    sim fn a_text_that_the_driver_cannot_read_is_not_passed_over(driver) {
        let _primary = Primary::of(driver, 0)?;
        let image: Vec<u64> = include_bytes!("images/choice/newer_text.fatbin").chunks(8).map(word).collect();
        let mut module = null_mut();
        answers!(driver.cuModuleLoadData(&mut module, image.as_ptr().cast()), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    }

    fn code_that_is_to_be_linked_loads_without_kernels(driver) {
        let _primary = Primary::of(driver, 0)?;
        let image: Vec<u64> = include_bytes!("images/link/libline.rdc.cubin").chunks(8).map(word).collect();
        let (mut module, mut count) = (null_mut(), 7);
        call!(driver.cuModuleLoadData(&mut module, image.as_ptr().cast()))?;
        call!(driver.cuModuleGetFunctionCount(&mut count, module))?;
        assert_eq!(count, 0);
        call!(driver.cuModuleUnload(module))?;
    }

    sim fn machine_code_without_ptx_is_of_no_use(driver) {
        let _primary = Primary::of(driver, 0)?;
        let images: [&[u8]; 2] = [include_bytes!("images/plain.cubin"), include_bytes!("images/cubin.fatbin")];
        for image in images {
            let mut module = null_mut();
            answers!(driver.cuModuleLoadData(&mut module, image.as_ptr().cast()), CUDA_ERROR_NO_BINARY_FOR_GPU);
        }
    }
}

#[test]
fn the_log_says_why_machine_code_is_of_no_use() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Sync)?;
    let _primary = Primary::of(&driver, 0)?;
    let (image, mut module) = (include_bytes!("images/plain.cubin"), null_mut());
    answers!(driver.cuModuleLoadData(&mut module, image.as_ptr().cast()), CUDA_ERROR_NO_BINARY_FOR_GPU);
    let reason = machine.log().pop().expect("it was refused").reason;
    assert!(reason.contains("-lineinfo") && reason.contains("ProgramOptions(lineinfo=True)"), "{reason}");
    let [advice] = machine.advice()[..] else { panic!("{:?}", machine.advice()) };
    assert!(advice.lines().count() == 2 && reason.ends_with(advice), "{reason}");
    answers!(driver.cuModuleLoadData(&mut module, image.as_ptr().cast()), CUDA_ERROR_NO_BINARY_FOR_GPU);
    let reason = machine.log().pop().expect("it was refused").reason;
    assert!(reason.contains("no PTX") && !reason.contains("-lineinfo"), "said once: {reason}");
    assert_eq!(machine.advice(), [advice]);
    Ok(())
}

#[test]
fn the_log_names_a_function_of_a_linked_part_without_ptx() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Sync)?;
    let _primary = Primary::of(&driver, 0)?;
    let (image, mut module) = (include_bytes!("images/linked/half.cubin"), null_mut());
    answers!(driver.cuModuleLoadData(&mut module, image.as_ptr().cast()), CUDA_ERROR_NO_BINARY_FOR_GPU);
    let reason = machine.log().pop().expect("it was refused").reason;
    assert!(reason.contains("_Z6scaledi") && reason.contains("-lineinfo"), "{reason}");
    Ok(())
}

/// LTO-IR is compiled where nvJitLink is, and refused with its name where it is not.
#[test]
fn lto_ir_is_loaded_by_nvjitlink_or_refused_with_its_name() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Sync)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let images: [(&str, &[u8]); 2] = [
        ("lto.fatbin", include_bytes!("images/linked/lto.fatbin")),
        ("lto.ltoir", include_bytes!("images/linked/lto.ltoir")),
    ];
    for (name, image) in images {
        let (file, mut module) = (File::new(name, image)?, null_mut());
        match call!(driver.cuModuleLoad(&mut module, file.name.as_ptr())) {
            Ok(()) => increments(driver, module)?,
            Err(error) if std::env::var_os("WARPLOOM_NVJITLINK").is_some() => {
                return Err(format!("{name}: {error}").into());
            }
            Err(_) => {
                let reason = machine.log().pop().expect("it was refused").reason;
                assert!(reason.contains("nvidia-nvjitlink"), "{name}: {reason}");
            }
        }
    }
    Ok(())
}

/// Bytes all over every container damaged in turn, and lengths it could be cut to: an answer, and nothing
/// else.
#[test]
fn damaged_containers_are_refused_or_run() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(Order::Lazy))?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let file = File::new("damaged", b"")?;
    for (_, image) in IMAGES {
        for at in (0..image.len()).step_by(if image.len() > 1000 { 61 } else { 3 }) {
            let mut damaged = image.to_vec();
            damaged[at] ^= 0xff;
            for bytes in [&damaged[..], &image[..at]] {
                std::fs::write(&file.path, bytes)?;
                let mut module = null_mut();
                match code_of(call!(driver.cuModuleLoad(&mut module, file.name.as_ptr()))) {
                    CUresult::CUDA_SUCCESS => call!(driver.cuModuleUnload(module))?,
                    CUresult::CUDA_ERROR_INVALID_IMAGE
                    | CUresult::CUDA_ERROR_INVALID_PTX
                    | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
                    | CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU => assert!(module.is_null()),
                    other => panic!("byte {at}: {other}"),
                }
            }
        }
    }
    Ok(())
}

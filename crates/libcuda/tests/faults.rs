//! Programs on a library whose machine goes wrong on purpose.
#![expect(unsafe_code, reason = "loads a library and calls C functions")]

use std::error::Error;
use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use libloading::Library;
use warploom_cuda::FAULTS_VARIABLE;
use warploom_driver::Driver;
use warploom_sys::types::CUresult;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn path() -> Outcome<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name("libwarploom_cuda.so"))
}

/// Runs one of the programs below in a process of its own.
fn run(program: &str, plan: &str) -> Outcome<Output> {
    let mut command = Command::new(std::env::current_exe()?);
    Ok(command.args(["--exact", program, "--ignored", "--nocapture"]).env(FAULTS_VARIABLE, plan).output()?)
}

#[test]
#[ignore = "a program that other tests run, with a plan"]
fn a_program_that_initialises_twice() -> Outcome {
    // SAFETY: the library is this package's own.
    let driver = unsafe { Driver::load_from(&path()?) }?;
    let code = driver.initialize().err().and_then(|error| error.code());
    assert_eq!(code, Some(CUresult::CUDA_ERROR_NO_DEVICE));
    driver.initialize()?;
    Ok(())
}

#[test]
#[ignore = "a program that other tests run, with a plan"]
fn a_program_that_finds_nothing_ready() -> Outcome {
    // SAFETY: the library is this package's own, and this is the function's C signature.
    let (code, name) = unsafe {
        let library = Library::new(path()?)?;
        let code = library.get::<unsafe extern "C" fn(u32) -> CUresult>(b"cuInit\0")?(0);
        let mut name = std::ptr::null();
        let get_name = b"cuGetErrorName\0";
        let told = library.get::<unsafe extern "C" fn(CUresult, *mut *const c_char) -> CUresult>(get_name)?;
        assert_eq!(told(code, &raw mut name), CUresult::CUDA_SUCCESS);
        (code, CStr::from_ptr(name).to_owned())
    };
    assert_eq!(code, CUresult::CUDA_ERROR_SYSTEM_NOT_READY);
    assert_eq!(name.as_c_str(), c"CUDA_ERROR_SYSTEM_NOT_READY");
    Ok(())
}

#[test]
#[ignore = "a program that other tests run, with a plan"]
fn a_program_that_misses_a_function() -> Outcome {
    // SAFETY: the library is this package's own, and this is the function's C signature.
    let code = unsafe {
        let library = Library::new(path()?)?;
        library.get::<unsafe extern "C" fn(*mut i32) -> CUresult>(b"cuDeviceGetCount\0")?(&mut 0)
    };
    assert_eq!(code, CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
    Ok(())
}

#[test]
fn a_function_that_a_plan_hides_says_that_it_is_not_there() -> Outcome {
    let output = run("a_program_that_misses_a_function", "hide = [\"cuDeviceGetCount\"]")?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[test]
fn the_environment_decides_what_fails() -> Outcome {
    let text = "[[fault]]\ncall = \"cuInit\"\nnth = 1\ncode = \"CUDA_ERROR_NO_DEVICE\"\n";
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults.toml");
    std::fs::write(&path, text)?;
    for plan in [text, &path.to_string_lossy()] {
        let output = run("a_program_that_initialises_twice", plan)?;
        assert!(output.status.success(), "{plan}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

#[test]
fn a_plan_that_is_none_is_reported_by_its_key_and_nothing_is_answered() -> Outcome {
    for (plan, expected) in [
        ("[[fault]]\ncal = \"cuInit\"\n", "no plan: line 2, column 1: fault[0]: unknown key \"cal\""),
        ("/absent/plan", "/absent/plan"),
        ("[[fault]]\ndevice = 1\ncode = 2\n", "does not fit the machine: there is no device 1; the machine has 1"),
    ] {
        let output = run("a_program_that_finds_nothing_ready", plan)?;
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains(FAULTS_VARIABLE) && said.contains(expected), "{said}");
    }
    Ok(())
}

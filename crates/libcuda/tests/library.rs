//! The built library, loaded as any program would load the driver.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "loads the library and calls its functions")]

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::ptr::null_mut;

use libloading::Library;
use object::{Object, ObjectSymbol};
use warploom_cuda::MACHINE_VARIABLE;
use warploom_driver::{Driver, DriverVersion, Function};
use warploom_sim::topology::Topology;
use warploom_sys::types::{CUevent, CUresult, CUstream};

type Outcome = Result<(), Box<dyn Error>>;

/// Says to a test in a process of its own what it should find.
const EXPECTED_VARIABLE: &str = "WARPLOOM_EXPECTED";

/// The path of the library that cargo built with this test.
fn path() -> Result<PathBuf, Box<dyn Error>> {
    Ok(std::env::current_exe()?.with_file_name("libwarploom_cuda.so"))
}

fn load() -> Result<Driver, Box<dyn Error>> {
    // SAFETY: the library is this package's own.
    Ok(unsafe { Driver::load_from(&path()?) }?)
}

/// Runs one of these tests in a process with another machine.
fn run_with(machine: &str, test: &str, expected: &str) -> Result<Output, Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--exact", test, "--nocapture"]).env(MACHINE_VARIABLE, machine).env(EXPECTED_VARIABLE, expected);
    Ok(command.output()?)
}

#[test]
fn every_function_of_the_list_is_exported() -> Outcome {
    // SAFETY: the library is this package's own.
    let library = unsafe { Library::new(path()?) }?;
    for function in Function::ALL {
        let suffixes = [Some(""), function.per_thread().map(|(_, suffix)| suffix)];
        for suffix in suffixes.into_iter().flatten() {
            let name = format!("{function}{suffix}");
            // SAFETY: only looked for, not called.
            let found = unsafe { library.get::<*const ()>(name.as_bytes()) };
            assert!(found.is_ok(), "{name}");
        }
    }
    Ok(())
}

/// Every name that the CUDA headers declare, as `cargo xtask generate` reads them.
const DECLARED: &str = include_str!("../../sys/symbols.txt");
/// The functions of a header that is not in the package.
const PROFILER: [&str; 3] = ["cuProfilerInitialize", "cuProfilerStart", "cuProfilerStop"];

#[test]
fn the_export_list_is_the_list_of_the_headers() -> Outcome {
    let bytes = std::fs::read(path()?)?;
    let library = object::File::parse(&*bytes)?;
    let names = library.dynamic_symbols().filter(ObjectSymbol::is_definition).filter_map(|symbol| symbol.name().ok());
    let exported: BTreeSet<&str> = names.filter(|name| name.starts_with("cu")).collect();
    let declared: BTreeSet<&str> = DECLARED.lines().chain(PROFILER).collect();
    assert_eq!(exported.symmetric_difference(&declared).collect::<Vec<_>>(), [&""; 0]);
    assert!(declared.len() > 700, "{} names", declared.len());
    Ok(())
}

#[test]
fn the_loader_knows_the_library_by_the_drivers_name() -> Outcome {
    let bytes = std::fs::read(path()?)?;
    let name = b"\0libcuda.so.1\0";
    assert!(bytes.windows(name.len()).any(|window| window == name));
    Ok(())
}

#[test]
fn a_program_counts_its_devices() -> Outcome {
    let expected: i32 = std::env::var(EXPECTED_VARIABLE).map_or(Ok(1), |count| count.parse())?;
    let driver = load()?;
    driver.initialize()?;
    let mut count = 0;
    // SAFETY: the pointer is good for the call.
    unsafe { driver.cuDeviceGetCount(&mut count) }?;
    assert_eq!(count, expected);
    Ok(())
}

#[test]
fn the_environment_chooses_the_machine() -> Outcome {
    for (machine, devices) in [("dgx-h100", "8"), ("pcie-pair", "2")] {
        let output = run_with(machine, "a_program_counts_its_devices", devices)?;
        assert!(output.status.success(), "{machine}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

#[test]
fn a_machine_that_is_none_is_reported_and_answers_nothing() -> Outcome {
    let output = run_with("dgx-h1000", "a_program_counts_its_devices", "0")?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains(MACHINE_VARIABLE) && said.contains("did you mean \"dgx-h100\"?"), "{said}");
    Ok(())
}

#[test]
fn a_program_calls_a_function_of_12_8() -> Outcome {
    let expected_missing = std::env::var(EXPECTED_VARIABLE).is_ok_and(|expected| expected == "missing");
    // SAFETY: the library is this package's own.
    let library = unsafe { Library::new(path()?) }?;
    // SAFETY: this is the function's C signature.
    let elapsed = unsafe {
        library.get::<unsafe extern "C" fn(*mut f32, CUevent, CUevent) -> CUresult>(b"cuEventElapsedTime_v2\0")
    }?;
    // SAFETY: null is refused.
    let code = unsafe { elapsed(null_mut(), null_mut(), null_mut()) };
    assert_eq!(code == CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, expected_missing, "{code}");
    Ok(())
}

#[test]
fn an_older_driver_refuses_what_came_after_it() -> Outcome {
    let old = Topology::preset("h200")?.into_builder().driver_version(12, 0).build()?;
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("driver-12-0.toml");
    std::fs::write(&path, old.to_toml())?;
    let output = run_with(&path.to_string_lossy(), "a_program_calls_a_function_of_12_8", "missing")?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[test]
fn the_exported_functions_and_the_resolvers_are_one_machine() -> Outcome {
    let driver = load()?;
    driver.initialize()?;
    assert!(driver.version() >= DriverVersion::new(12, 0));
    // SAFETY: the library is this package's own.
    let library = unsafe { Library::new(path()?) }?;
    // SAFETY: these are the C signatures of the two functions.
    let (get, count) = unsafe {
        (
            library.get::<unsafe extern "C" fn(*mut i32, i32) -> i32>(b"cuDeviceGet\0")?,
            library.get::<unsafe extern "C" fn(*mut i32) -> i32>(b"cuDeviceGetCount\0")?,
        )
    };
    let (mut device, mut devices) = (-1, 0);
    // SAFETY: the pointers are good for the calls.
    let answers = unsafe { [get(&mut device, 0), count(&mut devices)] };
    assert_eq!((answers, device, devices), ([0, 0], 0, 1), "initialised through one, usable through the other");
    Ok(())
}

#[test]
fn variants_for_per_thread_default_streams_are_the_machines_own() -> Outcome {
    load()?.initialize()?;
    // SAFETY: the library is this package's own.
    let library = unsafe { Library::new(path()?) }?;
    // SAFETY: this is the function's C signature.
    let query = unsafe { library.get::<unsafe extern "C" fn(CUstream) -> CUresult>(b"cuStreamQuery_ptsz\0") }?;
    // SAFETY: null is a stream.
    assert_eq!(unsafe { query(null_mut()) }, CUresult::CUDA_ERROR_INVALID_CONTEXT, "there is none on this thread");
    Ok(())
}

#[test]
fn a_function_that_is_looked_up_is_the_one_that_is_exported() -> Outcome {
    // SAFETY: the library is this package's own.
    let library = unsafe { Library::new(path()?) }?;
    // SAFETY: this is the function's C signature.
    let ask = unsafe { library.get::<warploom_sys::GetProcAddress>(b"cuGetProcAddress_v2\0") }?;
    let driver = load()?.version().as_raw();
    for function in Function::ALL.iter().filter(|function| function.version() <= driver) {
        let name = std::ffi::CString::new(function.base_name())?;
        let variants =
            [Some((function.version(), "", 1)), function.per_thread().map(|(since, suffix)| (since, suffix, 2))];
        for (version, suffix, flags) in variants.into_iter().flatten() {
            let mut found = null_mut();
            // SAFETY: the name is terminated, and the pointer is good for the call.
            let code = unsafe { ask(name.as_ptr(), &mut found, version, flags, null_mut()) };
            let symbol = format!("{function}{suffix}");
            // SAFETY: only looked for, not called.
            let exported = unsafe { library.get::<*mut std::ffi::c_void>(symbol.as_bytes()) }?;
            assert_eq!((code, found), (CUresult::CUDA_SUCCESS, *exported), "{symbol}");
        }
    }
    Ok(())
}

#[test]
fn a_wild_out_pointer_is_refused() -> Outcome {
    let driver = load()?;
    driver.initialize()?;
    // SAFETY: the library looks at pointers before it follows them, and this is what is tested.
    let answer = unsafe { driver.cuDeviceGetCount(std::ptr::without_provenance_mut(0xdead_0000)) };
    assert_eq!(answer.err().and_then(|error| error.code()), Some(CUresult::CUDA_ERROR_INVALID_VALUE));
    Ok(())
}

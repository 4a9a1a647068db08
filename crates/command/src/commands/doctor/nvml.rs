//! NVML, the library of nvidia-smi.
#![expect(unsafe_code, reason = "calls functions of NVML by their C types")]

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::path::Path;

use warploom::driver::dynamic_library::DynamicLibrary;

use super::{lacking, loaded, present};
use crate::report::{Health, Subject};

const NAME: &str = "libnvidia-ml.so.1";
/// The longest version, with its end, as `nvml.h` has it.
const LONGEST: usize = 80;

pub(super) fn subject() -> Subject {
    let step = "it comes with the driver, and only nvidia-smi and monitors need it".to_owned();
    // SAFETY: NVIDIA's library does no harm when it is loaded.
    let Ok(library) = (unsafe { DynamicLibrary::open(Path::new(NAME)) }) else {
        return lacking("NVML", Health::Absent, "not found (monitoring)".to_owned(), step);
    };
    let file = loaded::file("libnvidia-ml.so").map_or_else(|| NAME.to_owned(), |file| file.display().to_string());
    let version = version(&library);
    library.keep();
    match version {
        Ok(version) => present("NVML", format!("driver {version}, {file}")),
        Err(code) => lacking("NVML", Health::Bad, format!("{file}: error {code}"), "run nvidia-smi".to_owned()),
    }
}

/// The version of the driver, or NVML's error.
fn version(library: &DynamicLibrary) -> Result<String, c_int> {
    const NO_FUNCTION: c_int = 13;
    type Initialize = unsafe extern "C" fn() -> c_int;
    type Version = unsafe extern "C" fn(*mut c_char, c_uint) -> c_int;
    // SAFETY: the C types of these functions in `nvml.h`; the library stays loaded.
    let functions: (Option<Initialize>, Option<Version>) =
        unsafe { (library.function("nvmlInit_v2"), library.function("nvmlSystemGetDriverVersion")) };
    let (Some(initialize), Some(version)) = functions else { return Err(NO_FUNCTION) };
    let mut text = [0 as c_char; LONGEST];
    // SAFETY: the text has as many bytes as its length says; NVML is initialised first.
    let code = unsafe {
        match initialize() {
            0 => version(text.as_mut_ptr(), LONGEST as c_uint),
            code => code,
        }
    };
    if code != 0 {
        return Err(code);
    }
    text[LONGEST - 1] = 0;
    // SAFETY: the last byte ends the text at the latest.
    Ok(unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned())
}

//! Libraries beside the driver, found as programs on warploom find them.

use warploom::Error;
use warploom::nccl::{Nccl, NcclError};
use warploom::program::{LinkError, NvJitLink, Nvrtc, NvrtcError, Nvvm, NvvmError};

use super::{lacking, loaded, present};
use crate::report::{Health, Subject};

/// NVRTC, nvJitLink, libNVVM and NCCL.
pub(super) fn subjects() -> Vec<Subject> {
    let pair = |(major, minor)| format!("{major}.{minor}");
    let wheel = |package: &str, variable: &str| {
        format!("pip install {package} in a virtual environment that is active, or name the file with {variable}")
    };
    vec![
        row(
            "NVRTC",
            "libnvrtc.so",
            Nvrtc::load().map(|library| library.version().to_string()),
            "compiles CUDA C++",
            wheel("nvidia-cuda-nvrtc", "WARPLOOM_NVRTC"),
        ),
        row(
            "nvJitLink",
            "libnvJitLink.so",
            NvJitLink::load().map(|library| pair(library.version())),
            "links PTX, cubins and LTO-IR",
            wheel("nvidia-nvjitlink", "WARPLOOM_NVJITLINK"),
        ),
        row(
            "libNVVM",
            "libnvvm.so",
            Nvvm::load().map(|library| pair(library.version())),
            "compiles NVVM IR",
            wheel("nvidia-nvvm", "WARPLOOM_NVVM"),
        ),
        row(
            "NCCL",
            "libnccl.so",
            Nccl::load().map(|library| library.version().to_string()),
            "collectives between GPUs",
            wheel("nvidia-nccl-cu13", "WARPLOOM_NCCL"),
        ),
    ]
}

/// A library, its version and its file; or its purpose and how to get it.
fn row(name: &str, file: &str, version: Result<String, Error>, purpose: &str, step: String) -> Subject {
    match version {
        Ok(version) => {
            let file = loaded::file(file).map(|file| format!(", {}", file.display())).unwrap_or_default();
            present(name, format!("{version}{file}"))
        }
        Err(error) if is_absent(&error) => lacking(name, Health::Absent, format!("not found ({purpose})"), step),
        Err(error) => lacking(name, Health::Bad, error.to_string(), step),
    }
}

/// `true` if there is no such library; another error is about one that is there.
fn is_absent(error: &Error) -> bool {
    match error {
        Error::Nvrtc(error) => matches!(**error, NvrtcError::NotFound { .. }),
        Error::Link(error) => matches!(**error, LinkError::NotFound { .. }),
        Error::Nvvm(error) => matches!(**error, NvvmError::NotFound { .. }),
        Error::Nccl(error) => matches!(**error, NcclError::NotFound { .. }),
        _ => false,
    }
}

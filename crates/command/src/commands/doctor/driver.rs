//! The driver library and its devices.

use std::path::Path;

use warploom::Driver;
use warploom::driver::Error as DriverError;

use super::{lacking, loaded, present};
use crate::report::{Health, Subject};

/// Rows for the driver and its devices, and `true` if there is a device that can be used.
pub(super) fn subjects() -> (Vec<Subject>, bool) {
    let driver = match Driver::load() {
        Ok(driver) => driver,
        Err(error) => return (vec![no_driver(&error)], false),
    };
    let file = ["libcuda.so", "libwarploom_cuda.so"]
        .into_iter()
        .find_map(loaded::file)
        .map_or_else(|| driver.description().to_owned(), |file| file.display().to_string());
    let found = present("CUDA driver", format!("CUDA {}, {file}", driver.version()));
    let devices = match driver.devices() {
        Ok(devices) if !devices.is_empty() => {
            let names =
                devices.iter().map(|device| device.name().map_or_else(|error| error.to_string(), str::to_owned));
            let names: Vec<String> = names.collect();
            return (vec![found, present("devices", format!("{}: {}", names.len(), names.join(", ")))], true);
        }
        Ok(_) => lacking("devices", Health::Bad, "none".to_owned(), no_device_step()),
        Err(error) => lacking("devices", Health::Bad, error.to_string(), no_device_step()),
    };
    (vec![found, devices], false)
}

fn no_driver(error: &warploom::Error) -> Subject {
    let found = match error {
        warploom::Error::Driver(DriverError::DriverNotFound(_)) => "libcuda.so.1 was not found".to_owned(),
        other => other.to_string(),
    };
    let health = if has_gpu() { Health::Bad } else { Health::Absent };
    lacking("CUDA driver", health, found, no_driver_step())
}

/// The next step without a driver library.
fn no_driver_step() -> String {
    let step = if Path::new("/dev/nvidiactl").exists() {
        "the kernel module is loaded: install the driver's libraries of the same version (Debian: libcuda1; Ubuntu: \
         libnvidia-compute; Fedora: nvidia-driver-cuda-libs), or name the file with WARPLOOM_LIBCUDA"
    } else if !has_gpu() {
        "there is no NVIDIA GPU on the bus: nothing to install, use a simulated machine (warploom sim -- program)"
    } else if is_container() {
        "start the container with its GPUs: docker run --gpus all, with the NVIDIA Container Toolkit on the host"
    } else {
        "there is an NVIDIA GPU: install its driver, from the distribution or https://www.nvidia.com/drivers"
    };
    step.to_owned()
}

/// The next step with a driver and without a device.
fn no_device_step() -> String {
    let hidden = std::env::var_os("CUDA_VISIBLE_DEVICES");
    match hidden {
        Some(value) => format!("CUDA_VISIBLE_DEVICES={} hides devices: unset it", value.display()),
        None if !Path::new("/dev/nvidiactl").exists() => {
            "load the kernel module: sudo modprobe nvidia, then sudo nvidia-modprobe -u -c 0".to_owned()
        }
        None => "run nvidia-smi and sudo dmesg | grep NVRM: they name the kernel module's reason".to_owned(),
    }
}

fn is_container() -> bool {
    ["/.dockerenv", "/run/.containerenv"].iter().any(|file| Path::new(file).exists())
        || std::env::var_os("container").is_some()
}

/// `true` if a display or compute device of NVIDIA is on the PCI bus, or if Windows may lend one.
fn has_gpu() -> bool {
    if Path::new("/dev/dxg").exists() {
        return true;
    }
    let Ok(devices) = std::fs::read_dir("/sys/bus/pci/devices") else { return false };
    devices.flatten().any(|device| {
        let read = |file| std::fs::read_to_string(device.path().join(file)).unwrap_or_default();
        read("vendor").trim() == "0x10de" && read("class").starts_with("0x03")
    })
}

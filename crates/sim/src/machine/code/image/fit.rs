//! PTX that a device can run: by architecture, and by the versions that its driver reads.

use warploom_ptx::{AddressSize, Features, Header, Version};
use warploom_sys::types::CUresult;

use super::{COMPILER, Member, Refusal, Target};

/// The newest PTX version that a driver reads.
fn newest(driver: i32) -> Version {
    let (major, minor) = match driver {
        ..11050 => (7, 4),
        11050..11060 => (7, 5),
        11060..11070 => (7, 6),
        11070..11080 => (7, 7),
        11080..12000 => (7, 8),
        12000..12010 => (8, 0),
        12010..12020 => (8, 1),
        12020..12030 => (8, 2),
        12030..12040 => (8, 3),
        12040..12050 => (8, 4),
        12050..12070 => (8, 5),
        12070..12080 => (8, 6),
        12080..12090 => (8, 7),
        12090..13000 => (8, 8),
        13000..13010 => (9, 0),
        13010..13020 => (9, 1),
        13020..13030 => (9, 2),
        13030..13040 => (9, 3),
        _ => (9, 4),
    };
    Version { major, minor }
}

/// The newest architecture of a member's PTX, if the device can run all of it.
pub(super) fn architecture_of(member: &Member, device: Target) -> Result<u32, Refusal> {
    let there = device.architecture;
    if let Some(cubin) = member.cubin.filter(|cubin| cubin / 10 != there / 10 || *cubin > there) {
        let reason = format!("the cubin is for sm_{cubin}; the device is sm_{there}");
        return Err(Refusal::new(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, reason));
    }
    member.texts.iter().try_fold(0, |newest, text| Ok(newest.max(fit(text, member.cubin.is_some(), device)?)))
}

/// The architecture of the PTX target, if the device can run it.
fn fit(text: &str, is_in_cubin: bool, device: Target) -> Result<u32, Refusal> {
    let there = device.architecture;
    let Header { version, target, address_size } = Header::read(text).map_err(|error| Refusal::mistake(&error))?;
    let newest = newest(device.driver);
    // The driver runs the machine code of a cubin, and ignores the PTX in it.
    if !is_in_cubin && version > newest {
        let reason = format!(
            "the text is PTX {}.{}; driver {} reads up to {}.{}",
            version.major, version.minor, device.driver, newest.major, newest.minor
        );
        return Err(Refusal::new(CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION, reason).logged(format!(
            "{COMPILER} application ptx input, line 1; fatal   : Unsupported .version {}.{}; current version is '{}.{}'",
            version.major, version.minor, newest.major, newest.minor
        )));
    }
    if address_size == AddressSize::Bits32 {
        return Err(Refusal::ptx("the text is for addresses of 32 bits; a line `.address_size 64` is missing"));
    }
    let wanted = target.architecture;
    let runs = match target.features {
        Features::Portable => wanted <= there,
        Features::Family => wanted / 10 == there / 10 && wanted <= there,
        Features::Specific => wanted == there,
    };
    if runs {
        return Ok(wanted);
    }
    let said = "SM version specified by .target is higher than default SM version assumed";
    Err(Refusal::ptx(format!("the text is for {target}; the device is sm_{there}"))
        .logged(format!("{COMPILER} fatal   : {said}")))
}

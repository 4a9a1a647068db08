//! PTX that a device can run: by architecture, and by the versions that its driver reads.

use warploom_ptx::{AddressSize, Features, Header, Version};
use warploom_sys::types::CUresult;

use super::{COMPILER, Member, Refusal, Target};

/// The newest PTX version that a driver reads.
pub(crate) fn newest(driver: i32) -> Version {
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

/// The preference for a member: cubins before texts, newer architectures before older ones, those for the
/// device alone before portable ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rank {
    is_cubin: bool,
    architecture: u32,
    is_specific: bool,
}

impl Rank {
    /// `true` if a later member of this rank is taken instead of an earlier one of another.
    pub(super) fn replaces(self, other: Rank) -> bool {
        let order = |rank: Rank| (rank.is_cubin, rank.architecture, rank.is_specific);
        if self.is_cubin { order(self) > order(other) } else { order(self) >= order(other) }
    }
}

/// The preference for a member, if the device can run all of it.
pub(super) fn rank(member: &Member, device: Target) -> Result<Rank, Refusal> {
    let there = device.architecture;
    if let Some(cubin) = member.cubin.filter(|cubin| cubin / 10 != there / 10 || *cubin > there) {
        let reason = format!("the cubin is for sm_{cubin}; the device is sm_{there}");
        return Err(Refusal::new(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, reason));
    }
    let mut rank = Rank { is_cubin: member.cubin.is_some(), architecture: 0, is_specific: false };
    for text in &member.texts {
        let Header { target, address_size, .. } = Header::read(text).map_err(|error| Refusal::mistake(&error))?;
        if address_size == AddressSize::Bits32 {
            return Err(Refusal::ptx("the text is for addresses of 32 bits; a line `.address_size 64` is missing"));
        }
        let wanted = target.architecture;
        let runs = match target.features {
            Features::Portable => wanted <= there,
            Features::Family => wanted / 10 == there / 10 && wanted <= there,
            Features::Specific => wanted == there,
        };
        if !runs {
            let said = "SM version specified by .target is higher than default SM version assumed";
            return Err(Refusal::ptx(format!("the text is for {target}; the device is sm_{there}"))
                .logged(format!("{COMPILER} fatal   : {said}")));
        }
        rank.architecture = rank.architecture.max(wanted);
        rank.is_specific |= target.features != Features::Portable;
    }
    Ok(rank)
}

/// Refuses PTX of a later version than the driver reads. It runs the machine code of a cubin, and ignores the
/// PTX in it.
pub(super) fn check_version(member: &Member, device: Target) -> Result<(), Refusal> {
    let newest = newest(device.driver);
    for text in member.texts.iter().filter(|_| member.cubin.is_none()) {
        let Header { version, .. } = Header::read(text).map_err(|error| Refusal::mistake(&error))?;
        if version > newest {
            let reason = format!(
                "the text is PTX {}.{}; driver {} reads up to {}.{}",
                version.major, version.minor, device.driver, newest.major, newest.minor
            );
            return Err(Refusal::new(CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION, reason).logged(format!(
                "{COMPILER} application ptx input, line 1; fatal   : Unsupported .version {}.{}; current version is '{}.{}'",
                version.major, version.minor, newest.major, newest.minor
            )));
        }
    }
    Ok(())
}

//! Code images: PTX, and containers with PTX in them.
//!
//! ```text
//!   text ─────────────────────────────────────────────┐
//!   fatbin ─▶ entries ─┬─ PTX, plain or packed ───────┼─▶ texts ─▶ the best one that a device can run
//!                      └─ cubin ─┐                    │
//!   cubin (ELF) ─────────────────┴─ .nv_debug_ptx_txt ┘
//! ```
//!
//! A simulated device runs PTX. Machine code is of no use to it, but compilers that were told to keep line
//! information (`-lineinfo`) leave the PTX in the cubin.

pub(crate) mod archive;
pub(crate) mod cubin;
pub(crate) mod elf;
mod fatbin;

use std::ffi::{c_char, c_void};

use warploom_ptx::{AddressSize, Error, Features, Header, Version};
use warploom_sys::types::CUresult;

use crate::ffi::ConstPtr;

/// An image that cannot be loaded: the driver's status code, the reason for the machine's log, and the text
/// for the caller's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: CUresult,
    pub(crate) reason: String,
    pub(crate) log: String,
}

impl Refusal {
    pub(crate) fn new(code: CUresult, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { code, log: reason.clone(), reason }
    }

    /// The same, with the compiler's message for the caller's log.
    pub(crate) fn logged(self, log: impl Into<String>) -> Self {
        Self { log: log.into(), ..self }
    }

    /// Bytes that are not an image.
    pub(crate) fn image(reason: impl Into<String>) -> Self {
        Self::new(CUresult::CUDA_ERROR_INVALID_IMAGE, reason)
    }

    pub(crate) fn ptx(reason: impl ToString) -> Self {
        Self::new(CUresult::CUDA_ERROR_INVALID_PTX, reason.to_string())
    }

    /// A syntax error in PTX, logged as drivers log it.
    pub(crate) fn mistake(error: &Error) -> Self {
        let line = error.place.line;
        Self::ptx(error).logged(format!(
            "{COMPILER} application ptx input, line {line}; error   : {}\n\
             {COMPILER} fatal   : Ptx assembly aborted due to errors",
            error.problem
        ))
    }

    /// A function that is called and not defined.
    pub(crate) fn unresolved(name: &str) -> Self {
        Self::ptx(format!("no text defines the function `{name}`"))
            .logged(format!("{COMPILER} fatal   : Unresolved extern function '{name}'"))
    }
}

/// The PTX of an image, and the reasons why its other parts are unusable.
#[derive(Debug, Default)]
pub(crate) struct Image {
    texts: Vec<Text>,
    useless: Vec<String>,
}

/// PTX and its origin.
#[derive(Debug)]
struct Text {
    ptx: String,
    /// The architecture of the cubin around it: the PTX runs only on devices that run the cubin.
    cubin: Option<u32>,
}

/// The target device of a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// 90 for compute capability 9.0.
    pub(crate) architecture: u32,
    /// The driver's version, which limits the PTX versions it reads.
    pub(crate) driver: i32,
}

const ELF: &[u8] = b"\x7fELF";
/// The compiler's name in the driver's logs.
const COMPILER: &str = "ptxas";

impl Image {
    /// The image at a pointer. Its length is in its header; PTX ends at its zero byte.
    pub(crate) fn at(pointer: ConstPtr<c_void>) -> Result<Self, Refusal> {
        let gone = |code| Refusal::new(code, "the image is not in memory that can be read, or not all of it");
        let take = |len| pointer.bytes(len).map_err(gone);
        let magic = <[u8; 4]>::try_from(take(1).and_then(|_| take(4)).unwrap_or_default()).unwrap_or_default();
        if magic == fatbin::WRAPPER {
            return Err(Refusal::image("it is what a host compiler wraps a fatbin in; the fatbin itself is loaded"));
        }
        if magic == fatbin::MAGIC {
            return Self::from_bytes(take(fatbin::length(take(fatbin::HEADER)?)?)?);
        }
        if magic == ELF {
            let tables = take(elf::tables(take(elf::HEADER)?)?)?;
            return Self::from_bytes(take(elf::length(tables)?)?);
        }
        Self::from_bytes(pointer.typed::<c_char>().text_bytes().map_err(gone)?)
    }

    /// The image in a byte slice; PTX may end with a zero byte.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Refusal> {
        let mut image = Self::default();
        if bytes.starts_with(&fatbin::MAGIC) {
            for entry in fatbin::entries(bytes)? {
                image.add_entry(entry);
            }
        } else if bytes.starts_with(ELF) {
            image.add_cubin(bytes, "the cubin");
        } else {
            return Self::of_text(bytes);
        }
        Ok(image)
    }

    /// PTX that may end with a zero byte.
    pub(crate) fn of_text(bytes: &[u8]) -> Result<Self, Refusal> {
        Ok(Self { texts: vec![Text { ptx: text(bytes)?, cubin: None }], useless: Vec::new() })
    }

    /// A fatbin, and no other container.
    pub(crate) fn of_fatbin(bytes: &[u8]) -> Result<Self, Refusal> {
        if bytes.starts_with(&fatbin::MAGIC) { Self::from_bytes(bytes) } else { Err(Refusal::image("it is no fatbin")) }
    }

    fn add_entry(&mut self, entry: Result<fatbin::Entry<'_>, String>) {
        match entry {
            Ok(fatbin::Entry::Ptx(bytes)) => match text(&bytes) {
                Ok(ptx) => self.texts.push(Text { ptx, cubin: None }),
                Err(refusal) => self.useless.push(refusal.reason),
            },
            Ok(fatbin::Entry::Cubin { bytes, architecture }) => {
                self.add_cubin(&bytes, &format!("the cubin for sm_{architecture}"));
            }
            Err(reason) => self.useless.push(reason),
        }
    }

    fn add_cubin(&mut self, bytes: &[u8], name: &str) {
        match elf::texts(bytes) {
            Ok(texts) if texts.is_empty() => self.useless.push(format!(
                "{name} has no PTX in it, and a simulated device runs nothing else; compile with -lineinfo, or to PTX"
            )),
            Ok(texts) => {
                let cubin = elf::architecture(bytes);
                self.texts.extend(texts.into_iter().map(|ptx| Text { ptx, cubin }));
            }
            Err(refusal) => self.useless.push(format!("{name}: {}", refusal.reason)),
        }
    }

    /// The best PTX for a device: the one for the newest architecture that the device supports.
    pub(crate) fn text_for(&self, target: Target) -> Result<&str, Refusal> {
        let mut best: Option<(u32, &str)> = None;
        let mut refused: Option<Refusal> = None;
        for text in &self.texts {
            match fit(text, target) {
                Ok(architecture) if best.is_none_or(|(other, _)| architecture > other) => {
                    best = Some((architecture, &text.ptx));
                }
                Ok(_) => {}
                Err(refusal) => refused = Some(refused.unwrap_or(refusal)),
            }
        }
        match (best, refused) {
            (Some((_, text)), _) => Ok(text),
            (None, Some(refusal)) => Err(refusal),
            (None, None) => {
                let reason =
                    if self.useless.is_empty() { "nothing is in it".to_owned() } else { self.useless.join("; ") };
                Err(Refusal::new(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, reason))
            }
        }
    }
}

/// The PTX in a byte slice, up to its zero byte.
fn text(bytes: &[u8]) -> Result<String, Refusal> {
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    // Comments and paths may be in any encoding.
    let text = String::from_utf8_lossy(bytes).into_owned();
    if text.contains(".version") {
        return Ok(text);
    }
    Err(Refusal::image("neither PTX, which has a line `.version`, nor a cubin, nor a fatbin"))
}

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

/// The architecture of the PTX target, if the device can run it.
fn fit(text: &Text, device: Target) -> Result<u32, Refusal> {
    let there = device.architecture;
    if let Some(cubin) = text.cubin.filter(|cubin| cubin / 10 != there / 10 || *cubin > there) {
        let reason = format!("the cubin is for sm_{cubin}; the device is sm_{there}");
        return Err(Refusal::new(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, reason));
    }
    let Header { version, target, address_size } = Header::read(&text.ptx).map_err(|error| Refusal::mistake(&error))?;
    let newest = newest(device.driver);
    // The driver runs the machine code of a cubin, and ignores the PTX in it.
    if text.cubin.is_none() && version > newest {
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

#[cfg(test)]
mod tests {
    use super::*;

    const H200: Target = Target { architecture: 90, driver: 13000 };

    fn answer(text: &str, target: Target) -> CUresult {
        let image = Image::from_bytes(text.as_bytes()).expect("it looks like PTX");
        image.text_for(target).map_or_else(|refusal| refusal.code, |_| CUresult::CUDA_SUCCESS)
    }

    #[test]
    fn a_text_runs_on_the_architectures_it_is_for() {
        let text = |target: &str| format!(".version 8.0 .target {target} .address_size 64");
        for (name, architecture, runs) in [
            ("sm_75", 90, true),
            ("sm_90", 90, true),
            ("sm_90a", 90, true),
            ("sm_90a", 100, false),
            ("sm_100", 90, false),
            ("sm_100f", 103, true),
            ("sm_100f", 120, false),
        ] {
            let expected = if runs { CUresult::CUDA_SUCCESS } else { CUresult::CUDA_ERROR_INVALID_PTX };
            assert_eq!(answer(&text(name), Target { architecture, ..H200 }), expected, "{name} on {architecture}");
        }
    }

    #[test]
    fn a_text_that_is_newer_than_the_driver_is_refused() {
        let text = ".version 8.5 .target sm_90 .address_size 64";
        assert_eq!(answer(text, Target { driver: 12050, ..H200 }), CUresult::CUDA_SUCCESS);
        let old = Target { driver: 12040, ..H200 };
        assert_eq!(answer(text, old), CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    }

    #[test]
    fn no_bytes_are_more_than_a_refusal() {
        for magic in [&fatbin::MAGIC[..], ELF, b""] {
            for length in 0..200_usize {
                for fill in [0, 1, 0x40, 0xff] {
                    let bytes: Vec<u8> = magic.iter().copied().chain(std::iter::repeat_n(fill, length)).collect();
                    let image = Image::from_bytes(&bytes);
                    assert!(image.is_err() || image.is_ok_and(|image| image.text_for(H200).is_err()));
                }
            }
        }
    }
}

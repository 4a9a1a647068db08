//! Code images, read without a machine: their PTX, and the refusal of a device.

use std::fmt;

use warploom_sys::types::CUresult;

use crate::machine::code::Binary;
use crate::machine::code::image::{Format, Image, Refusal, Target, elf, fit};
use crate::topology::{Topology, number};

/// Device code in a file: PTX, a cubin, a fatbin, LTO-IR, or a host program with fatbins in it.
///
/// Read without a machine, for tools that list the PTX of a file and its refusal by a simulated device.
///
/// ```
/// use warploom_sim::CodeImage;
/// use warploom_sim::topology::Topology;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let text = ".version 8.0 .target sm_90 .address_size 64 .visible .entry nothing() { ret; }";
/// let image = CodeImage::read(text.as_bytes())?;
/// assert_eq!(image.texts().map(|part| part.text).collect::<Vec<_>>(), [text]);
/// assert_eq!(image.refusal(&Topology::preset("h200")?, 0), None);
/// let refusal = image.refusal(&Topology::preset("hgx-a100-4")?, 0).expect("an A100 is sm_80");
/// assert_eq!(refusal.reason, "the text is for sm_90; the device is sm_80");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CodeImage {
    kind: CodeImageKind,
    images: Vec<Image>,
}

/// The format of a [`CodeImage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CodeImageKind {
    /// A text.
    Ptx,
    /// Machine code in an ELF file, with or without its PTX.
    Cubin,
    /// PTX and cubins for several architectures.
    Fatbin,
    /// Input of NVIDIA's link-time optimiser.
    LtoIr,
    /// An object, library or program of the host, with fatbins in its sections.
    HostObject,
}

/// PTX in a [`CodeImage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CodeText<'i> {
    /// The PTX.
    pub text: &'i str,
    /// The architecture of the cubin that it is in: 90 for `sm_90`.
    pub cubin: Option<u32>,
    /// `true` if that cubin is to be linked with others.
    pub is_relocatable: bool,
}

/// The refusal of a [`CodeImage`], as the driver's load functions answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CodeRefusal {
    /// The driver's status.
    pub code: CUresult,
    /// The reason, with the line of the text where it has one.
    pub reason: String,
}

impl fmt::Display for CodeRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.code, self.reason)
    }
}

impl std::error::Error for CodeRefusal {}

impl From<Refusal> for CodeRefusal {
    fn from(Refusal { code, reason, .. }: Refusal) -> Self {
        Self { code, reason }
    }
}

impl CodeImage {
    /// Reads an image; PTX may end with a zero byte.
    ///
    /// # Errors
    ///
    /// [`CodeRefusal`] for bytes that are none of the formats, for a damaged container, and for a host
    /// program without fatbins.
    pub fn read(bytes: &[u8]) -> Result<CodeImage, CodeRefusal> {
        if elf::is_elf(bytes) && elf::is_relocatable(bytes).is_err() {
            let fatbins = elf::fatbins(bytes);
            if fatbins.is_empty() {
                let reason = "the ELF file is neither a cubin of 64 bits nor a host program with fatbins in it";
                return Err(Refusal::image(reason).into());
            }
            let images = fatbins.into_iter().map(Image::from_bytes).collect::<Result<_, _>>()?;
            return Ok(CodeImage { kind: CodeImageKind::HostObject, images });
        }
        let image = Image::from_bytes(bytes)?;
        let kind = match Image::format_of(bytes) {
            Format::Ptx => CodeImageKind::Ptx,
            Format::Cubin => CodeImageKind::Cubin,
            Format::Fatbin => CodeImageKind::Fatbin,
            Format::LtoIr => CodeImageKind::LtoIr,
        };
        Ok(CodeImage { kind, images: vec![image] })
    }

    /// Its format.
    #[must_use]
    pub fn kind(&self) -> CodeImageKind {
        self.kind
    }

    /// All PTX in it, in the order of the file.
    pub fn texts(&self) -> impl Iterator<Item = CodeText<'_>> {
        let texts = self.images.iter().flat_map(Image::texts);
        texts.map(|(text, cubin, is_relocatable)| CodeText { text, cubin, is_relocatable })
    }

    /// Parts without usable PTX, and the reason for each.
    pub fn unusable(&self) -> impl Iterator<Item = &str> {
        self.images.iter().flat_map(Image::useless)
    }

    /// The newest version of PTX that the driver of a machine reads: major and minor number.
    ///
    /// ```
    /// # use warploom_sim::{CodeImage, topology::Topology};
    /// assert_eq!(CodeImage::newest_ptx(&Topology::preset("h200")?), (9, 0)); // its driver is 13.0
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn newest_ptx(machine: &Topology) -> (u16, u16) {
        let version = fit::newest(machine.driver_version);
        (version.major, version.minor)
    }

    /// The refusal of the image by a device of a machine, if it would be refused. Of a host program, the
    /// refusal of the first fatbin that the device would refuse.
    ///
    /// LTO-IR needs NVIDIA's nvJitLink, which is looked for.
    #[must_use]
    pub fn refusal(&self, machine: &Topology, device: usize) -> Option<CodeRefusal> {
        let of = |number| machine.attribute(device, number).map_or(0, i32::unsigned_abs);
        let architecture = of(number::COMPUTE_CAPABILITY_MAJOR) * 10 + of(number::COMPUTE_CAPABILITY_MINOR);
        let target = Target { architecture, driver: machine.driver_version };
        self.images.iter().find_map(|image| Binary::load(image, target).err().map(CodeRefusal::from))
    }
}

//! Code images: PTX, and containers with PTX in them.
//!
//! ```text
//!   text ──────────────────────────────────────────────┐
//!   fatbin ─▶ entries ─┬─ PTX, plain or packed ────────┤
//!                      ├─ cubin ─┐                     ├─▶ members ─▶ the best one that a device can run ─▶ its texts,
//!   cubin (ELF) ───────┼─────────┴─ .nv_debug_ptx_txt… ┤             linked with each other
//!                      └─ LTO-IR ─┐                    │
//!   LTO-IR ───────────────────────┴─ nvJitLink ────────┘
//! ```
//!
//! A simulated device runs PTX. Machine code is of no use to it, but compilers that were told to keep line
//! information (`-lineinfo`) leave the PTX in the cubin, and linkers keep the PTX of each part.

pub(crate) mod archive;
pub(crate) mod cubin;
pub(crate) mod elf;
mod fatbin;
pub(crate) mod fit;
mod lto;

use std::borrow::Cow;
use std::ffi::{c_char, c_void};

use warploom_ptx::Error;
use warploom_ptx::link::{Conflict, ConflictKind, Part, link};
use warploom_sys::types::CUresult;

use super::runtime;
use crate::ffi::ConstPtr;

/// An image that cannot be loaded: the driver's status code, the reason for the machine's log, and the text
/// for the caller's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: CUresult,
    pub(crate) reason: String,
    pub(crate) log: String,
    /// The remedy, said once.
    pub(crate) advice: Option<&'static str>,
}

/// Advice about machine code without PTX, in two lines.
const KEEP_PTX: &str = "\
keep the PTX in the cubin: -lineinfo for nvcc and NVRTC, ProgramOptions(lineinfo=True) for cuda.core, lineinfo=True for Numba
or load PTX, not machine code: -ptx for nvcc, -arch=compute_90 for NVRTC, Program.compile(\"ptx\") for cuda.core";

impl Refusal {
    pub(crate) fn new(code: CUresult, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { code, log: reason.clone(), reason, advice: None }
    }

    /// Machine code, which a simulated device does not run.
    fn without_ptx(reason: impl Into<String>) -> Self {
        let refusal = Self::new(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, reason);
        Self { log: format!("{}\n{KEEP_PTX}", refusal.reason), advice: Some(KEEP_PTX), ..refusal }
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
        let advice = runtime::advice(name).map_or_else(String::new, |advice| format!("; {advice}"));
        Self::ptx(format!("no text defines the function `{name}`{advice}"))
            .logged(format!("{COMPILER} fatal   : Unresolved extern function '{name}'"))
    }

    /// A function of a linked cubin that is machine code alone.
    pub(crate) fn machine_code(name: &str) -> Self {
        if let Some(advice) = runtime::advice(name) {
            let reason = format!("the cubin calls `{name}`; {advice}");
            return Self::new(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, reason);
        }
        Self::without_ptx(format!(
            "`{name}` was linked in from a part without PTX, and a simulated device runs nothing else; compile that \
             part with -lineinfo"
        ))
    }
}

/// The members of an image that a simulated device can use, and the reasons why others are unusable.
#[derive(Debug, Default)]
pub(crate) struct Image {
    members: Vec<Member>,
    /// The image itself, if it has LTO-IR.
    lto: Option<lto::Input>,
    useless: Vec<String>,
    /// `true` if one of those is a cubin without PTX.
    has_machine_code_alone: bool,
    is_fatbin: bool,
    /// The most registers of a thread, if the load bounds them.
    pub(crate) max_registers: Option<u32>,
}

/// The formats of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Ptx,
    Cubin,
    Fatbin,
    LtoIr,
}

/// PTX and its origin.
#[derive(Debug)]
struct Member {
    /// One text, or those of all parts that a cubin was linked from.
    texts: Vec<String>,
    /// The architecture of the cubin around it: the PTX runs only on devices that run the cubin.
    cubin: Option<u32>,
    /// `true` for a cubin that is to be linked with others.
    is_relocatable: bool,
}

/// The PTX of an image for a device.
#[derive(Debug)]
pub(crate) struct Chosen<'i> {
    pub(crate) text: Cow<'i, str>,
    /// `true` if it was in a cubin, whose machine code a linker has completed.
    pub(crate) is_cubin: bool,
    /// `true` if it was in a cubin that is not linked yet.
    pub(crate) is_relocatable: bool,
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
        // A text may be shorter, and ends at its zero byte, which no magic number has.
        let mut magic = [0; 4];
        for (before, byte) in magic.iter_mut().enumerate() {
            match take(before + 1).map(|bytes| bytes.last().copied()) {
                Ok(Some(found)) if found != 0 => *byte = found,
                _ => break,
            }
        }
        if magic == fatbin::WRAPPER {
            return Err(Refusal::image("it is what a host compiler wraps a fatbin in; the fatbin itself is loaded"));
        }
        if magic == fatbin::MAGIC {
            return Self::from_bytes(take(fatbin::length(take(fatbin::HEADER)?)?)?);
        }
        if magic == lto::MAGIC {
            return Err(lto::without_length());
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
            image.is_fatbin = true;
            for entry in fatbin::entries(bytes)? {
                image.add_entry(entry, bytes);
            }
        } else if bytes.starts_with(&lto::MAGIC) {
            image.lto = Some(lto::Input::Raw(bytes.into()));
        } else if bytes.starts_with(ELF) {
            image.add_cubin(bytes, "the cubin");
        } else {
            return Self::of_text(bytes);
        }
        Ok(image)
    }

    /// The format of an image that was read from these bytes.
    pub(crate) fn format_of(bytes: &[u8]) -> Format {
        match bytes {
            _ if bytes.starts_with(&fatbin::MAGIC) => Format::Fatbin,
            _ if bytes.starts_with(&lto::MAGIC) => Format::LtoIr,
            _ if bytes.starts_with(ELF) => Format::Cubin,
            _ => Format::Ptx,
        }
    }

    /// Each PTX text, with the architecture of the cubin that it is in, and `true` if that is relocatable.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, Option<u32>, bool)> {
        self.members
            .iter()
            .flat_map(|member| member.texts.iter().map(|text| (text.as_str(), member.cubin, member.is_relocatable)))
    }

    /// The reasons why parts of the image are unusable.
    pub(crate) fn useless(&self) -> impl Iterator<Item = &str> {
        self.useless.iter().map(String::as_str)
    }

    /// PTX that may end with a zero byte.
    pub(crate) fn of_text(bytes: &[u8]) -> Result<Self, Refusal> {
        Ok(Self {
            members: vec![Member { texts: vec![text(bytes)?], cubin: None, is_relocatable: false }],
            ..Self::default()
        })
    }

    /// A fatbin, and no other container.
    pub(crate) fn of_fatbin(bytes: &[u8]) -> Result<Self, Refusal> {
        if bytes.starts_with(&fatbin::MAGIC) { Self::from_bytes(bytes) } else { Err(Refusal::image("it is no fatbin")) }
    }

    /// The same image, with a bound on the registers of a thread.
    pub(crate) fn bounded(self, max_registers: Option<u32>) -> Self {
        Self { max_registers, ..self }
    }

    fn add_entry(&mut self, entry: Result<fatbin::Entry<'_>, String>, fatbin: &[u8]) {
        match entry {
            Ok(fatbin::Entry::Ptx(bytes)) => match text(&bytes) {
                Ok(ptx) => self.members.push(Member { texts: vec![ptx], cubin: None, is_relocatable: false }),
                Err(refusal) => self.useless.push(refusal.reason),
            },
            Ok(fatbin::Entry::Cubin { bytes, architecture }) => {
                self.add_cubin(&bytes, &format!("the cubin for sm_{architecture}"));
            }
            Ok(fatbin::Entry::Lto) => {
                self.lto.get_or_insert_with(|| lto::Input::Fatbin(fatbin.into()));
            }
            Err(reason) => self.useless.push(reason),
        }
    }

    fn add_cubin(&mut self, bytes: &[u8], name: &str) {
        match elf::texts(bytes) {
            Ok(texts) if texts.is_empty() => {
                self.has_machine_code_alone = true;
                self.useless.push(format!("{name} has no PTX in it, and a simulated device runs nothing else"));
            }
            Ok(texts) => {
                let is_relocatable = elf::is_relocatable(bytes).unwrap_or(false);
                self.members.push(Member { texts, cubin: elf::architecture(bytes), is_relocatable });
            }
            Err(refusal) => self.useless.push(format!("{name}: {}", refusal.reason)),
        }
    }

    /// The best PTX for a device: of a cubin that it runs, or else of the text for the newest architecture.
    /// Among equals, an H200 takes the first cubin, and the last text.
    pub(crate) fn text_for(&self, target: Target) -> Result<Chosen<'_>, Refusal> {
        let mut refused: Option<Refusal> = None;
        let mut best: Option<(fit::Rank, &Member)> = None;
        for member in &self.members {
            match fit::rank(member, target) {
                Ok(rank) if best.is_none_or(|(other, _)| rank.replaces(other)) => best = Some((rank, member)),
                Ok(_) => {}
                Err(refusal) => refused = Some(refused.unwrap_or(refusal)),
            }
        }
        if let Some((_, member)) = best {
            fit::check_version(member, target)?;
            let is_cubin = member.cubin.is_some();
            return Ok(Chosen { text: member.linked(target)?, is_cubin, is_relocatable: member.is_relocatable });
        }
        if let Some(lto) = &self.lto {
            return Ok(Chosen { text: lto.compiled(target)?.into(), is_cubin: false, is_relocatable: false });
        }
        match refused {
            // A fatbin without code for the device is told from a text for another one.
            Some(refusal) if self.is_fatbin => {
                Err(Refusal::new(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, refusal.reason).logged(refusal.log))
            }
            Some(refusal) => Err(refusal),
            None => {
                let reason =
                    if self.useless.is_empty() { "nothing is in it".to_owned() } else { self.useless.join("; ") };
                match self.has_machine_code_alone {
                    true => Err(Refusal::without_ptx(reason)),
                    false => Err(Refusal::new(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, reason)),
                }
            }
        }
    }
}

impl Member {
    /// Its text, or its texts linked with each other, and with the device runtime if a linker has done that.
    fn linked(&self, target: Target) -> Result<Cow<'_, str>, Refusal> {
        let runtime = self.runtime();
        let texts = match self.texts.as_slice() {
            [text] if runtime.is_none() => return Ok(Cow::Borrowed(text)),
            texts => texts,
        };
        let part = |(text, number): (&String, u32)| Part::new(&format!("part {number} of the cubin"), text);
        let parts: Result<Vec<Part>, Error> = texts.iter().zip(1..).map(part).collect();
        let mut parts = parts.map_err(|error| Refusal::mistake(&error))?;
        parts.extend(runtime);
        link(&parts, target.architecture).map(Cow::Owned).map_err(|conflicts| match conflicts.as_slice() {
            [Conflict { kind: ConflictKind::Undefined, symbol, .. }, ..] => Refusal::machine_code(symbol),
            _ => {
                let reasons: Vec<String> = conflicts.iter().map(Conflict::to_string).collect();
                Refusal::image(reasons.join("; "))
            }
        })
    }
}

impl Member {
    /// The functions of the device runtime, if it is a linked cubin that declares one of them.
    fn runtime(&self) -> Option<Part> {
        let is_linked = self.cubin.is_some() && !self.is_relocatable;
        let mut texts = self.texts.iter().filter(|text| is_linked && text.contains(".extern .func"));
        let uses = texts.any(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(runtime::has));
        if uses { runtime::part() } else { None }
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

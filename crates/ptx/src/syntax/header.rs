//! The header of a PTX text: version, target, address size.
//!
//! ```text
//! .version 8.7              which PTX
//! .target sm_90a, debug     which architecture, and how
//! .address_size 64          how wide a pointer is; 32 where the line is missing
//! ```

use std::fmt;

/// The header of a PTX text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version of the language.
    pub version: Version,
    /// The architecture and options of `.target`.
    pub target: Target,
    /// The width of a pointer.
    pub address_size: AddressSize,
}

/// A version of PTX; a later one compares greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The number before the dot.
    pub major: u16,
    /// The number behind it.
    pub minor: u16,
}

/// The target of `.target`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The architecture: 90 for `sm_90` and `sm_90a`.
    pub architecture: u32,
    /// The architecture's features that the text may use, which decide where else it runs.
    pub features: Features,
    /// The texturing mode, if the text states it.
    pub texture_mode: Option<TextureMode>,
    /// `true` if the text carries debug information.
    pub debug: bool,
    /// `true` if double precision is to be carried out in single precision.
    pub map_f64_to_f32: bool,
}

/// The features of an architecture that a text may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Features {
    /// Those that every later architecture keeps: `sm_90`.
    Portable,
    /// Those that the rest of its family keeps, too: `sm_100f`.
    Family,
    /// All of them: `sm_90a`, which runs on that architecture alone.
    Specific,
}

/// The texturing mode: the binding of textures and samplers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextureMode {
    /// One descriptor for both.
    Unified,
    /// A descriptor each.
    Independent,
}

/// The width of a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressSize {
    /// Four bytes.
    Bits32,
    /// Eight bytes.
    Bits64,
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

impl fmt::Display for Target {
    /// The architecture as PTX spells it: `sm_90a`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.features {
            Features::Portable => "",
            Features::Family => "f",
            Features::Specific => "a",
        };
        write!(formatter, "sm_{}{suffix}", self.architecture)
    }
}

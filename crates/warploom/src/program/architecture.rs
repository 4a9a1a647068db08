//! Architectures to compile for.

use std::fmt;
use std::str::FromStr;

use crate::{ComputeCapability, Malformed};

/// An architecture: `compute_90`, any GPU from a generation on, or `sm_90`, the GPUs of one.
///
/// ```
/// use warploom::ComputeCapability;
/// use warploom::program::Architecture;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let hopper: Architecture = "sm_90".parse()?;
/// assert_eq!(hopper, Architecture::sm(90));
/// assert_eq!(hopper, ComputeCapability { major: 9, minor: 0 }.into());
/// assert_eq!("compute_90a".parse::<Architecture>()?, Architecture::compute(90).specific());
/// assert!("hopper".parse::<Architecture>().is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Architecture {
    number: u32,
    real: bool,
    features: Features,
}

/// Instructions beyond those that every later generation has, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Features {
    Portable,
    Family,
    Specific,
}

impl Architecture {
    /// A real architecture: its PTX and cubin; `sm(90)` is `sm_90`.
    #[must_use]
    pub const fn sm(number: u32) -> Architecture {
        Architecture { number, real: true, features: Features::Portable }
    }

    /// A virtual architecture, which has PTX and LTO-IR but no cubin; `compute(90)` is `compute_90`.
    #[must_use]
    pub const fn compute(number: u32) -> Architecture {
        Architecture { number, real: false, features: Features::Portable }
    }

    /// The same with everything that this architecture alone has: `sm_90a`.
    #[must_use]
    pub const fn specific(self) -> Architecture {
        Architecture { features: Features::Specific, ..self }
    }

    /// The same with everything that its family has: `sm_100f`.
    #[must_use]
    pub const fn family(self) -> Architecture {
        Architecture { features: Features::Family, ..self }
    }

    /// `compute_90a`, also for the real one.
    pub(super) fn virtual_name(self) -> String {
        Architecture { real: false, ..self }.to_string()
    }

    /// The driver's number for it as a target of its compiler.
    pub(super) const fn driver_number(self) -> u32 {
        let base = match self.features {
            Features::Portable => 0,
            Features::Specific => 0x1_0000,
            Features::Family => 0x2_0000,
        };
        base + self.number
    }

    /// 90 of `sm_90`.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.number
    }

    /// `true` if it is `sm_…`, which a cubin needs.
    #[must_use]
    pub const fn is_real(self) -> bool {
        self.real
    }
}

impl From<ComputeCapability> for Architecture {
    fn from(capability: ComputeCapability) -> Architecture {
        Architecture::sm(capability.major.saturating_mul(10).saturating_add(capability.minor))
    }
}

impl fmt::Display for Architecture {
    /// `sm_90a`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.real { "sm" } else { "compute" };
        let suffix = match self.features {
            Features::Portable => "",
            Features::Family => "f",
            Features::Specific => "a",
        };
        write!(formatter, "{kind}_{}{suffix}", self.number)
    }
}

impl FromStr for Architecture {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Architecture, Malformed> {
        read(text)
            .ok_or_else(|| Malformed::new("architecture", text, "sm_90 or compute_90, also with a or f behind it"))
    }
}

fn read(text: &str) -> Option<Architecture> {
    let (kind, rest) = text.split_once('_')?;
    let (digits, features) = match rest.as_bytes().last()? {
        b'a' => (&rest[..rest.len() - 1], Features::Specific),
        b'f' => (&rest[..rest.len() - 1], Features::Family),
        _ => (rest, Features::Portable),
    };
    let is_number = (2..=4).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = if is_number { digits.parse().ok()? } else { return None };
    match kind {
        "sm" => Some(Architecture { number, real: true, features }),
        "compute" => Some(Architecture { number, real: false, features }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_are_read_as_they_are_written() {
        for text in ["sm_75", "compute_90", "sm_90a", "compute_100f", "sm_121"] {
            assert_eq!(text.parse::<Architecture>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn malformed_architectures_are_named_in_the_error() {
        for text in
            ["", "sm", "sm_", "sm_9", "sm_a", "sm_90b", "sm_99999", "sm_9\u{e9}", "lto_90", "sm_+9", "SM_90", "sm_90 "]
        {
            let error = text.parse::<Architecture>().expect_err(text);
            assert!(error.to_string().contains("sm_90"), "{error}");
        }
    }
}

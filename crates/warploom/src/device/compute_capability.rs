//! Compute capability: the generation of a GPU.

use std::fmt;

/// A generation of GPUs, such as 9.0; it prints like that. Later ones are greater.
///
/// ```
/// use warploom::ComputeCapability;
///
/// let hopper = ComputeCapability { major: 9, minor: 0 };
/// assert_eq!((hopper.to_string(), hopper.arch().to_string()), ("9.0".to_owned(), "sm_90".to_owned()));
/// assert!(hopper > ComputeCapability { major: 8, minor: 6 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComputeCapability {
    /// 9 of 9.0.
    pub major: u32,
    /// 0 of 9.0.
    pub minor: u32,
}

impl ComputeCapability {
    /// The compilers' name for it: prints `sm_90`.
    #[must_use]
    pub fn arch(self) -> impl fmt::Display {
        fmt::from_fn(move |formatter| write!(formatter, "sm_{}{}", self.major, self.minor))
    }
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

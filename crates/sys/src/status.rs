//! Status codes by name.

use std::fmt;

use crate::types::CUresult;

macro_rules! names {
    ($($name:ident;)*) => {
        impl CUresult {
            /// Every code the header declares.
            pub const ALL: &[CUresult] = &[$(CUresult::$name),*];

            /// The code's name in `cuda.h`; `None` for one that a newer driver invented.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(CUresult::$name => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}
crate::for_each_code!(names);

impl fmt::Display for CUresult {
    /// `CUDA_ERROR_OUT_OF_MEMORY (2)`, or `unknown status (4711)`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.name().unwrap_or("unknown status"), self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_and_unknown_codes_print_their_number() {
        assert_eq!(CUresult::CUDA_ERROR_OUT_OF_MEMORY.to_string(), "CUDA_ERROR_OUT_OF_MEMORY (2)");
        assert_eq!(CUresult(4711).to_string(), "unknown status (4711)");
    }

    #[test]
    fn every_declared_code_has_a_name_of_its_own() {
        let mut names: Vec<_> = CUresult::ALL.iter().map(|code| code.name()).collect();
        assert!(names.len() > 90 && names.iter().all(Option::is_some));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CUresult::ALL.len());
    }
}

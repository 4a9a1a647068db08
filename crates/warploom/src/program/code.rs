//! Status codes of NVRTC.

/// Status codes of a library, with the names of its header.
macro_rules! codes {
    ($(#[$type_meta:meta])* $code:ident, $library:literal; $($(#[$meta:meta])* $name:ident = $number:literal;)*) => {
        $(#[$type_meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $code(pub i32);

        impl $code {
            /// Done.
            pub const SUCCESS: $code = $code(0);
            $($(#[$meta])* pub const $name: $code = $code($number);)*

            /// Its name in the header; `None` for one that a newer library invented.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $code::SUCCESS => Some(concat!($library, "_SUCCESS")),
                    $($code::$name => Some(concat!($library, "_ERROR_", stringify!($name))),)*
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $code {
            /// The name and the number.
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(formatter, "{} ({})", self.name().unwrap_or("a code newer than those known here"), self.0)
            }
        }
    };
}

pub(super) use codes;

codes! {
    /// NVRTC's error.
    NvrtcCode, "NVRTC";
    /// Too little memory.
    OUT_OF_MEMORY = 1;
    /// No program could be made.
    PROGRAM_CREATION_FAILURE = 2;
    /// An argument was wrong.
    INVALID_INPUT = 3;
    /// There is no such program.
    INVALID_PROGRAM = 4;
    /// An option was wrong.
    INVALID_OPTION = 5;
    /// The program is wrong.
    COMPILATION = 6;
    /// The library of built-in functions is missing, or another version's.
    BUILTIN_OPERATION_FAILURE = 7;
    /// A name was asked for too late.
    NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8;
    /// A name was asked for that is not known yet.
    NO_LOWERED_NAMES_BEFORE_COMPILATION = 9;
    /// Nothing in the program has this name.
    NAME_EXPRESSION_NOT_VALID = 10;
    /// A mistake of NVRTC's.
    INTERNAL_ERROR = 11;
    /// The file with times could not be written.
    TIME_FILE_WRITE_FAILED = 12;
    /// No precompiled header was asked for.
    NO_PCH_CREATE_ATTEMPTED = 13;
    /// The memory for precompiled headers is too small.
    PCH_CREATE_HEAP_EXHAUSTED = 14;
    /// A precompiled header could not be made.
    PCH_CREATE = 15;
    /// The compilation was ended from outside.
    CANCELLED = 16;
    /// The file with a trace of times could not be written.
    TIME_TRACE_FILE_WRITE_FAILED = 17;
    /// Someone else is at it.
    BUSY = 18;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_the_name_of_the_header_and_its_number() {
        assert_eq!(NvrtcCode::BUILTIN_OPERATION_FAILURE.to_string(), "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE (7)");
        assert_eq!(NvrtcCode::SUCCESS.to_string(), "NVRTC_SUCCESS (0)");
        assert_eq!(NvrtcCode(99).to_string(), "a code newer than those known here (99)");
    }
}

//! Tables of a library's functions with their C types.

/// Defines a table of functions: those that every version of the library has, and optional ones of newer
/// versions.
macro_rules! table {
    (
        $table:ident { $($(#[$meta:meta])* $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)* }
        $(newer { $($(#[$newer_meta:meta])* $newer:ident($($newer_argument:ident: $newer_type:ty),*) -> $newer_result:ty;)* })?
    ) => {
        /// The functions of a library.
        #[derive(Clone, Copy, Debug)]
        pub struct $table {
            $($(#[$meta])* pub $name: unsafe extern "C" fn($($argument: $type),*) -> $result,)*
            $($($(#[$newer_meta])* pub $newer: Option<unsafe extern "C" fn($($newer_argument: $newer_type),*) -> $newer_result>,)*)?
        }

        impl $table {
            /// The functions of a library, or the name of the first that it lacks.
            ///
            /// # Safety
            ///
            /// The library's symbols of these names have these signatures, and the library stays loaded.
            pub(super) unsafe fn of(library: &$crate::dynamic_library::DynamicLibrary) -> Result<$table, &'static str> {
                Ok($table {
                    // SAFETY: the caller vouches for the signatures.
                    $($name: unsafe { library.function(stringify!($name)) }.ok_or(stringify!($name))?,)*
                    // SAFETY: as above.
                    $($($newer: unsafe { library.function(stringify!($newer)) },)*)?
                })
            }
        }
    };
}

pub(crate) use table;

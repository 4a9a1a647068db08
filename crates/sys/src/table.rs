//! One pointer, and one name, per driver function.

use crate::types::CUresult;

macro_rules! table {
    ($($family:ident $slot:ident $name:literal $version:literal $per_thread:literal $suffix:literal
        ($($argument:ident: $type:ty),*);)*) => {
        /// One optional pointer per driver function and ABI.
        ///
        /// A slot is empty where the driver is older than the function.
        #[expect(non_snake_case, reason = "the slots have the names of the C functions")]
        #[derive(Clone, Copy, Debug)]
        pub struct DriverTable {
            $(
                #[doc = concat!("`", $name, "` as of CUDA ", stringify!($version), ".")]
                pub $slot: Option<unsafe extern "C" fn($($argument: $type),*) -> CUresult>,
            )*
        }

        impl DriverTable {
            /// A table without a single function.
            pub const EMPTY: DriverTable = DriverTable { $($slot: None),* };
        }

        /// A driver function: one name per slot of the table.
        #[expect(non_camel_case_types, reason = "the C functions' own names")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Function {
            $(
                #[doc = concat!("`", stringify!($slot), "`")]
                $slot,
            )*
        }

        impl Function {
            /// Every function, in the order of the list.
            pub const ALL: &[Function] = &[$(Function::$slot),*];

            /// The exported C name of this ABI, such as `cuMemAlloc_v2`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Function::$slot => stringify!($slot),)* }
            }

            /// The name without a version suffix, as `cuGetProcAddress` takes it.
            #[must_use]
            pub const fn base_name(self) -> &'static str {
                match self { $(Function::$slot => $name,)* }
            }

            /// The CUDA version that introduced this ABI: 12.2 is 12020.
            #[must_use]
            pub const fn version(self) -> i32 {
                match self { $(Function::$slot => $version,)* }
            }

            /// The heading the function stands under in the list.
            #[must_use]
            pub const fn family(self) -> &'static str {
                match self { $(Function::$slot => stringify!($family),)* }
            }

            /// Version and symbol suffix of the variant in which stream 0 is the per-thread default stream.
            #[must_use]
            pub const fn per_thread(self) -> Option<(i32, &'static str)> {
                match self { $(Function::$slot => if $per_thread == 0 { None } else { Some(($per_thread, $suffix)) },)* }
            }
        }
    };
}
crate::for_each_function!(table);

impl Function {
    /// Position in [`Function::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl std::fmt::Display for Function {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exported_name_is_its_base_name_with_at_most_a_version() {
        for function in Function::ALL {
            let rest = function.name().strip_prefix(function.base_name()).expect("a name starts with its base");
            assert!(rest.is_empty() || rest.starts_with("_v"), "{function}");
            if let Some((version, suffix)) = function.per_thread() {
                assert!(version >= function.version() && ["_ptsz", "_ptds"].contains(&suffix), "{function}");
            }
        }
    }
}

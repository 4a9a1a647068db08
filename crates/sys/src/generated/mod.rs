//! Output of `cargo xtask generate`.

mod codes;
mod functions;

/// The C types and constants of `cuda.h`.
#[rustfmt::skip]
#[expect(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    clippy::identity_op,
    unpredictable_function_pointer_comparisons,
    reason = "generated: C's names, documented in cuda.h"
)]
pub mod types;

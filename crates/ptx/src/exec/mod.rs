//! Runs decoded kernels.

pub(crate) mod arith;

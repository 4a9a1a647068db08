//! Device and page-locked host memory: allocation and release.

pub(crate) mod device;
pub(crate) mod host;
pub(crate) mod release;

//! Variants of instructions, by family.

pub(crate) mod approximate;
pub(crate) mod atomic;
pub(crate) mod bits;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod float;
pub(crate) mod half;
pub(crate) mod integer;
pub(crate) mod matrix;
pub(crate) mod product;
pub(crate) mod sparse;
pub(crate) mod video;
pub(crate) mod video_parts;
pub(crate) mod warp;
pub(crate) mod wmma;

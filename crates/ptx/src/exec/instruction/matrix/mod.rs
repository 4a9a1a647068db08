//! Matrix instructions: matrices that the lanes of a warp hold together.
//!
//! The hardware multiplies tiles: 8 or 16 rows of the first factor by 8 columns of the second. Larger
//! products are several tiles, and registers come tile by tile. In each, lane `l` belongs to line `l / 4`, a
//! row of the first factor or a column of the second, and holds the elements that lie at `l % 4`; a register
//! holds as many neighbours as fit it. Registers of 16 lines alternate between the upper eight and the lower
//! eight, then go on by the width of four lanes.
//!
//! PTX leaves the lanes of `wmma` elements open. This is the layout of an H200, for row-major and
//! column-major matrices alike; other devices are assumed to have the same.

mod fragment;
mod layout;
mod ldmatrix;
mod m8n8k4;
mod product;
mod sparse;

//! Dimensions of grids, blocks and clusters.

use std::fmt;

/// The size in each dimension: blocks of a grid, threads of a block, blocks of a cluster.
///
/// ```
/// use warploom::Dimensions;
///
/// assert_eq!(Dimensions::from(7), Dimensions { x: 7, y: 1, z: 1 });
/// assert_eq!(Dimensions::from((16, 8)).total(), 128);
/// assert_eq!(Dimensions::from([2, 3, 4]).to_string(), "2×3×4");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dimensions {
    /// In the first direction, in which neighbours have neighbouring numbers.
    pub x: u32,
    /// In the second.
    pub y: u32,
    /// In the third.
    pub z: u32,
}

impl Dimensions {
    /// The product of all dimensions, saturating.
    #[must_use]
    #[inline]
    pub const fn total(self) -> u64 {
        (self.x as u64 * self.y as u64).saturating_mul(self.z as u64)
    }

    pub(super) fn axes(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }

    /// `true` if it has at least one and at most as many in each direction.
    #[inline]
    pub(super) fn is_within(&self, limit: &Dimensions) -> bool {
        // Of none, the number before is the largest.
        self.x.wrapping_sub(1) < limit.x && self.y.wrapping_sub(1) < limit.y && self.z.wrapping_sub(1) < limit.z
    }

    /// `true` if it has at most as many in each direction.
    pub(super) fn fits(self, limit: Dimensions) -> bool {
        self.x <= limit.x && self.y <= limit.y && self.z <= limit.z
    }
}

impl From<u32> for Dimensions {
    fn from(x: u32) -> Self {
        Dimensions { x, y: 1, z: 1 }
    }
}

impl From<(u32, u32)> for Dimensions {
    fn from((x, y): (u32, u32)) -> Self {
        Dimensions { x, y, z: 1 }
    }
}

impl From<(u32, u32, u32)> for Dimensions {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Dimensions { x, y, z }
    }
}

impl From<[u32; 3]> for Dimensions {
    fn from([x, y, z]: [u32; 3]) -> Self {
        Dimensions { x, y, z }
    }
}

impl fmt::Display for Dimensions {
    /// `64×1×1`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}×{}×{}", self.x, self.y, self.z)
    }
}

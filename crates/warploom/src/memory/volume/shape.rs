//! The shape of a volume: its extent, and the distances between its rows and planes.

use crate::{MemoryError, Result};

/// The extent of a volume in values, and the distances between its rows and between its planes.
///
/// ```
/// use warploom::VolumeShape;
///
/// let packed = VolumeShape::packed(4, 3, 2);
/// assert_eq!((packed.pitch(), packed.plane_height()), (4, 3));
/// let padded = packed.with_pitch(64).with_plane_height(8); // a plane each 8 rows of 64 values
/// assert_eq!((padded.width(), padded.height(), padded.depth()), (4, 3, 2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct VolumeShape {
    width: usize,
    height: usize,
    depth: usize,
    pitch: usize,
    plane_height: usize,
}

impl VolumeShape {
    /// `depth` planes of `height` rows of `width` values, without gaps.
    pub fn packed(width: usize, height: usize, depth: usize) -> VolumeShape {
        VolumeShape { width, height, depth, pitch: width, plane_height: height }
    }

    /// Rows that begin `pitch` values behind each other.
    pub fn with_pitch(self, pitch: usize) -> VolumeShape {
        VolumeShape { pitch, ..self }
    }

    /// Planes that begin `plane_height` rows behind each other.
    pub fn with_plane_height(self, plane_height: usize) -> VolumeShape {
        VolumeShape { plane_height, ..self }
    }

    /// The number of values in a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The number of rows in a plane.
    #[must_use]
    pub fn height(&self) -> usize {
        self.height
    }

    /// The number of planes.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The number of values from the start of a row to the start of the next.
    #[must_use]
    pub fn pitch(&self) -> usize {
        self.pitch
    }

    /// The number of rows from the start of a plane to the start of the next.
    #[must_use]
    pub fn plane_height(&self) -> usize {
        self.plane_height
    }

    /// Width, height and depth.
    pub(in crate::memory) fn extent(&self) -> (usize, usize, usize) {
        (self.width, self.height, self.depth)
    }

    /// The number of values; inside an allocation, so that it does not overflow.
    pub(in crate::memory) fn values(&self) -> usize {
        if self.is_empty() { 0 } else { self.width * self.height * self.depth }
    }

    fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    /// The values before a position, gaps included; inside an allocation, as above.
    pub(in crate::memory) fn offset(&self, plane: usize, row: usize, column: usize) -> usize {
        (plane * self.plane_height + row) * self.pitch + column
    }

    /// Refuses a shape whose rows or planes overlap, or that exceeds `len` values. Distances that mean
    /// nothing, because there is nothing behind, are those of a packed volume.
    pub(super) fn inside(self, len: usize) -> Result<VolumeShape> {
        let VolumeShape { width, height, depth, pitch, plane_height } = self;
        if width > pitch {
            return Err(MemoryError::RowTooWide { width, pitch }.into());
        }
        if height > plane_height {
            return Err(MemoryError::PlaneTooHigh { height, plane_height }.into());
        }
        if self.is_empty() {
            return Ok(VolumeShape::packed(width, height, depth));
        }
        let rows = (depth - 1).checked_mul(plane_height).and_then(|rows| rows.checked_add(height - 1));
        let end = rows.and_then(|rows| rows.checked_mul(pitch)).and_then(|start| start.checked_add(width));
        if end.is_none_or(|end| end > len) {
            return Err(MemoryError::VolumeOutOfRange { shape: self, len }.into());
        }
        let plane_height = if depth > 1 { plane_height } else { height };
        let pitch = if height > 1 || depth > 1 { pitch } else { width };
        Ok(VolumeShape { pitch, plane_height, ..self })
    }

    /// Pitch, width and height of a plane. Rows without a value have no memory to have a pitch in.
    pub(super) fn rows(&self) -> (usize, usize, usize) {
        (if self.is_empty() { self.width } else { self.pitch }, self.width, self.height)
    }

    /// A part of it with another extent.
    pub(super) fn part(self, width: usize, height: usize, depth: usize) -> VolumeShape {
        VolumeShape { width, height, depth, ..self }
    }
}

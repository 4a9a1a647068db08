//! The pieces of a staged copy.

use std::ops::Range;

use super::{CHUNK, SMALLEST_PIECE};

/// The pieces of packed planes of rows on the host, as ranges of bytes: of whole planes, or of whole rows of
/// one plane, or of a part of one row, depending on the size of each.
#[derive(Clone)]
pub(in crate::memory) struct Pieces {
    start: usize,
    total: usize,
    row: usize,
    plane: usize,
    sizes: Sizes,
}

/// The sizes of pieces. The device is several times as fast as the host, so that few pieces keep both busy,
/// and only the one that is copied alone has to be small.
#[derive(Clone, Copy)]
enum Sizes {
    /// The first is small: the host waits for it.
    Growing,
    /// The last is small: the device is behind by that.
    Shrinking,
}

impl Pieces {
    /// Pieces of contiguous bytes.
    pub(in crate::memory) fn linear(bytes: usize) -> Pieces {
        Pieces::rows(1, bytes)
    }

    /// Pieces of `total` bytes in rows of `row` bytes, which is not 0.
    pub(in crate::memory) fn rows(row: usize, total: usize) -> Pieces {
        Pieces::planes(row, total, total)
    }

    /// Pieces of `total` bytes in planes of `plane` bytes, in rows of `row` bytes; neither is 0.
    pub(in crate::memory) fn planes(row: usize, plane: usize, total: usize) -> Pieces {
        Pieces { start: 0, total, row, plane, sizes: Sizes::Growing }
    }

    /// The same in an order for uploads: the small ones last.
    pub(super) fn shrinking(self) -> Pieces {
        Pieces { sizes: Sizes::Shrinking, ..self }
    }

    /// The most bytes of the next piece.
    fn size(&self) -> usize {
        let left = self.total - self.start;
        let size = match self.sizes {
            Sizes::Growing => 3 * self.start,
            Sizes::Shrinking => left - left / 4,
        };
        let size = size.clamp(SMALLEST_PIECE, CHUNK);
        // No piece is left that is not worth a call.
        if left <= CHUNK && left < size + SMALLEST_PIECE { left } else { size }
    }

    /// The bytes of all pieces.
    pub(super) fn total(&self) -> usize {
        self.total
    }
}

impl Iterator for Pieces {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        if self.start == self.total {
            return None;
        }
        let (start, size) = (self.start, self.size());
        let (unit, limit) = if self.plane <= size && start.is_multiple_of(self.plane) {
            (self.plane, self.total)
        } else if self.row <= size && start.is_multiple_of(self.row) {
            (self.row, (start / self.plane + 1) * self.plane)
        } else {
            (1, (start / self.row + 1) * self.row)
        };
        self.start = (start + size / unit * unit).min(limit).min(self.total);
        Some(start..self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CHUNK, SMALLEST_PIECE};
    use super::Pieces;

    /// The pieces in both orders.
    fn both(pieces: &Pieces) -> [Pieces; 2] {
        [pieces.clone(), pieces.clone().shrinking()]
    }

    /// The pieces of a copy are all of it, in order, each at most a chunk, and none is empty.
    #[test]
    fn pieces_cover_a_copy_once_and_fit_into_chunks() {
        for total in [1, 7, SMALLEST_PIECE, SMALLEST_PIECE + 1, 3 * CHUNK, 100 * CHUNK + 5] {
            for pieces in both(&Pieces::linear(total)) {
                let mut end = 0;
                for piece in pieces {
                    assert_eq!(piece.start, end);
                    assert!(!piece.is_empty() && piece.len() <= CHUNK);
                    end = piece.end;
                }
                assert_eq!(end, total);
            }
        }
    }

    #[test]
    fn pieces_of_rows_are_whole_rows_or_parts_of_one() {
        for (row, rows) in [(1000, 5000), (CHUNK, 3), (CHUNK + 1, 3), (5 * CHUNK / 2, 4), (7, 1), (300_000, 9)] {
            for pieces in both(&Pieces::rows(row, row * rows)) {
                let mut end = 0;
                for piece in pieces {
                    assert_eq!(piece.start, end);
                    assert!(!piece.is_empty() && piece.len() <= CHUNK);
                    let is_whole = piece.start % row == 0 && piece.len() % row == 0;
                    assert!(is_whole || piece.start / row == (piece.end - 1) / row, "{piece:?} of rows of {row}");
                    end = piece.end;
                }
                assert_eq!(end, row * rows);
            }
        }
    }

    #[test]
    fn pieces_of_planes_are_whole_planes_or_lie_in_one() {
        let shapes =
            [(100, 50, 4000), (1000, 3000, 5), (CHUNK + 1, 2, 3), (7, 1, 1), (CHUNK / 4, 4, 9), (1000, 200, 90)];
        for (row, height, depth) in shapes {
            let plane = row * height;
            for pieces in both(&Pieces::planes(row, plane, plane * depth)) {
                let mut end = 0;
                for piece in pieces {
                    assert_eq!(piece.start, end);
                    assert!(!piece.is_empty() && piece.len() <= CHUNK);
                    let are_planes = piece.start % plane == 0 && piece.len() % plane == 0;
                    let is_in_plane = piece.start / plane == (piece.end - 1) / plane;
                    let are_rows = piece.start % row == 0 && piece.len() % row == 0;
                    let is_in_row = piece.start / row == (piece.end - 1) / row;
                    assert!(are_planes || is_in_plane && (are_rows || is_in_row), "{piece:?} of {row}, {plane}");
                    end = piece.end;
                }
                assert_eq!(end, plane * depth);
            }
        }
    }

    /// Small copies overlap, too, in few pieces.
    #[test]
    fn a_copy_of_a_chunk_has_several_pieces() {
        let sizes = |pieces: Pieces| pieces.map(|piece| piece.len() >> 10).collect::<Vec<_>>();
        assert_eq!(sizes(Pieces::linear(1 << 20)), [64, 192, 768]);
        assert_eq!(sizes(Pieces::linear(1 << 20).shrinking()), [768, 192, 64]);
        assert_eq!(sizes(Pieces::linear(8 << 20)), [64, 192, 768, 2048, 2048, 2048, 1024]);
        for pieces in both(&Pieces::linear(SMALLEST_PIECE)) {
            assert_eq!(pieces.count(), 1);
        }
    }
}

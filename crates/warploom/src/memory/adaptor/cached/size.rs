//! Sizes of blocks and segments.

/// Blocks are a whole number of these bytes, so that each is aligned as well as its segment, up to this.
pub(super) const GRANULE: usize = 512;
/// Up to this size, blocks are rounded up to [`GRANULE`] and not further.
const SMALL: usize = 1 << 20;
/// Larger blocks are rounded up by less than this part of them.
const PART: u32 = 7;
/// Segments for small blocks are a whole number of these bytes.
const PAGE: usize = 2 << 20;
/// A new segment for small blocks is at least this part of the bytes that are there, and at most
/// [`MOST_SHARE`].
const SHARE: usize = 16;
const MOST_SHARE: usize = 32 << 20;

/// Kinds of segments, so that a small block that stays keeps no large segment from being given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Many blocks of up to 1 MiB.
    Small,
    /// A larger block, or one that is up to a fifth smaller and a rest.
    Large,
}

impl Kind {
    /// The kind of segment for blocks of a size.
    #[inline]
    pub(super) fn of(block: usize) -> Kind {
        if block <= SMALL { Kind::Small } else { Kind::Large }
    }

    /// The size of the largest block that is cut for one of a size.
    pub(super) fn most(self, block: usize) -> usize {
        match self {
            Kind::Small => usize::MAX,
            Kind::Large => block.saturating_add(block / 4),
        }
    }
}

/// The size of the block for an allocation; `None` if it overflows.
#[inline]
pub(super) fn block_size(bytes: usize) -> Option<usize> {
    let step = if bytes <= SMALL { GRANULE } else { 1 << (bytes.ilog2() - PART) };
    bytes.checked_next_multiple_of(step)
}

/// The size of a new segment for a block, if so many bytes are there already. For small blocks it grows with
/// them, so that many small blocks need few calls and few blocks little memory.
pub(super) fn segment_size(block: usize, reserved: usize) -> usize {
    let share = (reserved / SHARE).clamp(PAGE, MOST_SHARE) / PAGE * PAGE;
    match Kind::of(block) {
        Kind::Small => share,
        Kind::Large => block,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_waste_less_than_a_granule_or_a_hundredth() {
        assert_eq!([1, 512, 513, SMALL].map(block_size), [Some(512), Some(512), Some(1024), Some(SMALL)]);
        for bytes in [SMALL + 1, 5 << 20, (64 << 20) - 1, (3 << 30) + 7] {
            let size = block_size(bytes).expect("it does not overflow");
            assert!(size.is_multiple_of(GRANULE) && size >= bytes && (size - bytes) * 100 < bytes, "{bytes}: {size}");
        }
        assert_eq!(block_size(usize::MAX), None);
    }

    #[test]
    fn segments_of_small_blocks_grow_with_the_memory_that_is_there() {
        assert_eq!(segment_size(512, 0), PAGE);
        assert_eq!(segment_size(SMALL, 100 << 20), 6 << 20);
        assert_eq!(segment_size(512, 1 << 40), MOST_SHARE);
        assert_eq!(segment_size(5 << 20, 1 << 40), 5 << 20);
    }
}

//! The 32 lanes of a warp: rows with a value for each lane, and masks with a bit for each.

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// A mask of all lanes.
pub(crate) const ALL: u32 = u32::MAX;

pub(crate) type Words = [u32; LANES];
pub(crate) type Longs = [u64; LANES];

/// A row that starts where a line of the processor's cache does, so that no part of it lies in two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub(crate) struct Row<T>(pub(crate) [T; LANES]);

impl<T: Copy> Row<T> {
    /// The same for all lanes.
    pub(crate) fn of(value: T) -> Self {
        Row([value; LANES])
    }
}

impl<T: Copy + Default> Default for Row<T> {
    fn default() -> Self {
        Row::of(T::default())
    }
}

/// A row, made lane by lane.
///
/// A plain loop, as those over registers are: `array::from_fn` and `array::map` are stacks of functions that stay
/// calls where their caller is compiled for a better processor than they.
#[inline(always)]
pub(crate) fn by_lane<T: Copy + Default>(mut value: impl FnMut(usize) -> T) -> [T; LANES] {
    let mut row = [T::default(); LANES];
    for (lane, into) in row.iter_mut().enumerate() {
        *into = value(lane);
    }
    row
}

/// A row of what each value becomes.
#[inline(always)]
pub(crate) fn map_row<T: Copy, U: Copy + Default>(from: &[T; LANES], mut value: impl FnMut(T) -> U) -> [U; LANES] {
    by_lane(|lane| value(from[lane]))
}

/// The lanes of a mask, lowest first.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros();
        rest &= rest.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_of_a_mask_come_lowest_first() {
        assert_eq!(lanes(0b1000_0101).collect::<Vec<_>>(), [0, 2, 7]);
        assert_eq!(lanes(0).count(), 0);
    }
}

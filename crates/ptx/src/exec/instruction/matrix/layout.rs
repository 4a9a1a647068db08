//! The elements of a tile that each lane holds.

/// Line and place in it of the first element of a factor's register, in a tile: `width` neighbours lie in a
/// register.
pub(crate) fn factor(tall: bool, lane: usize, register: usize, width: usize) -> (usize, usize) {
    let (below, beside) = if tall { (register % 2, register / 2) } else { (0, register) };
    (lane / 4 + 8 * below, (lane % 4 + 4 * beside) * width)
}

/// Line and place in it of a sum, in a tile.
pub(crate) fn sum(lane: usize, index: usize) -> (usize, usize) {
    (lane / 4 + 8 * (index / 2), lane % 4 * 2 + index % 2)
}

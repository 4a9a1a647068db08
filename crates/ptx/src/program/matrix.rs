//! Forms of the matrix instructions.

use super::space::Space;
use crate::arith::round::Rounding;

/// The element type of a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F16,
    Bf16,
    Tf32,
    /// Eight bits of floating point.
    E4m3,
    E5m2,
    F64,
    S8,
    U8,
    S4,
    U4,
    /// Bits, whose differences are counted.
    Differing,
    /// Bits, of which those that both have are counted.
    Common,
}

impl Element {
    pub(crate) fn bits(self) -> usize {
        match self {
            Element::F64 => 64,
            Element::Tf32 => 32,
            Element::F16 | Element::Bf16 => 16,
            Element::E4m3 | Element::E5m2 | Element::S8 | Element::U8 => 8,
            Element::S4 | Element::U4 => 4,
            Element::Differing | Element::Common => 1,
        }
    }

    pub(crate) fn is_integer(self) -> bool {
        matches!(self, Element::S8 | Element::U8 | Element::S4 | Element::U4)
    }

    pub(crate) fn is_bit(self) -> bool {
        matches!(self, Element::Differing | Element::Common)
    }
}

/// The tiles of a product; the hardware multiplies one at a time: 8 or 16 rows by 8 columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tiles {
    /// One of 8 × 8.
    Small,
    /// One of 16 × 8.
    Tall,
    /// Two of 16 × 8 side by side: 16 × 16.
    Beside,
    /// Two of 16 × 8, one below the other: 32 × 8.
    Below,
    /// The same transposed, 8 × 32: the factors change their roles.
    Turned,
}

/// The conversion of a sum to its register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Integers wrap around.
    Plain,
    /// `.satfinite`: integers are clamped.
    Saturated,
    /// Doubles are rounded like this, product by product.
    Rounded(Rounding),
}

/// `mma`, `wmma.mma`: slots of `d`, `a`, `b` and `c` lie in the program's list from slot 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Product {
    pub(crate) tiles: Tiles,
    /// Number of columns of `a`, which meet rows of `b`.
    pub(crate) k: u16,
    /// Elements of `a` and `b`.
    pub(crate) factors: [Element; 2],
    /// `true` if `d` and `c` are halves in pairs instead of singles.
    pub(crate) halves: [bool; 2],
    pub(crate) ending: Ending,
    /// Of `mma.sp`: which lanes of every four say where the elements of `a` belong, in a register behind `c`.
    pub(crate) chosen_by: Option<u8>,
}

impl Product {
    /// Registers of `d`, `a`, `b` and `c` in each lane, those that copies of others lie in left out.
    pub(crate) fn registers(self) -> [usize; 4] {
        let bits = self.factors[0].bits();
        let right = usize::from(self.k) * 8 * bits / 32 / bits.max(32);
        // Of a sparse factor, half of the elements are there.
        let left = if self.chosen_by.is_some() { right } else { 2 * right };
        let (sums, first, second) = match self.tiles {
            Tiles::Small => (2, right, right),
            Tiles::Tall => (4, left, right),
            Tiles::Beside => (8, left, 2 * right),
            Tiles::Below => (8, 2 * left, right),
            Tiles::Turned => (8, right, 2 * left),
        };
        let packed = |half: bool| if half { sums / 2 } else { sums };
        [packed(self.halves[0]), first, second, packed(self.halves[1])]
    }
}

/// `mma.m8n8k4` of halves: four products, each of eight lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quads {
    /// `true` if `a` and `b` lie row by row.
    pub(crate) rows: [bool; 2],
    /// `true` if `d` and `c` are halves in pairs instead of singles.
    pub(crate) halves: [bool; 2],
}

impl Quads {
    /// Registers of `d`, `a`, `b` and `c` in each lane.
    pub(crate) fn registers(self) -> [usize; 4] {
        let [d, c] = self.halves.map(|half| if half { 4 } else { 8 });
        [d, 2, 2, c]
    }
}

/// `wmma.load`, `wmma.store`: a fragment of a matrix, of which each lane holds some elements.
///
/// A factor has a line for each row of `a` or column of `b`; along it lie the elements that meet. Lines of a
/// sum are rows, or columns where the product is [`Turned`](Tiles::Turned).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    pub(crate) lines: u8,
    /// Elements of a line.
    pub(crate) length: u8,
    /// Bits of an element.
    pub(crate) bits: u8,
    /// A sum, or a factor.
    pub(crate) sum: bool,
    /// `true` if tiles have 16 lines instead of 8.
    pub(crate) tall: bool,
    /// `true` if lines lie in memory as a whole; if not, elements across them are neighbours.
    pub(crate) along: bool,
    /// From registers to memory.
    pub(crate) store: bool,
    /// Registers of each lane, copies of others among them.
    pub(crate) registers: u8,
    pub(crate) space: Space,
    /// `true` if the address is 64 bits wide.
    pub(crate) wide: bool,
}

/// `ldmatrix`, `stmatrix`: 8 × 8 matrices of 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub(crate) count: u8,
    pub(crate) transposed: bool,
    /// From registers to memory.
    pub(crate) store: bool,
    /// `true` if the address is 64 bits wide.
    pub(crate) wide: bool,
    /// `true` if the address is a generic one.
    pub(crate) generic: bool,
}

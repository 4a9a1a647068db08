//! Kinds of operands.

/// The kind of an operand, which decides the values worth trying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    B16,
    B32,
    B64,
    /// 32 bits of which the lower few matter: counts of bits.
    Count,
    /// Four bytes at random.
    Bytes,
    /// Metadata of a sparse factor: two of four elements, eight times.
    Choices,
    /// Metadata of a sparse factor: one of two elements, eight times.
    Choice,
    Predicate,
    F16,
    Bf16,
    F32,
    F64,
    F16x2,
    Bf16x2,
    /// Singles within a few powers of two.
    Angle,
    /// Doubles and the others without infinities, and within a few powers of two.
    Tame(Narrow),
    /// The same, most of them zero.
    Sparse(Narrow),
    /// All exponents, and what is no number now and then.
    Wild(Narrow),
    /// A few powers of two, whose sums are hard to round.
    Power(Narrow),
    /// One value for the whole warp, never zero.
    Mask,
    /// A lane of a warp, sometimes beyond it.
    Lane,
    /// Few different values.
    Few,
    FewLong,
}

/// The element type of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Narrow {
    F16x2,
    Bf16x2,
    E4m3x4,
    E5m2x4,
    Tf32,
    F32,
    F64,
}

/// Bits of a fraction and of an exponent.
pub(crate) type Layout = (u32, u32);
pub(crate) const HALF: Layout = (10, 5);
pub(crate) const BRAIN: Layout = (7, 8);
pub(crate) const SINGLE: Layout = (23, 8);
pub(crate) const DOUBLE: Layout = (52, 11);

impl Kind {
    pub(crate) fn named(name: &str) -> Kind {
        let narrow = |name: &str| match name {
            "f16x2" => Narrow::F16x2,
            "bf16x2" => Narrow::Bf16x2,
            "e4m3x4" => Narrow::E4m3x4,
            "e5m2x4" => Narrow::E5m2x4,
            "tf32" => Narrow::Tf32,
            "f32" => Narrow::F32,
            "f64" => Narrow::F64,
            _ => panic!("no element is called {name}"),
        };
        match name {
            "b16" | "u16" | "s16" => Kind::B16,
            "b32" | "u32" | "s32" | "u16x2" | "s16x2" => Kind::B32,
            "b64" | "u64" | "s64" => Kind::B64,
            "count" => Kind::Count,
            "bytes" => Kind::Bytes,
            "choices" => Kind::Choices,
            "choice" => Kind::Choice,
            "pred" => Kind::Predicate,
            "f16" => Kind::F16,
            "bf16" => Kind::Bf16,
            "f32" => Kind::F32,
            "f64" => Kind::F64,
            "f16x2" => Kind::F16x2,
            "bf16x2" => Kind::Bf16x2,
            "angle" => Kind::Angle,
            "mask" => Kind::Mask,
            "lane" => Kind::Lane,
            "few" => Kind::Few,
            "few64" => Kind::FewLong,
            _ => match name.split_once(':') {
                Some(("tame", element)) => Kind::Tame(narrow(element)),
                Some(("sparse", element)) => Kind::Sparse(narrow(element)),
                Some(("wild", element)) => Kind::Wild(narrow(element)),
                Some(("power", element)) => Kind::Power(narrow(element)),
                _ => panic!("no operand is called {name}"),
            },
        }
    }

    /// Bits of the register that holds it.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Kind::B16 | Kind::F16 | Kind::Bf16 => 16,
            Kind::B64 | Kind::F64 | Kind::FewLong => 64,
            Kind::Tame(Narrow::F64)
            | Kind::Sparse(Narrow::F64)
            | Kind::Wild(Narrow::F64)
            | Kind::Power(Narrow::F64) => 64,
            _ => 32,
        }
    }

    /// Its layout, if it is one floating-point number.
    pub(crate) fn layout(self) -> Option<Layout> {
        Some(match self {
            Kind::F16 => HALF,
            Kind::Bf16 => BRAIN,
            Kind::F32 => SINGLE,
            Kind::F64 => DOUBLE,
            _ => return None,
        })
    }
}

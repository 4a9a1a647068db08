//! Variables of every state space: `.global`, `.shared`, `.param` and the others.

use super::Immediate;
use crate::error::Position;

/// `.visible .global .align 8 .u64 table[2] = {generic(first), 7};`, or a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable<'t> {
    /// The position of the name.
    pub place: Position,
    /// Its linkage.
    pub linkage: Linkage,
    /// Its state space.
    pub space: Space,
    /// The attributes of `.attribute`.
    pub attributes: Vec<Attribute<'t>>,
    /// The alignment in bytes, a power of two, where the text says it.
    pub alignment: Option<u32>,
    /// The type of each element.
    pub scalar: ScalarType,
    /// Elements of the vector that it is or consists of; 1 for scalars.
    pub lanes: u8,
    /// The memory that a parameter points to, where the text says it.
    pub pointer: Option<Pointer>,
    /// The name; `_` in prototypes.
    pub name: &'t str,
    /// `name<8>` stands for `name0` to `name7`.
    pub count: Option<u32>,
    /// The dimensions of an array, outermost first; `None` is `[]`, whose size comes from the initialiser or
    /// the launch.
    pub dimensions: Vec<Option<u64>>,
    /// Its initialiser.
    pub initial: Option<Initial<'t>>,
}

/// The visibility of a name outside of its module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Linkage {
    /// The module alone.
    #[default]
    Internal,
    /// `.visible`: all modules.
    Visible,
    /// `.extern`: defined in another module.
    Extern,
    /// `.weak`: all modules, unless another one defines it, too.
    Weak,
    /// `.common`: all modules; definitions in several modules are one.
    Common,
}

/// The state space of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// `.reg`: a register, as functions may take and return them.
    Register,
    /// `.global`: memory of the device.
    Global,
    /// `.const`: memory of the device that kernels only read.
    Constant,
    /// `.shared`: memory of a block.
    Shared,
    /// `.local`: memory of a thread.
    Local,
    /// `.param`: arguments and results.
    Parameter,
    /// `.tex`: a texture, as old texts declare it.
    Texture,
}

/// The type of a register or of a variable's elements; `Bf16` and `Bf16x2` are types of instructions alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of PTX")]
pub enum ScalarType {
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    F32,
    F64,
    Bf16,
    Bf16x2,
    Predicate,
    TextureReference,
    SamplerReference,
    SurfaceReference,
}

impl ScalarType {
    /// The type that PTX calls `word`, without the dot.
    pub fn named(word: &str) -> Option<Self> {
        Some(match word {
            "b8" => Self::B8,
            "b16" => Self::B16,
            "b32" => Self::B32,
            "b64" => Self::B64,
            "b128" => Self::B128,
            "u8" => Self::U8,
            "u16" => Self::U16,
            "u32" => Self::U32,
            "u64" => Self::U64,
            "s8" => Self::S8,
            "s16" => Self::S16,
            "s32" => Self::S32,
            "s64" => Self::S64,
            "f16" => Self::F16,
            "f16x2" => Self::F16x2,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "bf16" => Self::Bf16,
            "bf16x2" => Self::Bf16x2,
            "pred" => Self::Predicate,
            "texref" => Self::TextureReference,
            "samplerref" => Self::SamplerReference,
            "surfref" => Self::SurfaceReference,
            _ => return None,
        })
    }

    /// The name in PTX, without the dot.
    pub fn name(self) -> &'static str {
        match self {
            Self::B8 => "b8",
            Self::B16 => "b16",
            Self::B32 => "b32",
            Self::B64 => "b64",
            Self::B128 => "b128",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::S8 => "s8",
            Self::S16 => "s16",
            Self::S32 => "s32",
            Self::S64 => "s64",
            Self::F16 => "f16",
            Self::F16x2 => "f16x2",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Bf16 => "bf16",
            Self::Bf16x2 => "bf16x2",
            Self::Predicate => "pred",
            Self::TextureReference => "texref",
            Self::SamplerReference => "samplerref",
            Self::SurfaceReference => "surfref",
        }
    }

    /// The same, if it is a type of registers or variables.
    pub(super) fn declared(word: &str) -> Option<Self> {
        Self::named(word).filter(|scalar| !matches!(scalar, Self::Bf16 | Self::Bf16x2))
    }

    /// Its size in bytes; a predicate counts as one, a reference as a pointer.
    pub fn size(self) -> u32 {
        match self {
            Self::B8 | Self::U8 | Self::S8 | Self::Predicate => 1,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 2,
            Self::B32 | Self::U32 | Self::S32 | Self::F16x2 | Self::F32 | Self::Bf16x2 => 4,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 8,
            Self::TextureReference | Self::SamplerReference | Self::SurfaceReference => 8,
            Self::B128 => 16,
        }
    }
}

/// `.attribute(.managed)`, or another one with its numbers
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'t> {
    /// Its name, without the dot.
    pub name: &'t str,
    /// The two numbers in parentheses, as `.unified` has them.
    pub numbers: Option<[u64; 2]>,
}

/// `.ptr .global .align 16`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// The space that it points into; generic if the text does not say.
    pub space: Option<Space>,
    /// The alignment of its target; 4 if the text does not say.
    pub alignment: u32,
}

/// The initialiser of a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Initial<'t> {
    /// A number.
    Value(Immediate),
    /// An address.
    Address(Symbol<'t>),
    /// `{…}`: an array, a vector, or rows of them; missing elements are zero.
    List(Vec<Initial<'t>>),
}

/// The address of a variable or function, as part of an initialiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'t> {
    /// Its position.
    pub place: Position,
    /// The name.
    pub name: &'t str,
    /// Bytes from its start.
    pub offset: i64,
    /// `generic(name)`: the address is one of the generic space, not of the variable's own.
    pub generic: bool,
    /// `0xFF00(name)`: one byte of the address alone, here the second; bytes count from 0 at the low end.
    pub byte: Option<u8>,
}

#[cfg(test)]
mod tests {
    use super::ScalarType;

    #[test]
    fn types_are_found_by_their_names() {
        let names = "b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 f32 f64 bf16 bf16x2 pred texref \
                     samplerref surfref";
        for name in names.split(' ') {
            assert_eq!(ScalarType::named(name).map(ScalarType::name), Some(name));
        }
    }
}

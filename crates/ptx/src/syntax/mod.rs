//! The syntax tree of a PTX text: borrowed words with their positions, and no meaning yet.
//!
//! ```text
//!   Module ─┬─ Header              .version .target .address_size
//!           ├─ Variable…           .visible .global .align 8 .u64 table[2] = {generic(first), 7};
//!           ├─ Function… ─┬─ Variable…      (.param .b32 result) name (.param .b64 .ptr .global .align 4 data)
//!           │             ├─ Bounds         .maxntid 256, 1, 1 .minnctapersm 2
//!           │             └─ Block ── Statement… ─┬─ Label          $L__BB0_2:
//!           │                                     ├─ Instruction    @!%p1 ld.global.f32 %f1, [%rd4+16];
//!           │                                     ├─ Registers      .reg .b32 %r<7>;
//!           │                                     ├─ Variable       .local .align 4 .b8 frame[16];
//!           │                                     ├─ Block          { … }
//!           │                                     └─ …              .branchtargets, .callprototype, .loc
//!           └─ File…, Section…, Alias…
//! ```
//!
//! The parser knows the grammar and no instruction: an [`Instruction`] is an opcode, its modifiers in the
//! order they are written, and [`Operand`]s. Names are not resolved. Literals are read to their bits, and
//! constant expressions are evaluated.
//!
//! Reading takes one pass, and memory in proportion to the text: about ten bytes for each of a compiler's,
//! about a hundred at the worst. Nesting is limited to [`MAX_DEPTH`], a text to [`MAX_LENGTH`]. Numbers of
//! registers and sizes of arrays are as large as the text says.
//!
//! ```
//! use warploom_ptx::syntax::{Module, Operand, Statement};
//!
//! let module = Module::parse(
//!     ".version 8.7 .target sm_90 .address_size 64
//!      .visible .entry store(.param .u64 out) {
//!          .reg .b64 %rd<2>;
//!          ld.param.u64 %rd1, [out];
//!          st.global.u32 [%rd1+4], 7;
//!          ret;
//!      }",
//! )?;
//! let store = &module.functions[0];
//! assert_eq!((store.name, store.parameters[0].name), ("store", "out"));
//! let Some(Statement::Instruction(instruction)) = store.body.as_ref().and_then(|body| body.statements.get(2)) else {
//!     panic!("the third statement is an instruction");
//! };
//! assert_eq!((instruction.opcode, &*instruction.modifiers), ("st", ["global", "u32"].as_slice()));
//! assert!(matches!(&instruction.operands[0], Operand::Address(address) if address.offset == 4));
//! # Ok::<(), warploom_ptx::Error>(())
//! ```

mod constant;
mod function;
mod header;
mod lexer;
mod module;
mod operand;
mod parse;
mod statement;
mod variable;
mod words;

pub(crate) use lexer::{Kind as WordKind, Lexer};
pub(crate) use parse::{Item, ItemKind};

pub use constant::{Immediate, Integer};
pub use function::{Bounds, Function, Kind};
pub use header::{AddressSize, Features, Header, Target, TextureMode, Version};
pub use module::{Alias, File, Module, Section};
pub use operand::{Address, Base, Operand};
pub use parse::{MAX_DEPTH, MAX_LENGTH};
pub use statement::{
    Block, BranchTargets, CallTargets, Guard, Instruction, Label, Location, Pragma, Prototype, RegisterName, Registers,
    Statement,
};
pub use variable::{Attribute, Initial, Linkage, Pointer, ScalarType, Space, Symbol, Variable};
pub use words::Words;

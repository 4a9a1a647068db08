//! Decoded programs: instructions with resolved operands, functions, variables.
//!
//! ```text
//!   syntax::Module ──decode──▶ Program ──placed──▶ Program
//!        names                  slots, offsets       with the addresses of its variables
//! ```
//!
//! Decoding refuses an unknown or unsupported instruction with its name and line. A decoded program therefore
//! runs, or stops with a [`Trap`](crate::Trap).

use std::sync::Arc;

use crate::arith::convert::Conversion;
use crate::error::{Error, Position};
use crate::program::constants::Constants;
use crate::syntax::{Header, Module};

pub(crate) mod atomic;
pub(crate) mod bulk_copy;
pub(crate) mod compute;
pub(crate) mod constants;
mod decode;
pub(crate) mod function;
mod kernel;
pub(crate) mod matrix;
pub(crate) mod operation;
mod pressure;
pub(crate) mod slot;
pub(crate) mod space;
mod stack;
mod variable;
pub(crate) mod window;

pub use kernel::{Kernel, Parameter};
pub use variable::{Variable, VariableSpace};

pub(crate) use function::Builtin;

use function::{Call, Callee, Function};
use operation::{Instruction, Operation};
use slot::Slot;
use variable::Relocation;

/// A decoded text.
///
/// Cloning is cheap: the code is shared.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) code: Arc<Code>,
    /// The numbers of the text, and the addresses of its variables.
    pub(crate) constants: Arc<Constants>,
}

/// All that does not depend on where variables lie.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) header: Header,
    pub(crate) instructions: Vec<Instruction>,
    /// The position of each instruction in the text.
    pub(crate) places: Vec<Position>,
    /// The name of each instruction, opcode and modifiers, as an index of `names`.
    pub(crate) spelled: Vec<u32>,
    pub(crate) names: Vec<String>,
    /// From which instruction on the text comes from which line of the source: file, line.
    pub(crate) sources: Vec<(u32, [u32; 2])>,
    /// Paths by the numbers that `sources` use.
    pub(crate) files: Vec<(u32, String)>,
    pub(crate) functions: Vec<Function>,
    pub(crate) calls: Vec<Call>,
    pub(crate) conversions: Vec<Conversion>,
    /// Slots and targets of instructions that have more of them than fit.
    pub(crate) lists: Vec<Slot>,
    /// Loads of which not all bytes are used: the instruction, and a bit for each byte that is.
    used_bytes: Vec<(u32, u32)>,
    /// Instructions of loops that are not to be unrolled: `nounroll`.
    pub(crate) rolled: Vec<u32>,
    /// Instructions with the address of a shared variable as a value.
    pub(crate) shared_addresses: Vec<u32>,
    warnings: Vec<String>,
    variables: Vec<Variable>,
    relocations: Vec<Relocation>,
}

impl Code {
    /// The function that an instruction calls, if it calls one.
    pub(crate) fn callee(&self, instruction: &Instruction) -> Option<Callee> {
        match instruction.operation {
            Operation::Call => {
                let called = self.calls[instruction.slots[0].value() as usize].function;
                Some(called.map_or(Callee::Anybody, |function| Callee::Function(function as usize)))
            }
            Operation::CallIndirect => Some(Callee::Anybody),
            _ => None,
        }
    }

    /// The bytes that a load uses, a bit for each, if it is said.
    #[inline]
    pub(crate) fn used_bytes(&self, pc: u32) -> Option<u32> {
        if self.used_bytes.is_empty() {
            return None;
        }
        let index = self.used_bytes.binary_search_by_key(&pc, |(pc, _)| *pc).ok()?;
        Some(self.used_bytes[index].1)
    }
}

impl Program {
    /// Reads and decodes a text.
    ///
    /// ```
    /// use warploom_ptx::Program;
    ///
    /// let text = ".version 8.7 .target sm_90 .address_size 64
    ///     .visible .entry nothing(.param .u64 data, .param .u32 count) { ret; }";
    /// let program = Program::from_text(text)?;
    /// let kernel = program.kernel("nothing").expect("it was just written");
    /// assert_eq!((kernel.parameters().len(), kernel.parameter_bytes()), (2, 12));
    ///
    /// let text = text.replace("ret;", "wgmma.fence.sync.aligned; ret;");
    /// let refused = Program::from_text(&text).unwrap_err();
    /// assert!(refused.to_string().starts_with("2:68: `wgmma.fence.sync.aligned`"), "{refused}");
    /// # Ok::<(), warploom_ptx::Error>(())
    /// ```
    pub fn from_text(text: &str) -> Result<Program, Error> {
        let module = Module::parse(text)?;
        decode::decode(&module).map_err(|refusal| refusal.in_text(text))
    }

    /// Remarks about the text that did not keep it from being decoded: pragmas that are not known.
    pub fn warnings(&self) -> &[String] {
        &self.code.warnings
    }

    /// Refuses a text that no others could be added to so that it runs.
    pub(crate) fn check(text: &str, module: &Module<'_>) -> Result<(), Error> {
        decode::check(module).map_err(|refusal| refusal.in_text(text))
    }

    /// The header of the text: version, target, address size.
    pub fn header(&self) -> &Header {
        &self.code.header
    }

    /// The kernel of a name.
    pub fn kernel(&self, name: &str) -> Option<Kernel<'_>> {
        self.kernels().find(|kernel| kernel.name() == name)
    }

    /// All kernels, in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = Kernel<'_>> {
        let functions = self.code.functions.iter().enumerate();
        functions.filter(|(_, function)| function.entry).map(|(index, _)| Kernel { program: self, index })
    }

    /// The variables that must have addresses before the program runs, in the order of the text.
    pub fn variables(&self) -> &[Variable] {
        &self.code.variables
    }

    /// The same program with its variables at the given addresses, one for each of
    /// [`variables`](Self::variables).
    ///
    /// Variables without an address are at zero, where every access traps.
    #[must_use]
    pub fn placed(&self, addresses: &[u64]) -> Program {
        let mut constants = Constants::clone(&self.constants);
        for relocation in &self.code.relocations {
            relocation.apply(&mut constants, addresses);
        }
        let constant = |(variable, _): &(&Variable, &u64)| variable.space == VariableSpace::Constant;
        let placed = self.code.variables.iter().zip(addresses).filter(constant);
        constants.ranges = placed.map(|(variable, start)| (*start, start.saturating_add(variable.size))).collect();
        Program { code: Arc::clone(&self.code), constants: Arc::new(constants) }
    }

    /// The file and line of the source that an instruction comes from, where the text says it.
    pub(crate) fn source(&self, pc: u32) -> Option<(&str, u32)> {
        let after = self.code.sources.partition_point(|(start, _)| *start <= pc);
        let (_, [file, line]) = *self.code.sources.get(after.checked_sub(1)?)?;
        let function = self.code.functions.iter().find(|function| function.holds(pc))?;
        let said = self.code.sources[after - 1].0 >= function.start;
        let path = self.code.files.iter().find(|(number, _)| *number == file).map(|(_, path)| path.as_str());
        path.filter(|_| said).map(|path| (path, line))
    }
}

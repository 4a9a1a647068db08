//! Decoded programs, and queries on their kernels.

use std::ffi::CString;

use warploom_ptx::link::{Part, link};
use warploom_ptx::syntax::Module;
use warploom_ptx::{Kernel, Parameter, Program, VariableSpace};

use super::image::{Chosen, Image, Refusal, Target};
use crate::check::emit;

/// A decoded program, with its kernels' names as C strings.
pub(crate) struct Binary {
    pub(crate) program: Program,
    names: Vec<CString>,
    /// The architecture of the target device.
    architecture: u32,
    /// The most registers of a thread, if the program bounds them.
    max_registers: Option<u32>,
}

/// The fewest registers that a bound leaves to a thread; a lower bound has no effect.
const LEAST_BOUND: u32 = 24;

/// Properties of a kernel, for launches and queries.
#[derive(Clone, Copy)]
pub(crate) struct Facts<'b> {
    binary: &'b Binary,
    pub(crate) kernel: Kernel<'b>,
}

impl Binary {
    /// Decodes the code of an image for a device.
    pub(crate) fn load(image: &Image, target: Target) -> Result<Self, Refusal> {
        let Chosen { mut text, is_cubin, is_relocatable } = image.text_for(target)?;
        if is_relocatable {
            // It loads, and nothing in it is found, as with an H200.
            text = format!(".version 6.0 .target sm_{} .address_size 64", target.architecture).into();
        }
        let program = Program::from_text(&text).map_err(|error| match missing(&text) {
            Some(name) if is_cubin => Refusal::machine_code(&name),
            Some(name) => Refusal::unresolved(&name),
            None => Refusal::mistake(&error),
        })?;
        for warning in program.warnings() {
            emit(|| tracing::warn!(target: "warploom::sim", "PTX {warning}"));
        }
        let names = program.kernels().map(|kernel| CString::new(kernel.name()).unwrap_or_default()).collect();
        // Machine code keeps the registers that it was compiled with.
        let max_registers = image.max_registers.filter(|_| !is_cubin);
        Ok(Self { program, names, architecture: target.architecture, max_registers })
    }

    /// Number of kernels.
    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }

    /// The index of the kernel with a name.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known.as_bytes() == name.as_bytes())
    }

    /// The name of a kernel; the pointer is valid as long as the binary.
    pub(crate) fn name(&self, index: usize) -> Option<&CString> {
        self.names.get(index)
    }

    pub(crate) fn facts(&self, index: usize) -> Option<Facts<'_>> {
        self.program.kernels().nth(index).map(|kernel| Facts { binary: self, kernel })
    }
}

/// A function that the PTX calls and does not define, if that is its only error: a linker could resolve it. A
/// variable without another definition is defined by the PTX itself.
fn missing(text: &str) -> Option<String> {
    let conflicts = link(&[Part::new("", text).ok()?], 0).err()?;
    let module = Module::parse(text).ok()?;
    let is_function = |name: &str| module.functions.iter().any(|function| function.name == name);
    conflicts.into_iter().map(|conflict| conflict.symbol).find(|name| is_function(name))
}

impl Facts<'_> {
    pub(crate) fn parameters(&self) -> Vec<Parameter> {
        self.kernel.parameters()
    }

    /// Bytes of static shared memory of a block.
    pub(crate) fn shared(&self) -> u32 {
        self.kernel.shared_bytes() as u32
    }

    /// Bytes of local memory of a thread: variables, and registers that do not fit.
    pub(crate) fn local(&self) -> u32 {
        let spilled = self.kernel.registers().saturating_sub(self.registers());
        self.kernel.local_bytes() as u32 + (4 * spilled).next_multiple_of(8)
    }

    /// Bytes of constant memory of the whole module.
    pub(crate) fn constants(&self) -> u64 {
        let variables = self.binary.program.variables().iter();
        variables.filter(|variable| variable.space == VariableSpace::Constant).map(|variable| variable.size).sum()
    }

    /// Registers of a thread: an estimate of its needs, or the bound on them.
    pub(crate) fn registers(&self) -> u32 {
        let needed = self.kernel.registers();
        self.bound().map_or(needed, |bound| needed.min(bound.max(LEAST_BOUND)))
    }

    /// The most registers of a thread. Directives of the kernel have the last word, as with an H200.
    fn bound(&self) -> Option<u32> {
        self.kernel.register_bound().or(self.binary.max_registers)
    }

    /// Maximum threads of a block, if the PTX states it.
    pub(crate) fn most_threads(&self) -> Option<u64> {
        let bound = self.kernel.required_threads().or_else(|| self.kernel.max_threads())?;
        Some(bound.iter().map(|size| u64::from(*size)).product())
    }

    /// The architecture of the PTX target.
    pub(crate) fn written_for(&self) -> u32 {
        self.binary.program.header().target.architecture
    }

    /// The architecture of the target device.
    pub(crate) fn loaded_for(&self) -> u32 {
        self.binary.architecture
    }
}

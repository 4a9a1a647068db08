//! Decoded programs, and queries on their kernels.

use std::ffi::CString;

use warploom_ptx::link::{Part, link};
use warploom_ptx::syntax::Module;
use warploom_ptx::{Kernel, Parameter, Program, VariableSpace};

use super::image::{Chosen, Image, Refusal, Target};

/// A decoded program, with its kernels' names as C strings.
pub(crate) struct Binary {
    pub(crate) program: Program,
    names: Vec<CString>,
    /// The architecture of the target device.
    architecture: u32,
}

/// Registers per thread if the PTX does not state them: a typical value of compilers.
const REGISTERS: u32 = 32;

/// Properties of a kernel, for launches and queries.
#[derive(Clone, Copy)]
pub(crate) struct Facts<'b> {
    binary: &'b Binary,
    pub(crate) kernel: Kernel<'b>,
}

impl Binary {
    /// Decodes the code of an image for a device.
    pub(crate) fn load(image: &Image, target: Target) -> Result<Self, Refusal> {
        let Chosen { text, is_cubin } = image.text_for(target)?;
        let program = Program::from_text(&text).map_err(|error| match missing(&text) {
            Some(name) if is_cubin => Refusal::machine_code(&name),
            Some(name) => Refusal::unresolved(&name),
            None => Refusal::mistake(&error),
        })?;
        let names = program.kernels().map(|kernel| CString::new(kernel.name()).unwrap_or_default()).collect();
        Ok(Self { program, names, architecture: target.architecture })
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

    pub(crate) fn local(&self) -> u32 {
        self.kernel.local_bytes() as u32
    }

    /// Bytes of constant memory of the whole module.
    pub(crate) fn constants(&self) -> u64 {
        let variables = self.binary.program.variables().iter();
        variables.filter(|variable| variable.space == VariableSpace::Constant).map(|variable| variable.size).sum()
    }

    pub(crate) fn registers(&self) -> u32 {
        REGISTERS
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

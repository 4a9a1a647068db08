//! Loaded code: modules, libraries, their functions and kernels, and linkers.

mod binary;
mod freed_blocks;
pub(crate) mod image;
mod link;
mod settings;

use std::collections::BTreeMap;
use std::sync::Arc;

use warploom_ptx::Program;

pub(crate) use binary::{Binary, Facts};
pub(crate) use freed_blocks::{FreedBlock, FreedBlocks, KEPT, MARGINS, room};
pub(crate) use link::{Link, LinkState, Log, Logs};
pub(crate) use settings::Settings;

use image::Image;

use crate::ffi::handle::{ContextHandle, FunctionHandle, KernelHandle, LibraryHandle, ModuleHandle, kind};
use crate::machine::objects::{Object, Objects};

/// All loaded code of a machine.
pub(crate) struct Code {
    pub(crate) modules: Objects<Module>,
    pub(crate) functions: Objects<Function>,
    pub(crate) libraries: Objects<Library>,
    pub(crate) kernels: Objects<Kernel>,
    pub(crate) links: Objects<Link>,
    /// Freed blocks of the device heap.
    pub(crate) freed: FreedBlocks,
}

/// A module: code in a context.
pub(crate) struct Module {
    pub(crate) context: ContextHandle,
    pub(crate) device: u16,
    pub(crate) binary: Arc<Binary>,
    /// The program, which holds the addresses of the module's variables.
    pub(crate) program: Program,
    /// The address of each variable of the program.
    pub(crate) variables: Vec<u64>,
    pub(crate) functions: BTreeMap<usize, FunctionHandle>,
    /// The library that the module was created for, if any.
    pub(crate) library: Option<LibraryHandle>,
}

/// A kernel of a module.
pub(crate) struct Function {
    pub(crate) module: ModuleHandle,
    /// The index of the kernel in its program.
    pub(crate) index: usize,
    pub(crate) settings: Settings,
    pub(crate) is_loaded: bool,
}

/// A library: code without a context.
pub(crate) struct Library {
    pub(crate) image: Image,
    /// The decoded programs, by architecture.
    pub(crate) binaries: BTreeMap<u32, Arc<Binary>>,
    pub(crate) modules: BTreeMap<ContextHandle, ModuleHandle>,
    pub(crate) kernels: BTreeMap<String, KernelHandle>,
    /// The addresses of its managed variables, the same in all contexts.
    pub(crate) managed: BTreeMap<String, u64>,
}

/// A kernel of a library.
pub(crate) struct Kernel {
    pub(crate) library: LibraryHandle,
    pub(crate) name: String,
    /// Settings by device.
    pub(crate) settings: BTreeMap<u16, Settings>,
}

impl Object for Module {
    type Kind = kind::Module;
}

impl Object for Function {
    type Kind = kind::Function;
}

impl Object for Library {
    type Kind = kind::Library;
}

impl Object for Kernel {
    type Kind = kind::Kernel;
}

impl Code {
    /// No code yet; `machine` goes into every handle.
    pub(crate) fn new(machine: u64) -> Self {
        Self {
            modules: Objects::new(machine),
            functions: Objects::new(machine),
            libraries: Objects::new(machine),
            kernels: Objects::new(machine),
            links: Objects::new(machine),
            freed: FreedBlocks::default(),
        }
    }

    /// Modules and libraries that the program has to unload, and linkers that it has to destroy.
    pub(crate) fn outstanding(&self) -> (u64, u64, u64) {
        let modules = self.modules.iter().filter(|(_, module)| module.library.is_none());
        (modules.count() as u64, self.libraries.iter().count() as u64, self.links.iter().count() as u64)
    }

    pub(crate) fn modules(&self) -> &Objects<Module> {
        &self.modules
    }

    pub(crate) fn libraries(&self) -> &Objects<Library> {
        &self.libraries
    }

    pub(crate) fn links(&self) -> &Objects<Link> {
        &self.links
    }

    /// Removes a module and its functions.
    pub(crate) fn remove(&mut self, handle: ModuleHandle, is_orphan: bool) -> Option<Module> {
        let module = if is_orphan { self.modules.orphan(handle) } else { self.modules.remove(handle) }?;
        for function in module.functions.values() {
            let _ = if is_orphan { self.functions.orphan(*function) } else { self.functions.remove(*function) };
        }
        if let Some(library) = module.library.and_then(|library| self.libraries.get_mut(library)) {
            library.modules.remove(&module.context);
        }
        Some(module)
    }
}

impl Module {
    /// True if the program has to unload it.
    pub(crate) fn is_the_programs(&self) -> bool {
        self.library.is_none()
    }
}

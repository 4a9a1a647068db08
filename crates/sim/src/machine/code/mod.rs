//! Loaded code: modules, libraries, their functions and kernels, and linkers.

mod binary;
mod freed_blocks;
pub(crate) mod image;
mod launch_state;
mod link;
pub(crate) mod runtime;
mod settings;

use litemap::LiteMap;
use std::sync::Arc;

use warploom_ptx::Program;

pub(crate) use binary::{Binary, Facts};
pub(crate) use freed_blocks::{FreedBlock, FreedBlocks, KEPT, MARGINS, room};
pub(crate) use launch_state::{LaunchState, MOST_ARGUMENT_BYTES};
pub(crate) use link::{Link, LinkState, Log, Logs};
pub(crate) use settings::Settings;

use image::{Image, Refusal};

use crate::ffi::handle::{ContextHandle, FunctionHandle, KernelHandle, LibraryHandle, ModuleHandle, kind};
use crate::ffi::status::{INVALID_HANDLE, OUT_OF_MEMORY, Status};
use crate::machine::objects::{Object, Objects};

/// All loaded code of a machine.
pub(crate) struct Code {
    modules: Objects<Module>,
    functions: Objects<Function>,
    pub(super) libraries: Objects<Library>,
    kernels: Objects<Kernel>,
    links: Objects<Link>,
    /// Freed blocks of the device heap.
    pub(super) freed: FreedBlocks,
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
    pub(crate) functions: LiteMap<usize, FunctionHandle>,
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
    /// The configuration of `cuLaunch`, after its first use.
    pub(crate) launch_state: Option<Box<LaunchState>>,
}

/// A library: code without a context.
pub(crate) struct Library {
    /// The image, or the reason why it is none.
    pub(crate) image: Result<Image, Refusal>,
    /// The decoded programs, by architecture.
    pub(crate) binaries: LiteMap<u32, Arc<Binary>>,
    pub(crate) modules: LiteMap<ContextHandle, ModuleHandle>,
    pub(crate) kernels: LiteMap<String, KernelHandle>,
    /// The addresses of its managed variables, the same in all contexts.
    pub(crate) managed: LiteMap<String, u64>,
}

/// A kernel of a library.
pub(crate) struct Kernel {
    pub(crate) library: LibraryHandle,
    pub(crate) name: String,
    /// Settings by device.
    pub(crate) settings: LiteMap<u16, Settings>,
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

    /// Adds a module, also to its library; `None` if all handles are used.
    pub(crate) fn add_module(&mut self, module: Module) -> Option<ModuleHandle> {
        let (context, library) = (module.context, module.library);
        let handle = self.modules.insert(module)?;
        if let Some(library) = library.and_then(|library| self.libraries.get_mut(library)) {
            library.modules.insert(context, handle);
        }
        Some(handle)
    }

    /// The function of a module's kernel, whose handle is created at first use.
    pub(crate) fn function_of(&mut self, module: ModuleHandle, index: usize) -> Status<FunctionHandle> {
        let found = self.modules.get_mut(module).ok_or(INVALID_HANDLE)?;
        if let Some(function) = found.functions.get(&index) {
            return Ok(*function);
        }
        let function = Function { module, index, settings: Settings::default(), is_loaded: false, launch_state: None };
        let handle = self.functions.insert(function).ok_or(OUT_OF_MEMORY)?;
        found.functions.insert(index, handle);
        Ok(handle)
    }

    /// Adds a library with its program for an architecture, if it could be compiled; `None` if all handles
    /// are used.
    pub(crate) fn add_library(
        &mut self,
        image: Result<Image, Refusal>,
        architecture: u32,
        binary: Option<Binary>,
    ) -> Option<LibraryHandle> {
        let binaries = binary.map(|binary| (architecture, Arc::new(binary))).into_iter().collect();
        let (modules, kernels, managed) = (LiteMap::new(), LiteMap::new(), LiteMap::new());
        self.libraries.insert(Library { image, binaries, modules, kernels, managed })
    }

    /// Stores a library's program for an architecture.
    pub(crate) fn add_binary(&mut self, library: LibraryHandle, architecture: u32, binary: Arc<Binary>) {
        if let Some(library) = self.libraries.get_mut(library) {
            library.binaries.insert(architecture, binary);
        }
    }

    /// Removes a library without modules, and its kernels. Returns the addresses of its managed variables.
    pub(crate) fn remove_library(&mut self, handle: LibraryHandle) -> Vec<u64> {
        let Some(library) = self.libraries.remove(handle) else { return Vec::new() };
        for (_, kernel) in library.kernels {
            self.kernels.remove(kernel);
        }
        library.managed.into_iter().map(|(_, address)| address).collect()
    }

    /// The kernel of a library, whose handle is created at first use.
    pub(crate) fn kernel_of(&mut self, library: LibraryHandle, name: &str) -> Status<KernelHandle> {
        let found = self.libraries.get_mut(library).ok_or(INVALID_HANDLE)?;
        if let Some(kernel) = found.kernels.get(name) {
            return Ok(*kernel);
        }
        let kernel = Kernel { library, name: name.to_owned(), settings: LiteMap::new() };
        let kernel = self.kernels.insert(kernel).ok_or(OUT_OF_MEMORY)?;
        found.kernels.insert(name.to_owned(), kernel);
        Ok(kernel)
    }

    pub(crate) fn modules(&self) -> &Objects<Module> {
        &self.modules
    }

    pub(crate) fn libraries(&self) -> &Objects<Library> {
        &self.libraries
    }

    pub(crate) fn functions(&self) -> &Objects<Function> {
        &self.functions
    }

    pub(crate) fn functions_mut(&mut self) -> &mut Objects<Function> {
        &mut self.functions
    }

    pub(crate) fn kernels(&self) -> &Objects<Kernel> {
        &self.kernels
    }

    pub(crate) fn kernels_mut(&mut self) -> &mut Objects<Kernel> {
        &mut self.kernels
    }

    pub(crate) fn links(&self) -> &Objects<Link> {
        &self.links
    }

    pub(crate) fn links_mut(&mut self) -> &mut Objects<Link> {
        &mut self.links
    }

    /// Removes a module and its functions.
    pub(crate) fn remove(&mut self, handle: ModuleHandle, is_orphan: bool) -> Option<Module> {
        let module = if is_orphan { self.modules.orphan(handle) } else { self.modules.remove(handle) }?;
        for function in module.functions.values() {
            drop(if is_orphan { self.functions.orphan(*function) } else { self.functions.remove(*function) });
        }
        if let Some(library) = module.library.and_then(|library| self.libraries.get_mut(library)) {
            library.modules.remove(&module.context);
        }
        Some(module)
    }
}

impl Module {
    /// `true` if the program has to unload it.
    pub(crate) fn is_the_programs(&self) -> bool {
        self.library.is_none()
    }
}

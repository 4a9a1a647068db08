//! Code: modules, libraries, the kernels in them, and launches.
//!
//! ```text
//!   image ─▶ Binary (a program, decoded) ─┬─▶ Module: in one context, with its variables ─▶ Function ─┐
//!                                         │       ▲ made when first needed there                      ├─▶ launch ─▶ op
//!                                         └─▶ Library: in no context ─▶ Kernel ───────────────────────┘
//! ```
//!
//! A library is loaded once and used anywhere: each context that uses it gets a module of its own, when it first does.
//! What belongs to a module (functions, variables) goes with it, and a module goes with its context.

mod attributes;
mod binary;
mod clusters;
mod functions;
mod heap;
mod image;
mod kernels;
mod launch;
mod libraries;
mod link;
mod load;
mod modules;
mod occupancy;
mod options;
mod variables;

use std::collections::BTreeMap;
use std::sync::Arc;

use warploom_ptx::Program;
use warploom_sys::types::CUresult;

pub(crate) use clusters::{cuOccupancyMaxActiveClusters, cuOccupancyMaxPotentialClusterSize};
pub(crate) use functions::{
    cuFuncGetAttribute, cuFuncGetModule, cuFuncGetName, cuFuncGetParamCount, cuFuncGetParamInfo, cuFuncIsLoaded,
    cuFuncLoad, cuFuncSetAttribute, cuFuncSetCacheConfig,
};
pub(crate) use kernels::{
    cuKernelGetAttribute, cuKernelGetFunction, cuKernelGetLibrary, cuKernelGetName, cuKernelGetParamCount,
    cuKernelGetParamInfo, cuKernelSetAttribute, cuKernelSetCacheConfig,
};
pub(crate) use launch::{KernelCall, cuLaunchCooperativeKernel, cuLaunchKernel, cuLaunchKernelEx};
pub(crate) use libraries::{
    cuLibraryEnumerateKernels, cuLibraryGetGlobal, cuLibraryGetKernel, cuLibraryGetKernelCount, cuLibraryGetManaged,
    cuLibraryGetModule, cuLibraryLoadData, cuLibraryLoadFromFile, cuLibraryUnload,
};
pub(crate) use link::{Link, cuLinkAddData_v2, cuLinkAddFile_v2, cuLinkComplete, cuLinkCreate_v2, cuLinkDestroy};
pub(crate) use modules::{
    cuModuleEnumerateFunctions, cuModuleGetFunction, cuModuleGetFunctionCount, cuModuleGetGlobal_v2, cuModuleLoad,
    cuModuleLoadData, cuModuleLoadDataEx, cuModuleLoadFatBinary, cuModuleUnload,
};
pub(crate) use occupancy::{
    cuOccupancyAvailableDynamicSMemPerBlock, cuOccupancyMaxActiveBlocksPerMultiprocessor,
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, cuOccupancyMaxPotentialBlockSize,
    cuOccupancyMaxPotentialBlockSizeWithFlags,
};

use attributes::Settings;
use binary::Binary;
use image::Image;

use crate::ffi::handle::{ContextHandle, FunctionHandle, KernelHandle, LibraryHandle, ModuleHandle, kind};
use crate::machine::objects::{Object, Objects};
use crate::machine::world::World;

/// Everything that is loaded on a machine.
pub(crate) struct Code {
    modules: Objects<Module>,
    functions: Objects<Function>,
    libraries: Objects<Library>,
    kernels: Objects<Kernel>,
    links: Objects<Link>,
    /// Memory of the kernels' heap that was freed.
    freed: heap::FreedBlocks,
}

/// Code in a context.
pub(crate) struct Module {
    pub(crate) context: ContextHandle,
    device: u16,
    binary: Arc<Binary>,
    /// The program, which knows where the module's variables are.
    program: Program,
    /// The address of each variable of the program.
    variables: Vec<u64>,
    functions: BTreeMap<usize, FunctionHandle>,
    /// The library that it is the context's part of.
    library: Option<LibraryHandle>,
}

/// A kernel of a module.
struct Function {
    module: ModuleHandle,
    /// Which of the program's kernels.
    index: usize,
    settings: Settings,
    is_loaded: bool,
}

/// Code in no context.
pub(crate) struct Library {
    image: Image,
    /// What was decoded of it, by architecture.
    binaries: BTreeMap<u32, Arc<Binary>>,
    modules: BTreeMap<ContextHandle, ModuleHandle>,
    kernels: BTreeMap<String, KernelHandle>,
    /// The addresses of its managed variables, which are the same in all contexts.
    managed: BTreeMap<String, u64>,
}

/// A kernel of a library.
struct Kernel {
    library: LibraryHandle,
    name: String,
    /// By device.
    settings: BTreeMap<u16, Settings>,
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

const NOT_FOUND: CUresult = CUresult::CUDA_ERROR_NOT_FOUND;

impl Code {
    /// Nothing yet; `machine` goes into every handle.
    pub(crate) fn new(machine: u64) -> Self {
        Self {
            modules: Objects::new(machine),
            functions: Objects::new(machine),
            libraries: Objects::new(machine),
            kernels: Objects::new(machine),
            links: Objects::new(machine),
            freed: heap::FreedBlocks::default(),
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

    /// Takes a module out, and its functions with it.
    fn remove(&mut self, handle: ModuleHandle, is_orphan: bool) -> Option<Module> {
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
    /// Whether the program has to unload it.
    pub(crate) fn is_the_programs(&self) -> bool {
        self.library.is_none()
    }
}

impl World {
    /// Takes the modules of a context that goes; how many of them the program had not unloaded.
    pub(crate) fn orphan_modules(&mut self, context: ContextHandle) -> u64 {
        let modules = self.code.modules.iter().filter(|(_, module)| module.context == context);
        let modules: Vec<ModuleHandle> = modules.map(|(handle, _)| handle).collect();
        let removed = modules.into_iter().filter_map(|module| self.code.remove(module, true));
        removed.filter(Module::is_the_programs).count() as u64
    }
}

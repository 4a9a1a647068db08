//! Loaded code of a machine.

use crate::ffi::handle::{ContextHandle, ModuleHandle};
use crate::machine::code::{Code, Module};
use crate::machine::world::World;

impl World {
    /// Modules, libraries and linkers.
    pub(crate) fn code(&self) -> &Code {
        &self.code
    }

    /// Modules, libraries and linkers, for changes of them alone.
    pub(crate) fn code_mut(&mut self) -> &mut Code {
        &mut self.code
    }

    /// Orphans the modules of a context that is destroyed. Returns the number that the program had not
    /// unloaded.
    pub(super) fn orphan_modules(&mut self, context: ContextHandle) -> u64 {
        let modules = self.code.modules().iter().filter(|(_, module)| module.context == context);
        let modules: Vec<ModuleHandle> = modules.map(|(handle, _)| handle).collect();
        let removed = modules.into_iter().filter_map(|module| self.code.remove(module, true));
        removed.filter(Module::is_the_programs).count() as u64
    }
}

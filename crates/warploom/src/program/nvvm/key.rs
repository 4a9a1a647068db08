//! Cache keys of NVVM programs.

use std::ffi::CString;

use super::{Nvvm, NvvmError, NvvmProgram};
use crate::Result;
use crate::program::cache::{self, CacheKey, ProgramCache};
use crate::program::{Compiled, Target};

impl NvvmProgram {
    /// The cache key: all modules in order, libdevice among them, the options, the target, the versions of
    /// libNVVM and of its IR, and the CUDA that it came with.
    ///
    /// # Errors
    ///
    /// [`NvvmError::NotCacheable`] if an option writes files, and the errors of
    /// [`compile`](NvvmProgram::compile) before it calls libNVVM with the program.
    pub fn cache_key(&self, nvvm: &Nvvm, target: Target) -> Result<CacheKey> {
        Ok(self.key(nvvm, target, &self.options.nvvm_words(target)?)?)
    }

    /// The cached code, or else compiles the program and caches the result; see
    /// [`Program::compile_cached`](crate::program::Program::compile_cached).
    ///
    /// # Errors
    ///
    /// As [`cache_key`](NvvmProgram::cache_key) and [`compile`](NvvmProgram::compile).
    pub fn compile_cached(&self, nvvm: &Nvvm, target: Target, cache: &dyn ProgramCache) -> Result<Compiled> {
        let options = self.options.nvvm_words(target)?;
        let key = self.key(nvvm, target, &options)?;
        cache::through(cache, &key, || Ok(self.compile_with(nvvm, target, &options)?))
    }

    fn key(&self, nvvm: &Nvvm, target: Target, options: &[CString]) -> Result<CacheKey, NvvmError> {
        self.options
            .refuse_files(|_| true, true)
            .map_err(|reason| NvvmError::NotCacheable { program: self.name.clone(), reason })?;
        let mut key = CacheKey::builder("nvvm").part("build", nvvm.build());
        for (what, (major, minor)) in
            [("version", nvvm.version()), ("IR", nvvm.ir_version()), ("debug", nvvm.debug_version())]
        {
            key = key.part(what, format!("{major}.{minor}"));
        }
        key = key.part("target", target.to_string()).part("name", &self.name);
        for option in options {
            key = key.part("option", option.as_bytes());
        }
        for module in &self.modules {
            let how = if module.is_lazy { "lazy module" } else { "module" };
            key = key.part(how, &module.name).part("IR", &module.bytes);
        }
        Ok(key.finish())
    }
}

//! Kernels, and memory to run them on.

use std::ffi::{CString, c_void};
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use warploom_testkit::driver::{Driver, Error};
use warploom_testkit::sys::types::{CUdeviceptr, CUfunction, CUjit_option, CUmodule, CUstream};
use warploom_testkit::{TestResult, call};

macro_rules! kernels {
    ($($name:ident)*) => { $(
        pub(crate) fn $name() -> CString {
            text(include_str!(concat!("../../../ptx/kernels/ptx/compute_75/", stringify!($name), ".ptx")))
        }
    )* };
}
kernels!(vector system memory reduce cooperative time lineinfo bounds);

/// Kernels with a mistake in each.
pub(crate) fn planted() -> CString {
    text(include_str!("../../../ptx/kernels/planted/ptx/compute_75/planted.ptx"))
}

/// Those that need an H200.
pub(crate) fn planted90() -> CString {
    text(include_str!("../../../ptx/kernels/planted/ptx/compute_90/planted90.ptx"))
}

/// The text as an older driver reads it: what compilers say is newer than what the kernels need.
fn text(ptx: &str) -> CString {
    let (first, rest) = ptx.split_once('\n').expect("several lines");
    assert!(first.starts_with(".version"), "{first}");
    CString::new(format!(".version 8.3\n{rest}")).expect("a text without zeros")
}

/// A module, unloaded when it is dropped.
pub(crate) struct Module {
    driver: Driver,
    pub(crate) handle: CUmodule,
}

impl Module {
    pub(crate) fn load(driver: &Driver, text: &CString) -> TestResult<Module> {
        let mut handle = null_mut();
        call!(driver.cuModuleLoadData(&mut handle, text.as_ptr().cast()))?;
        Ok(Module { driver: driver.clone(), handle })
    }

    /// The same with a bound on the registers of a thread.
    pub(crate) fn bounded(driver: &Driver, text: &CString, bound: Option<usize>) -> TestResult<Module> {
        let (mut handle, mut option) = (null_mut(), CUjit_option::CU_JIT_MAX_REGISTERS);
        let mut value = std::ptr::without_provenance_mut(bound.unwrap_or(0));
        let count = u32::from(bound.is_some());
        call!(driver.cuModuleLoadDataEx(&mut handle, text.as_ptr().cast(), count, &mut option, &mut value))?;
        Ok(Module { driver: driver.clone(), handle })
    }

    pub(crate) fn function(&self, name: &str) -> TestResult<CUfunction> {
        let (driver, name, mut function) = (&self.driver, CString::new(name)?, null_mut());
        call!(driver.cuModuleGetFunction(&mut function, self.handle, name.as_ptr()))?;
        Ok(function)
    }

    /// The address and size of a variable.
    pub(crate) fn variable(&self, name: &str) -> TestResult<(CUdeviceptr, usize)> {
        let (driver, name, mut address, mut bytes) = (&self.driver, CString::new(name)?, 0, 0);
        call!(driver.cuModuleGetGlobal_v2(&mut address, &mut bytes, self.handle, name.as_ptr()))?;
        Ok((address, bytes))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let driver = &self.driver;
        // After a fault nothing can be unloaded.
        call!(driver.cuModuleUnload(self.handle)).unwrap_or_default();
    }
}

/// Device memory with words in it.
pub(crate) fn upload(driver: &Driver, words: &[u32]) -> TestResult<CUdeviceptr> {
    let mut address = 0;
    call!(driver.cuMemAlloc_v2(&mut address, size_of_val(words)))?;
    call!(driver.cuMemcpyHtoD_v2(address, words.as_ptr().cast(), size_of_val(words)))?;
    Ok(address)
}

pub(crate) fn download(driver: &Driver, address: CUdeviceptr, count: usize) -> TestResult<Vec<u32>> {
    let mut words = vec![0_u32; count];
    call!(driver.cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), address, count * 4))?;
    Ok(words)
}

pub(crate) fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Pointers to several values, as a launch takes them.
#[macro_export]
macro_rules! arguments {
    ($($value:expr),* $(,)?) => { [$((&raw const $value).cast_mut().cast::<std::ffi::c_void>()),*] };
}

/// Launches so many blocks of so many threads.
pub(crate) fn launch(
    driver: &Driver,
    function: CUfunction,
    (blocks, threads): (u32, u32),
    stream: CUstream,
    arguments: &mut [*mut c_void],
) -> Result<(), Error> {
    let arguments = if arguments.is_empty() { null_mut() } else { arguments.as_mut_ptr() };
    call!(driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, null_mut()))
}

/// A file of this process's own, which goes when it is dropped.
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) name: CString,
}

impl File {
    pub(crate) fn new(name: &str, bytes: &[u8]) -> TestResult<File> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let (process, number) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("warploom-image-{process}-{number}-{name}"));
        std::fs::write(&path, bytes)?;
        let name = CString::new(path.to_str().ok_or("a path of text")?)?;
        Ok(File { path, name })
    }
}

impl Drop for File {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.path));
    }
}

/// Bytes as a word, zeros behind them.
pub(crate) fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_ne_bytes(word)
}

//! nvJitLink, NVIDIA's linker for device code, loaded when a program first needs it.
#![expect(unsafe_code, reason = "calls a C library that is opened at run time")]

use std::ffi::{CString, OsString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::OnceLock;

use libloading::Library;

/// The environment variable that names the library.
const VARIABLE: &str = "WARPLOOM_NVJITLINK";
const NAMES: [&str; 3] = ["libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"];
/// Environment variables that name the root of a toolkit, or of a Python or Conda environment.
const ROOTS: [&str; 4] = ["CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"];
/// The default root of a toolkit.
const TOOLKIT: &str = "/usr/local/cuda";
/// Folders of a toolkit, and those of wheels below `site-packages/nvidia`.
const FOLDERS: [&str; 2] = ["lib64", "lib"];
const WHEELS: [&str; 2] = ["cu13/lib", "nvjitlink/lib"];

/// A kind of code to link, by nvJitLink's number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input(c_int);

impl Input {
    pub(crate) const LTO_IR: Input = Input(3);
    pub(crate) const FATBIN: Input = Input(4);
}

type Handle = *mut c_void;
type Create = unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Handle) -> c_int;
type Add = unsafe extern "C" fn(Handle, c_int, *const c_void, usize, *const c_char) -> c_int;
type Complete = unsafe extern "C" fn(Handle) -> c_int;
type Size = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type Text = unsafe extern "C" fn(Handle, *mut c_char) -> c_int;

struct Table {
    create: Create,
    destroy: Destroy,
    add: Add,
    complete: Complete,
    ptx: (Size, Text),
    errors: (Size, Text),
    /// The library of the pointers above.
    _library: Library,
}

/// The names and files to try, best first: bare names for the dynamic loader, then existing files.
fn candidates(named: Option<OsString>, roots: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        return vec![named.into()];
    }
    let mut all: Vec<PathBuf> = NAMES.iter().map(PathBuf::from).collect();
    for root in roots {
        let mut folders: Vec<PathBuf> = FOLDERS.iter().map(|folder| root.join(folder)).collect();
        let pythons = std::fs::read_dir(root.join("lib")).into_iter().flatten().flatten();
        for site in pythons.map(|python| python.path().join("site-packages/nvidia")).filter(|site| site.is_dir()) {
            folders.extend(WHEELS.iter().map(|wheel| site.join(wheel)));
        }
        let files = folders.iter().flat_map(|folder| NAMES.iter().map(|name| folder.join(name)));
        all.extend(files.filter(|file| file.is_file()));
    }
    all
}

fn open(path: &Path) -> Option<Table> {
    // SAFETY: nvJitLink's initialisers have no preconditions. The path is where systems keep that library, or
    // the one that the environment names, which is trusted as the loader's own variables are.
    let library = unsafe { Library::new(path) }.ok()?;
    // SAFETY: each type above is that of the C function with this name in nvJitLink.h, and the pointers are
    // kept beside the library that they point into.
    unsafe {
        Some(Table {
            create: *library.get(b"nvJitLinkCreate").ok()?,
            destroy: *library.get(b"nvJitLinkDestroy").ok()?,
            add: *library.get(b"nvJitLinkAddData").ok()?,
            complete: *library.get(b"nvJitLinkComplete").ok()?,
            ptx: (*library.get(b"nvJitLinkGetLinkedPtxSize").ok()?, *library.get(b"nvJitLinkGetLinkedPtx").ok()?),
            errors: (*library.get(b"nvJitLinkGetErrorLogSize").ok()?, *library.get(b"nvJitLinkGetErrorLog").ok()?),
            _library: library,
        })
    }
}

/// The system's library; a failed search is not repeated.
fn table() -> Result<&'static Table, String> {
    static TABLE: OnceLock<Option<Table>> = OnceLock::new();
    let found = TABLE.get_or_init(|| {
        let roots = ROOTS.iter().filter_map(std::env::var_os).filter(|root| !root.is_empty()).map(PathBuf::from);
        let all = candidates(std::env::var_os(VARIABLE), roots.chain([PathBuf::from(TOOLKIT)]));
        all.iter().find_map(|path| open(path))
    });
    found.as_ref().ok_or_else(|| {
        format!(
            "it is LTO-IR, which nvJitLink compiles, and there is none; install it (`pip install nvidia-nvjitlink`, or the \
             package libnvjitlink), or name its library in {VARIABLE}"
        )
    })
}

/// A link of nvJitLink's, destroyed at the end.
struct Link<'t> {
    table: &'t Table,
    handle: Handle,
}

impl Drop for Link<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle was made by `create`, and is not used again. A failure leaves nothing to be
        // done.
        let _ = unsafe { (self.table.destroy)(&mut self.handle) };
    }
}

impl Link<'_> {
    /// A text of the link: its length, which counts the zero at the end, then its bytes.
    fn text(&self, (size, get): (Size, Text)) -> Option<String> {
        let mut length = 0;
        // SAFETY: the handle is alive, and `length` takes the answer.
        if unsafe { size(self.handle, &mut length) } != 0 {
            return None;
        }
        let mut bytes = vec![0_u8; length.max(1)];
        // SAFETY: the handle is alive, and `bytes` has as much room as the call before said.
        if unsafe { get(self.handle, bytes.as_mut_ptr().cast()) } != 0 {
            return None;
        }
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    fn failed(&self, function: &str, status: c_int) -> String {
        let log = self.text(self.table.errors).unwrap_or_default();
        format!("nvJitLink's {function} answered {status}: {}", log.trim())
    }
}

/// The PTX that nvJitLink makes of one input.
pub(crate) fn ptx(kind: Input, bytes: &[u8], options: &[&str]) -> Result<String, String> {
    let table = table()?;
    let options: Vec<CString> = options.iter().filter_map(|option| CString::new(*option).ok()).collect();
    let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    let mut link = Link { table, handle: null_mut() };
    // SAFETY: `pointers` holds that many terminated strings, which live until the call returns.
    let status = unsafe { (table.create)(&mut link.handle, pointers.len() as u32, pointers.as_ptr()) };
    if status != 0 {
        return Err(link.failed("nvJitLinkCreate", status));
    }
    // SAFETY: the handle was just made, and the bytes and the name live until the call returns.
    let status = unsafe { (table.add)(link.handle, kind.0, bytes.as_ptr().cast(), bytes.len(), c"image".as_ptr()) };
    if status != 0 {
        return Err(link.failed("nvJitLinkAddData", status));
    }
    // SAFETY: the handle is alive.
    let status = unsafe { (table.complete)(link.handle) };
    if status != 0 {
        return Err(link.failed("nvJitLinkComplete", status));
    }
    link.text(table.ptx).ok_or_else(|| "nvJitLink has no PTX of it".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_library_is_the_only_one_tried() {
        assert_eq!(candidates(Some("mine.so".into()), [PathBuf::from("/")].into_iter()), [PathBuf::from("mine.so")]);
        assert_eq!(candidates(Some(OsString::new()), std::iter::empty()).len(), NAMES.len());
    }

    #[test]
    fn wheels_of_an_environment_are_tried_after_the_loader() {
        let root = std::env::temp_dir().join(format!("warploom-jit-link-{}", std::process::id()));
        let wheel = root.join("lib/python3.12/site-packages/nvidia/cu13/lib");
        std::fs::create_dir_all(&wheel).expect("a folder");
        std::fs::write(wheel.join(NAMES[0]), "").expect("a file");
        let found = candidates(None, [root.clone()].into_iter());
        std::fs::remove_dir_all(&root).expect("it was made here");
        assert_eq!(found.last(), Some(&wheel.join(NAMES[0])));
        assert_eq!(found[..NAMES.len()], NAMES.map(PathBuf::from));
    }
}

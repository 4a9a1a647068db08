//! NVRTC, as much of it as turns a source text into PTX.
#![expect(unsafe_code, reason = "a C library that is opened at run time")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::ptr::{null, null_mut};

use libloading::Library;

/// A program that NVRTC holds.
#[repr(C)]
struct Program {
    _private: [u8; 0],
}

type Handle = *mut Program;
type Create = unsafe extern "C" fn(
    *mut Handle,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type Text = unsafe extern "C" fn(Handle, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Handle) -> c_int;

/// The opened library.
pub(super) struct Compiler {
    create: Create,
    compile: Compile,
    log: (Size, Text),
    ptx: (Size, Text),
    destroy: Destroy,
    /// The library that the function pointers above point into.
    _library: Library,
}

impl Compiler {
    /// Opens the library; the one with its built-in functions must lie beside it.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        // SAFETY: NVRTC's initialisers have no preconditions; it is the pinned one.
        let library = unsafe { Library::new(path) }.map_err(|error| format!("{}: {error}", path.display()))?;
        // SAFETY: each type above is that of the C function with this name in nvrtc.h, and the pointers are
        // kept beside the library that they point into.
        unsafe {
            Ok(Self {
                create: symbol(&library, "nvrtcCreateProgram")?,
                compile: symbol(&library, "nvrtcCompileProgram")?,
                log: (symbol(&library, "nvrtcGetProgramLogSize")?, symbol(&library, "nvrtcGetProgramLog")?),
                ptx: (symbol(&library, "nvrtcGetPTXSize")?, symbol(&library, "nvrtcGetPTX")?),
                destroy: symbol(&library, "nvrtcDestroyProgram")?,
                _library: library,
            })
        }
    }

    /// The PTX of a source text that is called `name`. What the compiler has to say, a warning or an error,
    /// is an error.
    pub(super) fn compile(&self, source: &str, name: &str, options: &[String]) -> Result<String, String> {
        let (source, title) = (c_string(source)?, c_string(name)?);
        let options = options.iter().map(|option| c_string(option)).collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(pointers.len()).map_err(|error| error.to_string())?;
        let mut program = null_mut();
        // SAFETY: the strings end with a zero and live until the call returns; there are no headers, so none
        // are read.
        let status = unsafe { (self.create)(&mut program, source.as_ptr(), title.as_ptr(), 0, null(), null()) };
        succeeded("nvrtcCreateProgram", status)?;
        // SAFETY: the program was just created; `pointers` holds `count` strings that live until the call
        // returns.
        let status = unsafe { (self.compile)(program, count, pointers.as_ptr()) };
        let log = text(program, self.log)?;
        let ptx = if status == 0 { text(program, self.ptx) } else { Err(format!("{name}:\n{log}")) };
        // SAFETY: the program was created above and is not used again.
        succeeded("nvrtcDestroyProgram", unsafe { (self.destroy)(&mut program) })?;
        if status == 0 && !log.trim().is_empty() {
            return Err(format!("{name}:\n{log}"));
        }
        ptx
    }
}

/// A function of the library.
///
/// # Safety
/// `T` is the type of that function, and the pointer is not used after `library` is closed.
unsafe fn symbol<T: Copy>(library: &Library, name: &str) -> Result<T, String> {
    // SAFETY: the caller's.
    let symbol = unsafe { library.get::<T>(name.as_bytes()) };
    symbol.map(|symbol| *symbol).map_err(|error| format!("{name}: {error}"))
}

fn c_string(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|error| error.to_string())
}

fn succeeded(function: &str, status: c_int) -> Result<(), String> {
    if status == 0 { Ok(()) } else { Err(format!("{function} answered {status}")) }
}

/// A text of a live program: its length, which counts the zero at the end, then its bytes.
fn text(program: Handle, (size, get): (Size, Text)) -> Result<String, String> {
    let mut length = 0;
    // SAFETY: `program` is alive, as only `compile` calls this, and `length` is a place for the answer.
    succeeded("the size of a text", unsafe { size(program, &mut length) })?;
    let mut bytes = vec![0_u8; length.max(1)];
    // SAFETY: `bytes` has room for as many as the call before said.
    succeeded("a text", unsafe { get(program, bytes.as_mut_ptr().cast()) })?;
    let text = CStr::from_bytes_until_nul(&bytes).map_err(|error| error.to_string())?;
    text.to_str().map(str::to_owned).map_err(|error| error.to_string())
}

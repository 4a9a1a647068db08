//! A stand-in for libNVVM that belongs to one thread, records its calls, and fails on demand.
#![expect(unsafe_code, reason = "functions of C's kind, with pointers")]
#![expect(non_snake_case, reason = "the names of the C interface")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int};

use warploom::program::Nvvm;
use warploom::program::nvvm::raw::{NvvmTable, nvvmProgram, nvvmResult};

#[derive(Debug, Default)]
pub(crate) struct State {
    /// The functions that were called, in order.
    pub(crate) calls: Vec<&'static str>,
    /// Programs that were made and not destroyed, by handle.
    pub(crate) alive: BTreeMap<usize, Text>,
    /// The function that fails, and with what.
    pub(crate) failing: Option<(&'static str, c_int)>,
    /// `true` if there is no output.
    pub(crate) empty: bool,
    /// The IR version that it reports, and the CUDA release that it came with.
    pub(crate) ir: (c_int, c_int),
    pub(crate) release: &'static str,
    made: usize,
}

/// A program, as it was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text {
    /// The modules: how they were added, their names, and what is in them.
    modules: Vec<String>,
    options: Vec<String>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

pub(crate) const TABLE: NvvmTable = NvvmTable {
    nvvmVersion,
    nvvmIRVersion,
    nvvmCreateProgram,
    nvvmDestroyProgram,
    nvvmAddModuleToProgram,
    nvvmLazyAddModuleToProgram,
    nvvmVerifyProgram,
    nvvmCompileProgram,
    nvvmGetCompiledResultSize,
    nvvmGetCompiledResult,
    nvvmGetProgramLogSize,
    nvvmGetProgramLog,
    nvvmLLVMVersion: Some(nvvmLLVMVersion),
};

/// A stand-in for this thread, which forgets the one before.
pub(crate) fn open() -> Nvvm {
    open_with((2, 0), "13.4")
}

pub(crate) fn open_with(ir: (c_int, c_int), release: &'static str) -> Nvvm {
    STATE.with_borrow_mut(|state| *state = State { ir, release, ..State::default() });
    // SAFETY: the functions below do what libNVVM's do; their state is the thread's.
    let nvvm = unsafe { Nvvm::from_table(TABLE) }.expect("nothing fails yet");
    calls();
    nvvm
}

pub(crate) fn change(change: impl FnOnce(&mut State)) {
    STATE.with_borrow_mut(change);
}

/// Takes the list of calls so far.
pub(crate) fn calls() -> Vec<&'static str> {
    STATE.with_borrow_mut(|state| std::mem::take(&mut state.calls))
}

/// Number of programs that were created and not destroyed.
pub(crate) fn alive() -> usize {
    STATE.with_borrow(|state| state.alive.len())
}

/// Calls, and what they answer unless told otherwise.
fn enter(function: &'static str, body: impl FnOnce(&mut State) -> c_int) -> nvvmResult {
    STATE.with_borrow_mut(|state| {
        state.calls.push(function);
        match state.failing {
            Some((failing, code)) if failing == function => code,
            _ => body(state),
        }
    })
}

impl State {
    fn program(&mut self, program: nvvmProgram) -> &mut Text {
        self.alive.get_mut(&program.addr()).expect("the program is alive")
    }
}

impl Text {
    /// The log and the result code of this program.
    fn judge(&self) -> (&'static str, c_int) {
        let has = |word: &str| self.modules.iter().any(|module| module.contains(word));
        match () {
            () if self.options.iter().any(|option| option == "-refused") => {
                ("libnvvm : error: -refused is unsupported", 7)
            }
            () if has("old") => ("k: error: IR version 1.0", 3),
            () if has("wrong") => ("k (1, 0): parse error", 6),
            () if has("warn") => ("k: warning: it says so", 0),
            () => ("", 0),
        }
    }

    /// It tells what it was made of.
    fn output(&self, release: &str) -> Vec<u8> {
        format!("release {release} of {} with {}\0", self.modules.join(", "), self.options.join(" ")).into_bytes()
    }
}

unsafe fn text(text: *const c_char) -> String {
    // SAFETY: the caller vouches for a text with an end.
    unsafe { CStr::from_ptr(text) }.to_str().expect("tests are UTF-8").to_owned()
}

unsafe extern "C" fn nvvmVersion(major: *mut c_int, minor: *mut c_int) -> nvvmResult {
    enter("nvvmVersion", |_| {
        // SAFETY: the caller's are writable.
        unsafe { (*major, *minor) = (2, 1) };
        0
    })
}

unsafe extern "C" fn nvvmIRVersion(
    major: *mut c_int,
    minor: *mut c_int,
    debug_major: *mut c_int,
    debug_minor: *mut c_int,
) -> nvvmResult {
    enter("nvvmIRVersion", |state| {
        // SAFETY: the caller's are writable.
        unsafe { (*major, *minor, *debug_major, *debug_minor) = (state.ir.0, state.ir.1, 3, 2) };
        0
    })
}

unsafe extern "C" fn nvvmLLVMVersion(architecture: *const c_char, major: *mut c_int) -> nvvmResult {
    enter("nvvmLLVMVersion", |_| {
        // SAFETY: the caller's has an end.
        if unsafe { text(architecture) } != "compute_90" {
            return 4;
        }
        // SAFETY: the caller's is writable.
        unsafe { *major = 7 };
        0
    })
}

unsafe extern "C" fn nvvmCreateProgram(program: *mut nvvmProgram) -> nvvmResult {
    enter("nvvmCreateProgram", |state| {
        state.made += 1;
        state.alive.insert(state.made, Text::default());
        // SAFETY: the caller's is writable.
        unsafe { *program = std::ptr::without_provenance_mut(state.made) };
        0
    })
}

unsafe extern "C" fn nvvmDestroyProgram(program: *mut nvvmProgram) -> nvvmResult {
    // SAFETY: the caller's is readable.
    let handle = unsafe { *program };
    enter("nvvmDestroyProgram", |state| {
        assert!(state.alive.remove(&handle.addr()).is_some(), "destroyed twice");
        0
    })
}

macro_rules! functions {
    (add: $($add:ident $how:literal)*; run: $($run:ident)*; outputs: $($size:ident $fill:ident => $bytes:expr;)*) => {
        $(unsafe extern "C" fn $add(
            program: nvvmProgram,
            bytes: *const c_char,
            size: usize,
            name: *const c_char,
        ) -> nvvmResult {
            enter(stringify!($add), |state| {
                // SAFETY: there are as many bytes as said, and the name has an end.
                let (bytes, name) = unsafe { (std::slice::from_raw_parts(bytes.cast::<u8>(), size), text(name)) };
                state.program(program).modules.push(format!("{}{name}: {}", $how, String::from_utf8_lossy(bytes)));
                0
            })
        })*

        $(unsafe extern "C" fn $run(
            program: nvvmProgram,
            option_count: c_int,
            options: *const *const c_char,
        ) -> nvvmResult {
            enter(stringify!($run), |state| {
                let (program, count) = (state.program(program), usize::try_from(option_count).expect("a count"));
                // SAFETY: there are as many as said, and they have ends.
                program.options = (0..count).map(|index| unsafe { text(*options.add(index)) }).collect();
                program.judge().1
            })
        })*

        $(unsafe extern "C" fn $size(program: nvvmProgram, size: *mut usize) -> nvvmResult {
            enter(stringify!($size), |state| {
                let bytes: fn(&mut State, nvvmProgram) -> Vec<u8> = $bytes;
                let len = if state.empty { 0 } else { bytes(state, program).len() };
                // SAFETY: the caller's is writable.
                unsafe { *size = len };
                0
            })
        }

        unsafe extern "C" fn $fill(program: nvvmProgram, room: *mut c_char) -> nvvmResult {
            enter(stringify!($fill), |state| {
                let bytes: fn(&mut State, nvvmProgram) -> Vec<u8> = $bytes;
                let bytes = bytes(state, program);
                // SAFETY: there is room for as many as there are.
                unsafe { room.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
                0
            })
        })*
    };
}
functions! {
    add: nvvmAddModuleToProgram "" nvvmLazyAddModuleToProgram "lazy ";
    run: nvvmVerifyProgram nvvmCompileProgram;
    outputs:
        nvvmGetCompiledResultSize nvvmGetCompiledResult => |state, program| {
            let release = state.release;
            state.program(program).output(release)
        };
        nvvmGetProgramLogSize nvvmGetProgramLog => |state, program| {
            [state.program(program).judge().0.as_bytes(), b"\0"].concat()
        };
}

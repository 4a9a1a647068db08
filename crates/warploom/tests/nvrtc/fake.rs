//! A stand-in for NVRTC that belongs to one thread, records its calls, and fails on demand.
#![expect(unsafe_code, reason = "functions of C's kind, with pointers")]
#![expect(non_snake_case, reason = "the names of the C interface")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int};

use warploom::program::Nvrtc;
use warploom::program::raw::{NvrtcTable, nvrtcProgram, nvrtcResult};

#[derive(Debug, Default)]
pub(crate) struct State {
    /// The functions that were called, in order.
    pub(crate) calls: Vec<&'static str>,
    /// Programs that were not destroyed, by handle.
    pub(crate) alive: BTreeMap<usize, Text>,
    /// The function that fails, and with what.
    pub(crate) failing: Option<(&'static str, c_int)>,
    /// Names of functions that answer with nothing: no bytes, or an empty text.
    pub(crate) empty: bool,
    /// The bytes for precompiled headers, and those that one needs.
    pub(crate) heap: usize,
    pub(crate) needed: usize,
    /// `true` if the heap for precompiled headers is always too small.
    pub(crate) is_stubborn: bool,
    version: (c_int, c_int),
    made: usize,
}

/// A program, as it was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) source: String,
    pub(crate) name: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) options: Vec<String>,
    pub(crate) names: Vec<CString>,
    /// A kept text is where `nvrtcGetLoweredName` said it is.
    lowered: Vec<CString>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
    /// The function to call while a program is compiled.
    static MEANWHILE: RefCell<Option<Box<dyn Fn()>>> = RefCell::default();
}

/// Calls this whenever this thread compiles, from now on.
pub(crate) fn meanwhile(call: impl Fn() + 'static) {
    MEANWHILE.set(Some(Box::new(call)));
}

pub(crate) const TABLE: NvrtcTable = NvrtcTable {
    nvrtcVersion,
    nvrtcGetNumSupportedArchs,
    nvrtcGetSupportedArchs,
    nvrtcCreateProgram,
    nvrtcDestroyProgram,
    nvrtcAddNameExpression,
    nvrtcCompileProgram,
    nvrtcGetProgramLogSize,
    nvrtcGetProgramLog,
    nvrtcGetPTXSize,
    nvrtcGetPTX,
    nvrtcGetCUBINSize,
    nvrtcGetCUBIN,
    nvrtcGetLTOIRSize,
    nvrtcGetLTOIR,
    nvrtcGetLoweredName,
    nvrtcGetPCHHeapSize: Some(nvrtcGetPCHHeapSize),
    nvrtcSetPCHHeapSize: Some(nvrtcSetPCHHeapSize),
    nvrtcGetPCHCreateStatus: Some(nvrtcGetPCHCreateStatus),
    nvrtcGetPCHHeapSizeRequired: Some(nvrtcGetPCHHeapSizeRequired),
};

/// A stand-in of this version for this thread, which forgets the one before.
pub(crate) fn open_version(major: i32, minor: i32) -> warploom::Result<Nvrtc> {
    STATE.with_borrow_mut(|state| *state = State { version: (major, minor), ..State::default() });
    // SAFETY: the functions below do what NVRTC's do; their state is the thread's.
    unsafe { Nvrtc::from_table(TABLE) }
}

pub(crate) fn open() -> Nvrtc {
    let nvrtc = open_version(13, 4).expect("it is new enough");
    calls();
    nvrtc
}

/// The stand-in again, for a thread that another one gave its NVRTC to.
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
fn enter(function: &'static str, body: impl FnOnce(&mut State) -> c_int) -> nvrtcResult {
    STATE.with_borrow_mut(|state| {
        state.calls.push(function);
        match state.failing {
            Some((failing, code)) if failing == function => code,
            _ => body(state),
        }
    })
}

impl State {
    fn program(&mut self, program: nvrtcProgram) -> &mut Text {
        self.alive.get_mut(&program.addr()).expect("the program is alive")
    }
}

impl Text {
    fn log(&self) -> &'static [u8] {
        match self.source.as_str() {
            source if source.contains("#error") => b"test.cu(1): error: it says so\n\0",
            source if source.contains("#warning") => b"test.cu(1): warning: it says so\n\0",
            _ if self.options.iter().any(|option| option == "--refused") => b"nvrtc: error: --refused is\n\0",
            _ => b"\0",
        }
    }

    /// It tells what it was made of.
    fn output(&self, what: &str) -> Vec<u8> {
        format!("{what} of {} with {}", self.source, self.options.join(" ")).into_bytes()
    }
}

unsafe fn text(text: *const c_char) -> String {
    // SAFETY: the caller vouches for a text with an end.
    unsafe { CStr::from_ptr(text) }.to_str().expect("tests are UTF-8").to_owned()
}

unsafe extern "C" fn nvrtcVersion(major: *mut c_int, minor: *mut c_int) -> nvrtcResult {
    enter("nvrtcVersion", |state| {
        // SAFETY: the caller's are writable.
        unsafe { (*major, *minor) = state.version };
        0
    })
}

unsafe extern "C" fn nvrtcGetNumSupportedArchs(count: *mut c_int) -> nvrtcResult {
    enter("nvrtcGetNumSupportedArchs", |_| {
        // SAFETY: the caller's is writable.
        unsafe { *count = 2 };
        0
    })
}

unsafe extern "C" fn nvrtcGetSupportedArchs(architectures: *mut c_int) -> nvrtcResult {
    enter("nvrtcGetSupportedArchs", |_| {
        // SAFETY: there is room for as many as there are.
        unsafe { architectures.cast::<[c_int; 2]>().write([80, 90]) };
        0
    })
}

unsafe extern "C" fn nvrtcCreateProgram(
    program: *mut nvrtcProgram,
    source: *const c_char,
    name: *const c_char,
    header_count: c_int,
    headers: *const *const c_char,
    header_names: *const *const c_char,
) -> nvrtcResult {
    enter("nvrtcCreateProgram", |state| {
        let count = usize::try_from(header_count).expect("a count");
        // SAFETY: the texts have ends, and there are as many of each as said.
        let made = unsafe {
            let header = |index| (text(*header_names.add(index)), text(*headers.add(index)));
            let headers = (0..count).map(header).collect();
            Text { source: text(source), name: text(name), headers, ..Text::default() }
        };
        state.made += 1;
        state.alive.insert(state.made, made);
        // SAFETY: the caller's is writable.
        unsafe { *program = std::ptr::without_provenance_mut(state.made) };
        0
    })
}

unsafe extern "C" fn nvrtcDestroyProgram(program: *mut nvrtcProgram) -> nvrtcResult {
    // SAFETY: the caller's is readable.
    let handle = unsafe { *program };
    enter("nvrtcDestroyProgram", |state| {
        assert!(state.alive.remove(&handle.addr()).is_some(), "destroyed twice");
        0
    })
}

unsafe extern "C" fn nvrtcAddNameExpression(program: nvrtcProgram, expression: *const c_char) -> nvrtcResult {
    enter("nvrtcAddNameExpression", |state| {
        // SAFETY: it has an end.
        state.program(program).names.push(unsafe { CStr::from_ptr(expression) }.to_owned());
        0
    })
}

unsafe extern "C" fn nvrtcCompileProgram(
    program: nvrtcProgram,
    option_count: c_int,
    options: *const *const c_char,
) -> nvrtcResult {
    enter("nvrtcCompileProgram", |state| {
        MEANWHILE.with_borrow(|call| call.iter().for_each(|call| call()));
        let program = state.program(program);
        let count = usize::try_from(option_count).expect("a count");
        // SAFETY: there are as many as said, and they have ends.
        program.options = (0..count).map(|index| unsafe { text(*options.add(index)) }).collect();
        match program.log() {
            log if log.starts_with(b"nvrtc") => 5,
            log if log.windows(6).any(|word| word == b"error:") => 6,
            _ => 0,
        }
    })
}

macro_rules! outputs {
    ($($size:ident, $fill:ident => $bytes:expr;)*) => {$(
        unsafe extern "C" fn $size(program: nvrtcProgram, size: *mut usize) -> nvrtcResult {
            enter(stringify!($size), |state| {
                let bytes: fn(&Text) -> Vec<u8> = $bytes;
                let len = if state.empty { 0 } else { bytes(state.program(program)).len() };
                // SAFETY: the caller's is writable.
                unsafe { *size = len };
                0
            })
        }

        unsafe extern "C" fn $fill(program: nvrtcProgram, room: *mut c_char) -> nvrtcResult {
            enter(stringify!($fill), |state| {
                let bytes: fn(&Text) -> Vec<u8> = $bytes;
                let bytes = bytes(state.program(program));
                // SAFETY: there is room for as many as there are.
                unsafe { room.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
                0
            })
        }
    )*};
}

outputs! {
    nvrtcGetProgramLogSize, nvrtcGetProgramLog => |program| program.log().to_owned();
    nvrtcGetPTXSize, nvrtcGetPTX => |program| [program.output("PTX"), vec![0]].concat();
    nvrtcGetCUBINSize, nvrtcGetCUBIN => |program| program.output("\0cubin");
    nvrtcGetLTOIRSize, nvrtcGetLTOIR => |program| program.output("LTO-IR");
}

unsafe extern "C" fn nvrtcGetLoweredName(
    program: nvrtcProgram,
    expression: *const c_char,
    name: *mut *const c_char,
) -> nvrtcResult {
    enter("nvrtcGetLoweredName", |state| {
        let program = state.program(program);
        // SAFETY: it has an end.
        let expression = unsafe { CStr::from_ptr(expression) };
        assert!(program.names.iter().any(|name| name.as_c_str() == expression), "{expression:?} was not asked for");
        let lowered = CString::new(format!("_Z{}", expression.to_str().expect("tests are UTF-8"))).expect("no zero");
        // SAFETY: the caller's is writable. The text is on the heap, and stays there when the list grows.
        unsafe { *name = lowered.as_ptr() };
        program.lowered.push(lowered);
        0
    })
}

unsafe extern "C" fn nvrtcGetPCHHeapSize(size: *mut usize) -> nvrtcResult {
    enter("nvrtcGetPCHHeapSize", |state| {
        // SAFETY: the caller's is writable.
        unsafe { *size = state.heap };
        0
    })
}

unsafe extern "C" fn nvrtcSetPCHHeapSize(size: usize) -> nvrtcResult {
    enter("nvrtcSetPCHHeapSize", |state| {
        state.heap = size;
        0
    })
}

unsafe extern "C" fn nvrtcGetPCHCreateStatus(program: nvrtcProgram) -> nvrtcResult {
    enter("nvrtcGetPCHCreateStatus", |state| {
        let (heap, needed) = (state.heap, state.needed);
        let is_enough = heap >= needed && !state.is_stubborn;
        match state.program(program).options.iter().find_map(|option| option.strip_prefix("--create-pch=")) {
            None => 13,
            Some("unwritable") => 15,
            Some(_) => {
                if is_enough {
                    0
                } else {
                    14
                }
            }
        }
    })
}

unsafe extern "C" fn nvrtcGetPCHHeapSizeRequired(program: nvrtcProgram, size: *mut usize) -> nvrtcResult {
    enter("nvrtcGetPCHHeapSizeRequired", |state| {
        state.program(program);
        // SAFETY: the caller's is writable.
        unsafe { *size = state.needed };
        0
    })
}

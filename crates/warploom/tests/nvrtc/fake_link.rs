//! A stand-in for nvJitLink that belongs to one thread, records its calls, and fails on demand.
#![expect(unsafe_code, reason = "functions of C's kind, with pointers")]
#![expect(non_snake_case, reason = "the names of the C interface")]

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use warploom::program::NvJitLink;
use warploom::program::link::raw::{NvJitLinkTable, nvJitLinkHandle, nvJitLinkResult};

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) calls: Vec<&'static str>,
    pub(crate) failing: Option<(&'static str, c_int)>,
    pub(crate) alive: usize,
    /// `true` if it reports an older version.
    pub(crate) is_older: bool,
    /// Options and inputs, as they were given last.
    pub(crate) given: Vec<String>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

pub(crate) const TABLE: NvJitLinkTable = NvJitLinkTable {
    nvJitLinkVersion,
    nvJitLinkCreate,
    nvJitLinkDestroy,
    nvJitLinkAddData,
    nvJitLinkComplete,
    nvJitLinkGetLinkedCubinSize,
    nvJitLinkGetLinkedCubin,
    nvJitLinkGetLinkedPtxSize,
    nvJitLinkGetLinkedPtx,
    nvJitLinkGetErrorLogSize,
    nvJitLinkGetErrorLog,
    nvJitLinkGetInfoLogSize,
    nvJitLinkGetInfoLog,
};

pub(crate) fn open() -> NvJitLink {
    change(|state| *state = State::default());
    // SAFETY: the functions below do what nvJitLink's do; their state is the thread's.
    let library = unsafe { NvJitLink::from_table(TABLE) }.expect("it is new enough");
    take();
    library
}

pub(crate) fn change(change: impl FnOnce(&mut State)) {
    STATE.with_borrow_mut(change);
}

/// Takes the calls and inputs so far; the count of live links stays.
pub(crate) fn take() -> State {
    STATE.with_borrow_mut(|state| {
        let alive = state.alive;
        std::mem::replace(state, State { alive, ..State::default() })
    })
}

fn enter(function: &'static str, body: impl FnOnce(&mut State)) -> nvJitLinkResult {
    STATE.with_borrow_mut(|state| {
        state.calls.push(function);
        match state.failing {
            Some((failing, code)) if failing == function => code,
            _ => {
                body(state);
                0
            }
        }
    })
}

unsafe extern "C" fn nvJitLinkVersion(major: *mut c_uint, minor: *mut c_uint) -> nvJitLinkResult {
    // SAFETY: the caller's are writable.
    enter("nvJitLinkVersion", |state| unsafe { (*major, *minor) = (13, if state.is_older { 4 } else { 5 }) })
}

/// As the real one: there is a handle even if it fails.
unsafe extern "C" fn nvJitLinkCreate(
    handle: *mut nvJitLinkHandle,
    count: u32,
    options: *mut *const c_char,
) -> nvJitLinkResult {
    // SAFETY: the caller's is writable.
    unsafe { *handle = std::ptr::without_provenance_mut(8) };
    change(|state| state.alive += 1);
    enter("nvJitLinkCreate", |state| {
        for index in 0..count as usize {
            // SAFETY: there are as many as said, and they have ends.
            state.given.push(unsafe { CStr::from_ptr(*options.add(index)) }.to_str().expect("UTF-8").to_owned());
        }
    })
}

unsafe extern "C" fn nvJitLinkDestroy(_: *mut nvJitLinkHandle) -> nvJitLinkResult {
    enter("nvJitLinkDestroy", |state| state.alive -= 1)
}

unsafe extern "C" fn nvJitLinkAddData(
    _: nvJitLinkHandle,
    kind: c_int,
    data: *const c_void,
    size: usize,
    name: *const c_char,
) -> nvJitLinkResult {
    enter("nvJitLinkAddData", |state| {
        // SAFETY: there are as many bytes as said, and the name has an end.
        let (bytes, name) = unsafe { (std::slice::from_raw_parts(data.cast::<u8>(), size), CStr::from_ptr(name)) };
        state.given.push(format!("{kind} {} {}", name.to_string_lossy(), String::from_utf8_lossy(bytes)));
    })
}

unsafe extern "C" fn nvJitLinkComplete(_: nvJitLinkHandle) -> nvJitLinkResult {
    enter("nvJitLinkComplete", |_| {})
}

macro_rules! outputs {
    ($($size:ident, $fill:ident: $room:ty => $bytes:expr;)*) => {$(
        unsafe extern "C" fn $size(_: nvJitLinkHandle, size: *mut usize) -> nvJitLinkResult {
            // SAFETY: the caller's is writable.
            enter(stringify!($size), |_| unsafe { *size = $bytes.len() })
        }

        unsafe extern "C" fn $fill(_: nvJitLinkHandle, room: *mut $room) -> nvJitLinkResult {
            // SAFETY: there is room for as many as there are.
            enter(stringify!($fill), |_| unsafe {
                room.cast::<u8>().copy_from_nonoverlapping($bytes.as_ptr(), $bytes.len());
            })
        }
    )*};
}

outputs! {
    nvJitLinkGetLinkedCubinSize, nvJitLinkGetLinkedCubin: c_void => b"cu\0bin";
    nvJitLinkGetLinkedPtxSize, nvJitLinkGetLinkedPtx: c_char => b"ptx\0";
    nvJitLinkGetErrorLogSize, nvJitLinkGetErrorLog: c_char => b"what went wrong\n\0";
    nvJitLinkGetInfoLogSize, nvJitLinkGetInfoLog: c_char => b"a remark\0";
}

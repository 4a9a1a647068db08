//! Error log of the driver: lines about failed calls, for programs to read and to be called back with.
#![expect(unsafe_code, reason = "calls the program's functions")]

use std::collections::VecDeque;
use std::ffi::{CString, c_void};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use warploom_sys::Function;
use warploom_sys::types::{CUlogLevel, CUlogsCallback, CUresult};

use crate::process::home::lock_briefly_held;
use crate::process::thread;

/// Number of newest lines that are kept, as many as the real driver keeps.
pub(crate) const KEPT: usize = 100;

#[derive(Default)]
pub(crate) struct ErrorLog {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    lines: VecDeque<String>,
    /// The number of the next line; the first is 0.
    next: u32,
    callbacks: Vec<Callback>,
    last_callback: usize,
}

/// A function of the program that is called with each message.
#[derive(Clone, Copy)]
struct Callback {
    id: usize,
    function: CUlogsCallback,
    data: *mut c_void,
}

// SAFETY: the pointer is the callback's data, which the C caller hands over to be passed to the callback on
// any thread on which a call fails.
unsafe impl Send for Callback {}

/// Lines of the log, from some line on.
pub(crate) struct Lines {
    pub(crate) lines: Vec<String>,
    /// `true` if older ones were asked for and are no longer kept.
    pub(crate) is_cut: bool,
    /// The number of the next line.
    pub(crate) next: u32,
}

impl ErrorLog {
    /// Adds the reasons of a failed call and its status, and calls the registered callbacks.
    pub(crate) fn report(&self, function: Function, code: CUresult, mut messages: Vec<String>) {
        messages.push(format!("{function} returns {code}"));
        for message in messages {
            let callbacks = self.add(&message);
            // A text with a nul cannot be passed on.
            let Ok(text) = CString::new(message) else { continue };
            for Callback { function, data, .. } in callbacks {
                let Some(function) = function else { continue };
                let length = text.as_bytes().len();
                // SAFETY: the program registered the function for this; the text lives until it returns.
                unsafe { function(data, CUlogLevel::CU_LOG_LEVEL_ERROR, text.as_ptr().cast_mut(), length) };
            }
        }
    }

    /// Adds a line. Returns the callbacks.
    fn add(&self, message: &str) -> Vec<Callback> {
        let Some(mut state) = lock_briefly_held(&self.state) else { return Vec::new() };
        if state.lines.len() == KEPT {
            state.lines.pop_front();
        }
        state.lines.push_back(line(message));
        state.next = state.next.wrapping_add(1);
        state.callbacks.clone()
    }

    /// Adds a line about something that no call is to blame for.
    pub(crate) fn note(&self, message: &str) {
        self.add(message);
    }

    /// Registers a callback. Returns its number.
    pub(crate) fn register(&self, function: CUlogsCallback, data: *mut c_void) -> usize {
        let Some(mut state) = lock_briefly_held(&self.state) else { return 0 };
        state.last_callback += 1;
        let id = state.last_callback;
        state.callbacks.push(Callback { id, function, data });
        id
    }

    /// Removes a callback; `false` if there is none of that number.
    pub(crate) fn unregister(&self, id: usize) -> bool {
        let Some(mut state) = lock_briefly_held(&self.state) else { return false };
        let before = state.callbacks.len();
        state.callbacks.retain(|callback| callback.id != id);
        state.callbacks.len() < before
    }

    /// The number of the next line.
    pub(crate) fn next(&self) -> u32 {
        lock_briefly_held(&self.state).map_or(0, |state| state.next)
    }

    /// The lines from a number on, or all that are kept; `None` if the number is beyond the next one.
    pub(crate) fn since(&self, start: Option<u32>) -> Option<Lines> {
        let state = lock_briefly_held(&self.state)?;
        let oldest = state.next - state.lines.len() as u32;
        let from = start.unwrap_or(0);
        if from > state.next {
            return None;
        }
        let skipped = from.saturating_sub(oldest) as usize;
        let lines = state.lines.iter().skip(skipped).cloned().collect();
        Some(Lines { lines, is_cut: from < oldest, next: state.next })
    }
}

/// A message with the time of day and the thread.
fn line(message: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, milliseconds) = (now.as_secs() % 86400, now.subsec_millis());
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let thread = thread::key().number();
    format!("[{hour:02}:{minute:02}:{second:02}.{milliseconds:03}][{thread}][CUDA][E] {message}\n")
}

//! Signals for the program.
//!
//! The command's threads block the signals, and one thread takes them and sends them on. The terminal sends
//! its signals (Ctrl-C) to the program itself, which is in the same process group; those are not sent twice.
#![expect(unsafe_code, reason = "signal masks of the C library")]

use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, kill_process};

use crate::failure::code;

/// The signals that are sent on.
const FORWARDED: [libc::c_int; 7] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM];

/// Signals that this thread, and those that it starts, have blocked.
pub(super) struct Signals {
    set: libc::sigset_t,
}

impl Signals {
    /// Blocks the signals here; the command's child starts with the mask of before.
    pub(super) fn block(command: &mut Command) -> Self {
        let (mut set, mut before) = (MaybeUninit::<libc::sigset_t>::uninit(), MaybeUninit::<libc::sigset_t>::uninit());
        // SAFETY: the functions initialise the sets; the signals have valid numbers.
        let (set, before) = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in FORWARDED {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            libc::sigemptyset(before.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr());
            (set.assume_init(), before.assume_init())
        };
        let restore = move || {
            // SAFETY: a set that is initialised; the function may be called between `fork` and `exec`.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, null_mut()) };
            Ok(())
        };
        // SAFETY: the closure neither allocates nor locks.
        unsafe { command.pre_exec(restore) };
        Self { set }
    }

    /// Sends signals on to a process from now on.
    pub(super) fn forward_to(self, process: u32) -> Forwarding {
        let ended = Arc::new(AtomicBool::new(false));
        let (set, flag) = (self.set, Arc::clone(&ended));
        let target = i32::try_from(process).ok().and_then(Pid::from_raw);
        std::thread::spawn(move || forward(&set, target, &flag));
        Forwarding { ended }
    }
}

/// Signals on their way to a process.
pub(super) struct Forwarding {
    ended: Arc<AtomicBool>,
}

impl Forwarding {
    /// The process has ended: the next signal ends the command.
    pub(super) fn end(self) {
        self.ended.store(true, Ordering::Release);
    }
}

fn forward(set: &libc::sigset_t, target: Option<Pid>, ended: &AtomicBool) {
    loop {
        let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
        // SAFETY: a set that is initialised, and room for the description.
        let number = unsafe { libc::sigwaitinfo(set, info.as_mut_ptr()) };
        let Some(signal) = Signal::from_named_raw(number) else { continue };
        if ended.load(Ordering::Acquire) {
            std::process::exit(i32::from(code::SIGNAL) + number);
        }
        // SAFETY: the call has succeeded, so the description is there.
        let from_terminal = unsafe { info.assume_init() }.si_code == libc::SI_KERNEL;
        if let Some(target) = target.filter(|_| !from_terminal) {
            // It may have ended just now.
            kill_process(target, signal).unwrap_or_default();
        }
    }
}

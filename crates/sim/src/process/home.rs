//! Detection of `fork`: the process that a machine lives in, and locks that a child may find locked.
//!
//! A child of `fork` has a copy of everything but the threads: no executor runs the machine's work there, and
//! a lock that another thread held stays locked for ever. The real driver refuses every call in such a child,
//! and so does a machine, before it takes a lock. The kernel leaves a mark: a page that a child finds empty.
#![expect(unsafe_code, reason = "maps a page, and reads and writes a word of it")]

use std::io;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// The process that a machine lives in, recognised by a word of a page that does not survive `fork`.
pub(crate) struct Home {
    word: NonNull<AtomicU32>,
    /// A lock has been taken that a child could find locked.
    is_lived_in: AtomicBool,
}

// SAFETY: the word is atomic, and the mapping it is in is unmapped by `Drop` alone.
unsafe impl Send for Home {}
// SAFETY: as above.
unsafe impl Sync for Home {}

impl Home {
    /// This process is home.
    pub(crate) fn new() -> io::Result<Self> {
        let (size, access) = (rustix::param::page_size(), ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping, where the kernel likes.
        let page = unsafe { mmap_anonymous(null_mut(), size, access, MapFlags::PRIVATE) }?;
        // SAFETY: the page that has just been mapped. A kernel before 4.14 refuses, and a child cannot be
        // told there.
        unsafe { madvise(page, size, Advice::LinuxWipeOnFork) }.unwrap_or_default();
        let word = NonNull::new(page.cast::<AtomicU32>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let home = Self { word, is_lived_in: AtomicBool::new(false) };
        home.move_in();
        Ok(home)
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: the start of a page that is mapped, readable and writable, for as long as `self` lives.
        unsafe { self.word.as_ref() }
    }

    fn move_in(&self) {
        self.word().store(1, Ordering::Relaxed);
    }

    /// `true` if the machine can be used in this process. In a child of the process it was used in it cannot;
    /// one that nobody has used yet is the child's own from now on.
    #[inline]
    pub(crate) fn is_here(&self) -> bool {
        if self.word().load(Ordering::Relaxed) != 0 {
            return true;
        }
        let is_vacant = !self.is_lived_in.load(Ordering::Relaxed);
        if is_vacant {
            self.move_in();
        }
        is_vacant
    }

    /// `true` if this is the process that started the machine, or a child that has made it its own.
    pub(crate) fn is_own(&self) -> bool {
        self.word().load(Ordering::Relaxed) != 0
    }

    /// From here on a child may find something locked.
    #[inline]
    pub(crate) fn live_in(&self) {
        if !self.is_lived_in.load(Ordering::Relaxed) {
            self.is_lived_in.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // SAFETY: the page that `new` mapped, which nobody else knows of. If it stays mapped, nothing is
        // wrong.
        unsafe { munmap(self.word.as_ptr().cast(), rustix::param::page_size()) }.unwrap_or_default();
    }
}

/// Timeout of [`lock_briefly_held`]; such a lock is never held that long.
const BRIEFLY: Duration = Duration::from_secs(1);

/// Takes a lock that is only ever held briefly. If it cannot be taken in time, this is a child of `fork`, and
/// the thread that held the lock exists only in the parent.
///
/// For locks that a child may have to take: those of the process, and those of a machine that is not
/// initialised.
pub(crate) fn lock_briefly_held<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    static LOCKED_IN: AtomicU32 = AtomicU32::new(0);
    if LOCKED_IN.load(Ordering::Relaxed) == 0 {
        LOCKED_IN.store(std::process::id(), Ordering::Relaxed);
    }
    let guard = mutex.try_lock_for(BRIEFLY);
    let may_be_orphaned = || LOCKED_IN.load(Ordering::Relaxed) != std::process::id();
    if guard.is_some() || may_be_orphaned() { guard } else { Some(mutex.lock()) }
}

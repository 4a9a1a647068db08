//! Calls whose work is to fail, because a fault plan says so.

use warploom_sys::types::CUresult;

use super::Engine;
use crate::machine::thread::{self, ThreadKey};

/// The threads in such a call.
#[derive(Default)]
pub(super) struct Dooms(Vec<Doom>);

struct Doom {
    thread: ThreadKey,
    code: CUresult,
    /// How much was enqueued since.
    ops: usize,
}

impl Dooms {
    fn mine(&mut self) -> Option<&mut Doom> {
        if self.0.is_empty() {
            return None;
        }
        let this = thread::key();
        self.0.iter_mut().find(|doom| doom.thread == this)
    }

    /// What an op fails with that this thread enqueues now.
    pub(super) fn take(&mut self) -> Option<CUresult> {
        let doom = self.mine()?;
        doom.ops += 1;
        Some(doom.code)
    }
}

impl Engine {
    /// Lets everything fail that this thread enqueues, until it is [pardoned](Engine::pardon).
    pub(crate) fn doom(&mut self, code: CUresult) {
        if self.dooms.mine().is_none() {
            self.dooms.0.push(Doom { thread: thread::key(), code, ops: 0 });
        }
    }

    /// Whether what this thread enqueues is to fail, so that a call must not do without an op.
    pub(crate) fn is_doomed(&mut self) -> bool {
        self.dooms.mine().is_some()
    }

    /// Ends what [`Engine::doom`] began; how many ops it met.
    pub(crate) fn pardon(&mut self) -> usize {
        let this = thread::key();
        let mine = self.dooms.0.iter().position(|doom| doom.thread == this);
        mine.map_or(0, |at| self.dooms.0.swap_remove(at).ops)
    }
}

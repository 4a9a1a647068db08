//! Accesses of a kernel beyond its memory that hardware lets pass.

use warploom_ptx::{Access, TrapKind};

/// An access beyond memory, by its instruction and the first thread that goes beyond.
#[derive(Debug)]
pub(super) struct Overrun {
    pub(super) access: Access,
    pub(super) kind: TrapKind,
}

/// The overruns of one launch: each instruction and each address once.
#[derive(Debug, Default)]
pub(super) struct Overruns {
    found: Vec<Overrun>,
}

/// The number of overruns that are kept.
const KEPT: usize = 64;

impl Overruns {
    pub(super) fn add(&mut self, access: &Access, kind: &TrapKind) {
        let is_known = |found: &Overrun| found.access.instruction == access.instruction || found.kind == *kind;
        if self.found.len() < KEPT && !self.found.iter().any(is_known) {
            self.found.push(Overrun { access: *access, kind: kind.clone() });
        }
    }

    pub(super) fn take(&mut self) -> Vec<Overrun> {
        std::mem::take(&mut self.found)
    }
}

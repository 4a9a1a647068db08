//! Registers that a function may read before it writes them, and that are cleared when it is entered.
//!
//! A lane reads a register where its own path has led it. If an instruction that writes the register lies on
//! every such path, and no guard can keep the lane from carrying it out, then its old value cannot be seen;
//! most registers of most functions are like that. Registers that lanes read of each other are cleared in any
//! case: the others may have come along another path, or may not be there. Registers that the decoder makes
//! up are cleared, too, and so are predicates, which cost nothing.

use std::cell::RefCell;

use super::super::function::{Cleared, Touch};
use super::super::operation::{Instruction, Operation};
use super::super::slot::Slot;
use super::paths::Paths;
use super::scope::File;
use crate::program::function::Counts;

/// Reads and writes of a function's registers.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    reads: RefCell<Vec<Mention>>,
    writes: RefCell<Vec<Mention>>,
    /// Both, with those that a guard may prevent.
    touches: RefCell<Vec<Touch>>,
}

#[derive(Clone, Copy, Debug)]
struct Mention {
    is_long: bool,
    register: u32,
    /// None for values of other lanes.
    at: Option<u32>,
}

/// Number of mentions before an instruction of the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    reads: usize,
    writes: usize,
    touches: usize,
}

impl Mention {
    /// None for a predicate, two for a register of 128 bits.
    fn all(file: File, slot: Slot, at: u32) -> impl Iterator<Item = Mention> + Clone {
        let (is_long, count) = match file {
            File::Words => (false, 1),
            File::Longs => (true, 1),
            File::Pairs => (true, 2),
            File::Predicates => (false, 0),
        };
        let registers = slot.value()..slot.value() + count;
        registers.map(move |register| Mention { is_long, register, at: Some(at) })
    }

    fn touch(self, pc: u32, is_write: bool) -> Touch {
        Touch::new(self.is_long, Slot::register(self.register), pc, is_write)
    }
}

impl Mentions {
    pub(super) fn restart(&mut self) {
        self.reads.get_mut().clear();
        self.writes.get_mut().clear();
        self.touches.get_mut().clear();
    }

    /// All touches of the function, in the order of its instructions.
    pub(super) fn touches(&self) -> Box<[Touch]> {
        self.touches.borrow().as_slice().into()
    }

    pub(super) fn read(&self, file: File, slot: Slot, pc: u32) {
        let mentions = Mention::all(file, slot, pc);
        self.touches.borrow_mut().extend(mentions.clone().map(|mention| mention.touch(pc, false)));
        self.reads.borrow_mut().extend(mentions);
    }

    pub(super) fn write(&self, file: File, slot: Slot, pc: u32) {
        let mentions = Mention::all(file, slot, pc);
        self.touches.borrow_mut().extend(mentions.clone().map(|mention| mention.touch(pc, true)));
        self.writes.borrow_mut().extend(mentions);
    }

    pub(super) fn mark(&self) -> Mark {
        let touches = self.touches.borrow().len();
        Mark { reads: self.reads.borrow().len(), writes: self.writes.borrow().len(), touches }
    }

    /// Ends an instruction of the text, of which `made` came; `last` is the last of these.
    pub(super) fn end(&mut self, mark: Mark, made: &[Instruction], last: u32, guarded: bool) {
        let (reads, writes) = (self.reads.get_mut(), self.writes.get_mut());
        // An instruction of the text is one step, however many come of it.
        let touches = &mut self.touches.get_mut()[mark.touches..];
        touches.iter_mut().for_each(|touch| touch.pc = last);
        touches.sort_by_key(|touch| touch.is_write);
        let mut is_certain = !guarded && !made.is_empty();
        for instruction in made {
            match register_use(instruction.operation) {
                RegisterUse::Fills => {}
                RegisterUse::Alone => is_certain = false,
                RegisterUse::Together => {
                    is_certain = false;
                    reads[mark.reads..].iter_mut().for_each(|read| read.at = None);
                }
            }
        }
        if is_certain {
            writes[mark.writes..].iter_mut().for_each(|write| write.at = Some(last));
        } else {
            writes.truncate(mark.writes);
        }
    }

    /// The registers to clear for a function whose code starts at `start`.
    pub(super) fn cleared(&mut self, counts: Counts, code: &[Instruction], start: u32, lists: &[Slot]) -> Cleared {
        let (words, longs) = (counts.words as usize, counts.longs as usize);
        let mut written = [vec![None; words], vec![None; longs]];
        for write in self.writes.get_mut() {
            let first = &mut written[usize::from(write.is_long)][write.register as usize];
            *first = first.or(write.at.map(|at| at - start));
        }
        let paths = Paths::of(code, start, lists);
        for Mention { is_long, register, at } in self.reads.get_mut() {
            let first = &mut written[usize::from(*is_long)][*register as usize];
            let Some(before) = *first else { continue };
            let is_sure = |(paths, at): (&Paths, u32)| paths.leads_through(before, at - start);
            if !paths.as_ref().zip(*at).is_some_and(is_sure) {
                *first = None;
            }
        }
        let [words, longs] = written.map(|first| {
            let numbered = (0..).zip(first);
            numbered.filter(|(_, first): &(u32, Option<u32>)| first.is_none()).map(|(register, _)| register).collect()
        });
        Cleared { words, longs }
    }
}

/// The use of registers by an operation.
enum RegisterUse {
    /// Writes its results for every lane that carries it out, from the lane's own registers.
    Fills,
    /// Reads the lane's own registers.
    Alone,
    /// All other instructions: lanes may read from each other.
    Together,
}

fn register_use(operation: Operation) -> RegisterUse {
    use Operation::{
        Atomic, AtomicPair, Barrier, Branch, BranchIndexed, Compute, Exit, Fence, FrameAddress, Load, LoadWhole,
        Nothing, Return, Sleep, Special, StackAllocate, StackRestore, StackSave, Store, StoreWhole, Trap,
    };
    match operation {
        Compute(_)
        | Load(_)
        | LoadWhole(_)
        | Atomic(_)
        | AtomicPair(_)
        | Special(_)
        | FrameAddress
        | StackAllocate { .. }
        | StackSave { .. } => RegisterUse::Fills,
        Store(_)
        | StoreWhole(_)
        | StackRestore { .. }
        | Barrier(_)
        | Branch
        | BranchIndexed
        | Return
        | Exit
        | Trap
        | Sleep
        | Fence
        | Nothing => RegisterUse::Alone,
        _ => RegisterUse::Together,
    }
}

#[cfg(test)]
mod tests {
    use crate::program::Program;

    /// Number of words to be cleared beside the sink, of a kernel with such a body.
    fn cleared(body: &str) -> usize {
        let text = format!(
            ".version 8.7 .target sm_90 .address_size 64
             .func (.reg .b32 back) twice(.reg .b32 from) {{ add.u32 back, from, from; ret; }}
             .visible .entry kernel() {{
                 .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
                 setp.eq.u32 %p1, 1, 1;
                 {body}
                 ret;
             }}"
        );
        let program = Program::from_text(&text).unwrap_or_else(|error| panic!("{error}"));
        let kernel = &program.code.functions[1].cleared;
        assert_eq!((kernel.words[0], kernel.longs.as_slice()), (0, [0].as_slice()));
        kernel.words.len() - 1
    }

    #[test]
    fn registers_that_every_path_writes_are_not_cleared() {
        assert_eq!(cleared("mov.u32 %r1, 5; add.u32 %r2, %r1, %r1;"), 0);
        assert_eq!(cleared("mov.u32 %r1, 5; @%p1 bra OUT; add.u32 %r2, %r1, %r1; OUT: mov.u32 %r3, %r1;"), 0);
        assert_eq!(cleared("mov.u32 %r1, 5; AGAIN: add.u32 %r1, %r1, 1; @%p1 bra AGAIN; mov.u32 %r2, %r1;"), 0);
        assert_eq!(cleared("AGAIN: mov.u32 %r1, 5; @%p1 bra AGAIN; mov.u32 %r2, %r1;"), 0);
        assert_eq!(cleared("bra ON; BACK: mov.u32 %r2, %r1; ret; ON: mov.u32 %r1, 5; bra BACK;"), 0);
        assert_eq!(cleared("mov.u32 %r1, 5; @%p1 add.u32 %r1, %r1, 1; mov.u32 %r2, %r1;"), 0);
        assert_eq!(cleared("mov.u32 %r1, %r2; mov.u32 %r3, %r1;"), 1);
    }

    #[test]
    fn registers_that_some_path_does_not_write_are_cleared() {
        assert_eq!(cleared("add.u32 %r1, %r1, 1;"), 1);
        assert_eq!(cleared("@%p1 mov.u32 %r1, 5; mov.u32 %r2, %r1;"), 1);
        assert_eq!(cleared("@%p1 mov.u32 %r1, 5; @%p1 mov.u32 %r2, %r1;"), 2);
        assert_eq!(cleared("@%p1 bra OUT; mov.u32 %r1, 5; OUT: mov.u32 %r2, %r1;"), 1);
        assert_eq!(cleared("@%p1 bra ELSE; mov.u32 %r1, 5; bra OUT; ELSE: mov.u32 %r1, 6; OUT: mov.u32 %r2, %r1;"), 1);
        assert_eq!(cleared("AGAIN: mov.u32 %r2, %r1; mov.u32 %r1, 5; @%p1 bra AGAIN;"), 1);
        assert_eq!(cleared("bra ON; mov.u32 %r1, 5; ON: mov.u32 %r2, %r1;"), 1);
        let indexed = "mov.u32 %r1, 0; LIST: .branchtargets ONE, TWO; brx.idx %r1, LIST; ONE: mov.u32 %r2, 5; TWO: mov.u32 %r3, %r2;";
        assert_eq!(cleared(indexed), 1);
    }

    #[test]
    fn registers_that_lanes_read_of_each_other_are_cleared() {
        assert_eq!(cleared("mov.u32 %r1, 5; shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1; mov.u32 %r3, 1;"), 2);
        assert_eq!(cleared("mov.u32 %r1, 5; call (%r2), twice, (%r1);"), 2);
    }
}

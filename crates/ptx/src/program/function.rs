//! Decoded functions and calls.

use std::sync::OnceLock;

use super::slot::Slot;

/// A function with its place in the code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// A kernel.
    pub(crate) entry: bool,
    /// Its first instruction, and the first behind it; both are 0 where it has no body.
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) counts: Counts,
    /// Registers that have to be cleared when it is entered.
    pub(crate) cleared: Cleared,
    /// Bytes of local memory that it needs: variables, parameters and results.
    pub(crate) frame: u32,
    /// Those of them that are variables.
    pub(crate) variables: u32,
    /// `true` if neither it nor a function below it can be entered again before it is left.
    pub(crate) ends: bool,
    /// Bytes of the stack that a call takes.
    pub(crate) taken: u32,
    /// Bytes of the stack that it needs with all that it calls, as far as that is known without running it.
    pub(crate) needed: u32,
    pub(crate) parameters: Vec<Passed>,
    pub(crate) results: Vec<Passed>,
    /// Of a kernel: offset, size and alignment of each argument.
    pub(crate) arguments: Vec<(u32, u32, u32)>,
    pub(crate) argument_bytes: u32,
    /// Of a kernel: bytes of shared memory that do not depend on the launch.
    pub(crate) shared: u32,
    pub(crate) max_threads: Option<[u32; 3]>,
    pub(crate) required_threads: Option<[u32; 3]>,
    pub(crate) required_cluster: Option<[u32; 3]>,
    pub(crate) max_cluster_blocks: Option<u32>,
    /// Launches must say, or the kernel must, which clusters they have.
    pub(crate) explicit_cluster: bool,
    /// Launches count clusters instead of blocks.
    pub(crate) blocks_are_clusters: bool,
    pub(crate) builtin: Option<Builtin>,
    /// Reads and writes of registers in its text, in the order of the instructions.
    pub(crate) touches: Box<[Touch]>,
    pub(crate) max_registers: Option<u32>,
    pub(crate) min_blocks: Option<u32>,
    /// Of a kernel: registers that a thread needs, once they were asked for.
    pub(crate) registers: OnceLock<u32>,
}

/// A read or a write of a register that the text names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) pc: u32,
    pub(crate) register: u32,
    pub(crate) is_long: bool,
    pub(crate) is_write: bool,
}

impl Touch {
    pub(crate) fn new(is_long: bool, slot: Slot, pc: u32, is_write: bool) -> Touch {
        Touch { pc, register: slot.value(), is_long, is_write }
    }
}

impl Function {
    pub(crate) fn holds(&self, pc: u32) -> bool {
        (self.start..self.end).contains(&pc)
    }
}

/// Number of registers of each file a function has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) words: u32,
    pub(crate) longs: u32,
    pub(crate) predicates: u32,
}

/// Registers that may be read before they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cleared {
    pub(crate) words: Vec<u32>,
    pub(crate) longs: Vec<u32>,
}

/// The location of an argument or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// In the function's own part of the thread's memory.
    Frame {
        /// From its start.
        offset: u32,
        /// In bytes.
        size: u32,
    },
    Word(Slot),
    Long(Slot),
    /// A long and the one behind it.
    Pair(Slot),
    Predicate(Slot),
}

/// The arguments and results of a call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Its number; an indirect call has none.
    pub(crate) function: Option<u32>,
    pub(crate) arguments: Vec<Passed>,
    pub(crate) results: Vec<Passed>,
}

/// The function that an instruction calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Callee {
    /// By its number.
    Function(usize),
    /// Through an address.
    Anybody,
}

impl Callee {
    pub(crate) fn function(self) -> Option<usize> {
        match self {
            Callee::Function(index) => Some(index),
            Callee::Anybody => None,
        }
    }
}

/// Functions that the machine has, and no text defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
    Print,
    AssertFailed,
    Allocate,
    Free,
    SetCondition,
    DeviceValue,
    LastError,
}

impl Builtin {
    pub(crate) fn named(name: &str) -> Option<Builtin> {
        Some(match name {
            "vprintf" => Builtin::Print,
            "__assertfail" => Builtin::AssertFailed,
            "malloc" => Builtin::Allocate,
            "free" => Builtin::Free,
            "cudaGraphSetConditional" => Builtin::SetCondition,
            "warploom_device_value" => Builtin::DeviceValue,
            "warploom_last_error" => Builtin::LastError,
            _ => return None,
        })
    }
}

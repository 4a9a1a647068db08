//! Kernels and their parameters, as a launch needs them.

use super::function::Function;
use super::{Program, pressure};

/// Registers and threads of a multiprocessor, and the most blocks on it, as assemblers count with them.
const REGISTERS: u64 = 65536;
const THREADS: u64 = 2048;
const BLOCKS: u32 = 32;
/// The registers that a number of threads leaves to each are a multiple of this.
const STEP: u32 = 8;

/// A kernel of a program.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'p> {
    pub(super) program: &'p Program,
    pub(super) index: usize,
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Bytes from the start of all arguments.
    pub offset: u32,
    /// Its size in bytes.
    pub size: u32,
    /// Its alignment in bytes.
    pub alignment: u32,
}

impl<'p> Kernel<'p> {
    fn function(self) -> &'p Function {
        &self.program.code.functions[self.index]
    }

    /// The program it belongs to.
    pub fn program(self) -> &'p Program {
        self.program
    }

    /// Its number among the functions of the program.
    pub(crate) fn index(self) -> u32 {
        // A text has fewer functions than bytes, and those fit.
        self.index as u32
    }

    /// Its name.
    pub fn name(self) -> &'p str {
        &self.function().name
    }

    /// Its parameters, in order.
    pub fn parameters(self) -> Vec<Parameter> {
        let arguments = self.function().arguments.iter();
        arguments.map(|&(offset, size, alignment)| Parameter { offset, size, alignment }).collect()
    }

    /// Bytes of all arguments together.
    pub fn parameter_bytes(self) -> usize {
        self.function().argument_bytes as usize
    }

    /// Bytes of shared memory that every block needs, without the dynamic part of the launch.
    pub fn shared_bytes(self) -> usize {
        self.function().shared as usize
    }

    /// Bytes of the stack that every thread needs for its variables and those of the functions it calls;
    /// functions that call themselves, and calls through addresses, need more than can be known.
    pub fn local_bytes(self) -> usize {
        self.function().needed as usize
    }

    /// Registers that a thread needs, as an assembler without a bound would have them: an estimate, from the
    /// values that are live together and the order that hides latency.
    pub fn registers(self) -> u32 {
        let Program { code, constants } = self.program;
        *self.function().registers.get_or_init(|| pressure::registers(code, constants, self.index).min(255))
    }

    /// The most registers of a thread, where the text says it: by `.maxnreg`, or by the threads of a block
    /// and the blocks that a multiprocessor shall hold.
    pub fn register_bound(self) -> Option<u32> {
        let function = self.function();
        let by_threads = self.required_threads().or(self.max_threads()).map(|bound| {
            let threads: u64 = bound.iter().map(|size| u64::from(*size)).product();
            let threads = threads.next_multiple_of(32).max(32);
            let blocks = function.min_blocks.filter(|blocks| *blocks <= BLOCKS).unwrap_or(1).max(1);
            let all = Some(threads.saturating_mul(blocks.into())).filter(|all| *all <= THREADS).unwrap_or(threads);
            (REGISTERS / all) as u32 / STEP * STEP
        });
        [function.max_registers, by_threads].into_iter().flatten().min()
    }

    /// The most threads of a block, in each dimension, where the text says it.
    pub fn max_threads(self) -> Option<[u32; 3]> {
        self.function().max_threads
    }

    /// The blocks that every cluster must have, in each dimension, where the text says it.
    pub fn required_cluster(self) -> Option<[u32; 3]> {
        self.function().required_cluster
    }

    /// The most blocks of a cluster, where the text says it.
    pub fn max_cluster_blocks(self) -> Option<u32> {
        self.function().max_cluster_blocks
    }

    /// `true` if it runs in clusters only (`.explicitcluster`): of the shape that the text or the launch
    /// gives.
    pub fn needs_cluster(self) -> bool {
        self.function().explicit_cluster
    }

    /// `true` if launches count clusters instead of blocks (`.blocksareclusters`).
    pub fn counts_clusters(self) -> bool {
        self.function().blocks_are_clusters
    }

    /// The threads that every block must have, where the text says it.
    pub fn required_threads(self) -> Option<[u32; 3]> {
        self.function().required_threads
    }
}

//! The launched kernel, as all of its blocks share it.

use crate::device::bounds::Bounds;
use crate::device::launch::coordinates;
use crate::device::trap::{Trap, TrapKind};
use crate::lanes::Words;
use crate::program::Program;

/// The parts of a launch that all blocks of a grid share.
#[derive(Debug)]
pub(crate) struct Context<M> {
    pub(crate) program: Program,
    pub(crate) function: u32,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Blocks of a cluster.
    pub(crate) cluster: [u32; 3],
    /// `true` if the launch gave the shape of clusters.
    pub(crate) explicit_cluster: bool,
    pub(crate) dynamic_shared: u32,
    pub(crate) bounds: Bounds,
    pub(crate) arguments: Vec<u8>,
    pub(crate) memory: M,
    pub(crate) id: u64,
    pub(crate) processors: u32,
    pub(crate) environment: [u32; 32],
    /// Cycles that an instruction of a warp takes.
    pub(crate) cycles_per_instruction: u64,
    /// `true` if the sectors of global memory that warps touch are counted.
    pub(crate) counts_sectors: bool,
    /// Bytes of the stack that a thread has.
    pub(crate) stack: u32,
    /// The coordinates of the threads of each warp in their block: a row for each axis.
    pub(crate) places: Vec<[Words; 3]>,
}

impl<M> Context<M> {
    /// Threads of a block.
    pub(crate) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Blocks of a cluster.
    pub(crate) fn ranks(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// The coordinates of a thread in its block.
    pub(crate) fn thread(&self, number: u32) -> [u32; 3] {
        coordinates(self.block, number)
    }

    /// A failure of a thread, by its number in the block, at an instruction.
    pub(crate) fn trap(&self, kind: TrapKind, block: [u32; 3], thread: u32, pc: u32) -> Trap {
        let code = &self.program.code;
        let index = pc as usize;
        Trap {
            kind,
            kernel: code.functions[self.function as usize].name.clone(),
            block,
            thread: self.thread(thread),
            instruction: code.names[code.spelled[index] as usize].clone(),
            place: code.places[index],
            source: self.program.source(pc).map(|(file, line)| (file.to_owned(), line)),
        }
    }

    /// Shared memory that the kernel declares.
    pub(crate) fn kernel_shared(&self) -> u32 {
        self.program.code.functions[self.function as usize].shared
    }

    /// Shared memory of the launch, as the kernel and the launch ask for it.
    pub(crate) fn shared_bytes(&self) -> u32 {
        let declared = self.kernel_shared();
        if self.dynamic_shared == 0 { declared } else { declared.next_multiple_of(16) + self.dynamic_shared }
    }

    /// Shared memory that a block can access.
    pub(crate) fn shared_room(&self) -> u32 {
        self.bounds.shared(self.shared_bytes())
    }
}

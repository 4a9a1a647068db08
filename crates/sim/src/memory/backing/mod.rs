//! The origin of an allocation: the call that made it, and its particulars.

mod graph;
mod mapping;
mod pool;

pub(crate) use graph::GraphBlock;
pub(crate) use mapping::{Mapping, Rights};
pub(crate) use pool::{Home, PoolBlock, Preferred};

/// The origin of an allocation, which decides how it is freed.
#[derive(Debug)]
pub(crate) enum Backing {
    /// `cuMemAlloc` and `cuMemAllocPitch`.
    Device,
    /// `cuMemHostAlloc` and `cuMemAllocHost`; the simulator owns the pages.
    PageLocked(PageLocked),
    /// `cuMemHostRegister`; the program owns the pages.
    Registered { flags: u32 },
    /// `cuMemAllocManaged`.
    Managed(Managed),
    /// `cuMemAllocAsync`.
    Pool(PoolBlock),
    /// A node of a graph.
    Graph(GraphBlock),
    /// `cuMemMap`.
    Mapped(Mapping),
    /// A variable of a module.
    Variable(VariableMemory),
    /// `cuIpcOpenMemHandle`.
    Imported(Imported),
}

/// Particulars of memory of another process.
#[derive(Debug)]
pub(crate) struct Imported {
    /// Times that it was opened and not closed.
    pub(crate) references: u64,
    /// The allocation of the other process.
    pub(crate) generation: u32,
}

/// Particulars of memory of `cuMemHostAlloc`.
#[derive(Debug)]
pub(crate) struct PageLocked {
    pub(crate) flags: u32,
}

/// Particulars of a managed allocation.
#[derive(Debug)]
pub(crate) struct Managed {
    /// Bytes charged to a device that must keep a copy.
    pub(crate) charged: u64,
}

/// Particulars of the memory of a variable.
#[derive(Debug)]
pub(crate) struct VariableMemory {
    /// The host sees it, too.
    pub(crate) managed: Option<Managed>,
    /// Bytes before and behind it that go with it. Only memory that a kernel took with `malloc` has them.
    pub(crate) margins: [u64; 2],
}

//! Functions and kernels.

use super::{Attribute, Block, Linkage, Pragma, Variable};
use crate::error::Position;

/// `.visible .entry name(…) .maxntid 256 { … }`, or a declaration without a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Function<'t> {
    /// The position of the declaration.
    pub place: Position,
    /// Kernel or function.
    pub kind: Kind,
    /// Its linkage.
    pub linkage: Linkage,
    /// The name.
    pub name: &'t str,
    /// Its results; a kernel has none.
    pub results: Vec<Variable<'t>>,
    /// Its parameters.
    pub parameters: Vec<Variable<'t>>,
    /// The attributes of `.attribute`.
    pub attributes: Vec<Attribute<'t>>,
    /// Its bounds on launches and registers.
    pub bounds: Bounds<'t>,
    /// Its body; a declaration has none.
    pub body: Option<Block<'t>>,
}

/// The kinds of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `.entry`: the host, as a kernel.
    Entry,
    /// `.func`: other functions.
    Function,
}

/// The directives between a function's parameters and its body.
///
/// Dimensions that the text leaves out are 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds<'t> {
    /// `.maxntid`: the most threads of a block, in each dimension.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: the threads of every block.
    pub required_threads: Option<[u32; 3]>,
    /// `.minnctapersm`: the fewest blocks that a multiprocessor shall hold.
    pub min_blocks: Option<u32>,
    /// `.maxnctapersm`: an older way to say that.
    pub max_blocks: Option<u32>,
    /// `.maxnreg`: the most registers of a thread.
    pub max_registers: Option<u32>,
    /// `.reqnctapercluster`: the blocks of every cluster.
    pub required_cluster: Option<[u32; 3]>,
    /// `.maxclusterrank`: the most blocks of a cluster.
    pub max_cluster_blocks: Option<u32>,
    /// `.explicitcluster`: a launch must say how large clusters are.
    pub explicit_cluster: bool,
    /// `.blocksareclusters`: a launch counts clusters, not blocks.
    pub blocks_are_clusters: bool,
    /// `.noreturn`: it never comes back.
    pub never_returns: bool,
    /// `.abi_preserve` and `.abi_preserve_control`: registers and predicates that it keeps.
    pub preserved: [Option<u32>; 2],
    /// The strings of `.pragma` in front of the body.
    pub pragmas: Vec<Pragma<'t>>,
    /// `.language "CUDA C++"`
    pub language: Option<&'t str>,
}

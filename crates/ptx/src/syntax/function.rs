//! Functions and kernels.

use super::{Attribute, Block, Linkage, Variable};
use crate::error::Place;

/// `.visible .entry name(…) .maxntid 256 { … }`, or a declaration without a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Function<'t> {
    /// Where the declaration starts.
    pub place: Place,
    /// Kernel or function.
    pub kind: Kind,
    /// Who else sees the name.
    pub linkage: Linkage,
    /// The name.
    pub name: &'t str,
    /// What it returns; a kernel returns nothing.
    pub results: Vec<Variable<'t>>,
    /// What it takes.
    pub parameters: Vec<Variable<'t>>,
    /// What `.attribute` says.
    pub attributes: Vec<Attribute<'t>>,
    /// What it promises about launches and registers.
    pub bounds: Bounds<'t>,
    /// What it does; a declaration has none.
    pub body: Option<Block<'t>>,
}

/// Who can call a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `.entry`: the host, as a kernel.
    Entry,
    /// `.func`: other functions.
    Function,
}

/// What stands between a function's parameters and its body.
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
    /// What `.pragma` says in front of the body.
    pub pragmas: Vec<&'t str>,
}

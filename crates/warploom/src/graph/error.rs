//! Errors of graphs.

use std::fmt;
use std::path::PathBuf;

use super::{Node, NodeKind};

/// A graph that cannot be built, instantiated, updated or launched like that. Nothing has changed.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// The node was destroyed, or the graph that it was in.
    #[error("the node was destroyed; use a node that is in the graph")]
    NodeDestroyed,

    /// The graph was inside of a node that was destroyed or got another graph.
    #[error("the graph was destroyed with the node that it was inside of; take the graph of a node that is there")]
    GraphDestroyed,

    /// A stream is being captured into the graph.
    #[error(
        "a graph cannot be instantiated or copied, nor its nodes be destroyed, while a stream is captured into it; end \
         the capture first"
    )]
    Captured,

    /// The graph inside of a child node has memory that this crate does not know: the driver failed to name its
    /// nodes when the graph was set.
    #[error(
        "the graph of a child node is not known, since the driver failed to name its nodes; set it again, or destroy the \
         node"
    )]
    ChildUnknown,

    /// A node or condition belongs to another graph.
    #[error("the {what} belongs to another graph; nodes and conditions are used in the graph that they were made for")]
    OtherGraph {
        /// A node, or a condition.
        what: &'static str,
    },

    /// A node was to depend on itself.
    #[error("a node cannot depend on itself")]
    SelfEdge,

    /// The graph to embed or to update from is part of the graph that would change.
    #[error("the source is part of the same graph; use a graph of its own, such as a clone")]
    SameHierarchy,

    /// The driver cannot copy graphs with such nodes.
    #[error("a graph with {kind} nodes cannot be cloned or embedded; keep such nodes in the outermost graph")]
    NotCopyable {
        /// The kind of the nodes.
        kind: &'static str,
    },

    /// The node is of another kind.
    #[error("the node is a {found} node, not a {expected} node")]
    OtherKind {
        /// The kind that is needed.
        expected: NodeKind,
        /// The kind of the node.
        found: NodeKind,
    },

    /// The conditional node is of another type.
    #[error("the node is {found} node, not {expected} node")]
    OtherConditional {
        /// The type that is needed, with its article.
        expected: &'static str,
        /// The type of the node.
        found: &'static str,
    },

    /// Memory or a condition of a graph was used outside of it.
    #[error("memory and conditions of a graph can only be used by nodes of that graph")]
    OutsideGraph,

    /// A graph inside of a node was to be instantiated.
    #[error("a graph inside of a node cannot be instantiated; instantiate the outermost one, or a clone")]
    Inside,

    /// A switch without branches.
    #[error("a switch needs at least 1 branch")]
    NoBranches,

    /// A switch with more branches than [`SwitchNode::MAX_BRANCHES`](super::SwitchNode::MAX_BRANCHES).
    #[error("a switch of {branches} branches exceeds the limit of {limit}; add a switch to its branches instead")]
    TooManyBranches {
        /// The branches asked for.
        branches: u32,
        /// The most that a switch can have.
        limit: u32,
    },

    /// A condition was to be read by a second node.
    #[error("the condition belongs to another conditional node; make a condition for each node")]
    ConditionUsed,

    /// A conditional node was to run in another context than its condition was made in, which is the graph's.
    #[error("a conditional node runs in the context of its graph; leave out `on`, or make the graph in that context")]
    ConditionContext,

    /// A kernel node cannot overlap the node before it by its launch configuration.
    #[error("overlap_previous is for streams; in a graph, the order is given by its edges")]
    Overlap,

    /// The attributes of a kernel node are set when it is added.
    #[error("cluster, cooperation and priority of a kernel node are set when it is added; add another node")]
    Attributes,

    /// A copy or fill of no bytes.
    #[error("a node cannot copy or fill 0 bytes; leave it out")]
    NoBytes,

    /// A word node with no operations, or with too many.
    #[error("a word node makes 1 to {limit} operations, not {count}; spread them over several nodes, or leave it out")]
    WordOperations {
        /// The operations that were given.
        count: usize,
        /// The most that a node can make.
        limit: usize,
    },

    /// The memory has another size than the node copies or fills.
    #[error("the node has {bytes} bytes, the memory given has {given}; give as many, or replace both ends")]
    OtherSize {
        /// The bytes of the node.
        bytes: usize,
        /// The bytes that were given.
        given: usize,
    },

    /// The node's parameters cannot be changed one by one: other code has made them, or they were captured.
    #[error("the {kind} node was captured or made by other code, of a form that cannot be changed in part")]
    Opaque {
        /// The kind of the node.
        kind: NodeKind,
    },

    /// The path of a DOT file cannot be passed to the driver.
    #[error("{path:?} contains a zero byte or is not text; the driver takes neither in the path of a DOT file")]
    Path {
        /// The path.
        path: PathBuf,
    },

    /// The driver could not write the DOT file.
    #[error("the graph cannot be written to {path:?}, which takes a folder that exists and may be written: {error}")]
    NotWritten {
        /// The path.
        path: PathBuf,
        /// The driver's error.
        error: warploom_driver::Error,
    },

    /// The DOT file was not written.
    #[error("the DOT text of the graph could not be read: {message}")]
    Dot {
        /// The reason, as the system gives it.
        message: Box<str>,
    },

    /// The executable was made from another graph.
    #[error("the node is not of the graph that the executable was instantiated from")]
    OtherExecutable,

    /// The graph could not be instantiated.
    #[error("{0}")]
    Instantiate(Box<InstantiateError>),

    /// The executable could not be updated.
    #[error("{0}")]
    Update(Box<UpdateError>),
}

/// A graph that could not be instantiated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstantiateError {
    /// The reason.
    pub reason: InstantiateReason,
    /// The node that is the reason, if the driver names one.
    pub node: Option<Node>,
    /// The driver's error.
    pub error: warploom_driver::Error,
}

impl fmt::Display for InstantiateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the graph cannot be instantiated: {}", self.reason)?;
        if let Some(node) = &self.node {
            write!(formatter, " ({node:?})")?;
        }
        write!(formatter, ": {}", self.error)
    }
}

/// Reasons for which a graph cannot be instantiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InstantiateReason {
    /// The driver gives none but its code.
    Driver,
    /// The graph has a cycle, or is not well-formed otherwise.
    InvalidStructure,
    /// A node's operation is not supported in a graph that a device launches.
    NotSupported,
    /// Nodes of several contexts are not supported in a graph that a device launches.
    SeveralContexts,
    /// A condition belongs to no conditional node.
    UnusedCondition,
}

impl fmt::Display for InstantiateReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            InstantiateReason::Driver => "the driver refused it",
            InstantiateReason::InvalidStructure => "its edges form a cycle, or its structure is not valid otherwise",
            InstantiateReason::NotSupported => "a node's operation is not supported for a launch by a device",
            InstantiateReason::SeveralContexts => {
                "nodes of several contexts are not supported for a launch by a device"
            }
            InstantiateReason::UnusedCondition => "a condition is not used by a conditional node",
        })
    }
}

/// An executable graph that could not be updated; it is as before.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpdateError {
    /// The reason.
    pub reason: UpdateReason,
    /// The node of the definition that is the reason, if the driver names one.
    pub node: Option<Node>,
    /// The node that the first one's changed edge comes from, if the driver names one.
    pub from: Option<Node>,
    /// The driver's error.
    pub error: warploom_driver::Error,
}

impl fmt::Display for UpdateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the executable graph cannot be updated: {}", self.reason)?;
        if let Some(node) = &self.node {
            write!(formatter, " ({node:?})")?;
        }
        write!(formatter, ": {}", self.error)
    }
}

/// Reasons for which an executable cannot be updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UpdateReason {
    /// The driver gives none but its code.
    Driver,
    /// The definition has other nodes or edges.
    TopologyChanged,
    /// A node is of another kind.
    KindChanged,
    /// A kernel node has another function, and the driver cannot change that.
    FunctionChanged,
    /// Parameters have changed that cannot.
    ParametersChanged,
    /// A parameter of the node cannot be updated.
    NotSupported,
    /// The function of a kernel node has changed in a way that is not supported.
    FunctionChangeNotSupported,
    /// Attributes of a node have changed that cannot.
    AttributesChanged,
}

impl fmt::Display for UpdateReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            UpdateReason::Driver => "the driver refused it",
            UpdateReason::TopologyChanged => "the definition has other nodes or edges",
            UpdateReason::KindChanged => "a node is of another kind",
            UpdateReason::FunctionChanged => "a kernel node has another function",
            UpdateReason::ParametersChanged => "parameters of a node have changed that cannot be updated",
            UpdateReason::NotSupported => "a node cannot be updated",
            UpdateReason::FunctionChangeNotSupported => "a kernel node has a function that it cannot be updated to",
            UpdateReason::AttributesChanged => "attributes of a node have changed that cannot be updated",
        })
    }
}

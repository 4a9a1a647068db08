//! Graphs in a DOT file.

use std::collections::BTreeMap;

use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct GraphFileReport {
    pub(crate) graphs: Vec<GraphReport>,
}

#[derive(Debug, Serialize)]
pub(crate) struct GraphReport {
    pub(crate) name: String,
    /// The node that runs this graph, if it is a child graph or a body.
    pub(crate) run_by: Option<String>,
    /// The role of a body, such as `True`, if the file states it.
    pub(crate) role: Option<String>,
    pub(crate) edges: usize,
    pub(crate) nodes: Vec<NodeReport>,
}

#[derive(Debug, Serialize)]
pub(crate) struct NodeReport {
    pub(crate) id: String,
    /// The driver's word, such as `KERNEL`.
    pub(crate) kind: String,
    pub(crate) label: String,
    pub(crate) predecessors: Vec<String>,
    /// Graphs that the node runs.
    pub(crate) bodies: Vec<String>,
    /// The other values of the label, by name.
    pub(crate) fields: BTreeMap<String, String>,
}

//! `warploom graph`: a graph in a DOT file.

use std::path::Path;

use crate::dot::{Document, Graph, Node};
use crate::report::{GraphFileReport, GraphReport, NodeReport};

type Failure = Box<dyn std::error::Error>;

/// Reads a file. A mistake in it is shown with file and line.
pub(crate) fn read(path: &Path) -> Result<Document, Failure> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let document = Document::from_bytes(&bytes);
    document.map_err(|error| format!("{}:{}: {}", path.display(), error.line, error.message).into())
}

pub(crate) fn report(document: &Document) -> GraphFileReport {
    let node = |graph: &Graph, node: &Node, predecessors: &[usize]| NodeReport {
        id: node.id.clone(),
        kind: node.kind.clone(),
        label: node.label.clone(),
        predecessors: predecessors.iter().map(|before| graph.nodes[*before].id.clone()).collect(),
        bodies: node.bodies.iter().map(|body| document.graphs[*body].name.clone()).collect(),
        fields: node.fields.iter().cloned().collect(),
    };
    let graph = |graph: &Graph| GraphReport {
        name: graph.name.clone(),
        run_by: graph.owner.as_ref().map(|owner| document.graphs[owner.graph].nodes[owner.node].id.clone()),
        role: graph.owner.as_ref().map(|owner| owner.role.clone()).filter(|role| !role.is_empty()),
        edges: graph.edges.len(),
        nodes: graph.nodes.iter().zip(graph.predecessors()).map(|(at, before)| node(graph, at, &before)).collect(),
    };
    GraphFileReport { graphs: document.graphs.iter().map(graph).collect() }
}

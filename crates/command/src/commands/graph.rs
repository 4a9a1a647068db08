//! `warploom graph`: a graph in a DOT file.

use std::path::{Path, PathBuf};

use super::Run;
use crate::dot::{Document, Graph, Node};
use crate::failure::Failure;
use crate::human;
use crate::report::{GraphFileReport, GraphReport, NodeReport};
use crate::session::{Output, Session};

const EXAMPLES: &str = "\
Examples:
  warploom graph step.dot                  tables of nodes and edges
  warploom graph step.dot --svg step.svg   and a picture";

/// Arguments of `warploom graph`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A DOT file that `GraphDef::write_dot` or cuGraphDebugDotPrint wrote
    file: PathBuf,
    /// Write a picture of the graph
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

impl Run for Args {
    fn run(&self, session: &Session) -> Result<Output, Failure> {
        let document = read(&self.file)?;
        if let Some(path) = &self.svg {
            write_picture(&document, path)?;
        }
        let report = report(&document);
        session.show(&report, |style| human::graph(&report, &document, style))
    }
}

/// Reads a file. A mistake in it is shown with file and line.
fn read(path: &Path) -> Result<Document, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::file(path, error))?;
    let document = Document::from_bytes(&bytes);
    document.map_err(|error| Failure::new(format_args!("{}:{}: {}", path.display(), error.line, error.message)))
}

/// Writes a picture of all graphs of a file.
pub(super) fn write_picture(document: &Document, path: &Path) -> Result<(), Failure> {
    std::fs::write(path, document.to_svg()).map_err(|error| Failure::file(path, error))
}

fn report(document: &Document) -> GraphFileReport {
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

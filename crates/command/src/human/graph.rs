//! Graphs in a DOT file, a table for each.

use super::Style;
use super::quantity::count;
use super::table::{Side, Table};
use crate::dot::{Document, Graph};
use crate::report::{GraphFileReport, GraphReport};

/// The most predecessors of a node that are listed.
const LISTED: usize = 12;
/// The longest label in the table, in characters.
const LONGEST: usize = 60;

pub(crate) fn graph(report: &GraphFileReport, document: &Document, style: Style) -> String {
    let tables = report.graphs.iter().zip(&document.graphs).map(|(report, graph)| table(report, graph, style));
    tables.collect::<Vec<_>>().join("\n")
}

fn table(report: &GraphReport, graph: &Graph, style: Style) -> String {
    let (nodes, edges) = (count(report.nodes.len(), "node"), count(report.edges, "edge"));
    let mut text = format!("{}: {nodes}, {edges}", style.heading(&report.name));
    if let Some(node) = &report.run_by {
        let role = report.role.as_ref().map(|role| format!(" as {role}")).unwrap_or_default();
        text += &format!(", run by {node}{role}");
    }
    text.push('\n');
    if report.nodes.is_empty() {
        return text;
    }
    let columns = [("id", Side::Right), ("kind", Side::Left), ("label", Side::Left), ("predecessors", Side::Left)];
    let mut table = Table::new(columns);
    for ((index, node), before) in report.nodes.iter().enumerate().zip(graph.predecessors()) {
        let mut listed: Vec<&str> = before.iter().take(LISTED).map(|before| graph.short_id(*before)).collect();
        let more = format!("and {} more", before.len().saturating_sub(LISTED));
        if before.len() > LISTED {
            listed.push(&more);
        }
        table.row([graph.short_id(index).to_owned(), node.kind.clone(), short(&node.label), listed.join(", ")]);
    }
    text + &table.render(style)
}

/// One line of a label.
fn short(label: &str) -> String {
    let label = label.replace(char::is_control, " ");
    if label.chars().count() <= LONGEST {
        return label;
    }
    label.chars().take(LONGEST - 1).chain(['…']).collect()
}

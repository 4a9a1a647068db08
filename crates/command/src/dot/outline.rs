//! Graphs as pictures in text: a line for each layer, and bodies below their layer.

use super::document::Document;
use super::layout;

impl Document {
    /// The lines of the picture, without an indent.
    pub(crate) fn outline(&self) -> Vec<String> {
        let mut lines = Vec::new();
        // Rows and titles that are still to be drawn, the next one last.
        let mut open: Vec<(usize, Option<usize>, String)> = Vec::new();
        let outermost = (0..self.graphs.len()).rev().filter(|graph| self.graphs[*graph].owner.is_none());
        open.extend(outermost.map(|graph| (graph, None, String::new())));
        while let Some((index, row, indent)) = open.pop() {
            let graph = &self.graphs[index];
            let inner = format!("{indent}│ ");
            let Some(row) = row else {
                lines.push(format!("{indent}╭ {}", layout::title(graph)));
                let rows = graph.layers.iter().map(|layer| layer + 1).max().unwrap_or(0);
                open.extend((0..rows).rev().map(|row| (index, Some(row), indent.clone())));
                continue;
            };
            let nodes: Vec<usize> = (0..graph.nodes.len()).filter(|node| graph.layers[*node] == row).collect();
            let shown = |node: &usize| {
                let (id, node) = (graph.short_id(*node), &graph.nodes[*node]);
                format!("[{id} {}]", format!("{} {}", node.kind, node.label).trim())
            };
            lines.push(format!("{inner}{}", nodes.iter().map(shown).collect::<Vec<_>>().join("  ")));
            let bodies = nodes.iter().flat_map(|node| graph.nodes[*node].bodies.iter().copied());
            let bodies: Vec<usize> = bodies.collect();
            open.extend(bodies.into_iter().rev().map(|body| (body, None, format!("{inner}  "))));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::super::DotError;
    use super::*;

    #[test]
    fn bodies_stand_below_their_layer() -> Result<(), DotError> {
        let text = "digraph { subgraph cluster_1 { a b[shape=record label=\"{CONDITIONAL|{ID|1|WHILE}|{True|graph_2}}\"]\n\
                    c a->c b->c }\nsubgraph cluster_2 { d e d->e } }";
        let expected = [
            "╭ graph_1",
            "│ [a NODE a]  [b CONDITIONAL WHILE]",
            "│   ╭ True: graph_2",
            "│   │ [d NODE d]",
            "│   │ [e NODE e]",
            "│ [c NODE c]",
        ];
        assert_eq!(Document::parse(text)?.outline(), expected);
        Ok(())
    }
}

//! Graphs as SVG pictures.

use std::fmt::Write as _;

use super::document::{Document, Graph, Node};
use super::layout::{self, GraphLayout, Rectangle};
use crate::svg::escaped;

impl Document {
    /// The graphs as an SVG picture that needs nothing else: nodes as boxes, edges as arrows, and the graphs
    /// that a node runs inside its box. A box shows all fields of its node when it is pointed at.
    pub(crate) fn to_svg(&self) -> String {
        let layout = layout::layout(self);
        let (width, height) = (layout.width, layout.height);
        let nodes: usize = self.graphs.iter().map(|graph| graph.nodes.len()).sum();
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\" font-family=\"monospace\" font-size=\"11\">\n<title>{} with {nodes} nodes</title>\n\
             <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
             orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#555\"/></marker></defs>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
            escaped(self.graphs.first().map(|graph| graph.name.as_str()).unwrap_or_default()),
        );
        for index in self.outer_first() {
            draw(&mut text, &self.graphs[index], &layout.graphs[index]);
        }
        text + "</svg>\n"
    }
}

/// Draws the frame of a graph, its edges and its nodes. Bodies are drawn afterwards, on top of their node.
fn draw(text: &mut String, graph: &Graph, at: &GraphLayout) {
    let Rectangle { x, y, width, height } = at.frame;
    put(
        text,
        format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"4\" fill=\"white\" \
             stroke=\"#777\" stroke-dasharray=\"5 4\"/><text x=\"{:.1}\" y=\"{:.1}\" fill=\"#555\">{}</text>",
            x + 8.0,
            y + 16.0,
            escaped(&layout::title(graph))
        ),
    );
    for (edge, points) in graph.edges.iter().zip(&at.edges) {
        let label = edge.label.as_deref().map(|label| format!("<title>{}</title>", escaped(label)));
        let (path, label) = (curve(points), label.unwrap_or_default());
        put(
            text,
            format_args!("<path d=\"{path}\" fill=\"none\" stroke=\"#555\" marker-end=\"url(#tip)\">{label}</path>"),
        );
    }
    for (index, (node, place)) in graph.nodes.iter().zip(&at.nodes).enumerate() {
        draw_node(text, node, graph.short_id(index), *place);
    }
}

fn draw_node(text: &mut String, node: &Node, id: &str, place: Rectangle) {
    let Rectangle { x, y, width, height } = place;
    let middle = x + width / 2.0;
    let mut hint = format!("{} {}", node.id, node.kind);
    if !node.label.is_empty() {
        hint += &format!(" {}", node.label);
    }
    for (name, value) in &node.fields {
        hint += &format!("\n{name}: {value}");
    }
    put(
        text,
        format_args!(
            "<g><title>{}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"7\" \
             fill=\"{}\" stroke=\"#333\"/><text text-anchor=\"middle\"><tspan x=\"{middle:.1}\" y=\"{:.1}\" \
             font-weight=\"bold\">{} {}</tspan><tspan x=\"{middle:.1}\" y=\"{:.1}\">{}</tspan></text></g>",
            escaped(&hint),
            colour(&node.kind),
            y + 16.0,
            escaped(&layout::shortened(id)),
            escaped(&layout::shortened(&node.kind)),
            y + 31.0,
            escaped(&layout::shortened(&node.label)),
        ),
    );
}

/// A path downwards: curves between the layers, and straight lines through those that it passes.
fn curve(points: &[(f64, f64)]) -> String {
    let Some((&(mut x, mut y), rest)) = points.split_first() else { return String::new() };
    let mut path = format!("M{x:.1} {y:.1}");
    for (index, (to_x, to_y)) in rest.iter().enumerate() {
        // The answer cannot fail, as the text is in memory.
        let _ = if index % 2 == 1 {
            write!(path, "L{to_x:.1} {to_y:.1}")
        } else {
            let half = f64::midpoint(y, *to_y);
            write!(path, "C{x:.1} {half:.1} {to_x:.1} {half:.1} {to_x:.1} {to_y:.1}")
        };
        (x, y) = (*to_x, *to_y);
    }
    path
}

/// The colour of a kind. All of them carry black text.
fn colour(kind: &str) -> &'static str {
    match kind {
        "KERNEL" => "#8ecae6",
        "MEMCPY" => "#b7e4c7",
        "MEMSET" => "#d4d4aa",
        "HOST" => "#f7c6e0",
        "CONDITIONAL" => "#e0d0f5",
        "CHILD_GRAPH" => "#eeeeee",
        "MEM_ALLOC" | "MEM_FREE" => "#ffd97a",
        "EMPTY" => "#ffffff",
        _ => "#f4c9b0",
    }
}

fn put(text: &mut String, element: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{element}");
}

#[cfg(test)]
mod tests {
    use super::super::DotError;
    use super::*;

    #[test]
    fn a_picture_has_every_node_and_edge() -> Result<(), DotError> {
        let text = "digraph { subgraph cluster_1 { a[shape=octagon label=\"0\nf<int>&\u{1}\"]\nb[label=\"1\ngraph_2\"]\na->b[label=\"x\"] }\n\
                    subgraph cluster_2 { c } }";
        let svg = Document::parse(text)?.to_svg();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
        assert_eq!((svg.matches("rx=\"7\"").count(), svg.matches("marker-end").count()), (3, 1), "{svg}");
        assert_eq!(svg.matches("stroke-dasharray").count(), 2, "{svg}");
        assert!(svg.contains("f&lt;int&gt;&amp;\u{fffd}") && svg.contains("<title>x</title>"), "{svg}");
        let opened = svg.matches('<').count() - svg.matches("</").count() - svg.matches("/>").count();
        assert_eq!(opened, svg.matches("</").count(), "{svg}");
        Ok(())
    }

    #[test]
    fn a_path_is_straight_where_it_passes_a_layer() {
        let path = curve(&[(0.0, 0.0), (5.0, 10.0), (5.0, 20.0), (0.0, 30.0)]);
        assert_eq!(path, "M0.0 0.0C0.0 5.0 5.0 5.0 5.0 10.0L5.0 20.0C5.0 25.0 0.0 25.0 0.0 30.0");
    }
}

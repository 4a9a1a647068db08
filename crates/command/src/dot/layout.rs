//! Places of nodes and edges in a picture: layers from top to bottom, bodies inside the nodes that run them.

use super::document::{Document, Graph, Node};

/// Width of a character of the pictures' font.
pub(super) const CHARACTER: f64 = 6.6;
/// Longest text in a box, in characters.
const LONGEST: usize = 36;
/// Height of a node without bodies, and of the text above the bodies of others.
const NODE_HEIGHT: f64 = 40.0;
/// Height of the title of a graph.
const TITLE: f64 = 20.0;
const MARGIN: f64 = 12.0;
const GAP_ACROSS: f64 = 18.0;
const GAP_DOWN: f64 = 34.0;
/// Width that an edge takes where it passes a layer.
const PASSAGE: f64 = 8.0;
/// If the edges of a graph pass more layers than this, they are drawn straight across them.
const MOST_BENDS: usize = 20_000;
const SWEEPS: usize = 8;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rectangle {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// The places in one graph.
#[derive(Debug, Default)]
pub(super) struct GraphLayout {
    pub(super) frame: Rectangle,
    pub(super) nodes: Vec<Rectangle>,
    /// Per edge: its start, the top and the bottom of each layer that it passes, and its end.
    pub(super) edges: Vec<Vec<(f64, f64)>>,
}

#[derive(Debug)]
pub(super) struct Layout {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) graphs: Vec<GraphLayout>,
}

/// Text that fits into a box.
pub(super) fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    let start: String = text.chars().take(LONGEST - 1).collect();
    start + "…"
}

/// The title of a graph: its name, and which body it is.
pub(super) fn title(graph: &Graph) -> String {
    match graph.owner.as_ref().map(|owner| owner.role.as_str()) {
        None | Some("") => graph.name.clone(),
        Some(role) => format!("{role}: {}", graph.name),
    }
}

/// Places everything. Inner graphs come first, as the nodes that run them have to be large enough.
pub(super) fn layout(document: &Document) -> Layout {
    let order = document.outer_first();
    let mut graphs: Vec<GraphLayout> = document.graphs.iter().map(|_| GraphLayout::default()).collect();
    for graph in order.iter().rev() {
        graphs[*graph] = local(&document.graphs[*graph], &graphs);
    }
    let (mut x, mut height) = (MARGIN, 0.0_f64);
    for index in order {
        let graph = &document.graphs[index];
        if graph.owner.is_none() {
            shift(&mut graphs[index], x, MARGIN);
            x += graphs[index].frame.width + GAP_ACROSS;
            height = height.max(graphs[index].frame.height);
        }
        for (node, at) in graph.nodes.iter().enumerate() {
            let outer = graphs[index].nodes[node];
            let mut left = outer.x + MARGIN;
            for body in &at.bodies {
                shift(&mut graphs[*body], left, outer.y + NODE_HEIGHT);
                left += graphs[*body].frame.width + MARGIN;
            }
        }
    }
    Layout { width: x - GAP_ACROSS + MARGIN, height: height + 2.0 * MARGIN, graphs }
}

fn shift(graph: &mut GraphLayout, x: f64, y: f64) {
    let rectangles = std::iter::once(&mut graph.frame).chain(&mut graph.nodes);
    rectangles.for_each(|rectangle| (rectangle.x, rectangle.y) = (rectangle.x + x, rectangle.y + y));
    graph.edges.iter_mut().flatten().for_each(|point| *point = (point.0 + x, point.1 + y));
}

/// Width and height of a node with the graphs that it runs.
fn size(node: &Node, graphs: &[GraphLayout]) -> (f64, f64) {
    let characters = shortened(&node.label).chars().count().max(shortened(&node.kind).chars().count() + 5);
    let text = characters as f64 * CHARACTER + 2.0 * MARGIN;
    if node.bodies.is_empty() {
        return (text, NODE_HEIGHT);
    }
    let frames = || node.bodies.iter().map(|body| graphs[*body].frame);
    let width = frames().map(|frame| frame.width + MARGIN).sum::<f64>() + MARGIN;
    let height = frames().map(|frame| frame.height).fold(0.0, f64::max);
    (text.max(width), NODE_HEIGHT + height + MARGIN)
}

/// A node, or the passage of an edge through a layer.
struct Item {
    width: f64,
    layer: usize,
    above: Vec<usize>,
    below: Vec<usize>,
    /// Middle.
    x: f64,
}

impl Item {
    fn new(width: f64, layer: usize) -> Item {
        Item { width, layer, above: Vec::new(), below: Vec::new(), x: 0.0 }
    }
}

/// Places the nodes and edges of one graph, whose frame begins at zero.
fn local(graph: &Graph, graphs: &[GraphLayout]) -> GraphLayout {
    let sizes: Vec<(f64, f64)> = graph.nodes.iter().map(|node| size(node, graphs)).collect();
    let mut items: Vec<Item> = Vec::with_capacity(sizes.len());
    for ((width, _), layer) in sizes.iter().zip(&graph.layers) {
        items.push(Item::new(*width, *layer));
    }
    let passages = add_passages(graph, &mut items);
    let count = items.iter().map(|item| item.layer + 1).max().unwrap_or(0);
    let mut rows = vec![Vec::new(); count];
    for (index, item) in items.iter().enumerate() {
        rows[item.layer].push(index);
    }
    arrange(&mut items, &mut rows);

    let mut heights = vec![0.0_f64; count];
    for ((_, height), layer) in sizes.iter().zip(&graph.layers) {
        heights[*layer] = heights[*layer].max(*height);
    }
    let mut tops = Vec::with_capacity(count);
    let mut bottom = TITLE + MARGIN;
    for height in &heights {
        tops.push(bottom);
        bottom += height + GAP_DOWN;
    }
    let left = items.iter().map(|item| item.x - item.width / 2.0).fold(f64::INFINITY, f64::min);
    let right = items.iter().map(|item| item.x + item.width / 2.0).fold(f64::NEG_INFINITY, f64::max);
    let across = |item: &Item| item.x - left + MARGIN;
    let place = |(item, (width, height)): (&Item, &(f64, f64))| Rectangle {
        x: across(item) - width / 2.0,
        y: tops[item.layer],
        width: *width,
        height: *height,
    };
    let nodes: Vec<Rectangle> = items.iter().zip(&sizes).map(place).collect();
    let path = |(edge, passages): (&super::document::Edge, &Vec<usize>)| {
        let (from, to) = (nodes[edge.from], nodes[edge.to]);
        let mut points = vec![(from.x + from.width / 2.0, from.y + from.height)];
        for item in passages.iter().map(|item| &items[*item]) {
            let top = tops[item.layer];
            points.extend([(across(item), top), (across(item), top + heights[item.layer])]);
        }
        points.push((to.x + to.width / 2.0, to.y));
        points
    };
    let edges = graph.edges.iter().zip(&passages).map(path).collect();
    let named = title(graph).chars().count() as f64 * CHARACTER + 2.0 * MARGIN;
    let (width, height) = if items.is_empty() {
        (named, TITLE + MARGIN)
    } else {
        (named.max(right - left + 2.0 * MARGIN), bottom - GAP_DOWN + MARGIN)
    };
    GraphLayout { frame: Rectangle { x: 0.0, y: 0.0, width, height }, nodes, edges }
}

/// Adds an item for each layer that an edge passes, and joins all items along the edges. The passages of each
/// edge.
fn add_passages(graph: &Graph, items: &mut Vec<Item>) -> Vec<Vec<usize>> {
    let passed = |from: usize, to: usize| graph.layers[from] + 1..graph.layers[to];
    let bends: usize = graph.edges.iter().map(|edge| passed(edge.from, edge.to).len()).sum();
    let mut all = Vec::with_capacity(graph.edges.len());
    for edge in &graph.edges {
        let (mut passages, mut last) = (Vec::new(), edge.from);
        if bends <= MOST_BENDS {
            for layer in passed(edge.from, edge.to) {
                let item = items.len();
                items.push(Item::new(PASSAGE, layer));
                join(items, last, item);
                passages.push(item);
                last = item;
            }
        }
        join(items, last, edge.to);
        all.push(passages);
    }
    all
}

fn join(items: &mut [Item], above: usize, below: usize) {
    items[above].below.push(below);
    items[below].above.push(above);
}

/// Orders the rows so that few edges cross, and moves items towards those that they are joined to.
fn arrange(items: &mut [Item], rows: &mut [Vec<usize>]) {
    for row in rows.iter_mut() {
        number(items, row);
    }
    for sweep in 0..SWEEPS {
        each_row(rows, sweep, |row, downwards| {
            let mut wanted: Vec<(f64, usize)> =
                row.iter().map(|item| (preferred(items, *item, downwards), *item)).collect();
            wanted.sort_by(|one, other| one.0.total_cmp(&other.0));
            row.clear();
            row.extend(wanted.into_iter().map(|(_, item)| item));
            number(items, row);
        });
    }
    for row in rows.iter() {
        let mut right = 0.0;
        for item in row {
            items[*item].x = right + items[*item].width / 2.0;
            right += items[*item].width + GAP_ACROSS;
        }
        let middle = (right - GAP_ACROSS) / 2.0;
        row.iter().for_each(|item| items[*item].x -= middle);
    }
    for sweep in 0..SWEEPS {
        each_row(rows, sweep, |row, downwards| {
            let wanted: Vec<f64> = row.iter().map(|item| preferred(items, *item, downwards)).collect();
            let widths: Vec<f64> = row.iter().map(|item| items[*item].width).collect();
            for (item, x) in row.iter().zip(spread(&wanted, &widths)) {
                items[*item].x = x;
            }
        });
    }
}

/// Visits the rows, downwards in even sweeps and upwards in odd ones.
fn each_row(rows: &mut [Vec<usize>], sweep: usize, mut visit: impl FnMut(&mut Vec<usize>, bool)) {
    if sweep.is_multiple_of(2) {
        rows.iter_mut().for_each(|row| visit(row, true));
    } else {
        rows.iter_mut().rev().for_each(|row| visit(row, false));
    }
}

/// Numbers the items of a row, as places for the order.
fn number(items: &mut [Item], row: &[usize]) {
    for (place, item) in row.iter().enumerate() {
        items[*item].x = place as f64;
    }
}

/// The mean place of the items above or below, or the place where the item is.
fn preferred(items: &[Item], item: usize, downwards: bool) -> f64 {
    let neighbours = if downwards { &items[item].above } else { &items[item].below };
    if neighbours.is_empty() {
        return items[item].x;
    }
    neighbours.iter().map(|other| items[*other].x).sum::<f64>() / neighbours.len() as f64
}

/// Places near the wanted ones, in their order and without overlap: the mean of packing from the left and
/// from the right.
fn spread(wanted: &[f64], widths: &[f64]) -> Vec<f64> {
    let apart = |one: usize, other: usize| f64::midpoint(widths[one], widths[other]) + GAP_ACROSS;
    let (mut from_left, mut from_right) = (wanted.to_vec(), wanted.to_vec());
    for item in 1..wanted.len() {
        from_left[item] = from_left[item].max(from_left[item - 1] + apart(item - 1, item));
    }
    for item in (1..wanted.len()).rev() {
        from_right[item - 1] = from_right[item - 1].min(from_right[item] - apart(item - 1, item));
    }
    from_left.into_iter().zip(from_right).map(|(left, right)| f64::midpoint(left, right)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::DotError;
    use super::*;

    fn contains(outer: Rectangle, inner: Rectangle) -> bool {
        inner.x >= outer.x
            && inner.y >= outer.y
            && inner.x + inner.width <= outer.x + outer.width + 1e-6
            && inner.y + inner.height <= outer.y + outer.height + 1e-6
    }

    fn overlap(one: Rectangle, other: Rectangle) -> bool {
        one.x < other.x + other.width
            && other.x < one.x + one.width
            && one.y < other.y + other.height
            && other.y < one.y + one.height
    }

    /// Nodes lie in their frame and not on each other, edges lead downwards, and bodies lie in their node.
    fn assert_sound(document: &Document) {
        let layout = layout(document);
        let picture = Rectangle { x: 0.0, y: 0.0, width: layout.width, height: layout.height };
        for (graph, at) in document.graphs.iter().zip(&layout.graphs) {
            assert!(contains(picture, at.frame), "{}", graph.name);
            for (index, node) in at.nodes.iter().enumerate() {
                assert!(contains(at.frame, *node), "{}", graph.nodes[index].id);
                assert!(at.nodes[..index].iter().all(|other| !overlap(*node, *other)), "{}", graph.nodes[index].id);
            }
            for path in &at.edges {
                assert!(path.windows(2).all(|points| points[0].1 <= points[1].1), "{path:?}");
            }
            if let Some(owner) = &graph.owner {
                assert!(contains(layout.graphs[owner.graph].nodes[owner.node], at.frame), "{}", graph.name);
            }
        }
    }

    #[test]
    fn bodies_lie_inside_their_nodes() -> Result<(), DotError> {
        let text = "digraph { subgraph cluster_1 { a b[shape=record label=\"{CONDITIONAL|{ID|1}|{True|graph_2}|{False|graph_3}}\"]\n\
                    c a->b->c a->c }\nsubgraph cluster_2 { d e f d->f e->f }\nsubgraph cluster_3 { g[label=\"0\ngraph_4\"] }\n\
                    subgraph cluster_4 { h } subgraph cluster_5 {} }";
        let document = Document::parse(text)?;
        assert_sound(&document);
        Ok(())
    }

    #[test]
    fn an_edge_passes_beside_the_nodes_between() -> Result<(), DotError> {
        let document = Document::parse("digraph { a b c a->b->c a->c }")?;
        let layout = layout(&document);
        let (path, between) = (&layout.graphs[0].edges[2], layout.graphs[0].nodes[1]);
        assert_eq!(path.len(), 4);
        assert!(path[1].0 < between.x || path[1].0 > between.x + between.width, "{path:?} {between:?}");
        assert!(path[1].1 <= between.y && path[2].1 >= between.y + between.height);
        Ok(())
    }

    #[test]
    fn thousands_of_nodes_are_placed() -> Result<(), DotError> {
        let mut text = "digraph {\n".to_owned();
        for node in 0..3000_usize {
            text += &format!("n{node}\n");
            for step in [1, 7, 40] {
                if let (true, Some(from)) = (node % step == 0, node.checked_sub(step)) {
                    text += &format!("n{from} -> n{node}\n");
                }
            }
        }
        assert_sound(&Document::parse(&(text + "}"))?);
        Ok(())
    }

    #[test]
    fn deeply_nested_graphs_need_no_stack() -> Result<(), DotError> {
        let mut text = "digraph {\n".to_owned();
        for graph in 0..20_000 {
            text += &format!("subgraph cluster_{graph} {{ n{graph}[label=\"0\ngraph_{}\"] }}\n", graph + 1);
        }
        let document = Document::parse(&(text + "subgraph cluster_20000 {} }"))?;
        assert!(layout(&document).width > 20_000.0);
        Ok(())
    }
}

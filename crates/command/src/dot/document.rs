//! Graphs of a DOT file, with edges and bodies resolved.

use std::collections::HashMap;

use super::statements::{self, RawGraph};
use super::{DotError, label, layers};

/// The graphs of a file.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) graphs: Vec<Graph>,
}

#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) name: String,
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge>,
    /// The layer of each node.
    pub(super) layers: Vec<usize>,
    /// The node that runs this graph, if it is a child graph or a body.
    pub(crate) owner: Option<Owner>,
}

/// A node that runs a graph.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    pub(crate) graph: usize,
    pub(crate) node: usize,
    /// The body's name in the label of the node, such as `True`, or empty.
    pub(crate) role: String,
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: String,
    /// The driver's word, such as `KERNEL`.
    pub(crate) kind: String,
    pub(crate) label: String,
    pub(crate) fields: Vec<(String, String)>,
    /// Graphs that the node runs.
    pub(crate) bodies: Vec<usize>,
}

/// An edge between nodes of one graph.
#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) label: Option<String>,
}

/// A node by its graph and its index there.
type NodeIndex = (usize, usize);

impl Document {
    /// Reads a DOT file. The bytes have to be UTF-8.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Document, DotError> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let before = &bytes[..error.valid_up_to()];
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            DotError::new(line, "the text is not UTF-8")
        })?;
        Document::parse(text)
    }

    /// Reads the text of a DOT file.
    pub(crate) fn parse(text: &str) -> Result<Document, DotError> {
        let mut raw = statements::parse(text)?;
        // The outermost graph holds the others, and seldom a node of its own.
        if raw.len() > 1 && raw[0].nodes.is_empty() && raw[0].edges.is_empty() {
            raw.remove(0);
        }
        let ids = ids(&raw)?;
        let names = names(&raw)?;
        let mut owners = vec![None; raw.len()];
        let mut graphs = Vec::with_capacity(raw.len());
        for (index, raw) in raw.iter().enumerate() {
            let nodes = nodes(index, raw, &names, &mut owners)?;
            let (edges, layers) = edges(index, raw, &ids)?;
            graphs.push(Graph { name: raw.name.clone(), nodes, edges, layers, owner: None });
        }
        for (graph, owner) in graphs.iter_mut().zip(owners) {
            graph.owner = owner;
        }
        let document = Document { graphs };
        // A graph that is inside itself is reached from no outermost graph.
        let mut is_reached = vec![false; document.graphs.len()];
        for graph in document.outer_first() {
            is_reached[graph] = true;
        }
        match is_reached.iter().position(|is_reached| !is_reached) {
            None => Ok(document),
            Some(graph) => Err(DotError::new(raw[graph].line, format!("{} is inside itself", raw[graph].name))),
        }
    }

    /// All graphs, each after the one that runs it.
    pub(super) fn outer_first(&self) -> Vec<usize> {
        let mut order: Vec<usize> =
            (0..self.graphs.len()).filter(|graph| self.graphs[*graph].owner.is_none()).collect();
        let mut next = 0;
        while let Some(graph) = order.get(next) {
            let bodies = self.graphs[*graph].nodes.iter().flat_map(|node| node.bodies.iter().copied());
            order.extend(bodies.collect::<Vec<_>>());
            next += 1;
        }
        order
    }
}

impl Graph {
    /// The nodes that each node waits for.
    pub(crate) fn predecessors(&self) -> Vec<Vec<usize>> {
        let mut predecessors = vec![Vec::new(); self.nodes.len()];
        for edge in &self.edges {
            predecessors[edge.to].push(edge.from);
        }
        predecessors
    }

    /// The shortest name of a node that is unique in the graph: its number, or its id.
    pub(crate) fn short_id(&self, node: usize) -> &str {
        let id = self.nodes[node].id.as_str();
        let number = id.strip_prefix(self.name.as_str()).and_then(|rest| rest.strip_prefix("_node_"));
        number.filter(|number| !number.is_empty()).unwrap_or(id)
    }
}

/// All nodes by id.
fn ids(graphs: &[RawGraph]) -> Result<HashMap<&str, NodeIndex>, DotError> {
    let mut ids = HashMap::new();
    for (graph, raw) in graphs.iter().enumerate() {
        for (node, raw) in raw.nodes.iter().enumerate() {
            if ids.insert(raw.id.as_str(), (graph, node)).is_some() {
                return Err(DotError::new(raw.line, format!("node {:?} is there twice", raw.id)));
            }
        }
    }
    Ok(ids)
}

/// All graphs by name.
fn names(graphs: &[RawGraph]) -> Result<HashMap<&str, usize>, DotError> {
    let mut names = HashMap::new();
    for (graph, raw) in graphs.iter().enumerate() {
        if names.insert(raw.name.as_str(), graph).is_some() && !raw.name.is_empty() {
            return Err(DotError::new(raw.line, format!("graph {:?} is there twice", raw.name)));
        }
    }
    Ok(names)
}

/// The nodes of a graph. The graphs that they run are told whose they are.
fn nodes(
    graph: usize,
    raw: &RawGraph,
    names: &HashMap<&str, usize>,
    owners: &mut [Option<Owner>],
) -> Result<Vec<Node>, DotError> {
    let mut nodes = Vec::with_capacity(raw.nodes.len());
    for (node, raw) in raw.nodes.iter().enumerate() {
        let label = label::understand(&raw.shape, raw.label.as_deref().unwrap_or(&raw.id));
        let mut bodies = Vec::with_capacity(label.bodies.len());
        for (role, name) in label.bodies {
            let Some(body) = names.get(name.as_str()) else {
                let message = format!("node {:?} runs {name}, and the file has no such graph", raw.id);
                return Err(DotError::new(raw.line, message));
            };
            if owners[*body].replace(Owner { graph, node, role }).is_some() {
                return Err(DotError::new(
                    raw.line,
                    format!("{name} is run by two nodes, {:?} is one of them", raw.id),
                ));
            }
            bodies.push(*body);
        }
        let (kind, fields) = (label.kind, label.fields);
        nodes.push(Node { id: raw.id.clone(), kind, label: label.name, fields, bodies });
    }
    Ok(nodes)
}

/// The edges of a graph, and the layers of its nodes.
fn edges(graph: usize, raw: &RawGraph, ids: &HashMap<&str, NodeIndex>) -> Result<(Vec<Edge>, Vec<usize>), DotError> {
    let mut edges = Vec::with_capacity(raw.edges.len());
    for raw in &raw.edges {
        let find = |id: &str| match ids.get(id) {
            Some((of, node)) if *of == graph => Ok(*node),
            Some(_) => {
                Err(DotError::new(raw.line, format!("the edge leads to another graph: {id:?} is not in this one")))
            }
            None => Err(DotError::new(raw.line, format!("the edge names {id:?}, and the file has no such node"))),
        };
        edges.push(Edge { from: find(&raw.from)?, to: find(&raw.to)?, label: raw.label.clone() });
    }
    let pairs: Vec<(usize, usize)> = edges.iter().map(|edge| (edge.from, edge.to)).collect();
    let layers = layers::layers(raw.nodes.len(), &pairs).map_err(|edge| {
        let (line, from, to) = (raw.edges[edge].line, &raw.edges[edge].from, &raw.edges[edge].to);
        DotError::new(line, format!("the edge from {from:?} to {to:?} is part of a cycle"))
    })?;
    Ok((edges, layers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_know_their_node() -> Result<(), DotError> {
        let text = "digraph dot {\nsubgraph cluster_1 {\nlabel=\"graph_1\" graph[style=\"dashed\"];\n\
                    \"graph_1_node_0\"[shape=\"octagon\" label=\"0\nfirst\n\"];\n\
                    \"graph_1_node_1\"[shape=\"record\" label=\"{\nCONDITIONAL\n| {ID | 1}\n| {True|graph_2}\n}\n\"];\n\
                    \"graph_1_node_0\" -> \"graph_1_node_1\" [headlabel=0];\n}\n\
                    subgraph cluster_2 {\nlabel=\"graph_2\" graph[style=\"dashed\"];\n}\n}\n";
        let Document { graphs } = Document::parse(text)?;
        assert_eq!((graphs.len(), graphs[0].nodes[1].bodies.as_slice()), (2, &[1][..]));
        let owner = graphs[1].owner.as_ref().map(|owner| (owner.graph, owner.node, owner.role.as_str()));
        assert_eq!((owner, graphs[0].owner.is_none()), (Some((0, 1, "True")), true));
        assert_eq!((graphs[0].predecessors(), graphs[0].short_id(1)), (vec![vec![], vec![0]], "1"));
        assert_eq!(graphs[0].layers, [0, 1]);
        Ok(())
    }

    #[test]
    fn mistakes_have_their_line() {
        let inside = "subgraph cluster_1 {\na[shape=\"box\" label=\"0\ngraph_1\"]\n}";
        let twice = "subgraph cluster_1 {\na[label=\"0\ngraph_2\"]\nb[label=\"1\ngraph_2\"]\n}\nsubgraph cluster_2 {}";
        for (text, line, part) in [
            ("a\nb\na", 4, "node \"a\" is there twice"),
            ("a -> b\na", 2, "no such node"),
            ("subgraph x { a }\nsubgraph y { b\na -> b }", 4, "another graph"),
            ("subgraph x { a }\nsubgraph x { b }", 3, "graph \"x\" is there twice"),
            ("a b c\na -> b\nb -> c\nc -> b", 4, "part of a cycle"),
            ("a -> a a", 2, "part of a cycle"),
            ("a[label=\"0\ngraph_9\"]", 2, "the file has no such graph"),
            (inside, 2, "graph_1 is inside itself"),
            (twice, 5, "graph_2 is run by two nodes"),
        ] {
            match Document::parse(&format!("digraph {{\n{text}\n}}")) {
                Err(error) => assert!(error.message.contains(part) && error.line == line, "{text:?}: {error}"),
                Ok(document) => panic!("{text:?}: {document:?}"),
            }
        }
        let error = Document::from_bytes(b"digraph {\n\xff}").map(|_| ());
        assert_eq!(error, Err(DotError::new(2, "the text is not UTF-8")));
    }

    #[test]
    fn text_that_is_cut_anywhere_is_refused() {
        let text = "digraph dot {\nsubgraph cluster_1 {\n\"a\"[shape=\"record\" label=\"{A\n| {ID | 1}}\"];\nb; a -> b [headlabel=0];\n}\n}";
        assert!(Document::parse(text).is_ok());
        for end in 0..text.len() {
            assert!(Document::parse(&text[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn changed_text_is_drawn_or_refused_with_a_line_of_it() {
        let text = b"digraph dot {\nsubgraph cluster_1 {\nlabel=\"graph_1\" graph[style=\"dashed\"];\n\
            \"a\"[shape=\"record\" label=\"{\nCONDITIONAL\n| {ID | 0}\n| {True|graph_2}\n}\n\"];\n\"b\"[label=\"1\nEMPTY\n\"];\n\
            \"a\" -> \"b\" [headlabel=0];\n}\nsubgraph cluster_2 {\nlabel=\"graph_2\";\n\"c\"[shape=\"octagon\" label=\"0\nf\n\"];\n}\n}\n";
        let lines = 1 + text.iter().filter(|byte| **byte == b'\n').count();
        let (mut state, mut drawn) = (0x2545_f491_4f6c_dd1d_u64, 0);
        let mut random = |bound: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap_or(0) % bound
        };
        for _ in 0..20_000 {
            let mut changed = text.to_vec();
            for _ in 0..=random(3) {
                let (at, from) = (random(changed.len()), random(changed.len()));
                match random(3) {
                    0 => changed[at] = changed[from],
                    1 => changed.insert(at, b"{}[]\"\\|;->=\xff"[random(12)]),
                    _ => drop(changed.remove(at)),
                }
            }
            match Document::from_bytes(&changed) {
                Ok(document) => drawn += usize::from(document.to_svg().len() > document.outline().len()),
                Err(error) => assert!((1..=lines + 4).contains(&error.line), "{error}"),
            }
        }
        assert!(drawn > 1000, "{drawn}");
    }
}

//! Statements of a DOT file: graphs with their nodes and edges, as they are written.

use super::DotError;
use super::tokens::{Token, Tokens};

/// A graph of the file: a subgraph, or the outermost one.
#[derive(Debug, Default)]
pub(super) struct RawGraph {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) nodes: Vec<RawNode>,
    pub(super) edges: Vec<RawEdge>,
}

#[derive(Debug)]
pub(super) struct RawNode {
    pub(super) id: String,
    pub(super) shape: String,
    pub(super) label: Option<String>,
    pub(super) line: usize,
}

#[derive(Debug)]
pub(super) struct RawEdge {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) label: Option<String>,
    pub(super) line: usize,
}

/// The graphs of a file, the outermost one first.
pub(super) fn parse(text: &str) -> Result<Vec<RawGraph>, DotError> {
    let mut parser = Parser { tokens: Tokens::new(text), graphs: Vec::new(), open: Vec::new() };
    parser.head()?;
    while !parser.open.is_empty() {
        parser.statement()?;
    }
    match parser.tokens.next()? {
        None => Ok(parser.graphs),
        Some((token, line)) => Err(DotError::new(line, format!("expected the end of the file, found {token}"))),
    }
}

type Attributes = Vec<(String, String)>;

struct Parser<'a> {
    tokens: Tokens<'a>,
    graphs: Vec<RawGraph>,
    /// The graphs that are not closed yet, the innermost one last.
    open: Vec<usize>,
}

impl Parser<'_> {
    /// `digraph name {`
    fn head(&mut self) -> Result<(), DotError> {
        let (mut token, line) = self.expect("`digraph`")?;
        if token.is_keyword("strict") {
            token = self.expect("`digraph`")?.0;
        }
        if !token.is_keyword("digraph") {
            return Err(DotError::new(line, format!("expected `digraph`, found {token}")));
        }
        self.begin(line)
    }

    /// The name of a graph, if it has one, and its bracket.
    fn begin(&mut self, line: usize) -> Result<(), DotError> {
        let mut name = String::new();
        if matches!(self.tokens.peek()?, Some(Token::Word(_) | Token::Quoted(_))) {
            name = self.text("a name")?;
        }
        self.mark('{')?;
        self.open.push(self.graphs.len());
        self.graphs.push(RawGraph { name: name.replacen("cluster_", "graph_", 1), line, ..RawGraph::default() });
        Ok(())
    }

    fn statement(&mut self) -> Result<(), DotError> {
        let (token, line) = match self.tokens.next()? {
            Some(found) => found,
            None => {
                let start = self.open.last().map_or(1, |graph| self.graphs[*graph].line);
                let message = format!("the file ends, and the graph that begins on line {start} is not closed");
                return Err(DotError::new(self.tokens.line(), message));
            }
        };
        match token {
            Token::Mark(';') => Ok(()),
            Token::Mark('}') => {
                self.open.pop();
                Ok(())
            }
            _ if token.is_keyword("subgraph") => self.begin(line),
            _ if ["graph", "node", "edge"].iter().any(|keyword| token.is_keyword(keyword)) => {
                let attributes = self.attributes()?;
                if token.is_keyword("graph") {
                    self.name(value(&attributes, "label"));
                }
                Ok(())
            }
            Token::Word(id) | Token::Quoted(id) => self.named(id, line),
            other => Err(DotError::new(line, format!("expected a node, an edge or `}}`, found {other}"))),
        }
    }

    /// A statement that begins with an id: an attribute of the graph, a node, or edges.
    fn named(&mut self, id: String, line: usize) -> Result<(), DotError> {
        if self.tokens.take('=')? {
            let text = self.text("a value")?;
            if id == "label" {
                self.name(Some(text));
            }
            return Ok(());
        }
        self.port()?;
        let mut ids = vec![id];
        while self.tokens.peek()? == Some(&Token::Arrow) {
            self.tokens.next()?;
            ids.push(self.text("a node")?);
            self.port()?;
        }
        let attributes = self.attributes()?;
        let label = value(&attributes, "label");
        let Some(graph) = self.open.last().and_then(|graph| self.graphs.get_mut(*graph)) else { return Ok(()) };
        if let [id] = ids.as_mut_slice() {
            let shape = value(&attributes, "shape").unwrap_or_default();
            graph.nodes.push(RawNode { id: std::mem::take(id), shape, label, line });
            return Ok(());
        }
        for pair in ids.windows(2) {
            let (from, to) = (pair[0].clone(), pair[1].clone());
            graph.edges.push(RawEdge { from, to, label: label.clone(), line });
        }
        Ok(())
    }

    /// Names the innermost graph.
    fn name(&mut self, name: Option<String>) {
        let graph = self.open.last().and_then(|graph| self.graphs.get_mut(*graph));
        if let (Some(name), Some(graph)) = (name, graph) {
            graph.name = name;
        }
    }

    /// The side of a node where an edge ends, which is not kept.
    fn port(&mut self) -> Result<(), DotError> {
        while self.tokens.take(':')? {
            self.text("a port")?;
        }
        Ok(())
    }

    /// Lists of attributes in brackets, if there are any.
    fn attributes(&mut self) -> Result<Attributes, DotError> {
        let mut attributes = Attributes::new();
        while self.tokens.take('[')? {
            while !self.tokens.take(']')? {
                let name = self.text("an attribute or `]`")?;
                self.mark('=')?;
                attributes.push((name, self.text("a value")?));
                if !self.tokens.take(',')? {
                    self.tokens.take(';')?;
                }
            }
        }
        Ok(attributes)
    }

    fn text(&mut self, expected: &str) -> Result<String, DotError> {
        match self.expect(expected)? {
            (Token::Word(text) | Token::Quoted(text), _) => Ok(text),
            (other, line) => Err(DotError::new(line, format!("expected {expected}, found {other}"))),
        }
    }

    fn mark(&mut self, mark: char) -> Result<(), DotError> {
        match self.expect(&format!("`{mark}`"))? {
            (Token::Mark(found), _) if found == mark => Ok(()),
            (other, line) => Err(DotError::new(line, format!("expected `{mark}`, found {other}"))),
        }
    }

    fn expect(&mut self, expected: &str) -> Result<(Token, usize), DotError> {
        let next = self.tokens.next()?;
        next.ok_or_else(|| DotError::new(self.tokens.line(), format!("expected {expected}, and the file ends")))
    }
}

/// The value of an attribute. The last one counts.
fn value(attributes: &Attributes, name: &str) -> Option<String> {
    attributes.iter().rev().find(|(found, _)| found == name).map(|(_, value)| value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_edges_are_those_of_their_graph() -> Result<(), DotError> {
        let text = "digraph dot {\nsubgraph cluster_1 {\nlabel=\"g\" graph[style=\"dashed\"];\n\"a\"[shape=\"x\"label=\"0\nk\n\"];\n\
                    b; a -> b:n -> c [headlabel=0, label=\"e\"]; c\n}\nsubgraph cluster_2 { }\n}\n";
        let graphs = parse(text)?;
        let names: Vec<&str> = graphs.iter().map(|graph| graph.name.as_str()).collect();
        assert_eq!(names, ["dot", "g", "graph_2"]);
        let nodes: Vec<_> = graphs[1].nodes.iter().map(|node| (node.id.as_str(), node.line)).collect();
        assert_eq!(nodes, [("a", 4), ("b", 7), ("c", 7)]);
        assert_eq!((graphs[1].nodes[0].shape.as_str(), graphs[1].nodes[0].label.as_deref()), ("x", Some("0\nk\n")));
        let edges: Vec<_> = graphs[1].edges.iter().map(|edge| (edge.from.as_str(), edge.to.as_str())).collect();
        assert_eq!(edges, [("a", "b"), ("b", "c")]);
        assert_eq!(graphs[1].edges[1].label.as_deref(), Some("e"));
        Ok(())
    }

    #[test]
    fn mistakes_have_their_line() {
        for (text, line, part) in [
            ("", 1, "expected `digraph`"),
            ("graph g {}", 1, "expected `digraph`, found `graph`"),
            ("digraph {\n", 2, "line 1 is not closed"),
            ("digraph {\n}\n}", 3, "end of the file, found `}`"),
            ("digraph {\na ->\n;}", 3, "expected a node, found `;`"),
            ("digraph {\na [label]\n}", 2, "expected `=`, found `]`"),
            ("digraph {\na [label=\"x\"\n", 3, "an attribute or `]`, and the file ends"),
            ("digraph {\n[a=b]}", 2, "expected a node, an edge or `}`, found `[`"),
            ("digraph {\nsubgraph a b {", 2, "expected `{`, found `b`"),
        ] {
            match parse(text) {
                Err(error) => assert!(error.line == line && error.message.contains(part), "{text:?}: {error}"),
                Ok(graphs) => panic!("{text:?}: {graphs:?}"),
            }
        }
    }

    #[test]
    fn deep_nesting_needs_no_stack() -> Result<(), DotError> {
        let depth = 100_000;
        let graphs = parse(&format!("digraph {{{}{}}}", "subgraph {".repeat(depth), "}".repeat(depth)))?;
        assert_eq!(graphs.len(), depth + 1);
        Ok(())
    }
}

//! Graphs as text in the DOT language.

use std::fmt::Write as _;

use super::{ConditionalKind, Graphs, KernelNode, MemoryNode, Node, NodeWork};
use crate::ffi::handle::{GraphHandle, NodeHandle};
use crate::machine::stream::clamp;
use crate::memory::{MemoryOp, Side, SimAddress};

/// The flags of `cuGraphDebugDotPrint`: kinds of fields that are written.
mod flag {
    pub(super) const VERBOSE: u32 = 1;
    pub(super) const KERNEL: u32 = 1 << 2;
    pub(super) const COPY: u32 = 1 << 3;
    pub(super) const FILL: u32 = 1 << 4;
    pub(super) const HOST: u32 = 1 << 5;
    pub(super) const EVENT: u32 = 1 << 6;
    pub(super) const ATTRIBUTES: u32 = 1 << 9;
    pub(super) const HANDLES: u32 = 1 << 10;
    pub(super) const ALLOC: u32 = 1 << 11;
    pub(super) const FREE: u32 = 1 << 12;
    pub(super) const VALUES: u32 = 1 << 13;
    pub(super) const EDGES: u32 = 1 << 14;
    pub(super) const CONDITIONAL: u32 = 1 << 15;
}

/// The fields of a node: names and values.
type Fields = Vec<(&'static str, String)>;

impl Graphs {
    /// The text of a graph and of the graphs inside it, each as a cluster.
    pub(crate) fn dot(&self, graph: GraphHandle, flags: u32) -> String {
        let flags = if flags & flag::VERBOSE == 0 { flags } else { u32::MAX };
        let mut text = "digraph dot {\n".to_owned();
        for graph in self.all_in(graph) {
            self.write_cluster(&mut text, graph, flags);
        }
        text.push_str("}\n");
        text
    }

    fn write_cluster(&self, text: &mut String, graph: GraphHandle, flags: u32) {
        let Some(found) = self.graphs.get(graph) else { return };
        let id = found.id;
        put(text, format_args!("subgraph cluster_{id} {{\nlabel=\"graph_{id}\" style=\"dashed\";\n"));
        for (handle, node) in self.nodes_of(graph) {
            let label = self.label(handle, node, flags);
            put(text, format_args!("\"{}\" [shape=\"record\" label=\"{label}\"];\n", self.name(handle)));
        }
        for (handle, node) in self.nodes_of(graph) {
            for (index, edge) in node.dependencies.iter().enumerate() {
                let (from, to) = (self.name(edge.node), self.name(handle));
                put(text, format_args!("\"{from}\" -> \"{to}\""));
                let mut parts = Vec::new();
                if flags & flag::EDGES != 0 {
                    parts.push(format!("{index}"));
                }
                if !edge.is_plain() {
                    let data = &edge.data;
                    parts.push(format!("port {} to {}, type {}", data.from_port, data.to_port, data.type_));
                }
                if !parts.is_empty() {
                    put(text, format_args!(" [label=\"{}\"]", parts.join(": ")));
                }
                text.push_str(";\n");
            }
        }
        text.push_str("}\n");
    }

    /// The name of a node, unique in the text.
    fn name(&self, handle: NodeHandle) -> String {
        let node = self.nodes.get(handle);
        let graph = node.and_then(|node| self.graphs.get(node.graph)).map_or(0, |graph| graph.id);
        format!("graph_{graph}_node_{}", node.map_or(0, |node| node.local_id))
    }

    /// The label of a node: its kind, its id with the most important value, and its fields.
    fn label(&self, handle: NodeHandle, node: &Node, flags: u32) -> String {
        let (kind, important, mut fields) = self.describe(&node.work, flags);
        if flags & flag::HANDLES != 0 {
            fields.insert(0, ("node handle", format!("{handle:?}")));
        }
        let mut label = format!("{{{kind}|{{ID|{}", node.local_id);
        if !important.is_empty() {
            put(&mut label, format_args!("|{}", escaped(&important)));
        }
        label.push('}');
        for (name, value) in fields {
            put(&mut label, format_args!("|{{{name}|{}}}", escaped(&value)));
        }
        label.push('}');
        label
    }

    fn describe(&self, work: &NodeWork, flags: u32) -> (&'static str, String, Fields) {
        let has = |flag: u32| flags & flag != 0;
        let none = String::new();
        match work {
            NodeWork::Empty => ("EMPTY", none, Fields::new()),
            NodeWork::Kernel(node) => {
                let (name, fields) = kernel(node, flags);
                ("KERNEL", name, fields)
            }
            NodeWork::Memory(node) => memory(node, flags),
            NodeWork::Host(node) => {
                let function = node.function.map_or(0, |function| function as usize);
                let fields = vec![("fn", format!("{function:#x}")), ("userData", format!("{:#x}", node.data.addr()))];
                ("HOST", none, only(has(flag::HOST), fields))
            }
            NodeWork::Child(graph) => {
                let id = self.graphs.get(*graph).map_or(0, |graph| graph.id);
                ("CHILD_GRAPH", format!("graph_{id}"), Fields::new())
            }
            NodeWork::RecordEvent(event) => {
                ("EVENT_RECORD", none, only(has(flag::EVENT), vec![("event", format!("{event:?}"))]))
            }
            NodeWork::WaitEvent(event) => {
                ("EVENT_WAIT", none, only(has(flag::EVENT), vec![("event", format!("{event:?}"))]))
            }
            NodeWork::Values(node) => {
                let fields = node.ops.iter().map(|op| ("op", op.describe())).collect();
                ("BATCH_MEM_OP", format!("{}", node.shown.len()), only(has(flag::VALUES), fields))
            }
            NodeWork::Alloc(node) => {
                let fields = vec![
                    ("dptr", format!("{:#x}", node.address)),
                    ("bytesize", node.bytes.to_string()),
                    ("device", node.device.to_string()),
                ];
                ("MEM_ALLOC", none, only(has(flag::ALLOC), fields))
            }
            NodeWork::Free(address) => {
                ("MEM_FREE", none, only(has(flag::FREE), vec![("dptr", format!("{address:#x}"))]))
            }
            NodeWork::Conditional(node) => {
                let kind = match node.kind {
                    ConditionalKind::If => "IF",
                    ConditionalKind::While => "WHILE",
                    ConditionalKind::Switch => "SWITCH",
                };
                let ids = node.bodies.iter().filter_map(|body| self.graphs.get(*body)).map(|body| body.id);
                let bodies: Vec<String> = ids.map(|id| format!("graph_{id}")).collect();
                let parameters = vec![("handle", format!("{:?}", node.condition)), ("size", bodies.len().to_string())];
                let mut fields = only(has(flag::CONDITIONAL), parameters);
                match (node.kind, bodies.as_slice()) {
                    (ConditionalKind::Switch, _) => fields.push(("bodies", bodies.join(" "))),
                    (_, bodies) => fields.extend(["True", "False"].into_iter().zip(bodies.iter().cloned())),
                }
                ("CONDITIONAL", kind.to_owned(), fields)
            }
        }
    }
}

fn only(is_wanted: bool, fields: Fields) -> Fields {
    if is_wanted { fields } else { Fields::new() }
}

/// The name of a kernel with its launch configuration, and its fields.
fn kernel(node: &KernelNode, flags: u32) -> (String, Fields) {
    let (call, shape) = (&node.call, &node.call.shape);
    let name = call.program.kernels().nth(call.index).map(|kernel| kernel.name().to_owned()).unwrap_or_default();
    let list = |sizes: [u32; 3]| sizes.map(|size| size.to_string()).join(",");
    let mut fields = Fields::new();
    if flags & flag::HANDLES != 0 {
        fields.push(("func handle", format!("{:#x}", node.named)));
    }
    if flags & flag::KERNEL != 0 {
        fields.extend([
            ("gridDim", list(shape.grid)),
            ("blockDim", list(shape.block)),
            ("sharedMemBytes", shape.shared.to_string()),
            ("argument bytes", call.arguments.len().to_string()),
            ("context", format!("{:?}", call.context)),
        ]);
    }
    if flags & flag::ATTRIBUTES != 0 {
        fields.extend([
            ("cooperative", u32::from(shape.cooperative).to_string()),
            ("priority", clamp(node.attributes.priority.unwrap_or_default()).to_string()),
            ("clusterDim", list(shape.cluster.unwrap_or([0; 3]))),
        ]);
    }
    let [x, y, z] = shape.grid;
    let threads = list(shape.block);
    (format!("{name}<<<({x},{y},{z}),({threads}),{}>>>", shape.shared), fields)
}

/// The direction of a copy or the value of a fill, and the fields.
fn memory(node: &MemoryNode, flags: u32) -> (&'static str, String, Fields) {
    let at = |place: &SimAddress| format!("{:#x}", place.address());
    let side = |place: &SimAddress| if place.side() == Side::Host { "H" } else { "D" };
    let context = ("context", format!("{:?}", node.context));
    let copy = |to: &SimAddress, from: &SimAddress, extent: String| {
        let fields = vec![("src", at(from)), ("dst", at(to)), ("extent", extent), context.clone()];
        ("MEMCPY", format!("{}to{}", side(from), side(to)), only(flags & flag::COPY != 0, fields))
    };
    let fill = |to: &SimAddress, value: u32, element: u8, [width, height, pitch]: [u64; 3]| {
        let fields = vec![
            ("dst", at(to)),
            ("value", value.to_string()),
            ("elementSize", element.to_string()),
            ("width", width.to_string()),
            ("height", height.to_string()),
            ("pitch", pitch.to_string()),
            context.clone(),
        ];
        ("MEMSET", format!("{value}"), only(flags & flag::FILL != 0, fields))
    };
    match &node.op {
        MemoryOp::Copy { to, from, bytes } => copy(to, from, bytes.to_string()),
        MemoryOp::CopyBlock(block) => {
            copy(&block.to, &block.from, format!("{}x{}x{}", block.width, block.height, block.depth))
        }
        MemoryOp::Fill { to, pattern, element, count } => fill(to, *pattern, *element, [*count, 1, 0]),
        MemoryOp::FillRows(rows) => fill(&rows.to, rows.pattern, rows.element, [rows.columns, rows.rows, rows.pitch]),
        MemoryOp::WriteValue { .. } | MemoryOp::WaitValue { .. } => ("BATCH_MEM_OP", String::new(), Fields::new()),
    }
}

/// Text in the label of a record, where some characters have a meaning.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if "{}|<>\"\\".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// Appends to a text, which cannot fail.
fn put(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    let _ = text.write_fmt(arguments);
}

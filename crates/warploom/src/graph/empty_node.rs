//! Empty nodes.

use super::node::{Node, NodeKind, TypedNode, sealed, typed_node};
use crate::Result;

/// A node that does nothing but order others, added by [`Position::empty`](super::Position::empty).
#[derive(Clone)]
pub struct EmptyNode {
    node: Node,
}
typed_node!(EmptyNode);

impl TypedNode for EmptyNode {}
impl sealed::TypedNode for EmptyNode {
    const KIND: NodeKind = NodeKind::Empty;

    fn over(node: Node) -> Result<EmptyNode> {
        Ok(EmptyNode { node })
    }
}

impl EmptyNode {
    pub(super) fn over(node: Node) -> EmptyNode {
        EmptyNode { node }
    }
}

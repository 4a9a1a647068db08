//! Graphs: work that is described once and launched many times.
//!
//! A [`GraphDef`] is built node by node, or [captured](crate::capture) from a stream. Instantiated, it is a
//! [`GraphExec`], which a single call launches.
//!
//! ```text
//!   GraphDef ── entry() / node.then() / after([…]) ──▶ Position ── fill, copy, kernel, host, … ──▶ a node
//!      │
//!      └── instantiate() ──▶ GraphExec ── launch(&stream), update(&graph), node(&node).set_…
//! ```
//!
//! # Memory and code that a graph keeps
//!
//! A node keeps what its parameters refer to: the allocation of a buffer, the library of a kernel, an event,
//! a closure. All of it stays until the last of the definition, its clones, its executables and their
//! launches in flight is gone, or has other parameters. Then it is released, soon and on a thread of this
//! crate's; [`reclaim`] does so at once.
//!
//! Definitions, clones and executables each own what they use, as values in Rust. User objects of the driver are made
//! only once other code has a raw handle of a graph, and may copy it; see [`GraphDef::as_raw`]. Executables have none:
//! each launch would take a third longer.
//!
//! A value that is kept by a graph and itself holds that graph is never released: the two form a cycle. Hold
//! a [`WeakGraph`] there.
//!
//! # Order
//!
//! Nodes run in the order of the edges, and in no order otherwise. A launch is ordered in its stream like
//! other work. Buffers that the graph uses count as used by the stream: they are freed after the launch.

mod adjacency;
mod alloc_slice;
mod bundle;
mod capturing;
mod child_node;
mod condition;
mod conditional;
mod copy_index;
mod copy_node;
mod definition;
mod dot;
mod dropped;
mod empty_node;
mod error;
mod event_node;
mod exec;
mod exec_node;
mod exec_owners;
mod fill_node;
mod hierarchy;
mod host_node;
mod instantiate;
mod kernel_node;
mod late_report;
mod launches;
mod memory_node;
mod node;
mod operand;
mod owners;
mod position;
mod raw;
mod update;
mod user_object;
mod words_node;

pub use adjacency::Adjacency;
pub use alloc_slice::AllocSlice;
pub use bundle::Owner;
pub(crate) use bundle::{Bundle, Part, Retained};
pub use child_node::ChildNode;
pub use condition::Condition;
pub use conditional::{IfElseNode, IfNode, SwitchNode, WhileNode};
pub use copy_node::{CopyNode, CopyParameters};
pub use definition::{GraphDef, WeakGraph};
pub use dot::DotFlags;
pub use empty_node::EmptyNode;
pub use error::{GraphError, InstantiateError, InstantiateReason, UpdateError, UpdateReason};
pub use event_node::{RecordNode, WaitNode};
pub use exec::GraphExec;
pub use exec_node::ExecNode;
pub use fill_node::{FillNode, FillParameters};
pub(crate) use host_node::HostCall;
pub use host_node::{HostData, HostFunction, HostNode};
pub use instantiate::InstantiateOptions;
pub use kernel_node::KernelNode;
pub use launches::reclaim;
pub use memory_node::{AllocNode, FreeNode};
pub use node::{Node, NodeKind, TypedNode};
pub use operand::{Operand, OperandMut};
pub use position::Position;
pub(crate) use raw::RawNode;
pub use words_node::WordsNode;

//! Owners, and the bundle of them that one version of a node's parameters keeps.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::memory::{Access, AllocationRef};
use crate::{Buffer, Context, DeviceCopy, Kernel, ManagedBuffer};

/// Shared ownership of anything: a graph keeps it for as long as a node may use it.
///
/// For memory that is named by a raw address ([`Operand::raw`](super::Operand::raw)). A buffer is kept
/// as its allocation: closing or dropping the buffer does not free the memory.
///
/// A value that holds the graph which keeps it forms a cycle, and neither is ever released. Let it hold a
/// [`WeakGraph`](super::WeakGraph).
#[derive(Clone)]
pub struct Owner(pub(super) Retained);

impl Owner {
    /// Owns a value.
    pub fn new(value: impl Any + Send + Sync) -> Owner {
        Owner::shared(Arc::new(value))
    }

    /// Owns a share of a value.
    pub fn shared(value: Arc<dyn Any + Send + Sync>) -> Owner {
        Owner(Retained::Value(value))
    }
}

impl<T: DeviceCopy> From<&Buffer<T>> for Owner {
    fn from(buffer: &Buffer<T>) -> Owner {
        Owner(Retained::Memory(buffer.allocation().clone(), Access::Write))
    }
}

impl<T: DeviceCopy> From<&ManagedBuffer<T>> for Owner {
    fn from(buffer: &ManagedBuffer<T>) -> Owner {
        Owner::from(&**buffer)
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.0 {
            Retained::Memory(..) => "memory",
            Retained::Kernel(..) => "kernel",
            Retained::Value(_) => "value",
        };
        formatter.debug_tuple("Owner").field(&format_args!("{kind}")).finish()
    }
}

/// One thing that a bundle keeps.
#[derive(Clone)]
pub(crate) enum Retained {
    Memory(AllocationRef, Access),
    /// A kernel, and the context that it runs in.
    Kernel(Kernel, Context),
    Value(#[expect(dead_code, reason = "kept for its drop")] Arc<dyn Any + Send + Sync>),
}

/// The parameter of a node that a value is kept for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Kernel,
    Argument,
    Source,
    Destination,
    Event,
    Function,
    /// No parameter of one node.
    Whole,
}

/// Owners of one version of a node's parameters. It is not changed once it has been given to a graph.
///
/// The list takes nothing from the heap without owners, and room for four with the first.
#[derive(Default)]
pub(crate) struct Bundle {
    parts: Vec<(Part, Retained)>,
}

impl Bundle {
    pub(crate) fn with_capacity(count: usize) -> Bundle {
        Bundle { parts: Vec::with_capacity(count) }
    }

    pub(crate) fn of(part: Part, retained: Option<Retained>) -> Bundle {
        let mut bundle = Bundle::default();
        bundle.keep(part, retained);
        bundle
    }

    /// Keeps an owner, if there is one.
    pub(crate) fn keep(&mut self, part: Part, retained: impl Into<Option<Retained>>) {
        self.parts.extend(retained.into().map(|retained| (part, retained)));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The owners of the parts that are meant.
    pub(crate) fn retained(&self, is_meant: impl Fn(Part) -> bool) -> impl Iterator<Item = &(Part, Retained)> {
        self.parts.iter().filter(move |(part, _)| is_meant(*part))
    }

    /// Keeps the owners of another bundle's parts that are meant.
    pub(crate) fn keep_parts_of(&mut self, other: &Bundle, is_meant: impl Fn(Part) -> bool) {
        self.parts.extend(other.retained(is_meant).cloned());
    }

    /// All owners.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Retained> {
        self.parts.iter().map(|(_, retained)| retained)
    }
}

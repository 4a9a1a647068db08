//! Weak references to allocations, for observers.

use std::fmt;
use std::sync::Weak;

use crate::{Buffer, DeviceCopy};

/// Observes the memory of a buffer without keeping it; made by [`Buffer::downgrade`].
///
/// For tests of code that may keep memory longer than its buffer: graphs, captures, work in flight.
///
/// ```
/// use warploom::graph::reclaim;
/// use warploom::{DevicePool, Driver, GraphDef};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let mut buffer = DevicePool::new(&context)?.zeroed::<u32>(16, &context.stream()?)?;
/// let graph = GraphDef::new(&context)?;
/// graph.entry().fill(&mut buffer, 7)?;
/// let memory = buffer.downgrade();
/// drop(buffer);
/// assert!(memory.is_held()); // by the graph
/// drop(graph);
/// reclaim();
/// assert!(!memory.is_held());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct WeakAllocation {
    watched: Weak<()>,
    address: u64,
    bytes: usize,
}

impl WeakAllocation {
    /// `true` while anything holds the memory: the buffer, a graph, a capture, or a free that waits for one.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.watched.strong_count() > 0
    }
}

impl<T: DeviceCopy> Buffer<T> {
    /// Observes the memory without keeping it.
    #[must_use]
    pub fn downgrade(&self) -> WeakAllocation {
        let allocation = self.allocation();
        WeakAllocation { watched: allocation.uses().watch(), address: self.as_raw(), bytes: self.size_in_bytes() }
    }
}

impl fmt::Debug for WeakAllocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WeakAllocation")
            .field("address", &format_args!("{:#x}", self.address))
            .field("bytes", &self.bytes)
            .field("is_held", &self.is_held())
            .finish()
    }
}

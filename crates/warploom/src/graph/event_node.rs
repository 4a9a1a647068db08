//! Event nodes: a graph records an event, or waits for one.
#![expect(unsafe_code, reason = "adds raw nodes")]

use std::sync::Arc;

use warploom_driver::sys::types::CUevent;

use super::Position;
use super::bundle::{Bundle, Part, Retained};
use super::hierarchy::Locked;
use super::node::{Node, NodeKind, TypedNode, sealed, typed_node};
use super::position::Place;
use crate::event::{SharedEvent, Timing};
use crate::{Driver, Event, Result};

/// A node that records an event, added by [`Position::record`].
#[derive(Clone)]
pub struct RecordNode {
    node: Node,
}
typed_node!(RecordNode);

/// A node that waits for an event, added by [`Position::wait`].
#[derive(Clone)]
pub struct WaitNode {
    node: Node,
}
typed_node!(WaitNode);

/// The owner of an event node.
pub(super) fn owner<T: Timing>(event: &Event<T>) -> Bundle {
    Bundle::of(Part::Event, Some(Retained::Value(event.share())))
}

/// The event that a bundle keeps.
fn event_of(bundle: &Bundle) -> Option<Arc<SharedEvent>> {
    bundle.retained(|part| part == Part::Event).find_map(|(_, retained)| match retained {
        Retained::Value(event) => Arc::clone(event).downcast().ok(),
        _ => None,
    })
}

macro_rules! event_nodes {
    ($($name:ident $kind:ident $event:ty, $add:ident $get:ident $set:ident;)*) => {$(
        impl TypedNode for $name {}
        impl sealed::TypedNode for $name {
            const KIND: NodeKind = NodeKind::$kind;

            fn over(node: Node) -> Result<$name> {
                Ok($name { node })
            }
        }

        impl $name {
            fn add<T: Timing>(position: &Position<'_>, event: &Event<T>) -> Result<$name> {
                position.graph().same_driver(event.driver())?;
                event.context().check_generation()?;
                let add = |driver: &Driver, (node, graph, after, count): Place| {
                    // SAFETY: the place is one to add a node at, and the graph keeps the event.
                    unsafe { driver.$add(node, graph, after, count, event.as_raw()) }
                };
                let node = position.node(|position| position.add(&mut owner(event), add))?;
                Ok($name { node })
            }

            /// The driver's handle of the event.
            ///
            /// # Errors
            ///
            /// [`GraphError::NodeDestroyed`](super::GraphError::NodeDestroyed), and the driver's error.
            pub fn event_raw(&self) -> Result<CUevent> {
                self.raw_in(&self.node.lock())
            }

            fn raw_in(&self, locked: &Locked<'_>) -> Result<CUevent> {
                let (node, mut event) = (locked.node(&self.node)?, std::ptr::null_mut());
                // SAFETY: the node is alive and of the kind, and `event` is writable.
                unsafe { locked.driver().$get(node, &raw mut event) }?;
                Ok(event)
            }

            /// The event; `None` if the node was made by other code, or if the event has times and `T` is
            /// [`Untimed`](crate::Untimed), or the other way round.
            ///
            /// It is the event that the node was given, in another value: recorded again, both mark the new
            /// point.
            ///
            /// ```
            /// use warploom::{Driver, GraphDef, Timed, Untimed};
            ///
            /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
            /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
            /// let context = driver.device(0)?.context()?;
            /// let mut point = context.stream()?.record_timed()?;
            /// let graph = GraphDef::new(&context)?;
            /// let node = graph.entry().record(&mut point)?;
            /// let found = node.event::<Timed>()?.ok_or("it is known")?;
            /// assert_eq!((found.as_raw(), found.context()), (point.as_raw(), &context));
            /// assert!(node.event::<Untimed>()?.is_none());
            /// # Ok(())
            /// # }
            /// ```
            ///
            /// # Errors
            ///
            /// As for `event_raw`.
            pub fn event<T: Timing>(&self) -> Result<Option<Event<T>>> {
                let locked = self.node.lock();
                let raw = self.raw_in(&locked)?;
                let kept = locked.bundle(self.node.graph_id(), self.node.raw()).and_then(event_of);
                Ok(kept.filter(|kept| kept.as_raw() == raw).and_then(SharedEvent::event))
            }

            /// Replaces the event. Executables keep the one that they have.
            ///
            /// # Errors
            ///
            /// [`GraphError::NodeDestroyed`](super::GraphError::NodeDestroyed),
            /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch), and the driver's error.
            pub fn set_event<T: Timing>(&self, event: $event) -> Result<()> {
                self.node.graph().same_driver(event.driver())?;
                event.context().check_generation()?;
                self.node.change(
                    |_| Some(owner(event)),
                    // SAFETY: the node is alive and of the kind, and the graph keeps the event.
                    |locked, node| Ok(unsafe { locked.driver().$set(node, event.as_raw()) }?),
                )
            }
        }
    )*};
}
event_nodes! {
    RecordNode Record &mut Event<T>, cuGraphAddEventRecordNode cuGraphEventRecordNodeGetEvent cuGraphEventRecordNodeSetEvent;
    WaitNode Wait &Event<T>, cuGraphAddEventWaitNode cuGraphEventWaitNodeGetEvent cuGraphEventWaitNodeSetEvent;
}

impl Position<'_> {
    /// Adds a node that records an event in each launch. The graph keeps the event.
    ///
    /// # Errors
    ///
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch), and as [`Position::empty`].
    #[doc(alias = "cuGraphAddEventRecordNode")]
    pub fn record<T: Timing>(self, event: &mut Event<T>) -> Result<RecordNode> {
        RecordNode::add(&self, event)
    }

    /// Adds a node that waits for an event, as it was last recorded when the graph is launched. The graph
    /// keeps the event.
    ///
    /// # Errors
    ///
    /// As [`Position::record`].
    #[doc(alias = "cuGraphAddEventWaitNode")]
    pub fn wait<T: Timing>(self, event: &Event<T>) -> Result<WaitNode> {
        WaitNode::add(&self, event)
    }
}

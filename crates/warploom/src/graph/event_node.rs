//! Event nodes: a graph records an event, or waits for one.
#![expect(unsafe_code, reason = "adds raw nodes")]

use warploom_driver::sys::types::CUevent;

use super::Position;
use super::bundle::{Bundle, Part, Retained};
use super::node::{Node, NodeKind, TypedNode, sealed, typed_node};
use super::position::Place;
use crate::event::Timing;
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
                let locked = self.node.lock();
                let (node, mut event) = (locked.node(&self.node)?, std::ptr::null_mut());
                // SAFETY: the node is alive and of the kind, and `event` is writable.
                unsafe { locked.driver().$get(node, &raw mut event) }?;
                Ok(event)
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

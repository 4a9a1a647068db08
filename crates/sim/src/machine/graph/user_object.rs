//! User objects: data of the program that graphs keep alive.
//!
//! The program and graphs hold references to a user object. When the last one is released, the object's
//! destructor runs on the thread that released it.

use super::{Graphs, References};
use crate::ffi::handle::{GraphHandle, UserObjectHandle, kind};
use crate::machine::destructor::Destructor;
use crate::machine::objects::Object;

/// Data of the program with a number of references.
pub(crate) struct UserObject {
    /// The program's own references; below 0 once it has released or moved more than there were. Then the
    /// destructor never runs, as in the driver.
    pub(crate) of_program: i64,
    /// The references of all graphs and executable graphs.
    pub(crate) of_graphs: u64,
    pub(crate) destructor: Destructor,
}

impl Object for UserObject {
    type Kind = kind::UserObject;
}

impl Graphs {
    /// The references of a graph and of all graphs inside it.
    pub(crate) fn references_of(&self, graph: GraphHandle) -> References {
        let mut references = References::default();
        for graph in self.all_in(graph) {
            let objects = self.graphs.get(graph).into_iter().flat_map(|found| &found.user_objects);
            references.add(graph, objects.map(|(object, count)| (*object, *count)));
        }
        references
    }

    /// Adds references of graphs to user objects.
    pub(crate) fn retain_references(&mut self, references: &[(UserObjectHandle, u32)]) {
        for (object, count) in references {
            if let Some(object) = self.user_objects.get_mut(*object) {
                object.of_graphs += u64::from(*count);
            }
        }
    }

    /// Releases references of graphs to user objects. Returns the destructors of those that have none left.
    pub(crate) fn release_references(&mut self, references: &[(UserObjectHandle, u32)]) -> Vec<Destructor> {
        let mut destructors = Vec::new();
        for (handle, count) in references {
            if let Some(object) = self.user_objects.get_mut(*handle) {
                object.of_graphs = object.of_graphs.saturating_sub((*count).into());
            }
            destructors.extend(self.end_unreferenced(*handle));
        }
        destructors
    }

    /// Removes a user object without references. Returns its destructor.
    pub(crate) fn end_unreferenced(&mut self, handle: UserObjectHandle) -> Option<Destructor> {
        self.user_objects.get(handle).filter(|object| object.of_program == 0 && object.of_graphs == 0)?;
        self.user_objects.remove(handle).map(|object| object.destructor)
    }
}

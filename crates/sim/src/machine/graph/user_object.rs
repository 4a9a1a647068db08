//! User objects: data of the program that graphs keep alive.
//!
//! The program and graphs hold references to a user object. When the last one is released, the object's
//! destructor runs on the thread that released it.

use super::Graphs;
use crate::ffi::handle::{GraphHandle, UserObjectHandle, kind};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::destructor::Destructor;
use crate::machine::objects::Object;
use crate::process::thread;

/// Data of the program with a number of references.
pub(crate) struct UserObject {
    /// The references of the program and of all graphs.
    pub(crate) references: u64,
    pub(crate) destructor: Destructor,
}

impl Object for UserObject {
    type Kind = kind::UserObject;
}

impl Call<'_> {
    /// Runs the destructors of user objects that have ended, after releasing the machine's lock.
    pub(crate) fn end_user_objects(&self, mut world: Guard<'_>) {
        let ended = std::mem::take(&mut world.graphs.ended);
        drop(world);
        run_destructors(self.core().id, ended);
    }
}

/// Runs destructors, without the machine's lock. No driver call is permitted inside them.
pub(crate) fn run_destructors(machine: u64, destructors: Vec<Destructor>) {
    for destructor in destructors {
        thread::in_host_function(machine, || destructor.run());
    }
}

impl Graphs {
    /// The references of a graph and of all graphs inside it.
    pub(crate) fn references_of(&self, graph: GraphHandle) -> Vec<(UserObjectHandle, u32)> {
        let graphs = self.all_in(graph).into_iter().filter_map(|graph| self.graphs.get(graph));
        graphs.flat_map(|graph| graph.user_objects.iter().map(|(object, count)| (*object, *count))).collect()
    }

    /// Adds references to user objects.
    pub(crate) fn retain_references(&mut self, references: &[(UserObjectHandle, u32)]) {
        for (object, count) in references {
            if let Some(object) = self.user_objects.get_mut(*object) {
                object.references += u64::from(*count);
            }
        }
    }

    /// Releases references to user objects. Returns the destructors of those that have none left.
    pub(crate) fn release_references(&mut self, references: &[(UserObjectHandle, u32)]) -> Vec<Destructor> {
        let mut destructors = Vec::new();
        for (handle, count) in references {
            let Some(object) = self.user_objects.get_mut(*handle) else { continue };
            object.references = object.references.saturating_sub((*count).into());
            if object.references == 0 {
                destructors.push(object.destructor);
                self.user_objects.remove(*handle);
            }
        }
        destructors
    }
}

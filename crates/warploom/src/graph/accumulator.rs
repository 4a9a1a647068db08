//! Owners that an executable has been given after it was instantiated.
//!
//! The driver has no call that attaches a user object to an executable. But instantiating copies the graph's
//! references. So an empty accumulator is attached to the graph right before, and released right after: the
//! executable has it then, and so do its launches in flight, until the executable is destroyed or updated as
//! a whole.

use std::sync::{Arc, Mutex, PoisonError};

use super::bundle::{Bundle, Part, Retained};

/// The owners of an executable's nodes that have been changed. It only grows.
#[derive(Clone, Default)]
pub(super) struct Accumulator(Arc<Mutex<Vec<Bundle>>>);

impl Accumulator {
    /// With owners from the start.
    pub(super) fn of(bundle: Bundle) -> Accumulator {
        if bundle.is_empty() { Accumulator::default() } else { Accumulator(Arc::new(Mutex::new(vec![bundle]))) }
    }

    /// The accumulator, to be attached to a graph.
    pub(super) fn bundle(&self) -> Bundle {
        let shared: Arc<Mutex<Vec<Bundle>>> = Arc::clone(&self.0);
        Bundle::of(Part::Whole, Some(Retained::Value(shared)))
    }

    /// Makes a call that gives a node other parameters, and takes their owners if it succeeds. There is room
    /// for them before the call.
    pub(super) fn keep<R, E>(&self, bundle: &mut Bundle, call: impl FnOnce(&Bundle) -> Result<R, E>) -> Result<R, E> {
        if bundle.is_empty() {
            return call(bundle);
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.reserve(1);
        let called = call(bundle)?;
        kept.push(std::mem::take(bundle));
        Ok(called)
    }
}

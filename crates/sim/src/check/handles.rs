//! Handles that are not what a call needs.

use super::report::{FindingKind, HandleProblem};
use crate::machine::call::Call;
use crate::machine::objects::{HandleTo, Object, Objects};
use crate::memory::shadow::{AccessKind, Operation};

impl Call<'_> {
    /// Reports a handle that names no object of the kind that this call needs, and says in words what it is instead.
    pub(crate) fn found_misuse<T: Object>(&self, objects: &Objects<T>, handle: HandleTo<T>) -> String {
        let problem = objects.problem(handle);
        self.report_misuse(objects, handle, problem);
        objects.explain(handle)
    }

    /// Reports a handle that a call cannot use, for a given reason.
    pub(crate) fn report_misuse<T: Object>(&self, objects: &Objects<T>, handle: HandleTo<T>, problem: HandleProblem) {
        if !self.core().findings.is_on() {
            return;
        }
        let destroyed = objects.destroyer(handle).map(|site| Operation::of_call(AccessKind::Use, site));
        let (user, wanted) = (self.operation(AccessKind::Use), T::KIND.into());
        self.core().findings.add(FindingKind::HandleMisuse { user, handle: handle.bits(), wanted, problem, destroyed });
    }
}

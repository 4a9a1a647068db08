//! Reports of failures that occur while a graph is locked.
//!
//! The program's hook may use the graph, which is locked by the very thread that has the failure. So the
//! reclaimer's thread calls it, which holds no lock of a graph.

use crate::diagnostics::{Subject, report};
use crate::{Error, Result, reclaimer};

/// A report that is made when it is dropped.
struct LateReport {
    subject: Subject,
    error: Error,
}

impl Drop for LateReport {
    fn drop(&mut self) {
        report(|| self.subject.clone(), Err::<(), _>(self.error.clone()));
    }
}

/// Reports an error that has no caller, soon and without a lock of a graph.
pub(super) fn report_late(subject: impl FnOnce() -> Subject, result: Result<(), impl Into<Error>>) {
    if let Err(error) = result {
        reclaimer::defer(LateReport { subject: subject(), error: error.into() });
    }
}

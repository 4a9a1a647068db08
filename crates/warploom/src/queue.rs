//! `Queue`: a stream, or a value that stands for one.

use crate::Stream;

/// A stream to enqueue work on: a [`Stream`], or a value that stands for one.
///
/// Every call that enqueues work, or stores a stream to order work later, takes one; there is no default
/// stream. A type that holds a stream lends it, as `&self.stream`.
///
/// The trait is sealed: calls rely on the same answer each time, from the check of the stream to its last use.
pub trait Queue: sealed::Sealed {
    /// The stream that the work goes to.
    fn stream(&self) -> &Stream;
}

pub(crate) mod sealed {
    #[expect(unnameable_types, reason = "only this crate has queues")]
    pub trait Sealed {}
}

impl sealed::Sealed for Stream {}
impl Queue for Stream {
    fn stream(&self) -> &Stream {
        self
    }
}

impl<Q: Queue + ?Sized> sealed::Sealed for &Q {}
impl<Q: Queue + ?Sized> Queue for &Q {
    fn stream(&self) -> &Stream {
        (**self).stream()
    }
}

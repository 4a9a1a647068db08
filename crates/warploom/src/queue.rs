//! `Queue`: a stream, or a value that stands for one.

use crate::Stream;

/// A stream to enqueue work on: a [`Stream`], or a value that stands for one.
///
/// Every call that enqueues work, or stores a stream to order work later, takes one; there is no default
/// stream.
pub trait Queue {
    /// The stream that the work goes to.
    fn stream(&self) -> &Stream;
}

impl Queue for Stream {
    fn stream(&self) -> &Stream {
        self
    }
}

impl<Q: Queue + ?Sized> Queue for &Q {
    fn stream(&self) -> &Stream {
        (**self).stream()
    }
}

//! `Queue`: a stream, or a value that stands for one.

use crate::Stream;

/// Something that work can be enqueued on: a [`Stream`], or what stands for one.
///
/// Whatever enqueues work, or stores a stream to order work later, takes one of these; there is no default,
/// and none is ever made up.
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

//! Raw driver handles that may cross threads.
#![expect(unsafe_code, reason = "lets C handles cross threads")]

/// A handle of the driver, which is never dereferenced here.
#[derive(Debug)]
pub(crate) struct Handle<T>(*mut T);

impl<T> Handle<T> {
    #[inline]
    pub(crate) fn new(raw: *mut T) -> Self {
        Self(raw)
    }

    #[inline]
    pub(crate) fn raw(&self) -> *mut T {
        self.0
    }
}

// SAFETY: the pointer is only ever handed back to the driver, whose functions take contexts, streams, events,
// pools and code from any thread, also at the same time.
unsafe impl<T> Send for Handle<T> {}
// SAFETY: as above; a shared handle gives out nothing but the same pointer.
unsafe impl<T> Sync for Handle<T> {}

//! Streams that other code created.
#![expect(unsafe_code, reason = "takes raw streams that the caller vouches for")]

use std::ptr::null_mut;

use warploom_driver::sys::types::CUstream;

use super::default::{LEGACY, PER_THREAD};
use super::info::StreamInfo;
use super::{Origin, Stream};
use crate::{Context, Result, StreamError};

impl Stream {
    /// A stream that other code made, and that `owner` keeps alive. It is never destroyed by this crate; the
    /// owner is dropped with the last handle to it, which includes those of buffers that are to be freed in
    /// its order. Buffers that it merely used are freed after the work that it has at that time, so that a
    /// handle has to be held for as long as other code enqueues work with them.
    ///
    /// The handles of the default streams, null included, give the same as [`Context::legacy_stream`] and
    /// [`Context::per_thread_stream`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use warploom::{Driver, Stream};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let theirs = Arc::new(context.stream()?); // another library's, say
    /// // SAFETY: the handle is that of a stream, which is destroyed when the owner is dropped, not before.
    /// let stream = unsafe { Stream::from_raw(&context, theirs.as_raw(), Arc::clone(&theirs)) }?;
    /// stream.synchronize()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Safety
    ///
    /// `raw` is a stream of the driver of `context`, and stays one until `owner` is dropped. If others
    /// capture it, they keep the memory of work enqueued on it meanwhile; see [`capture`](crate::capture).
    ///
    /// # Errors
    ///
    /// [`StreamError::ForeignContext`] if the stream was made in another context, and the driver's error.
    /// Then the owner has been dropped.
    #[doc(alias = "cuStreamGetCtx")]
    pub unsafe fn from_raw(context: &Context, raw: CUstream, owner: impl Send + Sync + 'static) -> Result<Stream> {
        match raw.addr() {
            0 | LEGACY => return Ok(context.legacy_stream()),
            PER_THREAD => return Ok(context.per_thread_stream()),
            _ => {}
        }
        let mut home = null_mut();
        // SAFETY: the caller vouches for the stream, and `home` is writable.
        unsafe { context.driver().cuStreamGetCtx(raw, &raw mut home) }?;
        if home != context.as_raw() {
            return Err(StreamError::ForeignContext { device: context.device().ordinal() }.into());
        }
        // SAFETY: the caller vouches for the stream while the owner lives, and its context was compared.
        Ok(unsafe { Stream::new(raw, Origin::Foreign { _owner: Box::new(owner) }, context, StreamInfo::default()) })
    }

    /// A stream that other code made and keeps alive. It is never destroyed by this crate.
    ///
    /// # Safety
    ///
    /// `raw` is a stream of the driver of `context`, and stays one for as long as a handle to it exists: this
    /// value, its clones, and all values made with one, such as buffers that are to be freed in its order. As
    /// to captures, see [`Stream::from_raw`].
    ///
    /// # Errors
    ///
    /// As [`Stream::from_raw`].
    pub unsafe fn borrow_raw(context: &Context, raw: CUstream) -> Result<Stream> {
        // SAFETY: the caller keeps the stream alive for longer than any owner would live.
        unsafe { Stream::from_raw(context, raw, ()) }
    }
}

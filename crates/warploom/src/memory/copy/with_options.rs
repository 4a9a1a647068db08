//! Copies with options, by the newest driver call there is.
#![expect(unsafe_code, reason = "copies between addresses that were checked")]

use warploom_driver::Function;

use super::batch::{Checked, has_batches, together};
use super::device::{enqueue, reachable, same_length};
use super::options::check_stream;
use crate::memory::uses::Access;
use crate::{CopyError, CopyOptions, DeviceCopy, Queue, Result, Slice, SliceMut, Stream};

impl<T: DeviceCopy> Slice<'_, T> {
    /// As [`Slice::copy_to`], with options.
    ///
    /// On a driver before 12.8, and between devices, there is no call that takes them. Then it is a copy like
    /// any other, which reads its source in stream order and so keeps every promise but one: to have read it
    /// when the call returns.
    ///
    /// # Errors
    ///
    /// As [`Slice::copy_to`]; [`CopyError::LegacyStream`] and [`CopyError::Capturing`] for streams that take
    /// no such copies, [`CopyError::SourceOrder`] if a source that was allocated in the order of a stream is
    /// to be read out of order, and [`CopyError::DuringCall`] where no call reads a source before it returns.
    #[doc(alias = "cuMemcpyWithAttributesAsync")]
    pub fn copy_to_with<'d>(
        self,
        destination: impl Into<SliceMut<'d, T>>,
        options: CopyOptions,
        queue: &impl Queue,
    ) -> Result<()> {
        let (destination, stream) = (destination.into(), queue.stream());
        same_length(self.len(), destination.len())?;
        let copy = Checked { to: destination.span, from: self.span, bytes: self.size_in_bytes(), options };
        copy.check(stream)?;
        check_stream(stream)?;
        if copy.bytes == 0 {
            return Ok(());
        }
        copy.from.allocation.meet(stream)?;
        copy.to.allocation.meet(stream)?;
        one(&copy, stream)?;
        copy.from.allocation.did(stream, Access::Read);
        copy.to.allocation.did(stream, Access::Write);
        Ok(())
    }
}

impl Checked<'_, '_> {
    /// Checks the copy and its options.
    pub(super) fn check(&self, stream: &Stream) -> Result<()> {
        reachable(self.to.allocation, self.from.allocation, stream)?;
        self.options.check_source(self.from.allocation)?;
        let driver = stream.driver();
        let has_options = driver.supports(Function::cuMemcpyWithAttributesAsync) || has_batches(driver);
        if self.options.is_during_call() && !(has_options && self.is_near()) {
            return Err(CopyError::DuringCall.into());
        }
        Ok(())
    }

    /// `true` if both ends are in one context.
    pub(super) fn is_near(&self) -> bool {
        self.to.allocation.context() == self.from.allocation.context()
    }
}

fn one(copy: &Checked<'_, '_>, stream: &Stream) -> Result<()> {
    if !copy.is_near() || copy.options == CopyOptions::new() {
        return enqueue(copy.to, copy.from, copy.bytes, stream);
    }
    let driver = stream.driver();
    if !driver.supports(Function::cuMemcpyWithAttributesAsync) {
        return together(std::slice::from_ref(copy), stream);
    }
    let (to, from, mut attributes) = (copy.to.address, copy.from.address, copy.options.to_raw());
    // A batch is refused where no context is current, and this is a batch of one.
    let _current = stream.context().current()?;
    // SAFETY: both are that long, and there in the order of the stream, which is alive; a source that is read
    // out of order is there in any. They do not overlap: a slice that can be written shares no byte with
    // another. The driver reads the attributes during the call.
    stream.enqueue(|raw| unsafe { driver.cuMemcpyWithAttributesAsync(to, from, copy.bytes, &raw mut attributes, raw) })
}

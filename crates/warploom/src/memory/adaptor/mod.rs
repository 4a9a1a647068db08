//! Adaptors: memory resources on top of another resource.
//!
//! | | |
//! |---|---|
//! | [`Limited`] | hands out no more than so many bytes |
//! | [`Counted`] | counts allocations |
//! | [`Logged`] | tells `tracing` of every call |
//! | [`Cached`] | keeps freed memory for the next allocations; only of stream-ordered resources |
//!
//! They stand on any resource, one's own and each other included, and are resources themselves. The first
//! three are made with `ordered` or with `synchronous`, by the kind of the resource below.
#![expect(unsafe_code, reason = "hands on memory that other resources answer for")]

mod cached;
mod counted;
mod limited;
mod logged;

pub(in crate::memory) use cached::Lease;
pub use cached::{CacheOptions, CacheStatistics, Cached, OtherStreams};
pub use counted::{Counted, Counts};
pub use limited::Limited;
pub use logged::Logged;

use warploom_driver::sys::types::CUdeviceptr;

use super::resource::{StreamOrdered, Synchronous};
use crate::{Context, Device, Result, Stream};

macro_rules! adaptors {
    ($($name:ident)*) => {$(
        // SAFETY: passes on memory of the resource below, and gives it back unchanged.
        unsafe impl StreamOrdered for $name<dyn StreamOrdered> {
            fn context(&self) -> &Context {
                self.below.context()
            }

            fn allocate_raw(&self, bytes: usize, stream: &Stream) -> Result<CUdeviceptr> {
                self.allocating(bytes, || self.below.allocate_raw(bytes, stream))
            }

            unsafe fn deallocate_raw(&self, address: CUdeviceptr, bytes: usize, stream: &Stream) -> Result<()> {
                // SAFETY: the caller's promise is the one that is asked for.
                self.freeing(address, bytes, || unsafe { self.below.deallocate_raw(address, bytes, stream) })
            }

            fn is_pinned(&self) -> bool {
                self.below.is_pinned()
            }

            fn name(&self) -> &'static str {
                self.below.name()
            }

            fn is_managed(&self) -> bool {
                self.below.is_managed()
            }

            fn reuses_memory(&self) -> bool {
                self.below.reuses_memory()
            }

            fn is_annotated(&self) -> bool {
                self.below.is_annotated()
            }

            fn is_open_to(&self, device: &Device) -> Result<Option<bool>> {
                self.below.is_open_to(device)
            }
        }

        // SAFETY: passes on memory of the resource below, and gives it back unchanged.
        unsafe impl Synchronous for $name<dyn Synchronous> {
            fn context(&self) -> &Context {
                self.below.context()
            }

            fn allocate_raw(&self, bytes: usize) -> Result<CUdeviceptr> {
                self.allocating(bytes, || self.below.allocate_raw(bytes))
            }

            unsafe fn deallocate_raw(&self, address: CUdeviceptr, bytes: usize) -> Result<()> {
                // SAFETY: the caller's promise is the one that is asked for.
                self.freeing(address, bytes, || unsafe { self.below.deallocate_raw(address, bytes) })
            }

            fn free_waits_for_context(&self) -> bool {
                self.below.free_waits_for_context()
            }

            fn outlives_context(&self) -> bool {
                self.below.outlives_context()
            }

            fn is_pinned(&self) -> bool {
                self.below.is_pinned()
            }

            fn name(&self) -> &'static str {
                self.below.name()
            }

            fn is_managed(&self) -> bool {
                self.below.is_managed()
            }

            fn is_open_to(&self, device: &Device) -> Result<Option<bool>> {
                self.below.is_open_to(device)
            }
        }
    )*};
}
adaptors!(Limited Counted Logged);

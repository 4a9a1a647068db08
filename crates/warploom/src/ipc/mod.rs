//! Memory and events that several processes share, on Unix.
//!
//! | shared | exported by | travels as | imported by |
//! |---|---|---|---|
//! | pool | [`DevicePool::export`](crate::DevicePool::export) | [`PoolHandle`], with a file descriptor | [`DevicePool::import`](crate::DevicePool::import) |
//! | buffer of it | [`Buffer::descriptor`](crate::Buffer::descriptor) | [`BufferDescriptor`], plain data | [`Buffer::import`](crate::Buffer::import) |
//! | virtual memory | [`VirtualMemory::export`](crate::VirtualMemory::export) | [`MemoryHandle`], with a file descriptor | [`VirtualMemory::import`](crate::VirtualMemory::import) |
//! | event | [`Stream::record_ipc`](crate::Stream::record_ipc) | [`EventDescriptor`], plain data | [`IpcEvent::import`] |
//!
//! A pool is made for it: [`PoolOptions::shareable`](crate::PoolOptions::shareable). It is exported once for
//! each process that imports it, and then any number of its buffers are, by descriptors of a few bytes.
//!
//! ```
//! use std::os::unix::net::UnixStream;
//! use warploom::{DevicePool, Driver, PoolOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (to_worker, _worker) = UnixStream::pair()?;
//! let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
//! let context = driver.device(0)?.context()?;
//! let stream = context.stream()?;
//! let pool = DevicePool::with(&context, PoolOptions::new().shareable())?;
//! let weights = pool.upload(&[1.0_f32, 2.0, 3.0], &stream)?;
//! stream.synchronize()?; // the worker must not read before
//!
//! pool.export()?.send(&to_worker)?;
//! let descriptor = weights.descriptor()?;
//! assert_eq!((descriptor.pool(), descriptor.size_in_bytes()), (pool.export()?.uuid(), 12));
//! # Ok(())
//! # }
//! ```
//!
//! The worker's part, with `socket` being its end:
//!
//! ```no_run
//! # use std::os::unix::net::UnixStream;
//! use warploom::ipc::{BufferDescriptor, PoolHandle};
//! use warploom::{Buffer, Context, DevicePool};
//!
//! # fn worker(socket: &UnixStream, descriptor: &BufferDescriptor, context: &Context) -> warploom::Result<()> {
//! let stream = context.stream()?;
//! let pool = DevicePool::import(context, PoolHandle::receive(socket)?)?;
//! // SAFETY: the server keeps the weights while its workers run, and nothing writes them.
//! let weights: Buffer<f32> = unsafe { Buffer::import(&pool, descriptor, &stream) }?;
//! # Ok(())
//! # }
//! ```
//!
//! # Trust
//!
//! Descriptors are input from another process. Their length, format, kind, checksum, machine and process are
//! checked before the driver is asked, and the claimed size against the mapping before a buffer is handed
//! out. Two things cannot be checked: that the other process keeps the memory, and that it does not write
//! while this one reads. So importing memory and events is `unsafe`, with a contract about the other process.
//! Importing a pool is not: it gives access to nothing yet.
//!
//! # Order
//!
//! Streams of different processes have no order. An exporter waits for its work, or records an [`IpcEvent`]
//! that importers wait for.

mod buffer_descriptor;
mod error;
mod event;
mod event_descriptor;
mod memory_handle;
mod origin;
mod pool_handle;
mod record;
#[cfg(feature = "serde")]
mod serialize;
mod socket;

pub use buffer_descriptor::BufferDescriptor;
pub use error::{IpcError, SharedMemory};
pub use event::IpcEvent;
pub use event_descriptor::EventDescriptor;
pub use memory_handle::MemoryHandle;
pub use pool_handle::PoolHandle;
pub use socket::{recv_fd, send_fd};

pub use crate::memory::ImportedPool;

pub(crate) use memory_handle::MemoryName;
pub(crate) use origin::{Origin, random_uuid};
pub(crate) use pool_handle::PoolName;

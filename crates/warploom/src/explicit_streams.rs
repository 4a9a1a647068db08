//! That a stream cannot be left out: for each operation that orders work, a program that builds and the same without its
//! stream, which does not (S4.1, S4.22).

/// Allocation from a pool.
///
/// ```
/// # use warploom::{Buffer, DevicePool, Queue, Result};
/// fn with(pool: &DevicePool, queue: &impl Queue) -> Result<Buffer<u8>> {
///     pool.allocate(4, queue)
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{Buffer, DevicePool, Queue, Result};
/// fn without(pool: &DevicePool) -> Result<Buffer<u8>> {
///     pool.allocate(4)
/// }
/// ```
///
/// Allocation from any stream-ordered resource.
///
/// ```
/// # use warploom::{Buffer, OrderedResource, Queue, Result};
/// fn with(resource: &impl OrderedResource, queue: &impl Queue) -> Result<Buffer<u8>> {
///     resource.zeroed(4, queue)
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{Buffer, OrderedResource, Queue, Result};
/// fn without(resource: &impl OrderedResource) -> Result<Buffer<u8>> {
///     resource.zeroed(4)
/// }
/// ```
///
/// Allocation for a graph.
///
/// ```
/// # use warploom::{Buffer, GraphPool, Queue, Result};
/// fn with(pool: &GraphPool, queue: &impl Queue) -> Result<Buffer<u8>> {
///     pool.allocate(4, queue)
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{Buffer, GraphPool, Queue, Result};
/// fn without(pool: &GraphPool) -> Result<Buffer<u8>> {
///     pool.allocate(4)
/// }
/// ```
///
/// Synchronous resources have no use for one.
///
/// ```
/// # use warploom::{Buffer, DeviceMemory, Result};
/// fn with(memory: &DeviceMemory) -> Result<Buffer<u8>> {
///     memory.allocate(4)
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{Buffer, DeviceMemory, Queue, Result};
/// fn without(memory: &DeviceMemory, queue: &impl Queue) -> Result<Buffer<u8>> {
///     memory.allocate(4, queue)
/// }
/// ```
///
/// Freeing what they gave may be told one to wait for (S4.6).
///
/// ```
/// # use warploom::{Buffer, DeviceMemory, FreeError, PinnedMemory, Queue};
/// fn with(memory: &DeviceMemory, buffer: Buffer<u8>, queue: &impl Queue) -> Result<(), FreeError<u8>> {
///     memory.free_after(buffer, queue)
/// }
///
/// fn of_the_host(memory: &PinnedMemory, buffer: Buffer<u8>, queue: &impl Queue) -> Result<(), FreeError<u8>> {
///     memory.free_after(buffer, queue)
/// }
/// ```
///
/// Virtual memory waits for every stream by name, and has no use for one there, either.
///
/// ```compile_fail,E0599
/// # use warploom::{Buffer, FreeError, Queue, VirtualMemory};
/// fn without(memory: &VirtualMemory, buffer: Buffer<u8>, queue: &impl Queue) -> Result<(), FreeError<u8>> {
///     memory.free_after(buffer, queue)
/// }
/// ```
///
/// Copies with options.
///
/// ```
/// # use warploom::{Buffer, CopyOptions, Queue, Result, copy_batch_with};
/// fn with(from: &Buffer<u8>, to: &mut Buffer<u8>, options: CopyOptions, queue: &impl Queue) -> Result<()> {
///     from.as_slice().copy_to_with(&mut *to, options, queue)?;
///     copy_batch_with([(from, to, options)], queue)
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{Buffer, CopyOptions, Result};
/// fn without(from: &Buffer<u8>, to: &mut Buffer<u8>, options: CopyOptions) -> Result<()> {
///     from.as_slice().copy_to_with(to, options)
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{Buffer, CopyOptions, Result, copy_batch_with};
/// fn without(from: &Buffer<u8>, to: &mut Buffer<u8>, options: CopyOptions) -> Result<()> {
///     copy_batch_with([(from, to, options)])
/// }
/// ```
///
/// A copy, a fill, and copies from and to the host.
///
/// ```
/// # use warploom::{Buffer, Queue, Result};
/// fn with(from: &Buffer<u8>, to: &mut Buffer<u8>, queue: &impl Queue) -> Result<()> {
///     from.copy_to(&mut *to, queue)?;
///     to.fill(7, queue)?;
///     to.copy_from_host(&from.download(queue)?, queue)
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{Buffer, Result};
/// fn without(from: &Buffer<u8>, to: &mut Buffer<u8>) -> Result<()> {
///     from.copy_to(&mut *to)
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{Buffer, Result};
/// fn without(to: &mut Buffer<u8>) -> Result<()> {
///     to.fill(7)
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{Buffer, Result};
/// fn without(from: &Buffer<u8>) -> Result<Vec<u8>> {
///     from.download()
/// }
/// ```
///
/// Copies that take page-locked memory along, which needs none itself (S4.5).
///
/// ```
/// # use warploom::{Buffer, Pending, PinnedBuffer, PinnedMemory, Queue, Result};
/// fn with(from: &Buffer<u8>, to: &PinnedMemory, queue: &impl Queue) -> Result<Pending<PinnedBuffer<u8>>> {
///     from.as_slice().copy_to_pinned(to.buffer(from.len())?, queue)
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{Buffer, Pending, PinnedBuffer, PinnedMemory, Queue, Result};
/// fn without(from: &Buffer<u8>, to: &PinnedMemory) -> Result<Pending<PinnedBuffer<u8>>> {
///     from.as_slice().copy_to_pinned(to.buffer(from.len())?)
/// }
/// ```
///
/// Copies and fills of rows, batches, and duplicates.
///
/// ```
/// # use warploom::{Buffer, Queue, Result, copy_batch};
/// fn with(from: &Buffer<u8>, to: &mut Buffer<u8>, queue: &impl Queue) -> Result<Buffer<u8>> {
///     from.rows(4, 4, 4)?.copy_to(to.rows_mut(4, 4, 4)?, queue)?;
///     to.rows_mut(4, 4, 4)?.fill(7, queue)?;
///     copy_batch([(from, &mut *to)], queue)?;
///     to.duplicate(queue)
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{Result, Rows, RowsMut};
/// fn without(from: Rows<'_>, to: RowsMut<'_>) -> Result<()> {
///     from.copy_to(to)
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{Result, RowsMut};
/// fn without(to: RowsMut<'_>) -> Result<()> {
///     to.fill(7)
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{Buffer, Result, copy_batch};
/// fn without(from: &Buffer<u8>, to: &mut Buffer<u8>) -> Result<()> {
///     copy_batch([(from, to)])
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{Buffer, Result};
/// fn without(from: &Buffer<u8>) -> Result<Buffer<u8>> {
///     from.duplicate()
/// }
/// ```
///
/// Prefetches and discards of managed memory, one or many (S1.26).
///
/// ```
/// # use warploom::{Host, ManagedBuffer, Queue, Result, discard_batch, discard_prefetch_batch, prefetch_batch};
/// fn with(buffer: &mut ManagedBuffer, queue: &impl Queue) -> Result<()> {
///     buffer.prefetch(Host::Any, queue)?;
///     buffer.discard(queue)?;
///     buffer.discard_prefetch(Host::Any, queue)?;
///     prefetch_batch([&*buffer], Host::Any, queue)?;
///     discard_batch([&mut *buffer], queue)?;
///     discard_prefetch_batch([buffer], Host::Any, queue)
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{Host, ManagedBuffer, Result};
/// fn without(buffer: &ManagedBuffer) -> Result<()> {
///     buffer.prefetch(Host::Any)
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{ManagedBuffer, Result};
/// fn without(buffer: &mut ManagedBuffer) -> Result<()> {
///     buffer.discard()
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{Host, ManagedBuffer, Result};
/// fn without(buffer: &mut ManagedBuffer) -> Result<()> {
///     buffer.discard_prefetch(Host::Any)
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{Host, ManagedBuffer, Result, prefetch_batch};
/// fn without(buffer: &ManagedBuffer) -> Result<()> {
///     prefetch_batch([buffer], Host::Any)
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{ManagedBuffer, Result, discard_batch};
/// fn without(buffer: &mut ManagedBuffer) -> Result<()> {
///     discard_batch([buffer])
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{Host, ManagedBuffer, Result, discard_prefetch_batch};
/// fn without(buffer: &mut ManagedBuffer) -> Result<()> {
///     discard_prefetch_batch([buffer], Host::Any)
/// }
/// ```
///
/// Nor can the place be left out (S1.18).
///
/// ```compile_fail,E0061
/// # use warploom::{ManagedBuffer, Queue, Result};
/// fn nowhere(buffer: &ManagedBuffer, queue: &impl Queue) -> Result<()> {
///     buffer.prefetch(queue)
/// }
/// ```
///
/// Copies between devices (S3.16).
///
/// ```
/// # use warploom::{Buffer, Mesh, Queue, Result};
/// fn with(mesh: &Mesh, from: &Buffer<u8>, to: &mut Buffer<u8>, queue: &impl Queue) -> Result<()> {
///     mesh.copy(from, to, queue)?.synchronize()
/// }
/// ```
///
/// ```compile_fail,E0061
/// # use warploom::{Buffer, Mesh, Queue, Result};
/// fn without(mesh: &Mesh, from: &Buffer<u8>, to: &mut Buffer<u8>) -> Result<()> {
///     mesh.copy(from, to)?.synchronize()
/// }
/// ```
///
/// "None" is no stream (S4.1), and neither is a number, nor anything else that is not a `Queue` (S4.3).
///
/// ```compile_fail,E0277
/// # use warploom::{Buffer, Result, Stream};
/// fn without(to: &mut Buffer<u8>) -> Result<()> {
///     to.fill(7, &None::<Stream>)
/// }
/// ```
///
/// ```compile_fail,E0277
/// # use warploom::{Buffer, Result};
/// fn without(to: &mut Buffer<u8>) -> Result<()> {
///     to.fill(7, &0)
/// }
/// ```
struct ExplicitStreams;

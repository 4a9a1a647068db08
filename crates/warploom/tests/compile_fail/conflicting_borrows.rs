//! Values that an operation writes are not read or written by anything else meanwhile (S3.15).

use warploom::{Buffer, ManagedBuffer, Mesh, Queue, Result, Stream, VirtualMemory, copy_batch, discard_batch};

fn two_copies_of_a_batch_to_the_same_values(from: &Buffer<u8>, to: &mut Buffer<u8>, queue: &impl Queue) -> Result<()> {
    copy_batch([(from, to.as_slice_mut()), (from, to.as_slice_mut())], queue)
}

fn a_copy_of_a_batch_that_reads_values_another_writes(
    a: &Buffer<u8>,
    b: &mut Buffer<u8>,
    c: &mut Buffer<u8>,
    queue: &impl Queue,
) -> Result<()> {
    copy_batch([(a.as_slice(), b.as_slice_mut()), (b.as_slice(), c.as_slice_mut())], queue)
}

fn a_copy_between_devices_onto_itself(mesh: &Mesh, buffer: &mut Buffer<f32>, stream: &Stream) -> Result<()> {
    mesh.copy(&*buffer, &mut *buffer, stream)?;
    Ok(())
}

fn a_discard_of_values_that_the_host_reads(buffer: &mut ManagedBuffer<u8>, queue: &impl Queue) -> Result<u8> {
    let values = buffer.host()?;
    discard_batch([&mut *buffer], queue)?;
    Ok(values[0])
}

fn a_fill_of_values_that_the_host_reads(buffer: &mut ManagedBuffer<u8>, queue: &impl Queue) -> Result<u8> {
    let values = buffer.host()?;
    buffer.fill(1, queue)?;
    Ok(values[0])
}

fn a_view_of_a_buffer_that_moved(memory: &VirtualMemory, buffer: Buffer<u8>, queue: &impl Queue) -> Result<Vec<u8>> {
    let old = buffer.as_slice();
    let _grown = memory.grow(buffer, 1 << 30)?;
    old.download(queue)
}

fn main() {}

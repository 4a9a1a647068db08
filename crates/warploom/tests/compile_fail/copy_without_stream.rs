//! Copies and fills take a stream (S3.16, S4.1, S4.22).

use warploom::{
    Buffer, CopyOptions, Mesh, Pending, PinnedBuffer, PinnedMemory, Result, Rows, RowsMut, copy_batch, copy_batch_with,
};

fn copy(from: &Buffer<u8>, to: &mut Buffer<u8>) -> Result<()> {
    from.copy_to(&mut *to)
}

fn fill(to: &mut Buffer<u8>) -> Result<()> {
    to.fill(7)
}

fn download(from: &Buffer<u8>) -> Result<Vec<u8>> {
    from.download()
}

fn upload(to: &mut Buffer<u8>) -> Result<()> {
    to.copy_from_host(&[7; 4])
}

fn duplicate(from: &Buffer<u8>) -> Result<Buffer<u8>> {
    from.duplicate()
}

fn with_options(from: &Buffer<u8>, to: &mut Buffer<u8>, options: CopyOptions) -> Result<()> {
    from.as_slice().copy_to_with(to, options)
}

fn batch(from: &Buffer<u8>, to: &mut Buffer<u8>) -> Result<()> {
    copy_batch([(from, to)])
}

fn batch_with_options(from: &Buffer<u8>, to: &mut Buffer<u8>, options: CopyOptions) -> Result<()> {
    copy_batch_with([(from, to, options)])
}

fn to_pinned_memory(from: &Buffer<u8>, to: &PinnedMemory) -> Result<Pending<PinnedBuffer<u8>>> {
    from.as_slice().copy_to_pinned(to.buffer(from.len())?)
}

fn rows(from: Rows<'_>, to: RowsMut<'_>) -> Result<()> {
    from.copy_to(to)
}

fn fill_of_rows(to: RowsMut<'_>) -> Result<()> {
    to.fill(7)
}

fn between_devices(mesh: &Mesh, from: &Buffer<u8>, to: &mut Buffer<u8>) -> Result<()> {
    mesh.copy(from, to)?.synchronize()
}

fn main() {}

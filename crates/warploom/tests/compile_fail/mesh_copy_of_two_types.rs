//! Both ends of a copy between devices have one type (S3.13).

use warploom::{Buffer, Mesh, Result, Stream};

fn mixed(mesh: &Mesh, from: &Buffer<f32>, to: &mut Buffer<u32>, stream: &Stream) -> Result<()> {
    mesh.copy(from, to, stream)?;
    Ok(())
}

fn main() {}

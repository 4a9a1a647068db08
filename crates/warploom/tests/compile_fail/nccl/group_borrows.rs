//! Values that a group is going to write are neither read nor dropped before it ran.

use warploom::nccl::{Communicator, Reduction};
use warploom::{Buffer, Result, Stream};

fn read_early(communicator: &Communicator, sum: &mut Buffer<f32>, stream: &Stream) -> Result<Vec<f32>> {
    let mut group = communicator.nccl().group();
    group.all_reduce_in_place(communicator, sum.as_slice_mut(), Reduction::Sum, stream)?;
    let values = sum.download(stream)?;
    group.run()?;
    Ok(values)
}

fn dropped_early(communicator: &Communicator, mut sum: Buffer<f32>, stream: &Stream) -> Result<()> {
    let mut group = communicator.nccl().group();
    group.all_reduce_in_place(communicator, &mut sum, Reduction::Sum, stream)?;
    drop(sum);
    group.run()
}

fn main() {}

//! Ranks of other processes are joined by a promise.

use warploom::nccl::{Communicator, Nccl, UniqueId};
use warploom::{Context, Result};

fn join(nccl: &Nccl, context: &Context, id: &UniqueId) -> Result<Communicator> {
    nccl.join(context, id, 0, 2)
}

fn join_all(nccl: &Nccl, context: &Context, id: &UniqueId) -> Result<Vec<Communicator>> {
    nccl.join_all(id, 2, &[(0, context)])
}

fn main() {}

//! An all-reduce over many processes with one device each, on one node or many.
//!
//! Start it once for each rank, with the same three variables everywhere but `RANK`; without any, it is the
//! only rank.
//!
//! ```sh
//! RANK=0 SIZE=2 MEETING=node0:29500 cargo run --features nccl --example all_reduce
//! RANK=1 SIZE=2 MEETING=node0:29500 cargo run --features nccl --example all_reduce
//! ```
//!
//! `LOCAL` is the device of the node, 0 if it is not said.
#![expect(clippy::print_stdout, reason = "an example says what it did")]
#![expect(unsafe_code, reason = "promises that all ranks do the same")]

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use warploom::nccl::{Communicator, Nccl, Reduction, UniqueId};
use warploom::{DevicePool, Driver, Stream};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Timeout for other ranks.
const LIMIT: Duration = Duration::from_secs(60);

fn main() -> Outcome {
    let (rank, size, local) = (number("RANK", 0)?, number("SIZE", 1)?, number("LOCAL", 0)?);
    let (driver, nccl) = (Driver::load()?, Nccl::load()?);
    let context = driver.device(local)?.context()?;
    let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);

    let id = meet(&nccl, rank, size)?;
    // SAFETY: all ranks run this program, which makes one all-reduce of two values.
    let communicator = unsafe { nccl.join(&context, &id, rank, size) }?;
    let mut values = pool.upload(&[rank as f32, 1.0], &stream)?;
    communicator.all_reduce_in_place(&mut values, Reduction::Sum, &stream)?;

    if let Err(error) = wait(&communicator, &stream) {
        communicator.abort()?; // whatever still waits for the others ends
        return Err(error);
    }
    communicator.close()?;
    println!("rank {rank} of {size}, NCCL {}: {:?}", nccl.version(), values.download(&stream)?);
    Ok(())
}

/// Hands the id of rank 0 to all, by the simplest channel there is.
fn meet(nccl: &Nccl, rank: u32, size: u32) -> Outcome<UniqueId> {
    if size == 1 {
        return Ok(nccl.unique_id()?);
    }
    let place = std::env::var("MEETING").map_err(|_| "MEETING names where rank 0 is, such as node0:29500")?;
    if rank == 0 {
        let (id, listener) = (nccl.unique_id()?, TcpListener::bind(&place)?);
        for _ in 1..size {
            listener.accept()?.0.write_all(id.as_bytes())?;
        }
        return Ok(id);
    }
    let started = Instant::now();
    let mut rank_0 = loop {
        match TcpStream::connect(&place) {
            Ok(stream) => break stream,
            Err(error) if started.elapsed() > LIMIT => return Err(error.into()),
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    };
    let mut bytes = [0; 128];
    rank_0.read_exact(&mut bytes)?;
    Ok(UniqueId::from_bytes(bytes))
}

/// Waits for the stream, as long as the other ranks are there.
fn wait(communicator: &Communicator, stream: &Stream) -> Outcome {
    let started = Instant::now();
    while !stream.is_idle()? {
        communicator.check()?;
        if started.elapsed() > LIMIT {
            return Err("the other ranks do not come".into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn number(variable: &str, otherwise: u32) -> Outcome<u32> {
    match std::env::var(variable) {
        Ok(text) => text.parse().map_err(|_| format!("{variable} is a number, not {text:?}").into()),
        Err(_) => Ok(otherwise),
    }
}

//! The same program on machines that run its work in different orders, all of them legal.
//!
//! The program fills and copies buffers on several streams. Before it touches a buffer it waits for the event
//! of the last operation on it, so every legal order must give the same bytes; the host computes which.

use warploom::{Buffer, DevicePool, Driver, Event, Result, Stream};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode, Order};

use super::{StepResult, noise};
use crate::report::{Check, Findings};

const BUFFERS: usize = 5;
const STREAMS: usize = 3;
const OPERATIONS: usize = 60;
const BYTES: usize = 4096;
const SEEDS: u64 = 8;

/// One operation on a stream.
#[derive(Clone, Copy, Debug)]
enum Work {
    Fill { buffer: usize, byte: u8 },
    Copy { from: usize, to: usize },
}

pub(super) fn visit(topology: &Topology) -> StepResult {
    let program = program();
    let expected = expected(&program);
    let mut same = true;
    let orders = [Order::Lazy].into_iter().chain((1..=SEEDS).map(Order::Seeded));
    let mut names = Vec::new();
    for order in orders {
        let mode = Mode::Deterministic(order);
        let machine = Machine::builder().topology(topology.clone()).mode(mode).start()?;
        same &= run(&Driver::open(&machine)?, &program)? == expected;
        names.push(match order {
            Order::Seeded(seed) => format!("seed {seed}"),
            other => format!("{other:?}").to_lowercase(),
        });
    }
    let checks = vec![Check::new("every order gave the bytes that the host computed", same)];
    Ok((Findings::Orders { operations: program.len(), streams: STREAMS, orders: names }, checks))
}

/// Any program will do; this one is the same in every run.
fn program() -> Vec<(usize, Work)> {
    let choices = noise(OPERATIONS * 4);
    let pick = |choice: u8, bound: usize| usize::from(choice) % bound;
    let operation = |choice: &[u8]| {
        let to = pick(choice[1], BUFFERS);
        let work = match choice[2] % 3 {
            0 => Work::Fill { buffer: to, byte: choice[3] },
            _ => Work::Copy { from: (to + 1 + pick(choice[3], BUFFERS - 1)) % BUFFERS, to },
        };
        (pick(choice[0], STREAMS), work)
    };
    choices.chunks_exact(4).map(operation).collect()
}

/// The initial contents of each buffer.
fn initial() -> Vec<Vec<u8>> {
    noise(BUFFERS * BYTES).chunks_exact(BYTES).map(<[u8]>::to_vec).collect()
}

/// The final contents of each buffer, computed on the host.
fn expected(program: &[(usize, Work)]) -> Vec<Vec<u8>> {
    let mut buffers = initial();
    for (_, work) in program {
        match *work {
            Work::Fill { buffer, byte } => buffers[buffer].fill(byte),
            Work::Copy { from, to } => buffers[to] = buffers[from].clone(),
        }
    }
    buffers
}

/// Runs the program; what each buffer holds at the end.
fn run(driver: &Driver, program: &[(usize, Work)]) -> Result<Vec<Vec<u8>>> {
    let context = driver.device(0)?.context()?;
    let pool = DevicePool::new(&context)?;
    let streams = (0..STREAMS).map(|_| context.stream()).collect::<Result<Vec<_>>>()?;
    let home = &streams[0];
    let mut buffers = initial().iter().map(|bytes| pool.upload(bytes, home)).collect::<Result<Vec<_>>>()?;
    let mut last = buffers.iter().map(|_| home.record()).collect::<Result<Vec<_>>>()?;
    for (stream, work) in program {
        enqueue(*work, &streams[*stream], &mut buffers, &mut last)?;
    }
    let finish = |(buffer, last): (&Buffer, &Event)| {
        home.wait(last)?;
        buffer.download(home)
    };
    buffers.iter().zip(&last).map(finish).collect()
}

/// Enqueues one operation after the last one on each buffer it touches.
fn enqueue(work: Work, stream: &Stream, buffers: &mut [Buffer], last: &mut [Event]) -> Result<()> {
    match work {
        Work::Fill { buffer, byte } => {
            stream.wait(&last[buffer])?;
            buffers[buffer].fill(byte, stream)?;
            last[buffer] = stream.record()?;
        }
        Work::Copy { from, to } => {
            stream.wait(&last[from])?;
            stream.wait(&last[to])?;
            if let Ok([source, destination]) = buffers.get_disjoint_mut([from, to]) {
                source.copy_to(destination, stream)?;
            }
            last[from] = stream.record()?;
            last[to] = stream.record()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_copies_between_different_buffers_on_every_stream() {
        let program = program();
        assert_eq!(program.len(), OPERATIONS);
        for stream in 0..STREAMS {
            let copies = |work: &Work| matches!(work, Work::Copy { from, to } if from != to);
            assert!(program.iter().any(|(on, work)| *on == stream && copies(work)), "{stream}");
        }
        assert!(program.iter().all(|(_, work)| !matches!(work, Work::Copy { from, to } if from == to)));
    }

    #[test]
    fn the_program_changes_what_the_buffers_hold() {
        assert_ne!(expected(&program()), initial());
    }
}

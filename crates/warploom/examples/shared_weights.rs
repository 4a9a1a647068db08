//! Weights in memory that processes share: a server keeps them, workers compute with them, and one is killed.
//!
//! ```sh
//! cargo run -p warploom --example shared_weights
//! ```
//!
//! It uses the system's driver, or a simulated H200 where there is none. The server uploads the weights once,
//! into a pool that can be shared. Each worker is a process of its own: it gets the pool as a file descriptor
//! over its standard input, which is a socket, then the descriptor of the weights, then requests. The second
//! worker is killed with SIGKILL while it computes. The others go on, another takes its place, and at the end
//! nothing is left.
#![expect(clippy::print_stdout, reason = "an example says what it did")]
#![expect(unsafe_code, reason = "imports memory of another process, and launches a kernel")]

use std::error::Error;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use warploom::ipc::{BufferDescriptor, PoolHandle};
use warploom::leaks::Leaks;
use warploom::{Buffer, Context, DevicePool, Driver, LaunchConfig, PoolOptions};

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// The number of weights, which are 0, 1, 2 …
const WEIGHTS: u16 = 1000;
const WORKERS: usize = 3;
/// The longest that one process waits for another.
const PATIENCE: Duration = Duration::from_secs(20);

#[cfg_attr(test, expect(dead_code, reason = "a test calls the two halves itself"))]
fn main() -> Outcome {
    let driver = Driver::load().or_else(|_| simulated())?;
    if std::env::args().nth(1).as_deref() == Some("worker") {
        return work(&driver, UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?));
    }
    let start = |end: UnixStream| {
        let program = std::env::current_exe()?;
        Ok(Command::new(program).arg("worker").stdin(Stdio::from(OwnedFd::from(end))).spawn()?)
    };
    for line in serve(&driver, start)? {
        println!("{line}");
    }
    Ok(())
}

fn simulated() -> warploom::Result<Driver> {
    let machine = warploom_sim::Machine::preset("h200").expect("a preset of this name");
    Driver::open(&machine)
}

/// The server. `start` starts a worker with one end of a socket. Returns the lines that it has to say.
pub(crate) fn serve(driver: &Driver, start: impl Fn(UnixStream) -> Outcome<Child>) -> Outcome<Vec<String>> {
    let (leaks, mut lines) = (Leaks::track(driver), Vec::new());
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    let pool = DevicePool::with(&context, PoolOptions::new().shareable())?;
    let host: Vec<f32> = (0..WEIGHTS).map(f32::from).collect();
    let weights = pool.upload(&host, &stream)?;
    stream.synchronize()?; // workers must not read before the weights are there

    let hire = || Worker::hire(&start, &pool.export()?, &weights.descriptor()?);
    let mut workers = (0..WORKERS).map(|_| hire()).collect::<Outcome<Vec<_>>>()?;
    let mut round = |workers: &mut [Worker], name: &str| -> Outcome {
        workers.iter_mut().try_for_each(|worker| worker.ask(2.0))?;
        let sums = workers.iter_mut().map(Worker::answer).collect::<Outcome<Vec<_>>>()?;
        lines.push(format!("{name}: {} workers, each with a sum of {}", sums.len(), sums[0]));
        assert!(sums.iter().all(|sum| *sum == sums[0]));
        Ok(())
    };

    round(&mut workers, "at first")?;
    workers[1].ask(3.0)?;
    workers.remove(1).kill()?; // in the middle of its work
    round(&mut workers, "after a SIGKILL")?;
    workers.push(hire()?);
    round(&mut workers, "with another in its place")?;
    workers.into_iter().try_for_each(Worker::dismiss)?;

    assert_eq!(weights.download(&stream)?, host);
    drop((weights, pool, stream, context));
    lines.push(format!("at the end: {}", leaks.report()));
    Ok(lines)
}

/// A worker, as the server sees it; killed if it is dropped.
struct Worker {
    process: Child,
    socket: UnixStream,
}

impl Worker {
    fn hire(
        start: &impl Fn(UnixStream) -> Outcome<Child>,
        pool: &PoolHandle,
        weights: &BufferDescriptor,
    ) -> Outcome<Worker> {
        let (socket, end) = UnixStream::pair()?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut worker = Worker { process: start(end)?, socket };
        pool.send(&worker.socket)?;
        worker.socket.write_all(&weights.to_bytes())?;
        Ok(worker)
    }

    fn ask(&mut self, factor: f32) -> Outcome {
        Ok(self.socket.write_all(&factor.to_le_bytes())?)
    }

    fn answer(&mut self) -> Outcome<f32> {
        let mut answer = [0; 4];
        self.socket.read_exact(&mut answer)?;
        Ok(f32::from_le_bytes(answer))
    }

    fn kill(mut self) -> Outcome {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    /// Closes the socket, upon which the worker ends.
    fn dismiss(mut self) -> Outcome {
        self.socket.shutdown(std::net::Shutdown::Both)?;
        let status = self.process.wait()?;
        if status.success() { Ok(()) } else { Err(format!("a worker ended with {status}").into()) }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // One that has ended already cannot be killed, and need not be.
        self.process.kill().and_then(|()| self.process.wait().map(drop)).unwrap_or_default();
    }
}

/// A worker: answers each factor with the sum of all weights times that factor, until the socket is closed.
pub(crate) fn work(driver: &Driver, mut socket: UnixStream) -> Outcome {
    socket.set_read_timeout(Some(PATIENCE))?;
    let leaks = Leaks::track(driver);
    let context = driver.device(0)?.context()?;
    answer_requests(&context, &mut socket)?;
    drop(context);
    assert!(leaks.report().is_empty(), "{}", leaks.report());
    Ok(())
}

fn answer_requests(context: &Context, socket: &mut UnixStream) -> Outcome {
    let stream = context.stream()?;
    let weigh = context.load(include_str!("weigh.ptx"))?.kernel("weigh")?;
    let pool = DevicePool::import(context, PoolHandle::receive(socket)?)?;
    let mut descriptor = [0; BufferDescriptor::LEN];
    socket.read_exact(&mut descriptor)?;
    let descriptor = BufferDescriptor::from_bytes(&descriptor)?;
    // SAFETY: the server keeps the weights until its workers have ended, and nothing writes them.
    let weights: Buffer<f32> = unsafe { Buffer::import(&pool, &descriptor, &stream) }?;
    let mut weighed = DevicePool::new(context)?.zeroed::<f32>(weights.len(), &stream)?;

    let (shape, count) = (LaunchConfig::cover(weights.len(), 128), weights.len() as u32);
    let mut factor = [0; 4];
    while socket.read_exact(&mut factor).is_ok() {
        let arguments = (f32::from_le_bytes(factor), &weights, &mut weighed, count);
        // SAFETY: the kernel reads as many weights and writes as many values.
        unsafe { weigh.launch(&stream, &shape, arguments) }?;
        let sum: f32 = weighed.download(&stream)?.iter().sum();
        socket.write_all(&sum.to_le_bytes())?;
    }
    Ok(())
}

//! Memory of another process: two workers read it, and one of them is killed.
//!
//! A worker is this program again, with the same arguments and so the same driver; a variable of its
//! environment tells it what it is. Its standard input is a socket.
#![expect(unsafe_code, reason = "imports memory of another process")]

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use warploom::ipc::{BufferDescriptor, PoolHandle};
use warploom::{Buffer, DeviceAttribute, DevicePool, Driver, PoolOptions, sys};

use super::{StepResult, noise};
use crate::report::{Check, Findings};

/// Set in a worker.
const WORKER: &str = "WARPLOOM_TOUR_WORKER";
const BYTES: usize = 4 << 20;
const WORKERS: usize = 2;
/// The longest that one process waits for another.
const PATIENCE: Duration = Duration::from_secs(20);

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// `true` if the first device has pools that other processes can open.
pub(super) fn are_possible(driver: &Driver) -> bool {
    let types = sys::types::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    let supported = driver.device(0).and_then(|device| device.attribute(DeviceAttribute::MempoolSupportedHandleTypes));
    supported.is_ok_and(|supported| supported.cast_unsigned() & types.0 != 0)
}

pub(super) fn visit(driver: &Driver) -> StepResult {
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    let pool = DevicePool::with(&context, PoolOptions::new().shareable())?;
    let host = noise(BYTES);
    let buffer = pool.upload(&host, &stream)?;
    stream.synchronize()?; // workers must not read before
    let descriptor = buffer.descriptor()?;

    let mut workers = (0..WORKERS).map(|_| Worker::start()).collect::<Outcome<Vec<_>>>()?;
    for worker in &mut workers {
        pool.export()?.send(&worker.socket)?;
        worker.socket.write_all(&descriptor.to_bytes())?;
    }
    let sums = workers.iter_mut().map(Worker::answer).collect::<Outcome<Vec<_>>>()?;
    let (killed, last) = (workers.remove(0).kill()?, workers.remove(0).dismiss()?);
    let checks = vec![
        Check::new("each worker has read the same bytes, without a copy", sums == [sum(&host); WORKERS]),
        Check::new("one was killed while it held the memory, the other ended by itself", killed && last),
        Check::new("the memory is as it was", buffer.download(&stream)? == host),
    ];
    Ok((Findings::Processes { workers: WORKERS, bytes: BYTES as u64, descriptor_bytes: BufferDescriptor::LEN }, checks))
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte)).sum()
}

/// A worker, as its starter sees it; killed if it is dropped.
struct Worker {
    process: Child,
    socket: UnixStream,
}

impl Worker {
    fn start() -> Outcome<Worker> {
        let (socket, end) = UnixStream::pair()?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut program = Command::new(std::env::current_exe()?);
        program.args(std::env::args_os().skip(1)).env(WORKER, "1");
        let process = program.stdin(Stdio::from(OwnedFd::from(end))).stdout(Stdio::null()).spawn()?;
        Ok(Worker { process, socket })
    }

    fn answer(&mut self) -> Outcome<u64> {
        let mut answer = [0; 8];
        self.socket.read_exact(&mut answer)?;
        Ok(u64::from_le_bytes(answer))
    }

    /// `true` if it was alive until then.
    fn kill(mut self) -> Outcome<bool> {
        let is_alive = self.process.try_wait()?.is_none();
        self.process.kill()?;
        self.process.wait()?;
        Ok(is_alive)
    }

    /// Closes the socket, upon which it ends; `true` if it ended well.
    fn dismiss(mut self) -> Outcome<bool> {
        self.socket.shutdown(std::net::Shutdown::Both)?;
        Ok(self.process.wait()?.success())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // One that has ended already cannot be killed, and need not be.
        self.process.kill().and_then(|()| self.process.wait().map(drop)).unwrap_or_default();
    }
}

/// The worker's part, if this process is one: its success.
pub(super) fn work(driver: &Driver) -> Option<Outcome> {
    std::env::var_os(WORKER).map(|_| answer(driver))
}

fn answer(driver: &Driver) -> Outcome {
    let mut socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    socket.set_read_timeout(Some(PATIENCE))?;
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    let pool = DevicePool::import(&context, PoolHandle::receive(&socket)?)?;
    let mut descriptor = [0; BufferDescriptor::LEN];
    socket.read_exact(&mut descriptor)?;
    // SAFETY: the starter keeps the buffer until its workers have ended, and nothing writes it.
    let buffer: Buffer = unsafe { Buffer::import(&pool, &BufferDescriptor::from_bytes(&descriptor)?, &stream) }?;
    socket.write_all(&sum(&buffer.download(&stream)?).to_le_bytes())?;
    // Holds the memory until the socket is closed.
    socket.read_to_end(&mut Vec::new())?;
    Ok(())
}

//! Tests with several processes: children that run a part of the test binary, and a channel to each.
//!
//! A test binary names its parts in one test, the *entry*. In the test run itself the entry does nothing; in
//! a child it runs the part that the parent asked for:
//!
//! ```text
//! #[test]
//! fn child() -> TestResult {
//!     process::run_part(&[("import", import)])           // fn import(driver: &Driver, parent: &Channel) -> TestResult
//! }
//!
//! driver_tests! {
//!     fn bytes_are_shared(driver) {
//!         let child = Child::start(driver, "child", "import")?;
//!         child.channel().send(b"hello", &[])?;
//!         child.join()?;
//!     }
//! }
//! ```
//!
//! The child uses the kind of driver that the parent's test uses: a simulated machine of the same
//! description, or the GPU. A child ends with the test: it is killed when its [`Child`] is dropped, when the
//! thread that started it ends, and after a minute. Every wait has a deadline.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::{Signal, set_parent_process_death_signal};
use warploom_driver::Driver;
use warploom_sim::Mode;
use warploom_sim::topology::Topology;

use crate::{MACHINE, TestResult, open};

/// The deadline of a message and of a child's end.
const DEADLINE: Duration = Duration::from_secs(20);
/// The longest life of a child.
const LIFE: Duration = Duration::from_secs(60);
/// The most bytes and file descriptors of a message.
const MESSAGE: usize = 64 << 10;
const FILES: usize = 4;

/// The part that a child runs, in its environment.
const PART: &str = "WARPLOOM_TEST_PART";
/// Its driver: `cuda`, or the name of a simulated machine.
const DRIVER: &str = "WARPLOOM_TEST_DRIVER";

/// A part of a test that runs in a child process.
pub type Part = fn(&Driver, &Channel) -> TestResult;

/// A connection between two processes for messages of bytes and file descriptors.
#[derive(Debug)]
pub struct Channel(OwnedFd);

impl Channel {
    /// Two connected ends.
    pub fn pair() -> TestResult<(Self, Self)> {
        let (one, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Self::new(one)?, Self::new(other)?))
    }

    fn new(socket: OwnedFd) -> TestResult<Self> {
        set_socket_timeout(&socket, Timeout::Recv, Some(DEADLINE))?;
        set_socket_timeout(&socket, Timeout::Send, Some(DEADLINE))?;
        Ok(Self(socket))
    }

    /// Sends one message, with copies of file descriptors.
    pub fn send(&self, bytes: &[u8], files: &[BorrowedFd<'_>]) -> TestResult {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() && !control.push(SendAncillaryMessage::ScmRights(files)) {
            return Err(format!("{} file descriptors; a message has at most {FILES}", files.len()).into());
        }
        // A message without bytes would look like the end of the channel.
        let kind = [IoSlice::new(&[0]), IoSlice::new(bytes)];
        sendmsg(&self.0, &kind, &mut control, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// Waits for one message and its file descriptors.
    pub fn receive(&self) -> TestResult<(Vec<u8>, Vec<OwnedFd>)> {
        let mut bytes = vec![0; MESSAGE];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let buffer = &mut [IoSliceMut::new(&mut bytes)];
        let received = recvmsg(&self.0, buffer, &mut control, RecvFlags::CMSG_CLOEXEC)?;
        if received.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
            return Err("the message is longer than the buffer for it".into());
        }
        let mut files = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                files.extend(rights);
            }
        }
        if received.bytes == 0 {
            return Err("the other process closed the channel".into());
        }
        bytes.truncate(received.bytes);
        bytes.remove(0);
        Ok((bytes, files))
    }

    /// Waits for a message of an exact length, without file descriptors.
    pub fn receive_array<const N: usize>(&self) -> TestResult<[u8; N]> {
        let (bytes, _) = self.receive()?;
        <[u8; N]>::try_from(bytes).map_err(|bytes| format!("{} bytes came, not {N}", bytes.len()).into())
    }

    /// Waits for a message with one file descriptor.
    pub fn receive_file(&self) -> TestResult<OwnedFd> {
        let (_, mut files) = self.receive()?;
        files.pop().ok_or_else(|| "the message has no file descriptor".into())
    }

    /// Tells the other process that a step is done.
    pub fn signal(&self) -> TestResult {
        self.send(&[], &[])
    }

    /// Waits until the other process has done its step.
    pub fn wait(&self) -> TestResult {
        self.receive().map(|_| ())
    }
}

/// A child process that runs a part of the test binary; killed when it is dropped.
#[derive(Debug)]
pub struct Child {
    process: std::process::Child,
    channel: Channel,
    part: String,
}

impl Child {
    /// Starts the test binary again. `entry` is the full name of the test that calls [`run_part`].
    pub fn start(driver: &Driver, entry: &str, part: &str) -> TestResult<Self> {
        let kind = if driver.is_library() { "cuda" } else { MACHINE };
        Self::start_on(kind, entry, part)
    }

    /// Starts the test binary again, on a simulated machine of a preset.
    pub fn start_on(machine: &str, entry: &str, part: &str) -> TestResult<Self> {
        let (channel, end) = Channel::pair()?;
        let process = Command::new(std::env::current_exe()?)
            .args([entry, "--exact", "--nocapture", "--test-threads=1"])
            .env(PART, part)
            .env(DRIVER, machine)
            .stdin(Stdio::from(end.0))
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Self { process, channel, part: part.to_owned() })
    }

    /// The connection to the child.
    #[must_use]
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// The number of the process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Kills the process, which has no chance to clean up, and waits for its end.
    pub fn kill(mut self) -> TestResult {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    /// Waits for the end of the part; an error unless it succeeded.
    pub fn join(mut self) -> TestResult {
        let deadline = Instant::now() + DEADLINE;
        loop {
            match self.process.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("the child's part {} failed: {status}", self.part).into()),
                None if Instant::now() > deadline => {
                    return Err(format!("the child's part {} did not end within {DEADLINE:?}", self.part).into());
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // A process that has ended cannot be killed, and need not be.
        self.process.kill().unwrap_or_default();
        let ended = self.process.wait();
        debug_assert!(ended.is_ok(), "a child can be waited for");
    }
}

/// Runs the part that the parent asked for, if this process is a child. For the entry of a test binary.
pub fn run_part(parts: &[(&str, Part)]) -> TestResult {
    let (Ok(name), Ok(machine)) = (std::env::var(PART), std::env::var(DRIVER)) else { return Ok(()) };
    set_parent_process_death_signal(Some(Signal::KILL))?;
    std::thread::spawn(|| {
        std::thread::sleep(LIFE);
        std::process::exit(124);
    });
    let part = parts.iter().find(|(known, _)| *known == name).ok_or_else(|| format!("no part {name}"))?.1;
    let channel = Channel::new(std::io::stdin().as_fd().try_clone_to_owned()?)?;
    let outcome = match machine.as_str() {
        "cuda" => {
            let driver = Driver::load()?;
            driver.initialize()?;
            part(&driver, &channel)
        }
        preset => {
            let (_machine, driver) = open(Topology::preset(preset)?, Mode::Threads)?;
            part(&driver, &channel)
        }
    };
    outcome.map_err(|error| format!("in the child's part {name}: {error}").into())
}

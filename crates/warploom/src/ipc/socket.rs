//! File descriptors in messages over Unix sockets.

use std::io::{self, IoSlice, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

use super::IpcError;
use crate::Result;

/// The file descriptors of a message that are counted; a message must have one.
const COUNTED: usize = 4;

/// Sends bytes and a file descriptor, which the process at the other end gets a duplicate of.
///
/// [`PoolHandle::send`](super::PoolHandle::send) and [`MemoryHandle::send`](super::MemoryHandle::send) do so
/// for handles; this is for descriptors of your own.
///
/// ```
/// use std::io::{Read, Seek, Write};
/// use std::os::unix::net::UnixStream;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (here, there) = UnixStream::pair()?;
/// let (mut reader, writer) = UnixStream::pair()?;
/// warploom::ipc::send_fd(&here, &writer, b"a pipe")?;
///
/// let mut name = [0; 6];
/// let fd = warploom::ipc::recv_fd(&there, &mut name)?;
/// UnixStream::from(fd).write_all(b"!")?;
/// let mut byte = [0];
/// reader.read_exact(&mut byte)?;
/// assert_eq!((&name, &byte), (b"a pipe", b"!"));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`IpcError::Empty`] without bytes, which a descriptor cannot travel without, and [`IpcError::Socket`] if
/// the other end is closed, or does not take the message within the socket's timeout.
pub fn send_fd(socket: &UnixStream, fd: impl AsFd, bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() {
        return Err(IpcError::Empty.into());
    }
    let failed = |error: &io::Error| IpcError::socket("sending a file descriptor", error);
    let fds = [fd.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&fds));
    let sent = retry(|| sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL));
    let sent = sent.map_err(|error| failed(&error))?;
    // The descriptor went with the first byte.
    let mut rest = socket;
    rest.write_all(&bytes[sent..]).map_err(|error| failed(&error))?;
    Ok(())
}

/// Receives a message of [`send_fd`]: as many bytes as there is room for, and the file descriptor, which no
/// child of this process inherits.
///
/// It waits for the message; a socket with a [timeout](UnixStream::set_read_timeout) bounds that.
///
/// # Errors
///
/// [`IpcError::Closed`] if the other process ends or closes its end before all bytes are there,
/// [`IpcError::FileDescriptors`] for a message with none or several, all of which are closed,
/// [`IpcError::Empty`] without room, and [`IpcError::Socket`], which has the kind
/// [`WouldBlock`](io::ErrorKind::WouldBlock) after a timeout. Bytes that were received are lost then.
pub fn recv_fd(socket: &UnixStream, bytes: &mut [u8]) -> Result<OwnedFd> {
    let (expected, mut received, mut found) = (bytes.len(), 0, Vec::new());
    if expected == 0 {
        return Err(IpcError::Empty.into());
    }
    while received < expected {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(COUNTED))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let room = &mut [IoSliceMut::new(&mut bytes[received..])];
        let message = retry(|| recvmsg(socket, room, &mut control, RecvFlags::CMSG_CLOEXEC))
            .map_err(|error| IpcError::socket("receiving a file descriptor", &error))?;
        for part in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = part {
                found.extend(fds);
            }
        }
        if message.flags.contains(ReturnFlags::CTRUNC) || found.len() > COUNTED {
            return Err(IpcError::FileDescriptors { found: found.len().max(COUNTED + 1) }.into());
        }
        if message.bytes == 0 {
            return Err(IpcError::Closed { received, expected }.into());
        }
        received += message.bytes;
    }
    let count = found.len();
    match (found.pop(), count) {
        (Some(fd), 1) => Ok(fd),
        (_, found) => Err(IpcError::FileDescriptors { found }.into()),
    }
}

/// Calls again when a signal came in between.
fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            answer => return Ok(answer?),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::time::Duration;

    use super::*;
    use crate::Error;

    fn error(received: Result<OwnedFd>) -> IpcError {
        match received.unwrap_err() {
            Error::Ipc(error) => error,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_message_without_a_descriptor_is_refused() {
        let (mut here, there) = UnixStream::pair().unwrap();
        here.write_all(b"bytes").unwrap();
        assert_eq!(error(recv_fd(&there, &mut [0; 5])), IpcError::FileDescriptors { found: 0 });
    }

    #[test]
    fn several_descriptors_are_refused_and_closed() {
        for count in [2, 4, 9] {
            let (here, there) = UnixStream::pair().unwrap();
            let (mut reader, writer) = UnixStream::pair().unwrap();
            reader.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            let fds = vec![writer.as_fd(); count];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(9))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
            sendmsg(&here, &[IoSlice::new(b"x")], &mut control, SendFlags::NOSIGNAL).unwrap();
            assert!(matches!(error(recv_fd(&there, &mut [0])), IpcError::FileDescriptors { found } if found > 1));
            drop((writer, here, there));
            assert_eq!(reader.read(&mut [0]).unwrap(), 0, "a descriptor of {count} is still open");
        }
    }

    #[test]
    fn a_message_in_pieces_is_put_together() {
        let (mut here, there) = UnixStream::pair().unwrap();
        send_fd(&here, &there, b"ab").unwrap();
        here.write_all(b"cd").unwrap();
        let mut bytes = [0; 4];
        recv_fd(&there, &mut bytes).unwrap();
        assert_eq!(&bytes, b"abcd");
    }

    #[test]
    fn a_peer_that_goes_or_stays_silent_is_an_error() {
        let (here, there) = UnixStream::pair().unwrap();
        there.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
        let silent = error(recv_fd(&there, &mut [0; 4]));
        assert!(matches!(silent, IpcError::Socket { kind: io::ErrorKind::WouldBlock, .. }), "{silent}");
        send_fd(&here, &there, b"ab").unwrap();
        drop(here);
        assert_eq!(error(recv_fd(&there, &mut [0; 4])), IpcError::Closed { received: 2, expected: 4 });
        assert!(matches!(send_fd(&there, &there, b"a"), Err(Error::Ipc(IpcError::Socket { .. }))));
    }
}

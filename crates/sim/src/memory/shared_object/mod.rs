//! Shared objects: memory and words that several processes see, in an unnamed file that they pass as a file
//! descriptor.
//!
//! ```text
//!   0         4096         32768                  data offset, a multiple of 2 MiB
//!   ├─ header ──┼─ order … ──┼─ words … ────────────┼─ memory … ───────────┤ length, sealed
//! ```
//!
//! The order is a journal of accesses to the memory, or an event's clock; its pages are there once a machine
//! that checks writes them.
//!
//! Processes agree on nothing but the file: there is no daemon and no name in a file system, and the kernel
//! releases the object with the last process that holds it. The length is sealed, so that the mapped pages of
//! an object exist for as long as its mapping does. The header is read once and copied, because another
//! process could change it later; words are atomic, and their readers check every value.

mod head;
mod header;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use rustix::fs::{FallocateFlags, FileType, MemfdFlags, Mode, OFlags, SealFlags};
use rustix::fs::{fallocate, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create, open};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

pub(crate) use header::{Details, Header, ProcessId, Reader, SharedDevice, SharedKind};

use self::head::Head;
use self::header::{HeaderError, LEN};
use super::BLOCK;
use super::span::{Span, SpanKind};
use crate::topology::Topology;

/// Start of the order in the file.
const ORDER: u64 = 4096;
/// Start of the words in the file.
const WORDS: u64 = 32768;
/// Number of the words of the order.
pub(crate) const ORDER_WORDS: u64 = (WORDS - ORDER) / 8;

/// A request for a new object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewObject {
    pub(crate) kind: SharedKind,
    /// Bytes of memory; none for objects that are words alone.
    pub(crate) size: u64,
    /// Number of words that processes change while they run.
    pub(crate) words: u64,
    /// Digest of the machine's description, see [`digest`].
    pub(crate) machine: u128,
    pub(crate) device: Option<SharedDevice>,
    pub(crate) details: Details,
}

/// A shared object that this process has open.
#[derive(Debug)]
pub(crate) struct SharedObject {
    file: OwnedFd,
    header: Header,
    /// The mapped header, order and words.
    head: Arc<Head>,
}

/// The reason why a file or a locator cannot be opened as a shared object.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    /// The number is no open file of this process.
    #[error("file descriptor {0} is not open")]
    NotOpen(u32),
    /// A file that no simulated machine made.
    #[error("the file is not a shared object of a simulated machine")]
    Foreign,
    /// A file of another version of the simulator.
    #[error("the shared object has layout version {0}, which this simulator does not know")]
    Version(u32),
    /// The header contradicts itself or the file.
    #[error("the header of the shared object is damaged")]
    Damaged,
    /// The length is not sealed, or not the one that the header asks for.
    #[error("the file has {have} bytes, and its header asks for {need}, sealed")]
    Length { have: u64, need: u64 },
    /// Another kind of object.
    #[error("the shared object is {found}, not {wanted}")]
    Kind { found: SharedKind, wanted: SharedKind },
    /// The machine that made the object has another description.
    #[error("the shared object belongs to a machine of another description")]
    OtherMachine,
    /// The process that had the object is gone, or has closed it.
    #[error("process {0} no longer has the shared object")]
    Gone(u32),
    /// The operating system refused.
    #[error("the operating system cannot open the shared object: {0}")]
    System(#[from] io::Error),
}

impl From<Errno> for OpenError {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

/// The place of an object: a process and its file descriptor. For handles that are bytes alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Locator {
    pub(crate) process: ProcessId,
    /// The file descriptor's number in that process.
    pub(crate) file: u32,
    /// The object's id.
    pub(crate) id: u128,
}

impl Locator {
    /// Length of an encoded locator.
    pub(crate) const LEN: usize = 32;

    pub(crate) fn encode(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..4].copy_from_slice(&self.process.pid.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.file.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.process.started.to_le_bytes());
        bytes[16..].copy_from_slice(&self.id.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; Self::LEN]) -> Self {
        let (halves, rest) = bytes.split_at(8);
        let half = |at: usize| halves[at..].first_chunk().map_or(0, |half| u32::from_le_bytes(*half));
        let started = rest.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        let id = rest.last_chunk().map_or(0, |id| u128::from_le_bytes(*id));
        Self { process: ProcessId { pid: half(0), started }, file: half(4), id }
    }
}

impl ProcessId {
    /// This process.
    pub(crate) fn own() -> io::Result<Self> {
        Self::of(std::process::id())
    }

    /// A process that is there now.
    pub(crate) fn of(pid: u32) -> io::Result<Self> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The name of the program, in parentheses, may have spaces and parentheses.
        let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
        let mut fields = fields.split_ascii_whitespace();
        // A process that has ended stays in the list until its parent has asked for its status.
        if matches!(fields.next(), Some("Z" | "X")) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let started = fields.nth(18).and_then(|field| field.parse().ok());
        Ok(Self { pid, started: started.ok_or(io::ErrorKind::InvalidData)? })
    }

    /// `true` if the process has not ended.
    pub(crate) fn is_alive(self) -> bool {
        Self::of(self.pid).is_ok_and(|found| found == self)
    }
}

/// Digest of a machine's description. Processes share memory between machines of one description.
pub(crate) fn digest(topology: &Topology) -> u128 {
    // FNV-1a of 128 bits.
    topology.to_toml().bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash: u128, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

/// The offset of the memory in the file; the length of a file without memory.
fn data_offset(header: &Header) -> u64 {
    (WORDS + header.words * 8).next_multiple_of(BLOCK)
}

fn length(header: &Header) -> u64 {
    data_offset(header) + header.size
}

impl SharedObject {
    /// A random number.
    pub(crate) fn random_number() -> io::Result<u64> {
        Ok(random::<8>().map(u64::from_le_bytes)?)
    }

    /// Makes an object whose memory and words are zeros.
    pub(crate) fn create(new: &NewObject) -> io::Result<Self> {
        let NewObject { kind, size, words, machine, device, details } = *new;
        if words > header::MOST_WORDS {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let id = random()?;
        let creator = ProcessId::own()?;
        let header = Header { kind, size, words, id: u128::from_le_bytes(id), machine, device, creator, details };
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create(c"warploom shared object", flags)?;
        ftruncate(&file, length(&header))?;
        let file = File::from(file);
        file.write_all_at(&header.encode(), 0)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok(Self { head: map_head(&file, &header)?, file: file.into(), header })
    }

    /// Opens the object behind a file descriptor that a program passed. The descriptor stays the program's.
    pub(crate) fn open(descriptor: u32, kind: SharedKind, machine: u128) -> Result<Self, OpenError> {
        let path = format!("/proc/self/fd/{descriptor}");
        let file = reopen(&path).map_err(|error| match error {
            OpenError::System(error) if error.kind() == io::ErrorKind::NotFound => OpenError::NotOpen(descriptor),
            other => other,
        })?;
        Self::check(file, kind, machine)
    }

    /// Opens an object that another process, or this one, has open.
    pub(crate) fn open_at(locator: &Locator, kind: SharedKind, machine: u128) -> Result<Self, OpenError> {
        let Locator { process, file, id } = *locator;
        let gone = || OpenError::Gone(process.pid);
        if !process.is_alive() {
            return Err(gone());
        }
        let file = reopen(&format!("/proc/{}/fd/{file}", process.pid)).map_err(|error| match error {
            // The descriptor is closed, or has become another file.
            OpenError::Foreign => gone(),
            OpenError::System(error) if error.kind() == io::ErrorKind::NotFound => gone(),
            other => other,
        })?;
        // Seen before the kind, which is another object's if the descriptor was used again.
        match read_header(&file) {
            Ok(header) if header.id == id => Self::check(file, kind, machine),
            _ => Err(gone()),
        }
    }

    fn check(file: File, wanted: SharedKind, machine: u128) -> Result<Self, OpenError> {
        let header = read_header(&file)?;
        if header.kind != wanted {
            return Err(OpenError::Kind { found: header.kind, wanted });
        }
        if header.machine != machine {
            return Err(OpenError::OtherMachine);
        }
        let is_sealed = fcntl_get_seals(&file)?.contains(SealFlags::SHRINK | SealFlags::GROW);
        let (have, need) = (u64::try_from(fstat(&file)?.st_size).unwrap_or(0), length(&header));
        if !is_sealed || have != need {
            return Err(OpenError::Length { have, need });
        }
        Ok(Self { head: map_head(&file, &header)?, file: file.into(), header })
    }

    /// A new file descriptor of the object, for the program to pass to another process.
    pub(crate) fn export(&self) -> io::Result<OwnedFd> {
        self.file.try_clone()
    }

    /// The place of the object, while this process has it open.
    pub(crate) fn locator(&self) -> io::Result<Locator> {
        let file = self.file.as_raw_fd().cast_unsigned();
        Ok(Locator { process: ProcessId::own()?, file, id: self.header.id })
    }

    /// The facts about the object.
    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// The file, for mapping its memory from [`SharedObject::data_offset`] on.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Start of the memory in the file, a multiple of 2 MiB.
    pub(crate) fn data_offset(&self) -> u64 {
        data_offset(&self.header)
    }

    /// A word that all processes with the object can read and change.
    pub(crate) fn word(&self, index: u64) -> Option<&AtomicU64> {
        if index >= self.header.words {
            return None;
        }
        self.head.words(WORDS + index * 8, 1).first()
    }

    /// Words for checks of the order between processes.
    pub(crate) fn order(&self) -> OrderWords {
        OrderWords(Arc::clone(&self.head))
    }

    /// Gives the pages of a part of the memory back to the system, for all processes; it reads as zeros.
    pub(crate) fn discard(&self, offset: u64, bytes: u64) {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let punched = fallocate(&self.file, flags, self.data_offset() + offset, bytes);
        debug_assert!(punched.is_ok(), "a file in memory can have holes");
    }

    /// Host memory that the object takes, in bytes.
    pub(crate) fn committed(&self) -> u64 {
        let blocks = fstat(&self.file).map_or(0, |file| file.st_blocks);
        u64::try_from(blocks).unwrap_or(0) * 512
    }
}

/// Words of a shared object for checks of the order between processes.
#[derive(Clone, Debug)]
pub(crate) struct OrderWords(Arc<Head>);

impl OrderWords {
    /// Words of no object, for tests.
    #[cfg(test)]
    pub(crate) fn detached() -> io::Result<Self> {
        Ok(Self(Arc::new(Head::new(Span::open(WORDS)?))))
    }

    /// All [`ORDER_WORDS`] of them.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        self.0.words(ORDER, ORDER_WORDS)
    }
}

/// Random bytes. Up to 256 are always given whole.
fn random<const LEN: usize>() -> Result<[u8; LEN], Errno> {
    let mut bytes = [0; LEN];
    getrandom(&mut bytes, GetRandomFlags::empty()).map(|_| bytes)
}

/// Maps the header, the order and the words.
fn map_head(file: &File, header: &Header) -> io::Result<Arc<Head>> {
    let len = (WORDS + header.words * 8).next_multiple_of(rustix::param::page_size() as u64);
    let span = Span::closed(len, rustix::param::page_size() as u64, SpanKind::Virtual)?;
    span.share(span.address(), len, file.as_fd(), 0, true)?;
    Ok(Arc::new(Head::new(span)))
}

/// Opens a file of a process once more, if it is a file in memory. Devices and pipes are not opened.
fn reopen(path: &str) -> Result<File, OpenError> {
    let found = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&found)?.st_mode) != FileType::RegularFile {
        return Err(OpenError::Foreign);
    }
    let path = format!("/proc/self/fd/{}", found.as_raw_fd());
    let file = open(path.as_str(), OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map_err(|error| match error {
        // A file that others may not write is no object.
        Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::TXTBSY => OpenError::Foreign,
        other => other.into(),
    })?;
    // Only files in memory have seals.
    fcntl_get_seals(&file).map_err(|_| OpenError::Foreign)?;
    Ok(file.into())
}

fn read_header(file: &File) -> Result<Header, OpenError> {
    let mut bytes = [0; LEN];
    file.read_exact_at(&mut bytes, 0).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => OpenError::Foreign,
        _ => error.into(),
    })?;
    Header::decode(&bytes).map_err(|error| match error {
        HeaderError::Foreign => OpenError::Foreign,
        HeaderError::Version(version) => OpenError::Version(version),
        HeaderError::Invalid => OpenError::Damaged,
    })
}

#[cfg(test)]
mod tests;

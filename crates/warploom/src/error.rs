//! What can go wrong: what the driver answers, and what is refused before it is asked.

use std::path::PathBuf;
use std::time::Duration;

use warploom_driver::DriverVersion;
use warploom_driver::sys::types::CUresult;

use crate::{
    AccessLayer, CaptureError, DeviceAttribute, EnableReport, Host, LaunchError, Limit, Location, PciAddress,
    PriorityRange, Uuid,
};

/// A result whose failure is an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something could not be done. A call that fails changes nothing.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The driver was asked and refused, or lacks the function.
    #[error(transparent)]
    Driver(#[from] warploom_driver::Error),

    /// NCCL could not be had, or did not do what it was asked for.
    #[cfg(feature = "nccl")]
    #[error(transparent)]
    Nccl(Box<crate::nccl::NcclError>),

    /// NVRTC could not be had, or did not compile.
    #[cfg(feature = "nvrtc")]
    #[error(transparent)]
    Nvrtc(Box<crate::program::NvrtcError>),

    /// libNVVM could not be had, or did not compile.
    #[cfg(feature = "nvrtc")]
    #[error(transparent)]
    Nvvm(Box<crate::program::NvvmError>),

    /// nvJitLink could not be had, or did not link.
    #[cfg(feature = "nvrtc")]
    #[error(transparent)]
    Link(Box<crate::program::LinkError>),

    /// There is no such device.
    #[error("device {ordinal} does not exist; the driver has {count}")]
    NoSuchDevice {
        /// The device asked for.
        ordinal: u32,
        /// How many there are.
        count: u32,
    },

    /// No device sits at this place on the bus.
    #[error("no device is at {address}")]
    NoDeviceAt {
        /// The place asked about.
        address: PciAddress,
    },

    /// No device has this UUID.
    #[error("no device has the UUID {uuid}")]
    NoDeviceWithUuid {
        /// The UUID asked about.
        uuid: Uuid,
    },

    /// The driver is older than the attribute.
    #[error("driver {driver} does not know {attribute}, which came with a newer one")]
    UnknownAttribute {
        /// The attribute asked for.
        attribute: DeviceAttribute,
        /// The driver's version.
        driver: DriverVersion,
    },

    /// A text is not what it should be.
    #[error(transparent)]
    Malformed(#[from] Malformed),

    /// A NUMA node has a number that is not negative and has 31 bits.
    #[error("{id} is no NUMA node; they are counted from 0 to {}", i32::MAX)]
    InvalidNumaId {
        /// The number.
        id: i64,
    },

    /// A driver older than 12.2 knows the host only as a whole.
    #[error("{host} needs driver 12.2; on this one, use the host as a whole")]
    NumaUnsupported {
        /// The place that cannot be named.
        host: Host,
    },

    /// The device's primary context was reset, and what belonged to it went with it.
    #[error(
        "device {device} was reset: this belongs to life {expected} of its primary context, which is now in life {found}; \
         ask the device for its context again"
    )]
    StaleContext {
        /// The device.
        device: u32,
        /// The life that the value belongs to.
        expected: u64,
        /// The life that the context is in, or will be in when it is next asked for.
        found: u64,
    },

    /// Who watches contexts reads often enough, and while their driver is there.
    #[error("changes of contexts may have been missed: they were not read in time, or the driver is gone; watch again")]
    WatchLost,

    /// The current context was made by others, who may end it.
    #[error(
        "the current context, of device {device}, is neither a primary one nor made here; vouch for it with from_raw"
    )]
    UntrackedContext {
        /// Its device.
        device: u32,
    },

    /// There is no context behind a null handle.
    #[error("a null handle is no context")]
    NullContext,

    /// The device has no such limit.
    #[error("{limit} is not a limit of device {device}")]
    UnsupportedLimit {
        /// The limit.
        limit: Limit,
        /// The device.
        device: u32,
    },

    /// A buffer has at least one byte.
    #[error("a buffer of 0 bytes cannot be allocated")]
    EmptyBuffer,

    /// No allocation has more bytes than the largest offset.
    #[error("{len} values of {element} bytes are more than an allocation can have; allocate fewer")]
    TooLarge {
        /// How many values.
        len: usize,
        /// The bytes of each.
        element: usize,
    },

    /// A part of something is inside it.
    #[error("values {start}..{end} are not inside {len}; a range ends at most there, and not before it starts")]
    OutOfRange {
        /// Where the range starts.
        start: usize,
        /// Where it ends.
        end: usize,
        /// How many values there are.
        len: usize,
    },

    /// The host uses page-locked memory only.
    #[error("the memory is not page-locked memory of the host; allocate it from PinnedMemory")]
    NotPinned,

    /// A resource with a limit hands out no more.
    #[error("{asked} bytes are more than is left: {used} of {limit} are used; free some, or raise the limit")]
    OverLimit {
        /// The bytes asked for.
        asked: usize,
        /// The bytes that were handed out.
        used: usize,
        /// The most that are handed out.
        limit: usize,
    },

    /// Not every device and driver has pools of every kind of memory.
    #[error("device {device} has no pools of {of} with this driver; allocate it without a pool")]
    PoolUnsupported {
        /// What the memory would have been.
        of: &'static str,
        /// The device.
        device: u32,
    },

    /// The driver's own pools need not be able to allocate managed memory where new ones are.
    #[error("the driver has no pool of its own for managed memory on device {device}; make one with ManagedPool::new")]
    NoManagedDefault {
        /// The device.
        device: u32,
    },

    /// Not every device has managed memory.
    #[error("device {device} has no managed memory; copy from and to page-locked memory instead")]
    ManagedUnsupported {
        /// The device.
        device: u32,
    },

    /// Not every device has virtual memory, or every kind of it.
    #[error("device {device} has no {what}; allocate it in another way")]
    VirtualUnsupported {
        /// The device.
        device: u32,
        /// What it has not.
        what: &'static str,
    },

    /// An alignment is a power of two.
    #[error("{alignment} is no power of two, and addresses are aligned to those; or to 0, for any")]
    Alignment {
        /// The alignment asked for.
        alignment: usize,
    },

    /// Memory is mapped at multiples of its granularity, and of the alignment asked for.
    #[error("nothing can be mapped at {address:#x}, which is no multiple of {multiple:#x}")]
    Misaligned {
        /// The address asked for.
        address: u64,
        /// What it should be a multiple of.
        multiple: usize,
    },

    /// A buffer that grows has no fewer values afterwards.
    #[error("a buffer of {from} values cannot grow to {to}; allocate a smaller one and copy")]
    Shrinking {
        /// How many it has.
        from: usize,
        /// How many were asked for.
        to: usize,
    },

    /// What a resource does to a buffer, it does to those that were allocated from it.
    #[error("the buffer was not allocated from this resource; ask the one that it came from")]
    OtherResource,

    /// Only managed memory is shared with the host and moves about.
    #[error(
        "{what}: {} not managed; allocate it from ManagedMemory or a ManagedPool",
        index.map_or_else(|| "the memory is".to_owned(), |index| format!("the memory of item {index} is"))
    )]
    NotManaged {
        /// What was to be done with it.
        what: &'static str,
        /// Which one of a batch, from 0 on.
        index: Option<usize>,
    },

    /// Where a device cannot work while the host uses managed memory, nothing can promise that it does not.
    #[error(
        "device {device} must not work while the host uses managed memory; copy instead, or see to it and use the unsafe form"
    )]
    HostAccessUnsupported {
        /// The device.
        device: u32,
    },

    /// Advice is about at least one byte.
    #[error("{what}: there is no advice about 0 bytes; take a range that is not empty")]
    EmptyRange {
        /// What was asked or advised.
        what: &'static str,
    },

    /// Not every kind of advice takes every kind of place.
    #[error("{advice} cannot be {}; it takes devices and the host as a whole", places(locations))]
    LocationNotAllowed {
        /// The advice.
        advice: &'static str,
        /// All that it does not take, ascending.
        locations: Vec<Location>,
    },

    /// The driver named a kind of place that is not known here.
    #[error("the driver answered with a place of kind {kind}, which is newer than this crate")]
    UnknownLocation {
        /// The driver's number for it.
        kind: u32,
    },

    /// One of several changes of advice failed.
    #[error(
        "advice about {failed} failed after that about {}, and {}: {error}", some_places(applied),
        if *undone { "everything is as it was before" } else { "not everything could be taken back" }
    )]
    PartlyAdvised {
        /// What had been changed before.
        applied: Vec<Location>,
        /// What could not be changed.
        failed: Location,
        /// Whether the changes were taken back.
        undone: bool,
        /// Why.
        error: Box<Error>,
    },

    /// A batch has at least one range.
    #[error("a batch of nothing; give it at least 1 range")]
    EmptyBatch,

    /// One place for all ranges of a batch, or one for each.
    #[error("{locations} places for {ranges} ranges; give as many, or one for all")]
    LocationCount {
        /// How many ranges.
        ranges: usize,
        /// How many places.
        locations: usize,
    },

    /// Pieces have at least one value.
    #[error("pieces of 0 values never come to an end; give them at least 1")]
    EmptyChunks,

    /// Bytes are values of another type if they are a whole number of them, aligned.
    #[error(
        "{bytes} bytes at {address:#x} are not a whole number of values of {size} bytes that are aligned to {align}"
    )]
    Cast {
        /// How many bytes there are.
        bytes: usize,
        /// Where.
        address: u64,
        /// The size of the other type.
        size: usize,
        /// Its alignment.
        align: usize,
    },

    /// The driver repeats values of 1, 2 or 4 bytes, and of others only one byte; none of them may be padding.
    #[error(
        "a value of {size} bytes cannot be repeated by the driver; only 1, 2 or 4 bytes, or bytes that are all the same, \
         without padding"
    )]
    Fill {
        /// The size of the value.
        size: usize,
    },

    /// Only memory that is freed in the order of a stream can be freed in the order of another.
    #[error("this memory is not freed in the order of a stream; only that of stream-ordered resources is")]
    NotStreamOrdered,

    /// Memory that somebody else owns did not come from a resource that could be asked for more.
    #[error("this memory did not come from a resource; allocate from one and copy")]
    NoResource,

    /// A copy fills its destination exactly.
    #[error("{source_len} values cannot be copied to {destination_len}; the lengths must be equal")]
    LengthMismatch {
        /// The values there are.
        source_len: usize,
        /// The values there is room for.
        destination_len: usize,
    },

    /// Rows do not overlap.
    #[error("rows of {width} values overlap at a pitch of {pitch}; a row is at most as wide as the pitch")]
    RowTooWide {
        /// The values of a row.
        width: usize,
        /// The values from the start of a row to the start of the next.
        pitch: usize,
    },

    /// Rows are inside of what they are rows of.
    #[error(
        "{height} rows of {width} values at a pitch of {pitch} do not fit {len} values; take fewer or shorter rows"
    )]
    RowsOutOfRange {
        /// The values from the start of a row to the start of the next.
        pitch: usize,
        /// The values of a row.
        width: usize,
        /// How many rows.
        height: usize,
        /// How many values there are.
        len: usize,
    },

    /// A copy of rows fills its destination exactly. Shapes are width and height.
    #[error(
        "rows of width and height {source_shape:?} cannot be copied to rows of {destination_shape:?}; both must be equal"
    )]
    ShapeMismatch {
        /// What there is.
        source_shape: (usize, usize),
        /// What there is room for.
        destination_shape: (usize, usize),
    },

    /// A pitch that the driver chooses is a whole number only of values whose size is a power of two.
    #[error(
        "a pitch of whole values of {element} bytes cannot be had from the driver; allocate rows of bytes, or without a pitch"
    )]
    Pitch {
        /// The size of a value.
        element: usize,
    },

    /// Each item of a batch is right, or nothing is done.
    #[error("item {index} of the batch: {error}")]
    InBatch {
        /// Which one, from 0 on.
        index: usize,
        /// What is wrong with it.
        error: Box<Error>,
    },

    /// The driver takes copies with options, and discards, on other streams only.
    #[error("the legacy default stream takes neither copies with options nor discards; use another stream")]
    LegacyStream,

    /// A copy with options cannot become part of a graph.
    #[error("the stream is being captured, and a copy with options cannot be; copy without options")]
    Capturing,

    /// Memory that comes into being in the order of a stream can only be read in the order of one.
    #[error(
        "the source was allocated in the order of a stream, and cannot be read out of order; use SourceOrder::Stream, or memory \
         that is allocated at once"
    )]
    SourceOrder,

    /// Not every driver, and none between devices, has a call that has read its source when it returns.
    #[error(
        "no call here reads a source before it returns; use SourceOrder::Stream, and wait before changing the source"
    )]
    DuringCall,

    /// A copy between devices is made by one of the two.
    #[error(
        "the stream belongs to device {stream}, the copy is from device {from} to device {to}; use a stream of the context of \
         either"
    )]
    StreamMismatch {
        /// The stream's device.
        stream: u32,
        /// The source's.
        from: u32,
        /// The destination's.
        to: u32,
    },

    /// What is read and what is written share no byte.
    #[error("{bytes} bytes from {from:#x} on overlap as many from {to:#x} on; copy through another buffer")]
    Overlap {
        /// Where the source starts.
        from: u64,
        /// Where the destination starts.
        to: u64,
        /// How long both are.
        bytes: usize,
    },

    /// A stream works on memory of its own device.
    #[error(
        "the stream belongs to device {stream}, the memory to device {memory}; use a stream of the memory's context"
    )]
    ContextMismatch {
        /// The stream's device.
        stream: u32,
        /// The memory's device.
        memory: u32,
    },

    /// A stream has one of the priorities that its context has.
    #[error("a stream cannot have priority {priority}; there are {range}")]
    PriorityOutOfRange {
        /// The priority asked for.
        priority: i32,
        /// Those there are.
        range: PriorityRange,
    },

    /// A per-thread default stream is used on the thread that asked for it.
    #[error("the per-thread default stream belongs to another thread; ask the context for this thread's")]
    OtherThread,

    /// A stream is taken over together with the context it was made in.
    #[error("the stream was not made in the given context of device {device}; give the context it was made in")]
    ForeignContext {
        /// The device of the context that was given.
        device: u32,
    },

    /// An event is recorded on streams of its own context.
    #[error("the event belongs to device {event}, the stream to device {stream}; record an event of the stream's own")]
    EventContextMismatch {
        /// The event's device.
        event: u32,
        /// The stream's device.
        stream: u32,
    },

    /// Only events of one context have a clock in common.
    #[error("the start belongs to device {start}, the end to device {end}, and their contexts have no clock in common")]
    EventsOfTwoContexts {
        /// The device of the event that was to be the start.
        start: u32,
        /// The device of the other.
        end: u32,
    },

    /// There is no time between events before both are done.
    #[error("an event is not done yet; wait for both before asking for the time between them")]
    EventNotComplete,

    /// A duration is not negative.
    #[error("the start was reached {by:?} after the end")]
    EventsReversed {
        /// How much later.
        by: Duration,
    },

    /// A host function panicked.
    #[error("a host function panicked: {message}")]
    HostFunctionPanicked {
        /// What it said.
        message: String,
    },

    /// A host function was passed over, or what it returned has been taken.
    #[error("the host function did not run; work before it may have failed")]
    HostFunctionNotRun,

    /// A kernel cannot be launched like that.
    #[error(transparent)]
    Launch(#[from] LaunchError),

    /// A capture does not allow it.
    #[error(transparent)]
    Capture(#[from] CaptureError),

    /// Code could not be loaded, and the driver's compiler has said why.
    #[error("{error}; the compiler says: {log}")]
    NotLoaded {
        /// What the driver answered.
        error: warploom_driver::Error,
        /// What its compiler said.
        log: Box<str>,
    },

    /// PTX is text, in which there is no 0.
    #[error("PTX with a 0 in it, as byte {position}; a binary is loaded by Library::from_bytes")]
    NulInText {
        /// Where.
        position: usize,
    },

    /// A binary is at least as long as it says.
    #[error("the binary has {have} bytes and says that it has {}; it is cut short, or none", some_bytes(*needed))]
    Truncated {
        /// How many there are.
        have: usize,
        /// How many there should be at least; `None` if it does not come to saying that.
        needed: Option<u64>,
    },

    /// A file could not be read.
    #[error("{} cannot be read: {why}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// What the system says.
        why: Box<str>,
    },

    /// There are five levels.
    #[error("there is no optimization level {level}; they go from 0 to 4")]
    OptimizationLevel {
        /// The level asked for.
        level: u32,
    },

    /// There is no such kernel.
    #[error("there is no kernel {name:?}; {}", some_kernels(available))]
    NoSuchKernel {
        /// The name asked for.
        name: Box<str>,
        /// Those there are, in order; none if the driver cannot say.
        available: Box<[String]>,
    },

    /// There is no such variable.
    #[error("there is no variable {name:?}, or nothing in the library uses it; the names of C++ are mangled")]
    NoSuchGlobal {
        /// The name asked for.
        name: Box<str>,
    },

    /// What belongs to different drivers cannot meet.
    #[error("one belongs to driver {one:?}, the other to {other:?}; copy through the host")]
    DriverMismatch {
        /// The description of one driver.
        one: String,
        /// The description of the other.
        other: String,
    },

    /// There are no such devices.
    #[error("{} not exist; the driver has {count}", devices(ordinals, "does", "do"))]
    NoSuchDevices {
        /// All that were asked for and are not there, ascending.
        ordinals: Vec<u32>,
        /// How many there are.
        count: u32,
    },

    /// Only devices that were asked about are in a topology.
    #[error("device {device} is not in the topology; probe with it")]
    NotInTopology {
        /// The device.
        device: u32,
    },

    /// A mesh has at most one context of each device.
    #[error("two contexts of device {device} were given; a mesh has one of each device")]
    TwoContexts {
        /// The device.
        device: u32,
    },

    /// A device takes part in a mesh with one context, and copies are between those.
    #[error("the context of device {device} is not in the mesh; enable a mesh with it")]
    ContextUnavailable {
        /// The device.
        device: u32,
    },

    /// Access is possible and has not been enabled, or is gone since a device was reset.
    #[error("device {from} has no access to memory of device {to}; {layer}")]
    PeerNotEnabled {
        /// The device that needs access.
        from: u32,
        /// The device whose memory it is.
        to: u32,
        /// Which kind of access is missing.
        layer: AccessLayer,
    },

    /// A context has access to as many others as the hardware allows.
    #[error("device {from} has too many peers to be given access to memory of device {to}; disable others first")]
    TooManyPeers {
        /// The device that needs access.
        from: u32,
        /// The device whose memory it is.
        to: u32,
    },

    /// Not every direction that is possible could be enabled, and so none was.
    #[error("{}", incomplete(report))]
    MeshIncomplete {
        /// What became of each pair.
        report: Box<EnableReport>,
    },

    /// Devices cannot be given access to another's memory: no link leads there.
    #[error(
        "{} be given access to memory of device {owner}; leave out what `Device::can_access` denies, or copy",
        devices(peers, "cannot", "cannot")
    )]
    PeerUnsupported {
        /// The device whose memory it is.
        owner: u32,
        /// All that cannot access it, ascending.
        peers: Vec<u32>,
    },
}

/// A text that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no {what}; expected {expected}")]
pub struct Malformed {
    what: &'static str,
    text: Box<str>,
    expected: &'static str,
}

impl Malformed {
    pub(crate) fn new(what: &'static str, text: &str, expected: &'static str) -> Malformed {
        Malformed { what, text: text.into(), expected }
    }
}

impl Error {
    /// The driver's status, if the driver was called at all.
    #[must_use]
    pub fn code(&self) -> Option<CUresult> {
        match self {
            Error::Driver(error) => error.code(),
            Error::PartlyAdvised { error, .. } | Error::InBatch { error, .. } => error.code(),
            Error::NotLoaded { error, .. } => error.code(),
            Error::EventNotComplete => Some(CUresult::CUDA_ERROR_NOT_READY),
            Error::TooManyPeers { .. } => Some(CUresult::CUDA_ERROR_TOO_MANY_PEERS),
            Error::MeshIncomplete { report } => report.failures().find_map(|(_, error)| error.code()),
            _ => None,
        }
    }

    /// Whether there was too little memory, or too little left of a limit.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Error::Driver(error) => error.is_out_of_memory(),
            Error::PartlyAdvised { error, .. } | Error::InBatch { error, .. } => error.is_out_of_memory(),
            Error::NotLoaded { error, .. } => error.is_out_of_memory(),
            Error::OverLimit { .. } => true,
            _ => false,
        }
    }

    /// Whether the context is lost, and the process's use of CUDA with it.
    #[must_use]
    pub fn is_context_fatal(&self) -> bool {
        match self {
            Error::Driver(error) => error.is_context_fatal(),
            Error::PartlyAdvised { error, .. } | Error::InBatch { error, .. } => error.is_context_fatal(),
            Error::NotLoaded { error, .. } => error.is_context_fatal(),
            _ => false,
        }
    }
}

/// `device 1, host`
fn places(locations: &[Location]) -> String {
    locations.iter().map(Location::to_string).collect::<Vec<_>>().join(", ")
}

/// `7 bytes`, or more than that.
fn some_bytes(count: Option<u64>) -> String {
    count.map_or_else(|| "more than there can be".to_owned(), |count| count.to_string())
}

/// The kernels that there are.
fn some_kernels(names: &[String]) -> String {
    if names.is_empty() {
        return "the library has none, or the driver does not say".to_owned();
    }
    format!("there are {}", names.join(", "))
}

/// As `places`, or that there is none.
fn some_places(locations: &[Location]) -> String {
    if locations.is_empty() { "nothing".to_owned() } else { places(locations) }
}

/// How many pairs failed, and the first of them.
fn incomplete(report: &EnableReport) -> String {
    let failed = report.failures().count();
    let first = report.failures().next();
    let first = first.map(|(pair, error)| format!("; {} to {}: {error}", pair.accessor, pair.owner));
    format!("{failed} of {} pairs of devices could not be enabled{}", report.pairs().len(), first.unwrap_or_default())
}

/// `device 1 does` or `devices 1, 2 do`.
fn devices(ordinals: &[u32], one: &str, many: &str) -> String {
    match ordinals {
        [ordinal] => format!("device {ordinal} {one}"),
        _ => {
            let list: Vec<_> = ordinals.iter().map(u32::to_string).collect();
            format!("devices {} {many}", list.join(", "))
        }
    }
}

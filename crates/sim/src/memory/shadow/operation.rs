//! Operations on memory, as reports describe them: call, kind of access, stream and backtrace.

use serde::Serialize;
use warploom_sys::Function;

/// A driver call, or an access of the host's, as part of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Operation {
    /// The process that made the call, if it is another one; `call` counts its calls then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// The number of the call among the machine's calls, from 1; the same program makes the same numbers.
    pub call: Option<u64>,
    /// The function; none for an access by the host itself. A block that a program hands out itself, by
    /// memory annotations, is allocated and freed by `cuGetExportTable`, which found them.
    #[serde(serialize_with = "as_optional_name")]
    pub function: Option<Function>,
    /// Its kind of access.
    pub access: AccessKind,
    /// The stream it is on; none for an access by the host itself.
    pub stream: Option<StreamInfo>,
    /// The node of a graph that does it, if the call launched one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<GraphNode>,
    /// The backtrace, innermost first, without the simulator's own frames; empty if it was not asked for.
    pub backtrace: Vec<Frame>,
}

/// A node of a graph, as part of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GraphNode {
    /// The number of the graph that `cuGraphGetId` shows.
    pub graph: u32,
    /// The node's number in its graph, counted from 0 in the order of additions.
    pub node: u32,
    /// The kind of node, in words.
    pub kind: &'static str,
    /// The number of the call that added it.
    pub added: u64,
    /// The function that added it.
    #[serde(serialize_with = "as_name")]
    pub function: Function,
    /// The backtrace of that call, innermost first; empty if it was not asked for.
    pub backtrace: Vec<Frame>,
}

/// A stream, as part of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StreamInfo {
    /// The number that `cuStreamGetId` shows.
    pub id: u64,
    /// The kind of the stream.
    pub kind: StreamKind,
    /// Its device.
    pub device: u16,
}

/// A kind of stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StreamKind {
    /// Made by the program.
    Created,
    /// Made by the program with `CU_STREAM_NON_BLOCKING`.
    NonBlocking,
    /// The default stream of a context.
    LegacyDefault,
    /// The default stream of a thread.
    PerThreadDefault,
}

/// A piece of memory, as part of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AllocationInfo {
    /// First address.
    pub address: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// The number that `CU_POINTER_ATTRIBUTE_BUFFER_ID` shows; never reused.
    pub id: u64,
    /// Its device's ordinal; `None` on the host.
    pub device: Option<u16>,
    /// The call that made it.
    pub made: Operation,
}

/// A line of a backtrace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Frame {
    /// The function.
    pub function: String,
    /// Its source file.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u32>,
}

/// The kind of access that an operation makes to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AccessKind {
    /// Reads it.
    Read,
    /// Writes it.
    Write,
    /// Waits for a value in it.
    WaitValue,
    /// Writes a value that others may wait for.
    WriteValue,
    /// Makes it.
    Allocate,
    /// Frees it.
    Free,
    /// Asks for its pages to be elsewhere.
    Prefetch,
    /// Gives up its contents.
    Discard,
    /// Nothing: the call is about a handle.
    Use,
}

fn as_name<S: serde::Serializer>(function: &Function, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(function.name())
}

fn as_optional_name<S: serde::Serializer>(function: &Option<Function>, serializer: S) -> Result<S::Ok, S::Error> {
    match function {
        Some(function) => serializer.serialize_some(function.name()),
        None => serializer.serialize_none(),
    }
}

//! Objects behind handles, and problems of a handle that a call cannot use.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

use crate::ffi::handle::Kind;

/// A kind of object that has handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ObjectKind {
    /// `CUcontext`.
    Context,
    /// `CUstream`.
    Stream,
    /// `CUevent`.
    Event,
    /// `CUmemoryPool`.
    Pool,
    /// `CUmemGenericAllocationHandle`.
    Physical,
    /// `CUmodule`.
    Module,
    /// `CUfunction`.
    Function,
    /// `CUlibrary`.
    Library,
    /// `CUkernel`.
    Kernel,
    /// `CUgraph`.
    Graph,
    /// `CUgraphNode`.
    Node,
    /// `CUgraphExec`.
    Executable,
    /// `CUlinkState`.
    Link,
    /// `CUuserObject`.
    UserObject,
    /// `CUgraphConditionalHandle`.
    Condition,
}

/// The problem with a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HandleProblem {
    /// It is null.
    Null,
    /// It is not a handle of this driver.
    Foreign,
    /// It is of another machine.
    OtherMachine,
    /// It is of another kind.
    OtherKind(ObjectKind),
    /// Its context has been destroyed, and it with it.
    Orphaned,
    /// It has been destroyed.
    Destroyed,
    /// Nothing ever had it.
    Unknown,
    /// It is a user object of which the program or a graph has fewer references than the call releases or moves.
    NotRetained,
}

impl From<Kind> for ObjectKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Context => ObjectKind::Context,
            Kind::Stream => ObjectKind::Stream,
            Kind::Event => ObjectKind::Event,
            Kind::Pool => ObjectKind::Pool,
            Kind::Physical => ObjectKind::Physical,
            Kind::Module => ObjectKind::Module,
            Kind::Function => ObjectKind::Function,
            Kind::Library => ObjectKind::Library,
            Kind::Kernel => ObjectKind::Kernel,
            Kind::Graph => ObjectKind::Graph,
            Kind::Node => ObjectKind::Node,
            Kind::Executable => ObjectKind::Executable,
            Kind::Link => ObjectKind::Link,
            Kind::UserObject => ObjectKind::UserObject,
            Kind::Condition => ObjectKind::Condition,
        }
    }
}

impl Display for ObjectKind {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            ObjectKind::Context => "context",
            ObjectKind::Stream => "stream",
            ObjectKind::Event => "event",
            ObjectKind::Pool => "memory pool",
            ObjectKind::Physical => "physical allocation",
            ObjectKind::Module => "module",
            ObjectKind::Function => "function",
            ObjectKind::Library => "library",
            ObjectKind::Kernel => "kernel",
            ObjectKind::Graph => "graph",
            ObjectKind::Node => "graph node",
            ObjectKind::Executable => "executable graph",
            ObjectKind::Link => "linker",
            ObjectKind::UserObject => "user object",
            ObjectKind::Condition => "condition",
        })
    }
}

impl ObjectKind {
    pub(super) fn article(self) -> &'static str {
        if matches!(self, ObjectKind::Event | ObjectKind::Executable) { "an" } else { "a" }
    }
}

impl Display for HandleProblem {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            HandleProblem::Null => formatter.write_str("is null"),
            HandleProblem::Foreign => formatter.write_str("is no handle of this driver"),
            HandleProblem::OtherMachine => formatter.write_str("belongs to another machine"),
            HandleProblem::OtherKind(kind) => write!(formatter, "is {} {kind}", kind.article()),
            HandleProblem::Orphaned => formatter.write_str("went with its context, which has been destroyed"),
            HandleProblem::Destroyed => formatter.write_str("has been destroyed"),
            HandleProblem::Unknown => formatter.write_str("was never handed out"),
            HandleProblem::NotRetained => formatter.write_str("is released more often than it is retained"),
        }
    }
}

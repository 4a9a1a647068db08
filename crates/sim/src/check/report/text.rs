//! Findings as text.

use std::fmt::{self, Display, Formatter};

use warploom_sys::Function;

use super::finding::{Finding, FindingKind, LeakOwner, Leaked, MissingWait};
use super::kernels::RacedMemory;
use crate::memory::shadow::{AccessKind, AllocationInfo, Frame, GraphNode, Operation, StreamInfo, StreamKind};

impl Display for StreamInfo {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { id, kind, device } = self;
        match kind {
            StreamKind::Created | StreamKind::NonBlocking => write!(formatter, "stream {id} of device {device}"),
            StreamKind::LegacyDefault => write!(formatter, "the default stream of device {device}"),
            StreamKind::PerThreadDefault => {
                write!(formatter, "a per-thread default stream (id {id}) of device {device}")
            }
        }
    }
}

/// The call alone, as a reader finds it in the source.
struct Named<'a>(&'a Operation);

impl Display for Named<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match (self.0.function, self.0.call) {
            (Some(function), Some(call)) if let Some(process) = self.0.process => {
                write!(formatter, "{} of process {process} (call {call} there)", function.name())
            }
            (Some(Function::cuGetExportTable), Some(call)) => {
                write!(formatter, "the program's own allocator (call {call})")
            }
            (Some(function), Some(call)) => match &self.0.node {
                Some(node) => write!(formatter, "{node} in {} (call {call})", function.name()),
                None => write!(formatter, "{} (call {call})", function.name()),
            },
            _ => formatter.write_str("the host's own access"),
        }
    }
}

impl Display for GraphNode {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { graph, node, kind, added, function, .. } = self;
        write!(formatter, "{kind} node {node} of graph {graph}, added by {} (call {added}),", function.name())
    }
}

impl Display for Operation {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", Named(self))?;
        match &self.stream {
            Some(stream) => write!(formatter, " on {stream}"),
            None => Ok(()),
        }
    }
}

impl Display for AccessKind {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            AccessKind::Read => "reads",
            AccessKind::Write => "writes",
            AccessKind::WaitValue => "waits for a value in",
            AccessKind::WriteValue => "writes a value to",
            AccessKind::Allocate => "allocates",
            AccessKind::Free => "frees",
            AccessKind::Prefetch => "prefetches",
            AccessKind::Discard => "discards",
            AccessKind::Use => "uses",
        })
    }
}

impl Display for AllocationInfo {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { address, bytes, device, made, .. } = self;
        write!(formatter, "the {bytes} bytes at {address:#x}")?;
        match device {
            Some(device) => write!(formatter, " on device {device}")?,
            None => formatter.write_str(" on the host")?,
        }
        write!(formatter, ", {} by {made}", origin(made, "allocated"))
    }
}

/// The participle for the call that made something: memory and objects of other processes are imported.
fn origin(made: &Operation, own: &'static str) -> &'static str {
    match made.function {
        Some(
            Function::cuMemPoolImportPointer
            | Function::cuMemPoolImportFromShareableHandle
            | Function::cuMemImportFromShareableHandle
            | Function::cuIpcOpenMemHandle
            | Function::cuIpcOpenMemHandle_v2
            | Function::cuIpcOpenEventHandle,
        ) => "imported",
        _ => own,
    }
}

const BETWEEN_THREADS: &str = "between threads, say so with Machine::hand_over and Machine::take_over";

/// Advice about two operations without an order: the calls that are needed between both.
struct Advice<'a> {
    missing: &'a MissingWait,
    first: &'a Operation,
    second: &'a Operation,
}

impl Advice<'_> {
    /// `true` if both operations are nodes of the same graph, and not of one inside it.
    fn is_in_one_graph(&self) -> bool {
        let graph = |operation: &Operation| operation.node.as_ref().map(|node| node.graph);
        graph(self.first) == graph(self.second)
    }
}

impl Display for Advice<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let (before, after) = (Named(self.first), Named(self.second));
        match self.missing {
            MissingWait::StreamAfterStream { first, second } => write!(
                formatter,
                "record an event on {first} after {before} and make {second} wait for it (cuStreamWaitEvent) before {after}, \
                 or synchronise with {first} in between"
            ),
            MissingWait::HostAfterStream { first } => write!(
                formatter,
                "wait for {first} on the host (cuStreamSynchronize, or an event recorded after {before}) before {after}"
            ),
            MissingWait::StreamAfterHost { second } => {
                write!(formatter, "end the host's access before {after} is enqueued on {second}; {BETWEEN_THREADS}")
            }
            MissingWait::ProcessAfterProcess { first } => write!(
                formatter,
                "let process {first} wait for {before} on its host before it tells this process, or record an interprocess \
                 event after it (CU_EVENT_INTERPROCESS, cuIpcGetEventHandle) and wait for that event before {after}"
            ),
            MissingWait::SeparateCalls => {
                let what = match self.second.access {
                    AccessKind::Prefetch | AccessKind::Discard => "ranges",
                    _ => "copies",
                };
                write!(formatter, "the {what} of a batch have no order: put these two into calls of their own")
            }
            MissingWait::GraphEdge { .. } if !self.is_in_one_graph() => formatter.write_str(
                "nothing orders these nodes: add an edge between them, or the child graph and conditional nodes that they \
                 are in, in the graph around both (cuGraphAddDependencies), or a path between those",
            ),
            MissingWait::GraphEdge { from, to } => write!(
                formatter,
                "nothing orders these nodes of the graph: add an edge from node {from} to node {to} \
                 (cuGraphAddDependencies), or a path between them"
            ),
            MissingWait::HostAfterHost => match (self.first.function, self.second.function) {
                (None, None) => write!(formatter, "order the two accesses; {BETWEEN_THREADS}"),
                _ => write!(formatter, "let {before} be over before {after}; {BETWEEN_THREADS}"),
            },
        }
    }
}

impl Display for Finding {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.kind)?;
        for (name, operation) in self.kind.operations() {
            if !operation.backtrace.is_empty() {
                write!(formatter, "\n  {name}, {}:", Named(operation))?;
            }
            for Frame { function, file, line } in &operation.backtrace {
                write!(formatter, "\n    {function}")?;
                if let Some(file) = file {
                    write!(formatter, " at {file}")?;
                    line.iter().try_for_each(|line| write!(formatter, ":{line}"))?;
                }
            }
        }
        Ok(())
    }
}

impl FindingKind {
    /// Every operation that takes part, with its part.
    pub(crate) fn operations(&self) -> Vec<(&'static str, &Operation)> {
        match self {
            FindingKind::Race { first, second, allocation, .. } => {
                vec![("first", first), ("second", second), ("allocated", &allocation.made)]
            }
            FindingKind::UseAfterFree { user, free, allocation, .. } => {
                vec![("used", user), ("freed", free), ("allocated", &allocation.made)]
            }
            FindingKind::DoubleFree { first, second, allocation } => {
                vec![("freed again", second), ("freed first", first), ("allocated", &allocation.made)]
            }
            FindingKind::WrongFree { free, allocation, .. } => {
                vec![("freed", free), ("allocated", &allocation.made)]
            }
            FindingKind::UseBeforeAllocation { user, allocation, .. }
            | FindingKind::OutOfBounds { user, allocation, .. }
            | FindingKind::UninitialisedRead { user, allocation, .. } => {
                vec![("used", user), ("allocated", &allocation.made)]
            }
            FindingKind::InvalidFree { free, .. } => vec![("freed", free)],
            FindingKind::WildPointer { user, .. } => vec![("used", user)],
            FindingKind::GraphRace { first, second, .. } => vec![("first", first), ("second", second)],
            FindingKind::HandleMisuse { user, destroyed, .. } => {
                std::iter::once(("used", user)).chain(destroyed.iter().map(|call| ("destroyed", call))).collect()
            }
            FindingKind::KernelFault { user, fault } => {
                let near = fault.near.iter().map(|allocation| ("allocated", &allocation.made));
                let freed = fault.freed.iter().map(|call| ("freed", call));
                std::iter::once(("launched", user)).chain(freed).chain(near).collect()
            }
            FindingKind::KernelRace { user, race } => {
                let allocated = match &race.memory {
                    RacedMemory::Allocation(allocation) => Some(("allocated", &allocation.made)),
                    _ => None,
                };
                std::iter::once(("launched", user)).chain(allocated).collect()
            }
            FindingKind::UnfinishedCopy { user, copy } => {
                let allocated = match &copy.memory {
                    RacedMemory::Allocation(allocation) => Some(("allocated", &allocation.made)),
                    _ => None,
                };
                std::iter::once(("launched", user)).chain(allocated).collect()
            }
            FindingKind::UninitialisedShared { user, .. }
            | FindingKind::AbsentBlock { user, .. }
            | FindingKind::HeapMisuse { user, .. }
            | FindingKind::BarrierDivergence { user, .. } => vec![("launched", user)],
            FindingKind::Leak { made, .. } => vec![("made", made)],
        }
    }
}

impl Display for FindingKind {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            FindingKind::Race { first, second, allocation, bytes, missing } => write!(
                formatter,
                "race: {second} {} bytes {bytes:?} of {allocation}, and nothing orders that behind {first}, which {} them\n  \
                 missing: {}",
                second.access,
                first.access,
                Advice { missing, first, second }
            ),
            FindingKind::UseAfterFree { user, free, allocation, bytes, missing: Some(missing) } => write!(
                formatter,
                "use after free: {user} {} bytes {bytes:?} of {allocation}, and nothing orders that before {free}, which \
                 frees them\n  missing: {}",
                user.access,
                Advice { missing, first: user, second: free }
            ),
            FindingKind::UseAfterFree { user, free, allocation, bytes, missing: None } => write!(
                formatter,
                "use after free: {user} {} bytes {bytes:?} of {allocation}, which {free} has freed",
                user.access
            ),
            FindingKind::UseBeforeAllocation { user, allocation, bytes, missing } => write!(
                formatter,
                "use before allocation: {user} {} bytes {bytes:?} of {allocation}, and nothing orders that behind the \
                 allocation\n  missing: {}",
                user.access,
                Advice { missing, first: &allocation.made, second: user }
            ),
            FindingKind::DoubleFree { second, first, allocation } => {
                write!(formatter, "double free: {second} frees {allocation}, which {first} has freed already")
            }
            FindingKind::WrongFree { free, allocation, right } => {
                write!(formatter, "wrong free: {free} is given {allocation}; {} frees these", right.name())
            }
            FindingKind::InvalidFree { free, address, inside: Some(allocation) } => write!(
                formatter,
                "invalid free: {free} is given {address:#x}, which is {} bytes into {allocation}",
                address - allocation.address
            ),
            FindingKind::InvalidFree { free, address, inside: None } => {
                write!(formatter, "invalid free: {free} is given {address:#x}, where nothing is allocated")
            }
            FindingKind::OutOfBounds { user, allocation, wanted, outside } => write!(
                formatter,
                "out of bounds: {user} {} bytes {wanted:?} of {allocation}; {outside} of them {} outside",
                user.access,
                if *outside == 1 { "is" } else { "are" }
            ),
            FindingKind::WildPointer { user, address, bytes } => write!(
                formatter,
                "wild pointer: {user} {} {bytes} bytes at {address:#x}, where nothing is allocated",
                user.access
            ),
            FindingKind::KernelFault { user, fault } => write!(formatter, "kernel fault: {user} launched {fault}"),
            FindingKind::KernelRace { user, race } => write!(formatter, "race in a kernel: {user} launched {race}"),
            FindingKind::UninitialisedShared { user, read } => {
                write!(formatter, "uninitialised read in a kernel: {user} launched {read}")
            }
            FindingKind::UnfinishedCopy { user, copy } => write!(formatter, "unfinished copy: {user} launched {copy}"),
            FindingKind::HeapMisuse { user, misuse } => write!(formatter, "misused heap: {user} launched {misuse}"),
            FindingKind::AbsentBlock { user, visit } => write!(formatter, "absent block: {user} launched {visit}"),
            FindingKind::BarrierDivergence { user, barrier } => {
                write!(formatter, "divergent barrier: {user} launched {barrier}")
            }
            FindingKind::UninitialisedRead { user, allocation, bytes, total, discarded } => write!(
                formatter,
                "uninitialised read: {user} {} bytes {bytes:?} of {allocation}, which {} ({total} bytes in all)",
                user.access,
                if *discarded { "were discarded and not written since" } else { "are uninitialised" }
            ),
            FindingKind::GraphRace { graph, first, second } => write!(
                formatter,
                "graph race: {second} uses graph {graph}, and nothing orders that behind {first} of another thread, which \
                 changes it\n  missing: let one thread at a time use a graph; {BETWEEN_THREADS}"
            ),
            FindingKind::HandleMisuse { user, handle, wanted, problem, destroyed } => {
                let article = wanted.article();
                write!(formatter, "handle misuse: {user} needs {article} {wanted}; {handle:#x} {problem}")?;
                destroyed.iter().try_for_each(|call| write!(formatter, " by {call}"))
            }
            FindingKind::Leak { what, made, end } => {
                let end = match (end, what) {
                    (LeakOwner::Context, Leaked::Memory(_)) => "their context was destroyed",
                    (LeakOwner::Context, _) => "its context was destroyed",
                    (LeakOwner::Machine, _) => "the machine ended",
                };
                match what {
                    Leaked::Memory(allocation) => write!(formatter, "leak: {allocation}, were not freed when {end}"),
                    Leaked::Object { kind, handle } => {
                        let origin = origin(made, "made");
                        write!(formatter, "leak: {kind} {handle:#x}, {origin} by {made}, was not destroyed when {end}")
                    }
                    Leaked::Reservation { address, bytes } => write!(
                        formatter,
                        "leak: {bytes} reserved bytes of address space at {address:#x}, made by {made}, were not freed when \
                         {end}"
                    ),
                }
            }
        }
    }
}

//! Ops of streams in virtual time, as columns.

use serde::{Deserialize, Serialize};

use crate::delta;

/// The kind of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpKind {
    /// A kernel ran. The subject is its index in [`Record::kernels`](crate::Record::kernels), the amount its
    /// index in [`Record::shapes`](crate::Record::shapes).
    Kernel,
    /// Bytes were copied. The subject is an index in [`Record::ways`](crate::Record::ways), the amount the
    /// number of bytes; so it is of a fill, a prefetch and a discard.
    Copy,
    /// A value was repeated over memory.
    Fill,
    /// Managed pages were prefetched.
    Prefetch,
    /// The contents of managed pages were discarded.
    Discard,
    /// A graph was launched; its nodes are ops of the same call. The subject is the number of the executable
    /// graph, the amount the number of its nodes.
    Graph,
    /// A host function ran.
    HostFunction,
    /// An event was recorded. The subject is the number of the event, the amount that of the record.
    Record,
    /// A stream waited for an event; subject and amount as of a record.
    Wait,
    /// A word was written by a stream memory operation.
    WriteValue,
    /// A stream waited for a word.
    WaitValue,
    /// Other work.
    Other,
}

impl OpKind {
    /// Every kind.
    pub const ALL: &'static [OpKind] = &[
        Self::Kernel,
        Self::Copy,
        Self::Fill,
        Self::Prefetch,
        Self::Discard,
        Self::Graph,
        Self::HostFunction,
        Self::Record,
        Self::Wait,
        Self::WriteValue,
        Self::WaitValue,
        Self::Other,
    ];

    /// The letter that stands for it in a column.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::Kernel => 'k',
            Self::Copy => 'c',
            Self::Fill => 'f',
            Self::Prefetch => 'p',
            Self::Discard => 'd',
            Self::Graph => 'g',
            Self::HostFunction => 'h',
            Self::Record => 'r',
            Self::Wait => 'w',
            Self::WriteValue => 'v',
            Self::WaitValue => 'x',
            Self::Other => 'o',
        }
    }

    /// The kind that a letter stands for.
    #[must_use]
    pub fn by_letter(letter: char) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.letter() == letter)
    }
}

/// One op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// Its kind.
    pub kind: OpKind,
    /// Its start, in nanoseconds of virtual time.
    pub start_ns: u64,
    /// Its duration.
    pub time_ns: u64,
    /// Its stream, as an index in [`Record::streams`](crate::Record::streams).
    pub stream: u32,
    /// The number of the call that enqueued it, as in [`Call::number`](crate::Call::number); 0 if unknown.
    pub call: u64,
    /// The kernel, way, graph or event; see [`OpKind`].
    pub subject: u64,
    /// Bytes, nodes, or the number of a record; see [`OpKind`].
    pub amount: u64,
}

/// Ops, one column for each of their fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ops {
    /// A letter for each op.
    pub(crate) kind: String,
    #[serde(with = "delta")]
    pub(crate) start: Vec<u64>,
    pub(crate) time: Vec<u64>,
    pub(crate) stream: Vec<u32>,
    #[serde(with = "delta")]
    pub(crate) call: Vec<u64>,
    pub(crate) subject: Vec<u64>,
    pub(crate) amount: Vec<u64>,
}

impl Ops {
    /// Adds an op; they come in the order of their starts.
    pub fn push(&mut self, op: Op) {
        let Op { kind, start_ns, time_ns, stream, call, subject, amount } = op;
        self.kind.push(kind.letter());
        self.start.push(start_ns);
        self.time.push(time_ns);
        self.stream.push(stream);
        self.call.push(call);
        self.subject.push(subject);
        self.amount.push(amount);
    }

    /// Number of ops.
    #[must_use]
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// `true` if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// The ops, one by one.
    pub fn iter(&self) -> impl Iterator<Item = Op> + '_ {
        let kinds = self.kind.chars().map(|letter| OpKind::by_letter(letter).unwrap_or(OpKind::Other));
        kinds.enumerate().take(self.len()).map(|(index, kind)| Op {
            kind,
            start_ns: self.start[index],
            time_ns: self.time[index],
            stream: self.stream[index],
            call: self.call[index],
            subject: self.subject[index],
            amount: self.amount[index],
        })
    }
}

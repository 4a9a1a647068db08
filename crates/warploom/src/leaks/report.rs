//! Leak reports and their text.

use std::backtrace::Backtrace;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Kinds of objects in a leak report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A context that was created, or a reference to a primary one.
    Context,
    /// A pool that was made, not a device's own.
    Pool,
    /// A stream that was made, not a default one.
    Stream,
    /// An event.
    Event,
    /// A library of code, which belongs to no device.
    Library,
    /// A graph: the definition.
    Graph,
    /// A graph that can be launched.
    GraphExec,
    /// Memory.
    Memory {
        /// Its resource: [`StreamOrdered::name`](crate::StreamOrdered::name) or
        /// [`Synchronous::name`](crate::Synchronous::name).
        resource: &'static str,
    },
}

impl Kind {
    /// `true` if it is memory, of any resource.
    #[must_use]
    pub fn is_memory(self) -> bool {
        matches!(self, Kind::Memory { .. })
    }
}

impl fmt::Display for Kind {
    /// `memory of DevicePool`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Kind::Context => "context",
            Kind::Pool => "pool",
            Kind::Stream => "stream",
            Kind::Event => "event",
            Kind::Library => "library",
            Kind::Graph => "graph",
            Kind::GraphExec => "executable graph",
            Kind::Memory { resource } => return formatter.pad(&format!("memory of {resource}")),
        };
        formatter.pad(text)
    }
}

/// One thing that is alive.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Alive {
    /// Its kind.
    pub kind: Kind,
    /// The ordinal of the device of its context; `None` if it belongs to none.
    pub device: Option<u32>,
    /// The driver's handle as a number; of memory, the address.
    pub handle: u64,
    /// The number of bytes; 0 unless it is memory.
    pub bytes: usize,
    /// The backtrace of its creation, if that is tracked.
    pub made: Option<Arc<Backtrace>>,
}

impl fmt::Display for Alive {
    /// `memory of DevicePool at 0x7f0000000000 of device 0, 1024 bytes`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Alive { kind, device, handle, bytes, .. } = self;
        write!(formatter, "{kind} at {handle:#x}")?;
        if let Some(device) = device {
            write!(formatter, " of device {device}")?;
        }
        if kind.is_memory() { write!(formatter, ", {bytes} bytes") } else { Ok(()) }
    }
}

/// The number of live objects of one kind on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Total {
    /// Their kind.
    pub kind: Kind,
    /// The ordinal of the device; `None` if it belongs to none.
    pub device: Option<u32>,
    /// The number of objects.
    pub count: usize,
    /// Their bytes together.
    pub bytes: usize,
}

/// The objects that were alive at one moment.
///
/// Printed, it is a table of [`Report::totals`]; with `{:#}` and if backtraces are tracked, the backtrace of
/// each made follows.
#[derive(Clone, Debug, Default)]
pub struct Report {
    alive: Vec<Alive>,
}

impl Report {
    pub(super) fn new(alive: Vec<Alive>) -> Report {
        Report { alive }
    }

    /// `true` if nothing was alive.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.alive.is_empty()
    }

    /// The number of live objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.alive.len()
    }

    /// Each of them, in the order in which they were made.
    #[must_use]
    pub fn alive(&self) -> &[Alive] {
        &self.alive
    }

    /// The number of live objects of some kinds.
    #[must_use]
    pub fn count(&self, is_counted: impl Fn(Kind) -> bool) -> usize {
        self.alive.iter().filter(|alive| is_counted(alive.kind)).count()
    }

    /// The bytes of all memory that was alive.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.alive.iter().map(|alive| alive.bytes).sum()
    }

    /// By kind and device.
    #[must_use]
    pub fn totals(&self) -> Vec<Total> {
        let mut totals = BTreeMap::<(Kind, Option<u32>), (usize, usize)>::new();
        for &Alive { kind, device, bytes, .. } in &self.alive {
            let (count, sum) = totals.entry((kind, device)).or_default();
            *count += 1;
            *sum += bytes;
        }
        totals.into_iter().map(|((kind, device), (count, bytes))| Total { kind, device, count, bytes }).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.len() {
            0 => return formatter.write_str("nothing is alive"),
            1 => writeln!(formatter, "1 thing is alive")?,
            count => writeln!(formatter, "{count} things are alive")?,
        }
        let totals = self.totals();
        let bytes = |total: &Total| if total.kind.is_memory() { total.bytes.to_string() } else { "-".to_owned() };
        let what = totals.iter().map(|total| total.kind.to_string().len()).max().unwrap_or_default();
        let wide = totals.iter().map(|total| bytes(total).len()).max().unwrap_or_default().max("bytes".len());
        write!(formatter, "{:what$}  device  count  {:>wide$}", "what", "bytes")?;
        for total in &totals {
            let Total { kind, device, count, .. } = total;
            let device = device.map_or_else(|| "-".to_owned(), |device| device.to_string());
            write!(formatter, "\n{kind:what$}  {device:>6}  {count:>5}  {:>wide$}", bytes(total))?;
        }
        if formatter.alternate() {
            for alive in &self.alive {
                let Some(made) = &alive.made else { continue };
                write!(formatter, "\n\n{alive}, made by\n{made}")?;
            }
        }
        Ok(())
    }
}

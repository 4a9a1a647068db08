//! Tickets: completion of a copy between devices.

use std::sync::OnceLock;

use crate::{Completion, Event, Queue, Result, Stream};

/// A copy that was enqueued, and may be asked about, waited for or awaited, or dropped: it is made all the
/// same, and its memory stays until it is done.
///
/// Nothing is recorded before that is asked for, so that an unused ticket costs nothing. The recorded point
/// is the end of the stream's work at that moment: if more was enqueued meanwhile, that is waited for, too.
/// [`Ticket::mark`] records at once.
///
/// ```
/// use warploom::{DeviceMemory, Driver, Mesh, SynchronousResource, Topology};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("pcie-pair")?)?;
/// let contexts = [driver.device(0)?.context()?, driver.device(1)?.context()?];
/// let (mesh, _) = Mesh::enable(&Topology::probe(&driver.devices()?)?, &contexts)?;
/// let stream = contexts[1].stream()?;
/// let source = DeviceMemory::new(&contexts[0]).upload(b"over there", &contexts[0].stream()?)?;
/// let mut arrived = DeviceMemory::new(&contexts[1]).allocate(source.len())?;
///
/// let ticket = mesh.copy(&source, &mut arrived, &stream)?;
/// ticket.hold_back(&contexts[1].stream()?)?; // another stream waits
/// ticket.synchronize()?; // the host waits; a task would say `ticket.await`
/// assert!(ticket.is_complete()?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Ticket<'q> {
    stream: &'q Stream,
    /// Once it was asked for.
    point: OnceLock<Event>,
}

impl<'q> Ticket<'q> {
    #[inline]
    pub(super) fn after(stream: &'q Stream) -> Ticket<'q> {
        Ticket { stream, point: OnceLock::new() }
    }

    /// The event after which the copy is done, recorded when this is first asked for. One driver call then,
    /// and none later.
    ///
    /// # Errors
    ///
    /// The driver's error.
    pub fn event(&self) -> Result<&Event> {
        if let Some(point) = self.point.get() {
            return Ok(point);
        }
        let point = self.stream.record()?;
        Ok(self.point.get_or_init(|| point))
    }

    /// The event alone, which needs no stream.
    ///
    /// # Errors
    ///
    /// As [`Ticket::event`].
    pub fn into_event(self) -> Result<Event> {
        match self.point.into_inner() {
            Some(point) => Ok(point),
            None => self.stream.record(),
        }
    }

    /// Records the event now, so that later work is not waited for.
    ///
    /// # Errors
    ///
    /// As [`Ticket::event`].
    pub fn mark(self) -> Result<Ticket<'q>> {
        self.event()?;
        Ok(self)
    }

    /// `true` if the copy is done.
    ///
    /// # Errors
    ///
    /// The driver's error, which may be a failure of the copy or of work before it.
    pub fn is_complete(&self) -> Result<bool> {
        self.event()?.is_complete()
    }

    /// Waits until the copy is done.
    ///
    /// # Errors
    ///
    /// The driver's error, which may be a failure of the copy or of work before it.
    pub fn synchronize(&self) -> Result<()> {
        self.event()?.synchronize()
    }

    /// Makes later work on `queue` wait until the copy is done; the host does not wait. The queue may be of
    /// any device; on the copy's own there is nothing to do.
    ///
    /// # Errors
    ///
    /// The driver's error.
    pub fn hold_back(&self, queue: &impl Queue) -> Result<()> {
        let stream = queue.stream();
        if stream == self.stream { Ok(()) } else { stream.wait(self.event()?) }
    }
}

impl IntoFuture for Ticket<'_> {
    type Output = Result<()>;
    type IntoFuture = Completion<Event>;

    /// A future that is ready when the copy is done, for any executor. It may be dropped at any time: the
    /// copy is made all the same, and neither end's memory is freed before.
    fn into_future(self) -> Completion<Event> {
        Completion::new(self.into_event())
    }
}

//! Copies between devices, ordered after earlier work on both ends.

use super::{Mesh, Ticket};
use crate::memory::Transfer;
use crate::{AccessLayer, DeviceCopy, DeviceRef, Queue, Result, Slice, SliceMut, Stream};

/// The policy for copies that cannot be made directly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CopyPolicy {
    /// It fails with the missing access.
    #[default]
    RequireDirect,
    /// The driver may take a detour through the host's memory.
    AllowStaged,
}

impl Mesh {
    /// Copies all values to as many values elsewhere, on any device of the mesh or the same, in the order of
    /// `queue`.
    ///
    /// The queue belongs to the context of either end. On a queue of the destination, the destination's
    /// device fetches, and needs access to the source; on a queue of the source, the source's device sends,
    /// and needs access to the destination. Without that access the copy is refused; see [`Mesh::copy_with`].
    ///
    /// The copy is ordered after all conflicting work that was enqueued on other streams before: after writes
    /// of the source, and after reads and writes of the destination. The host never waits. Later work on the
    /// same stream comes after the copy. On other streams:
    ///
    /// | later work on another stream | waits for the copy |
    /// |---|---|
    /// | `Mesh::copy` and `copy_with` that write the source, or read or write the destination | by itself |
    /// | the free of either end, by `drop`, `close` or `close_on` | by itself |
    /// | kernels, fills, other copies, graphs, collectives | after [`Slice::hold_back`](crate::Slice::hold_back), [`SliceMut::hold_back`](crate::SliceMut::hold_back) or [`Ticket::hold_back`]; without, it is a data race |
    ///
    /// So a pipeline of copies over many devices needs no events of its own:
    ///
    /// ```
    /// use warploom::{DevicePool, Driver, Mesh, Topology};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("dgx-h100")?)?;
    /// let contexts = driver.devices()?.iter().map(|device| device.context()).collect::<Result<Vec<_>, _>>()?;
    /// let streams = contexts.iter().map(|context| context.stream()).collect::<Result<Vec<_>, _>>()?;
    /// let pools = contexts.iter().map(DevicePool::new).collect::<Result<Vec<_>, _>>()?;
    /// let topology = Topology::probe(&driver.devices()?)?;
    /// let (mesh, _) = Mesh::open(&topology, &contexts, &pools.iter().collect::<Vec<_>>())?;
    ///
    /// let mut here = pools[0].upload(&[1.0_f32, 2.0, 3.0], &streams[0])?;
    /// for (pool, stream) in pools.iter().zip(&streams).skip(1) {
    ///     let mut next = pool.allocate(here.len(), stream)?;
    ///     mesh.copy(&here, &mut next, stream)?; // fetched by the next device, after the copy before
    ///     here = next;
    /// }
    /// assert_eq!(here.download(&streams[7])?, [1.0, 2.0, 3.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Both ends have the same type (S3.13), and the destination is borrowed exclusively (S3.15):
    ///
    /// ```compile_fail,E0277
    /// # use warploom::{Buffer, Mesh, Result, Stream};
    /// # fn mixed(mesh: &Mesh, from: &Buffer<f32>, to: &mut Buffer<u32>, stream: &Stream) -> Result<()> {
    /// mesh.copy(from, to, stream)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// ```compile_fail,E0502
    /// # use warploom::{Buffer, Mesh, Result, Stream};
    /// # fn shared(mesh: &Mesh, buffer: &mut Buffer<f32>, stream: &Stream) -> Result<()> {
    /// mesh.copy(&*buffer, &mut *buffer, stream)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// One driver call, `cuMemcpyPeerAsync` or, on the same device, an ordinary copy; two more for each other
    /// stream that has to be waited for.
    ///
    /// # Errors
    ///
    /// Before any driver call, in this order:
    /// [`CopyError::LengthMismatch`](crate::CopyError::LengthMismatch),
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch),
    /// [`ContextError::Stale`](crate::ContextError::Stale),
    /// [`CopyError::StreamMismatch`](crate::CopyError::StreamMismatch) if the queue belongs to neither end,
    /// [`CopyError::Overlap`](crate::CopyError::Overlap),
    /// [`PeerError::ContextUnavailable`](crate::PeerError::ContextUnavailable) for a context that does not
    /// take part, [`PeerError::Unsupported`](crate::PeerError::Unsupported) if there is no way,
    /// [`PeerError::NotEnabled`](crate::PeerError::NotEnabled) if it is not open. And the driver's error. A
    /// copy that fails has no effect on later work.
    #[doc(alias = "cuMemcpyPeerAsync")]
    #[inline]
    pub fn copy<'s, 'd, 'q, T: DeviceCopy>(
        &self,
        source: impl Into<Slice<'s, T>>,
        destination: impl Into<SliceMut<'d, T>>,
        queue: &'q impl Queue,
    ) -> Result<Ticket<'q>> {
        self.copy_with(CopyPolicy::RequireDirect, source, destination, queue)
    }

    /// As [`Mesh::copy`], with a policy for pairs without direct access.
    ///
    /// # Errors
    ///
    /// As [`Mesh::copy`]; with [`CopyPolicy::AllowStaged`], missing access is none, and the contexts need not
    /// take part. A captured stream needs access all the same, since drivers capture no copy that they stage.
    #[inline]
    pub fn copy_with<'s, 'd, 'q, T: DeviceCopy>(
        &self,
        policy: CopyPolicy,
        source: impl Into<Slice<'s, T>>,
        destination: impl Into<SliceMut<'d, T>>,
        queue: &'q impl Queue,
    ) -> Result<Ticket<'q>> {
        let stream = queue.stream();
        let transfer = Transfer::new(source.into(), destination.into())?;
        transfer.check(stream)?;
        if !transfer.is_empty() {
            if policy == CopyPolicy::RequireDirect && transfer.source() != transfer.destination() {
                self.check_direct(&transfer, stream).or_else(|error| {
                    self.refresh_after(error)?;
                    self.check_direct(&transfer, stream)
                })?;
            }
            transfer.enqueue(stream)?;
        }
        Ok(Ticket::after(stream))
    }

    /// Refuses a copy for which its stream's device has no access to the other end.
    fn check_direct(&self, transfer: &Transfer<'_>, stream: &Stream) -> Result<()> {
        let (source, destination) = (transfer.source(), transfer.destination());
        let accessor = stream.context();
        if source.device() == destination.device() {
            return Ok(());
        }
        let (owner, is_open) = if accessor == destination {
            (source, transfer.source_is_open_to(accessor.device())?)
        } else {
            (destination, transfer.destination_is_open_to(accessor.device())?)
        };
        match is_open {
            Some(true) => Ok(()),
            Some(false) => {
                let position = |device| self.topology.position(&DeviceRef::from(device));
                let (from, to) = (position(accessor.device())?, position(owner.device())?);
                Err(self.missing(from, to, AccessLayer::Pool))
            }
            None => self.check_contexts(accessor, owner),
        }
    }
}

//! Collective operations and point-to-point transfers.

use super::ledger::{Kind, Task};
use super::operation::{Memory, Operation};
use super::{Communicator, Element, Group, NcclError, Reduction};
use crate::memory::Operand;
use crate::{Queue, Result, Slice, SliceMut, Stream};

fn task<T: Element>(kind: Kind, count: usize) -> Task {
    Task { kind, count, of: T::DATA_TYPE }
}

fn same_length(send: usize, receive: usize) -> Result<()> {
    if send == receive { Ok(()) } else { Err(NcclError::LengthMismatch { send, receive }.into()) }
}

/// The number of values in a rank's part.
fn part(whole: usize, size: u32) -> Result<usize> {
    let part = whole / size as usize;
    whole_of(part, whole, size)?;
    Ok(part)
}

fn whole_of(part: usize, whole: usize, size: u32) -> Result<()> {
    let is_whole = part.checked_mul(size as usize) == Some(whole);
    if is_whole { Ok(()) } else { Err(NcclError::PartMismatch { part, whole, size }.into()) }
}

fn peer(communicator: &Communicator, rank: u32) -> Result<u32> {
    let size = communicator.size();
    if rank < size { Ok(rank) } else { Err(NcclError::NoSuchRank { rank, size }.into()) }
}

impl<'a> Operation<'a> {
    fn broadcast<T: Element>(
        communicator: &'a Communicator,
        stream: &'a Stream,
        values: SliceMut<'a, T>,
        root: u32,
    ) -> Result<Operation<'a>> {
        let (kind, count) = (Kind::Broadcast { root: peer(communicator, root)? }, values.len());
        Operation::new(communicator, stream, Memory::in_place(Operand::written(values)), task::<T>(kind, count))
    }

    fn broadcast_to<T: Element>(
        communicator: &'a Communicator,
        stream: &'a Stream,
        send: Slice<'a, T>,
        receive: SliceMut<'a, T>,
        root: u32,
    ) -> Result<Operation<'a>> {
        let (kind, count) = (Kind::Broadcast { root: peer(communicator, root)? }, send.len());
        same_length(count, receive.len())?;
        let memory = Memory::apart(Some(Operand::read(send)), Some(Operand::written(receive)));
        Operation::new(communicator, stream, memory, task::<T>(kind, count))
    }

    fn all_reduce<T: Element>(
        communicator: &'a Communicator,
        stream: &'a Stream,
        send: Slice<'a, T>,
        receive: SliceMut<'a, T>,
        reduction: Reduction,
    ) -> Result<Operation<'a>> {
        let count = send.len();
        same_length(count, receive.len())?;
        let memory = Memory::apart(Some(Operand::read(send)), Some(Operand::written(receive)));
        Operation::new(communicator, stream, memory, task::<T>(Kind::AllReduce(reduction), count))
    }

    fn all_reduce_in_place<T: Element>(
        communicator: &'a Communicator,
        stream: &'a Stream,
        values: SliceMut<'a, T>,
        reduction: Reduction,
    ) -> Result<Operation<'a>> {
        let task = task::<T>(Kind::AllReduce(reduction), values.len());
        Operation::new(communicator, stream, Memory::in_place(Operand::written(values)), task)
    }

    fn reduce<T: Element>(
        communicator: &'a Communicator,
        stream: &'a Stream,
        send: Slice<'a, T>,
        receive: Option<SliceMut<'a, T>>,
        reduction: Reduction,
        root: u32,
    ) -> Result<Operation<'a>> {
        let (root, count) = (peer(communicator, root)?, send.len());
        match &receive {
            Some(receive) => same_length(count, receive.len())?,
            None if root == communicator.rank() => return Err(NcclError::NoReceiver { root }.into()),
            None => {}
        }
        let memory = Memory::apart(Some(Operand::read(send)), receive.map(Operand::written));
        Operation::new(communicator, stream, memory, task::<T>(Kind::Reduce(reduction, root), count))
    }

    fn reduce_in_place<T: Element>(
        communicator: &'a Communicator,
        stream: &'a Stream,
        values: SliceMut<'a, T>,
        reduction: Reduction,
        root: u32,
    ) -> Result<Operation<'a>> {
        let task = task::<T>(Kind::Reduce(reduction, peer(communicator, root)?), values.len());
        Operation::new(communicator, stream, Memory::in_place(Operand::written(values)), task)
    }

    fn all_gather<T: Element>(
        communicator: &'a Communicator,
        stream: &'a Stream,
        send: Slice<'a, T>,
        receive: SliceMut<'a, T>,
    ) -> Result<Operation<'a>> {
        let count = send.len();
        whole_of(count, receive.len(), communicator.size())?;
        let memory = Memory::apart(Some(Operand::read(send)), Some(Operand::written(receive)));
        Operation::new(communicator, stream, memory, task::<T>(Kind::AllGather, count))
    }

    fn all_gather_in_place<T: Element>(
        communicator: &'a Communicator,
        stream: &'a Stream,
        values: SliceMut<'a, T>,
    ) -> Result<Operation<'a>> {
        let count = part(values.len(), communicator.size())?;
        let mut memory = Memory::in_place(Operand::written(values));
        // Inside of the whole, so that it is an address.
        memory.send += (communicator.rank() as usize * count * size_of::<T>()) as u64;
        Operation::new(communicator, stream, memory, task::<T>(Kind::AllGather, count))
    }

    fn reduce_scatter<T: Element>(
        communicator: &'a Communicator,
        stream: &'a Stream,
        send: Slice<'a, T>,
        receive: SliceMut<'a, T>,
        reduction: Reduction,
    ) -> Result<Operation<'a>> {
        let count = receive.len();
        whole_of(count, send.len(), communicator.size())?;
        let memory = Memory::apart(Some(Operand::read(send)), Some(Operand::written(receive)));
        Operation::new(communicator, stream, memory, task::<T>(Kind::ReduceScatter(reduction), count))
    }

    fn reduce_scatter_in_place<T: Element>(
        communicator: &'a Communicator,
        stream: &'a Stream,
        values: SliceMut<'a, T>,
        reduction: Reduction,
    ) -> Result<Operation<'a>> {
        let count = part(values.len(), communicator.size())?;
        let mut memory = Memory::in_place(Operand::written(values));
        memory.receive += (communicator.rank() as usize * count * size_of::<T>()) as u64;
        Operation::new(communicator, stream, memory, task::<T>(Kind::ReduceScatter(reduction), count))
    }

    fn send<T: Element>(
        communicator: &'a Communicator,
        stream: &'a Stream,
        values: Slice<'a, T>,
        to: u32,
    ) -> Result<Operation<'a>> {
        let (kind, count) = (Kind::Send { peer: peer(communicator, to)? }, values.len());
        let memory = Memory::apart(Some(Operand::read(values)), None);
        Operation::new(communicator, stream, memory, task::<T>(kind, count))
    }

    fn receive<T: Element>(
        communicator: &'a Communicator,
        stream: &'a Stream,
        values: SliceMut<'a, T>,
        from: u32,
    ) -> Result<Operation<'a>> {
        let (kind, count) = (Kind::Receive { peer: peer(communicator, from)? }, values.len());
        let memory = Memory::apart(None, Some(Operand::written(values)));
        Operation::new(communicator, stream, memory, task::<T>(kind, count))
    }
}

macro_rules! operations {
    ($($(#[$meta:meta])* $name:ident($($argument:ident: $type:ty = $value:expr),*);)*) => {
        /// Collective operations; each rank calls, with the same lengths and types.
        ///
        /// # Errors
        ///
        /// Each of these can fail with [`NcclError::OtherContext`] for a stream or memory of another context,
        /// [`NcclError::DefaultStream`], [`NcclError::Broken`] after a failure, [`NcclError::Mismatch`] if
        /// another rank of this process did another operation, and with the driver's and NCCL's errors. After
        /// the last two the communicator is to be [aborted](Communicator::abort).
        impl Communicator {
            $(
                $(#[$meta])*
                pub fn $name<'a, T: Element>(&'a self, $($argument: $type,)* queue: &'a impl Queue) -> Result<()> {
                    Operation::$name::<T>(self, queue.stream(), $($value),*)?.issue()
                }
            )*
        }

        /// As the functions of [`Communicator`] with these names, for a group; NCCL is not called yet. An
        /// operation that is refused is not part of the group.
        impl<'a> Group<'a> {
            $(
                $(#[$meta])*
                pub fn $name<T: Element>(
                    &mut self,
                    communicator: &'a Communicator,
                    $($argument: $type,)*
                    queue: &'a impl Queue,
                ) -> Result<()> {
                    self.add(Operation::$name::<T>(communicator, queue.stream(), $($value),*)?)
                }
            )*
        }
    };
}

operations! {
    /// Gives all ranks the values of `root`, in place: the root's are read, the others' overwritten.
    ///
    /// # Errors
    ///
    /// [`NcclError::NoSuchRank`], and the errors above.
    #[doc(alias = "ncclBroadcast")]
    broadcast(values: impl Into<SliceMut<'a, T>> = values.into(), root: u32 = root);

    /// Gives all ranks the values that `root` sends; the sources of others are ignored.
    ///
    /// # Errors
    ///
    /// [`NcclError::NoSuchRank`], [`NcclError::LengthMismatch`] if the lengths differ, and the errors above.
    #[doc(alias = "ncclBroadcast")]
    broadcast_to(
        send: impl Into<Slice<'a, T>> = send.into(),
        receive: impl Into<SliceMut<'a, T>> = receive.into(),
        root: u32 = root
    );

    /// Gives all ranks the reduction of the values of all, element by element.
    ///
    /// # Errors
    ///
    /// [`NcclError::LengthMismatch`] if the lengths differ, and the errors above.
    #[doc(alias = "ncclAllReduce")]
    all_reduce(
        send: impl Into<Slice<'a, T>> = send.into(),
        receive: impl Into<SliceMut<'a, T>> = receive.into(),
        reduction: Reduction = reduction
    );

    /// As `all_reduce`, over the values that are sent.
    ///
    /// # Errors
    ///
    /// The errors above.
    #[doc(alias = "ncclAllReduce")]
    all_reduce_in_place(values: impl Into<SliceMut<'a, T>> = values.into(), reduction: Reduction = reduction);

    /// Gives `root` the reduction of the values of all, element by element. Others need no destination;
    /// one that they give is left as it is.
    ///
    /// # Errors
    ///
    /// [`NcclError::NoSuchRank`], [`NcclError::NoReceiver`] if the root has nothing to receive the result,
    /// [`NcclError::LengthMismatch`] if the lengths differ, and the errors above.
    #[doc(alias = "ncclReduce")]
    reduce(
        send: impl Into<Slice<'a, T>> = send.into(),
        receive: Option<SliceMut<'a, T>> = receive,
        reduction: Reduction = reduction,
        root: u32 = root
    );

    /// As `reduce`, in place, over the root's values. The values of others may be overwritten.
    ///
    /// # Errors
    ///
    /// [`NcclError::NoSuchRank`], and the errors above.
    #[doc(alias = "ncclReduce")]
    reduce_in_place(values: impl Into<SliceMut<'a, T>> = values.into(), reduction: Reduction = reduction, root: u32 = root);

    /// Gives all ranks the values of all, in the order of the ranks.
    ///
    /// # Errors
    ///
    /// [`NcclError::PartMismatch`] unless as many values are received as all ranks send, and the errors
    /// above.
    #[doc(alias = "ncclAllGather")]
    all_gather(send: impl Into<Slice<'a, T>> = send.into(), receive: impl Into<SliceMut<'a, T>> = receive.into());

    /// As `all_gather`; each rank sends its own part of the values that it receives.
    ///
    /// # Errors
    ///
    /// [`NcclError::PartMismatch`] unless the values have an equal part for each rank, and the errors above.
    #[doc(alias = "ncclAllGather")]
    all_gather_in_place(values: impl Into<SliceMut<'a, T>> = values.into());

    /// Gives each rank its part of the reduction of the values of all, in the order of the ranks.
    ///
    /// # Errors
    ///
    /// [`NcclError::PartMismatch`] unless as many values are sent as all ranks receive, and the errors above.
    #[doc(alias = "ncclReduceScatter")]
    reduce_scatter(
        send: impl Into<Slice<'a, T>> = send.into(),
        receive: impl Into<SliceMut<'a, T>> = receive.into(),
        reduction: Reduction = reduction
    );

    /// As `reduce_scatter`; each rank receives in the place of its part among the values that it sends. The
    /// others of its values may be overwritten.
    ///
    /// # Errors
    ///
    /// [`NcclError::PartMismatch`] unless the values have an equal part for each rank, and the errors above.
    #[doc(alias = "ncclReduceScatter")]
    reduce_scatter_in_place(values: impl Into<SliceMut<'a, T>> = values.into(), reduction: Reduction = reduction);

    /// Sends values to another rank, which has to receive as many. Ranks that send to each other, or one that
    /// does both, do so in a
    /// [`Group`]: one after the other, each would wait for the other.
    ///
    /// # Errors
    ///
    /// [`NcclError::NoSuchRank`], and the errors above.
    #[doc(alias = "ncclSend")]
    send(values: impl Into<Slice<'a, T>> = values.into(), to: u32 = to);

    /// Receives values from another rank, which has to send as many; see `send`.
    ///
    /// # Errors
    ///
    /// [`NcclError::NoSuchRank`], and the errors above.
    #[doc(alias = "ncclRecv")]
    receive(values: impl Into<SliceMut<'a, T>> = values.into(), from: u32 = from);
}

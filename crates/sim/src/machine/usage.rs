//! Ended ops, memory in use and traffic of links, for the trace.

use warploom_engine::{OpId, Period};
use warploom_record::Link;

use crate::machine::world::{Work, World};
use crate::memory::Side;
use crate::topology::Topology;
use crate::trace::{Ended, InUse, MemorySubject};

impl World {
    /// Notes an op that has ended and is still in its queue.
    pub(super) fn trace_op(&self, id: OpId, work: &Work, ran: bool, period: Period) {
        let (Some(trace), Some(op)) = (&self.trace, self.engine.op(id)) else { return };
        let queue = self.engine.queue(op.queue);
        let (device, stream, stream_idle) = (queue.owner.device, queue.owner.traits.id, queue.busy_until);
        let run = match work {
            Work::Task(task) if ran => task.run(),
            _ => None,
        };
        let kernel = run.and_then(|run| trace.kernel(&run.into(), period));
        let (activity, copies) = (kernel.or_else(|| work.activity()), work.migrated());
        let (call, copies) = (op.note.call, copies.as_slice());
        trace.ended(&Ended { id, activity, copies, device, stream, call, ran, stream_idle, period });
    }

    /// Notes the memory in use, if the machine records a timeline.
    pub(crate) fn trace_memory(&self) {
        if let Some(trace) = self.trace.as_ref().filter(|trace| trace.samples_memory()) {
            trace.memory_in_use(self.clock.now(), self.devices_in_use().chain(self.pools_in_use()));
        }
    }

    /// The links of the machine, with the bytes that went over them.
    pub(crate) fn links(&self, topology: &Topology) -> Vec<Link> {
        self.clock.links(topology)
    }

    fn devices_in_use(&self) -> impl Iterator<Item = InUse> {
        self.devices.iter().enumerate().map(|(ordinal, device)| {
            let (capacity, ordinal) = (device.memory.capacity(), ordinal as u16);
            InUse {
                subject: MemorySubject::Device(ordinal),
                device: Some(ordinal),
                is_default: false,
                capacity,
                bytes: capacity - device.memory.free_bytes(),
            }
        })
    }

    /// Two for each pool: allocated bytes, and bytes that it holds.
    fn pools_in_use(&self) -> impl Iterator<Item = InUse> {
        self.pools.iter().flat_map(|(handle, pool)| {
            let device = match pool.home.side() {
                Side::Device(device) => Some(device),
                Side::Host => None,
            };
            let (is_default, capacity) = (pool.is_default, pool.max_size);
            let used = (MemorySubject::PoolUsed(handle.bits()), pool.used);
            let reserved = (MemorySubject::PoolReserved(handle.bits()), pool.space.reserved);
            [used, reserved].map(|(subject, bytes)| InUse { subject, device, is_default, capacity, bytes })
        })
    }
}

//! A memory and host whose accesses are checked.

use std::sync::Mutex;

use super::detector::Detector;
use super::hazard::{Deed, Hazard};
use super::watches::Watches;
use crate::device::{Access, Bounds, Event, Fault, Freed, HeapProblem, Host, Launch, Memory, Touch, Trap, TrapKind};
use crate::program::Kernel;

/// A memory and host of one launch that checks the accesses of its threads.
///
/// Blocks that run on several threads at once are checked one at a time.
///
/// ```
/// use warploom_ptx::{Grid, Hazard, Launch, Program, Step, VecMemory, Watched, Watches};
///
/// let program = Program::from_text(
///     ".version 8.7 .target sm_90 .address_size 64
///      .visible .entry last(.param .u64 out) {
///          .reg .b32 %r<2>; .reg .b64 %rd<2>;
///          ld.param.u64 %rd1, [out];
///          mov.u32 %r1, %ctaid.x;
///          st.global.u32 [%rd1], %r1;
///          ret;
///      }",
/// )?;
/// let memory = VecMemory::new(4096);
/// let arguments = memory.reserve(4).to_le_bytes();
/// let kernel = program.kernel("last").expect("it was just written");
/// let launch = Launch { grid: [2, 1, 1], arguments: &arguments, ..Launch::default() };
/// let watched = Watched::new(kernel, &launch, Watches::ALL, &memory);
/// assert_eq!(Grid::new(kernel, launch, &watched)?.step(1000), Step::Done);
/// let hazards = watched.take();
/// assert!(matches!(&hazards[..], [Hazard::Race { second, .. }] if second.block == [1, 0, 0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Watched<M> {
    memory: M,
    detector: Mutex<Detector>,
}

impl<M> Watched<M> {
    /// Watches a launch of a kernel.
    pub fn new(kernel: Kernel<'_>, launch: &Launch<'_>, watches: Watches, memory: M) -> Self {
        let declared = u32::try_from(kernel.shared_bytes()).unwrap_or(u32::MAX);
        // Rounded up as hardware does it, and the dynamic part is aligned.
        let shared = declared.saturating_add(16 + 128).saturating_add(launch.dynamic_shared);
        let cluster = launch.cluster.or(kernel.required_cluster()).unwrap_or([1; 3]).map(|side| side.max(1));
        let shape = [launch.grid, launch.block, cluster];
        let detector = Detector::new(watches, kernel.program().clone(), shape, shared);
        Self { memory, detector: Mutex::new(detector) }
    }

    /// The hazards found since the last call.
    pub fn take(&self) -> Vec<Hazard> {
        self.detect(Detector::take)
    }

    /// Reports the cause of a trap: for a deadlock, the barriers at which threads wait; for an access to a
    /// block of the cluster that has ended, that block.
    pub fn trapped(&self, trap: &Trap) {
        match trap.kind {
            TrapKind::Deadlock(_) => self.detect(|detector| detector.stuck(trap.block)),
            TrapKind::Cluster { rank, count } if rank < count => self.detect(|detector| detector.missed(trap, rank)),
            _ => {}
        }
    }

    fn detect<T>(&self, what: impl FnOnce(&mut Detector) -> T) -> T {
        // Findings of a thread that panicked are as good as any.
        what(&mut self.detector.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

/// The bytes of each lane, and how far they are from the next lane's.
fn shares(lanes: u32, readers: u32, length: usize) -> [u64; 2] {
    let share = length as u64 / u64::from(lanes.count_ones().max(1));
    [share, if lanes == readers { share } else { 0 }]
}

impl<M: Memory> Watched<M> {
    /// Reports an access that has been made to memory of the heap and is not to a block of it.
    fn look_at_heap(&self, access: &Access, address: u64, [share, apart]: [u64; 2], deed: Deed) {
        let bytes = if apart == 0 { share } else { share * u64::from(access.lanes.count_ones()) };
        if let Some(problem) = self.memory.heap_problem(address, bytes) {
            self.detect(|detector| detector.misused(access, [address, share, apart], deed, &problem));
        }
    }
}

impl<M: Memory> Memory for Watched<M> {
    fn load(&self, access: &Access, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.memory.load(access, address, into)?;
        let deed = if access.strong { Deed::StrongRead } else { Deed::Read };
        let shares = shares(access.lanes, access.readers, into.len());
        self.detect(|detector| detector.global(access, address, shares, deed, |_| false));
        self.look_at_heap(access, address, shares, deed);
        Ok(())
    }

    fn store(&self, access: &Access, address: u64, from: &[u8]) -> Result<(), Fault> {
        let deed = if access.strong { Deed::StrongWrite } else { Deed::Write };
        let shares @ [share, _] = shares(access.lanes, access.lanes, from.len());
        let same = |lane: u64| {
            let start = (lane * share) as usize;
            self.memory.holds(address + lane * share, &from[start..start + share as usize])
        };
        self.detect(|detector| detector.global(access, address, shares, deed, same));
        self.memory.store(access, address, from)?;
        self.look_at_heap(access, address, shares, deed);
        Ok(())
    }

    fn update(
        &self,
        access: &Access,
        address: u64,
        bytes: usize,
        change: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, Fault> {
        let old = self.memory.update(access, address, bytes, change)?;
        let shares = [bytes as u64, 0];
        self.detect(|detector| detector.global(access, address, shares, Deed::Update, |_| false));
        self.look_at_heap(access, address, shares, Deed::Update);
        Ok(old)
    }

    fn heap_problem(&self, address: u64, bytes: u64) -> Option<HeapProblem> {
        self.memory.heap_problem(address, bytes)
    }

    fn holds(&self, address: u64, bytes: &[u8]) -> bool {
        self.memory.holds(address, bytes)
    }
}

impl<M: Host> Host for Watched<M> {
    const WATCHES_SHARED: bool = true;

    fn bounds(&self) -> Bounds {
        self.memory.bounds()
    }

    fn overrun(&self, access: &Access, kind: &TrapKind) {
        self.memory.overrun(access, kind);
    }

    fn print(&self, text: &str) {
        self.memory.print(text);
    }

    fn allocate(&self, access: &Access, bytes: u64) -> u64 {
        let address = self.memory.allocate(access, bytes);
        if address != 0 {
            self.detect(|detector| detector.allocated(address, bytes));
        }
        address
    }

    fn free(&self, access: &Access, address: u64) -> Freed {
        let outcome = self.memory.free(access, address);
        self.detect(|detector| detector.freed(access, address, outcome));
        outcome
    }

    fn set_condition(&self, access: &Access, handle: u64, value: u32) -> bool {
        self.memory.set_condition(access, handle, value)
    }

    fn device_value(&self, kind: u32, number: u32) -> Option<i64> {
        self.memory.device_value(kind, number)
    }

    fn nanoseconds(&self, cycles: u64) -> u64 {
        self.memory.nanoseconds(cycles)
    }

    fn clock(&self, cycles: u64) -> u64 {
        self.memory.clock(cycles)
    }

    fn cycles(&self, nanoseconds: u64) -> u64 {
        self.memory.cycles(nanoseconds)
    }

    fn shared(&self, access: &Access, place: [u32; 2], touch: Touch) {
        self.detect(|detector| detector.shared(access, place, touch));
    }

    fn event(&self, access: &Access, event: Event) {
        self.detect(|detector| detector.event(access, event));
    }
}

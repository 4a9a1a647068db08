//! Order between the processes that share memory.
//!
//! A machine that checks writes its accesses to shared memory into the memory's journal, and compares them
//! with those of other machines there. Timelines of another machine get numbers of this one, so that clocks
//! carry them like its own:
//!
//! ```text
//!   this machine                                another machine
//!   access ──▶ journal of the memory ◀── access
//!   record ──▶ clock of a shared event ──▶ wait, the steps before the record are known
//!   the host knows an access to be over ──▶ its entry is over, for every process
//! ```
//!
//! The last line stands for messages between the programs (a pipe, a file, an exit), which are not seen: they
//! may follow as soon as the host of the accessing process has waited. So a finding is real, and a race that
//! was lucky in time may be missed.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use warploom_engine::{Epoch, Known, Timelines};

use crate::memory::shadow::{Access, Journal, JournalEntry, Operation, PublishedClock, SharedStep, Ticket};
use crate::memory::{ProcessId, SharedObject};

/// Below this many open accesses it is not worth looking for some to forget.
const FEW: usize = 1024;

/// A machine among those that share memory with it.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    /// This machine, once it shares something.
    own: Option<(ProcessId, u64)>,
    /// Timelines of other machines, by the number that they have here.
    here: HashMap<(u64, u32), u32>,
    /// The same, the other way round.
    there: HashMap<u32, (u64, u32)>,
    /// Accesses of this machine that its host does not know to be over.
    open: Vec<(Journal, Ticket, Epoch)>,
    /// The number of open accesses above which those without an entry are forgotten.
    most: usize,
    /// Accesses of others that were reported.
    reported: HashSet<(u64, Epoch)>,
}

/// An access of another process that an access here is not ordered behind.
pub(super) struct ForeignConflict {
    entry: JournalEntry,
    /// Bytes that both touch, as offsets in the shared memory.
    pub(super) bytes: Range<u64>,
}

impl ForeignConflict {
    /// The number of the other process.
    pub(super) fn pid(&self) -> u32 {
        self.entry.process.pid
    }

    /// The access, for a report.
    pub(super) fn operation(&self) -> Operation {
        let JournalEntry { process, kind, stream, call, .. } = self.entry;
        let (call, function) = call.unzip();
        Operation {
            process: Some(process.pid),
            call,
            function,
            access: kind,
            stream,
            node: None,
            backtrace: Vec::new(),
        }
    }
}

impl Processes {
    /// This machine, as others know it; none if the operating system does not say which process it is.
    fn own(&mut self) -> Option<(ProcessId, u64)> {
        if self.own.is_none() {
            // Process and time alone would be the same for two machines of one process.
            let machine = SharedObject::random_number().ok()?;
            self.own = Some((ProcessId::own().ok()?, machine));
        }
        self.own
    }

    /// The step of another machine's timeline, by this machine's numbers.
    fn here(&mut self, timelines: &mut Timelines, (machine, step): SharedStep) -> Epoch {
        if self.own.is_some_and(|(_, own)| own == machine) {
            return step;
        }
        let timeline = *self.here.entry((machine, step.timeline)).or_insert_with(|| {
            let timeline = timelines.add_foreign();
            self.there.insert(timeline, (machine, step.timeline));
            timeline
        });
        Epoch { timeline, ..step }
    }

    /// The accesses of others to bytes of shared memory that an access is not ordered behind.
    pub(super) fn conflicts(
        &mut self,
        timelines: &mut Timelines,
        journal: &Journal,
        bytes: &Range<u64>,
        access: &Access,
        known: &Known,
    ) -> Vec<ForeignConflict> {
        let Some((_, machine)) = self.own() else { return Vec::new() };
        let mut found = Vec::new();
        for entry in journal.others(machine) {
            let both = entry.bytes.start.max(bytes.start)..entry.bytes.end.min(bytes.end);
            if both.is_empty() || !access.kind.conflicts(entry.kind) {
                continue;
            }
            let step = self.here(timelines, (entry.machine, entry.epoch));
            // The work of a process that has ended has ended, too.
            if !known.includes(step) && entry.process.is_alive() {
                found.push(ForeignConflict { entry, bytes: both });
            }
        }
        found
    }

    /// Leaves out conflicts that were reported before, and remembers the others as reported.
    pub(super) fn report_once(&mut self, conflicts: &mut Vec<ForeignConflict>) {
        conflicts.retain(|conflict| self.reported.insert((conflict.entry.machine, conflict.entry.epoch)));
    }

    /// Writes an access into the journal of the memory, unless the host knows it to be over.
    pub(crate) fn publish(&mut self, timelines: &Timelines, journal: &Journal, bytes: Range<u64>, access: &Access) {
        let Some((process, machine)) = self.own() else { return };
        if timelines.over().is_some_and(|over| over.includes(access.epoch)) {
            return;
        }
        let call = access.site.as_ref().map(|site| (site.call, site.function));
        let Access { epoch, kind, stream, .. } = *access;
        let entry = JournalEntry { machine, process, epoch, kind, stream, call, bytes };
        if let Some(ticket) = journal.add(&entry) {
            self.open.push((journal.clone(), ticket, epoch));
            if self.open.len() > self.most {
                self.open.retain(|(journal, ticket, _)| journal.has(*ticket));
                self.most = FEW.max(2 * self.open.len());
            }
        }
    }

    /// Ends the entries of accesses that the host knows to be over.
    pub(crate) fn host_knows(&mut self, known: &Known) {
        self.open.retain(|(journal, ticket, epoch)| {
            let is_over = known.includes(*epoch);
            if is_over {
                journal.end(*ticket);
            }
            !is_over
        });
    }

    /// `true` if accesses are open, so that [`Processes::host_knows`] has something to do.
    pub(crate) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Publishes all that is known at a record of a shared event.
    pub(crate) fn record(&mut self, event: &SharedObject, known: &Known) {
        let (Some((_, machine)), Some(clock)) = (self.own(), PublishedClock::of(event)) else { return };
        let named = |step: Epoch| match self.there.get(&step.timeline) {
            Some((machine, timeline)) => (*machine, Epoch { timeline: *timeline, ..step }),
            None => (machine, step),
        };
        clock.publish(&known.steps().map(named).collect::<Vec<_>>());
    }

    /// All that is known at the newest record of a shared event.
    pub(crate) fn recorded(&mut self, timelines: &mut Timelines, event: &SharedObject) -> Known {
        let mut known = Known::default();
        match PublishedClock::of(event).and_then(|clock| clock.read()) {
            Some(steps) => steps.into_iter().for_each(|step| known.include(self.here(timelines, step))),
            None => known.doubt(),
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use warploom_engine::HostOrder;

    use super::*;
    use crate::memory::shadow::AccessKind::{self, Read, Write};
    use crate::memory::{NewObject, SharedKind};

    type TestResult = Result<(), Box<dyn std::error::Error>>;

    /// A machine with one stream.
    struct Machine {
        processes: Processes,
        timelines: Timelines,
        stream: Known,
    }

    impl Machine {
        fn new() -> Self {
            let mut timelines = Timelines::new(true, HostOrder::Observed);
            let stream = timelines.start();
            timelines.host();
            Self { processes: Processes::default(), timelines, stream }
        }

        /// Work of the stream; gives the number of conflicts with work of others.
        fn touch(&mut self, memory: &SharedObject, bytes: Range<u64>, kind: AccessKind) -> usize {
            let Some(journal) = Journal::of(memory) else { return usize::MAX };
            let access = Access::new(self.stream.next(), kind, None);
            let mut found = self.processes.conflicts(&mut self.timelines, &journal, &bytes, &access, &self.stream);
            self.processes.report_once(&mut found);
            self.processes.publish(&self.timelines, &journal, bytes, &access);
            self.stream.advance();
            found.len()
        }

        fn synchronize(&mut self) {
            self.timelines.host_learns(&self.stream);
            self.processes.host_knows(self.timelines.host());
        }

        fn record(&mut self, event: &SharedObject) {
            self.processes.record(event, &self.stream);
        }

        fn wait(&mut self, event: &SharedObject) {
            let known = self.processes.recorded(&mut self.timelines, event);
            self.stream.join(&known);
        }
    }

    fn object(kind: SharedKind) -> Result<[SharedObject; 2], Box<dyn std::error::Error>> {
        let new = NewObject { kind, size: 2 << 20, words: 0, machine: 1, device: None, details: [0; 8] };
        let here = SharedObject::create(&new)?;
        let there = SharedObject::open(here.export()?.as_raw_fd().cast_unsigned(), kind, 1)?;
        Ok([here, there])
    }

    #[test]
    fn unordered_accesses_of_two_machines_conflict_once() -> TestResult {
        let ([mut one, mut two], [memory, same]) = ([Machine::new(), Machine::new()], object(SharedKind::Pool)?);
        assert_eq!(one.touch(&memory, 0..64, Write), 0);
        assert_eq!(two.touch(&same, 64..128, Write), 0, "other bytes");
        assert_eq!(two.touch(&same, 32..40, Read), 1);
        assert_eq!(two.touch(&same, 32..40, Read), 0, "reported already");
        assert_eq!(one.touch(&memory, 100..101, Read), 1);
        assert_eq!(one.touch(&memory, 39..40, Write), 2, "the two reads");
        Ok(())
    }

    #[test]
    fn an_access_is_over_for_everybody_once_its_host_knows() -> TestResult {
        let ([mut one, mut two], [memory, same]) = ([Machine::new(), Machine::new()], object(SharedKind::Pool)?);
        assert_eq!(one.touch(&memory, 0..64, Write), 0);
        one.synchronize();
        assert_eq!(one.touch(&memory, 64..128, Write), 0);
        assert_eq!(two.touch(&same, 0..64, Write), 0);
        assert_eq!(two.touch(&same, 0..128, Write), 1);
        Ok(())
    }

    #[test]
    fn a_shared_event_orders_what_comes_before_its_record() -> TestResult {
        let ([mut one, mut two], [memory, same]) = ([Machine::new(), Machine::new()], object(SharedKind::Pool)?);
        let [event, same_event] = object(SharedKind::Event)?;
        assert_eq!(one.touch(&memory, 0..64, Write), 0);
        one.record(&event);
        assert_eq!(one.touch(&memory, 64..128, Write), 0);
        two.wait(&same_event);
        assert_eq!(two.touch(&same, 0..64, Write), 0);
        assert_eq!(two.touch(&same, 0..128, Read), 1, "written after the record");
        Ok(())
    }

    #[test]
    fn accesses_whose_entries_are_gone_are_forgotten() -> TestResult {
        let (mut one, [memory, _]) = (Machine::new(), object(SharedKind::Pool)?);
        for at in 0..10_000 {
            assert_eq!(one.touch(&memory, at..at + 1, Write), 0);
        }
        assert!(one.processes.open.len() <= FEW + 1, "{}", one.processes.open.len());
        one.synchronize();
        assert!(!one.processes.has_open());
        Ok(())
    }

    /// One knows of three what two knew when it recorded.
    #[test]
    fn order_goes_on_through_a_third_machine() -> TestResult {
        let [mut one, mut two, mut three] = [Machine::new(), Machine::new(), Machine::new()];
        let [memory, same] = object(SharedKind::Pool)?;
        let ([first, _], [second, _]) = (object(SharedKind::Event)?, object(SharedKind::Event)?);
        assert_eq!(three.touch(&memory, 0..64, Write), 0);
        three.record(&first);
        two.wait(&first);
        two.record(&second);
        one.wait(&second);
        assert_eq!(one.touch(&same, 0..64, Write), 0);
        // And back to the machine that began.
        one.record(&first);
        three.wait(&first);
        assert_eq!(three.touch(&memory, 0..64, Write), 0);
        Ok(())
    }
}

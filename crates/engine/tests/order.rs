//! Order of ops: queues, hubs, modes, waits and failures, with work that knows no CUDA.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use proptest::prelude::*;
use smallvec::SmallVec;
use warploom_engine::{
    Engine, HostOrder, Mode, OpId, Order, QueueId, Runner, State, Step, Timelines, WaitError, Work, settle,
};

/// The numbers of the jobs that ran, in order.
type Log = Arc<Mutex<Vec<u32>>>;

enum Job {
    /// Writes its number into the log.
    Write(u32, Log),
    /// As a host function, of which one runs at a time.
    Host(u32, Log),
    /// Waits for a flag.
    Gate(Arc<AtomicBool>),
    /// Waits for a flag that another process sets.
    Message(Arc<AtomicBool>),
    /// Yields so many times first.
    Slices(u32, Arc<AtomicU64>),
    Fails(&'static str),
    /// At its end it is replaced by a write of its number, so many times.
    Repeats(u32, u32, Log),
    /// Bookkeeping.
    Mark,
}

impl Work for Job {
    type Owner = &'static str;
    type Note = u32;
    type Failure = &'static str;
    type Touch = u32;

    fn run(&mut self) -> Step<&'static str> {
        match self {
            Job::Write(number, log) | Job::Host(number, log) => log.lock().push(*number),
            Job::Gate(open) | Job::Message(open) if !open.load(Ordering::SeqCst) => return Step::Park,
            Job::Slices(left, run) => {
                run.fetch_add(1, Ordering::SeqCst);
                *left -= 1;
                return if *left == 0 { Step::Done } else { Step::Yield };
            }
            Job::Fails(why) => return Step::Fail(why),
            Job::Gate(_) | Job::Message(_) | Job::Repeats(..) | Job::Mark => {}
        }
        Step::Done
    }

    fn touches(&self, mut touch: impl FnMut(u32)) {
        if let Job::Write(number, _) = self {
            touch(*number);
        }
    }

    fn is_instant(&self) -> bool {
        matches!(self, Job::Mark)
    }

    fn runs_on_host(&self) -> bool {
        matches!(self, Job::Host(..))
    }

    fn polls(&self) -> bool {
        matches!(self, Job::Gate(_) | Job::Message(_))
    }

    fn waits_for_process(&self) -> bool {
        matches!(self, Job::Message(_))
    }

    fn is_short(&self) -> bool {
        matches!(self, Job::Write(..))
    }

    fn take(&mut self) -> Self {
        match self {
            Job::Gate(open) => Job::Gate(Arc::clone(open)),
            Job::Message(sent) => Job::Message(Arc::clone(sent)),
            Job::Host(number, log) => Job::Host(*number, Arc::clone(log)),
            Job::Repeats(number, left, log) => Job::Repeats(*number, *left, Arc::clone(log)),
            _ => std::mem::replace(self, Job::Mark),
        }
    }

    fn describe(&self) -> String {
        match self {
            Job::Gate(_) => "a gate".to_owned(),
            _ => "a job".to_owned(),
        }
    }
}

/// An engine, and the failures it has seen.
struct Jobs {
    engine: Engine<Job>,
    failures: Vec<(u32, &'static str)>,
}

impl State for Jobs {
    type Work = Job;

    fn engine(&mut self) -> &mut Engine<Job> {
        &mut self.engine
    }

    fn starts(&mut self, _: OpId, _: &mut Job) -> bool {
        self.failures.is_empty()
    }

    fn ended(&mut self, id: OpId, work: Job, failure: Option<&'static str>) {
        if let (Some(op), Some(why)) = (self.engine.op(id), failure) {
            self.failures.push((op.note, why));
        }
        if let Job::Repeats(number, left, log) = &work
            && *left > 0
            && let Some(queue) = self.engine.op(id).map(|op| op.queue)
        {
            let write = self.engine.add_beside(queue, &[], Job::Write(*number, Arc::clone(log)), 7, 0);
            let again = Job::Repeats(*number, left - 1, Arc::clone(log));
            let heir = self.engine.add_beside(queue, &[write], again, 7, 0);
            self.engine.bequeath(id, heir);
        }
        self.engine.finish(id, &work, 0);
    }
}

struct Rig(Arc<Runner<Jobs>>);

impl Rig {
    fn new(mode: Mode) -> Self {
        Self::patient(mode, Duration::from_secs(20))
    }

    fn patient(mode: Mode, patience: Duration) -> Self {
        let engine = Engine::new(mode, 2, Timelines::new(true, HostOrder::Observed));
        let jobs = Jobs { engine, failures: Vec::new() };
        let runner = Arc::new(Runner::new(mode, patience, jobs, Box::new(|work: &mut Job| work.run())));
        runner.start("engine-test").expect("there are threads");
        Self(runner)
    }

    fn queue(&self) -> QueueId {
        self.0.lock().engine.new_queue(0, "a queue")
    }

    fn add_after(&self, queue: QueueId, others: &[OpId], job: Job) -> OpId {
        let mut jobs = self.0.lock();
        let op = jobs.engine.add(queue, others, job, 7, 0);
        settle(&mut *jobs);
        self.0.pump(&mut jobs);
        op
    }

    fn add(&self, queue: QueueId, job: Job) -> OpId {
        self.add_after(queue, &[], job)
    }

    /// Adds ops beside a queue's chain, with the ops before each by their places, and a mark behind all of
    /// them.
    fn add_group(&self, queue: QueueId, group: Vec<(Vec<usize>, Job)>) -> OpId {
        let mut jobs = self.0.lock();
        let start = jobs.engine.add(queue, &[], Job::Mark, 7, 0);
        let mut ops: Vec<OpId> = Vec::new();
        for (before, job) in group {
            let mut named: Vec<OpId> = before.iter().map(|place| ops[*place]).collect();
            named.push(start);
            ops.push(jobs.engine.add_beside(queue, &named, job, 7, 0));
        }
        let end = jobs.engine.add(queue, &ops, Job::Mark, 7, 0);
        settle(&mut *jobs);
        self.0.pump(&mut jobs);
        end
    }

    fn wait(&self, ops: &[OpId]) -> Result<(), WaitError> {
        self.0.wait(&mut self.0.lock(), ops, false)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.0.stop();
    }
}

fn modes() -> impl Iterator<Item = Mode> {
    let orders = [Order::Eager, Order::Lazy].into_iter().chain((0..6).map(Order::Seeded));
    [Mode::Threads, Mode::Sync].into_iter().chain(orders.map(Mode::Deterministic))
}

fn log() -> Log {
    Log::default()
}

#[test]
fn a_queue_runs_in_order_in_every_mode() {
    for mode in modes() {
        let (rig, log) = (Rig::new(mode), log());
        let queue = rig.queue();
        let ops: Vec<OpId> = (0..50).map(|number| rig.add(queue, Job::Write(number, Arc::clone(&log)))).collect();
        assert_eq!(rig.wait(&ops[49..]), Ok(()), "{mode:?}");
        assert_eq!(*log.lock(), (0..50).collect::<Vec<_>>(), "{mode:?}");
    }
}

#[test]
fn an_op_waits_for_ops_of_other_queues_that_it_was_put_behind() {
    for mode in modes().filter(|mode| *mode != Mode::Sync) {
        let (rig, log, open) = (Rig::new(mode), log(), Arc::new(AtomicBool::new(false)));
        let (first, second) = (rig.queue(), rig.queue());
        rig.add(first, Job::Gate(Arc::clone(&open)));
        let before = rig.add(first, Job::Write(1, Arc::clone(&log)));
        let after = rig.add_after(second, &[before], Job::Write(2, Arc::clone(&log)));
        assert!(log.lock().is_empty(), "{mode:?}");
        open.store(true, Ordering::SeqCst);
        assert_eq!(rig.wait(&[after]), Ok(()), "{mode:?}");
        assert_eq!(*log.lock(), [1, 2], "{mode:?}");
    }
}

#[test]
fn lazy_order_runs_only_what_a_wait_needs() {
    let (rig, log) = (Rig::new(Mode::Deterministic(Order::Lazy)), log());
    let (first, second) = (rig.queue(), rig.queue());
    rig.add(first, Job::Write(1, Arc::clone(&log)));
    let wanted = rig.add(second, Job::Write(2, Arc::clone(&log)));
    assert_eq!(rig.wait(&[wanted]), Ok(()));
    assert_eq!(*log.lock(), [2]);
    assert_eq!(rig.0.lock().engine.unfinished(), 1);
}

#[test]
fn a_wait_for_another_process_is_no_deadlock() {
    for mode in modes() {
        let (rig, sent) = (Rig::patient(mode, Duration::from_millis(20)), Arc::<AtomicBool>::default());
        let op = rig.add(rig.queue(), Job::Message(Arc::clone(&sent)));
        let sender = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(120));
            sent.store(true, Ordering::SeqCst);
        });
        assert_eq!(rig.wait(&[op]), Ok(()), "{mode:?}");
        assert!(sender.join().is_ok());
    }
}

#[test]
fn a_flush_runs_what_others_wait_for_and_does_not_wait() {
    for mode in modes().filter(|mode| *mode != Mode::Threads) {
        let (rig, log, open) = (Rig::new(mode), log(), Arc::<AtomicBool>::default());
        let (first, second) = (rig.queue(), rig.queue());
        let written = rig.add(first, Job::Write(1, Arc::clone(&log)));
        assert!(rig.0.flush(&mut rig.0.lock(), &[written]), "{mode:?}");
        rig.add(second, Job::Gate(Arc::clone(&open)));
        let held = rig.add(second, Job::Write(2, Arc::clone(&log)));
        assert!(!rig.0.flush(&mut rig.0.lock(), &[held]), "{mode:?}");
        open.store(true, Ordering::SeqCst);
        assert!(rig.0.flush(&mut rig.0.lock(), &[held]), "{mode:?}");
        assert_eq!(*log.lock(), [1, 2]);
    }
}

#[test]
fn no_work_runs_while_the_state_is_changed_quietly() {
    let (rig, slices) = (Rig::new(Mode::Threads), Arc::new(AtomicU64::new(0)));
    let ops = [0, 1].map(|_| rig.add(rig.queue(), Job::Slices(20_000, Arc::clone(&slices))));
    for _ in 0..20 {
        rig.0.quiesce(&mut rig.0.lock(), |_| {
            let before = slices.load(Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(2));
            assert_eq!(slices.load(Ordering::SeqCst), before);
        });
    }
    assert_eq!(rig.wait(&ops), Ok(()));
    assert_eq!(slices.load(Ordering::SeqCst), 40_000);
}

#[test]
fn a_wait_that_nothing_ends_names_the_ops_it_is_for() {
    for mode in modes() {
        let rig = Rig::patient(mode, Duration::from_millis(40));
        let op = rig.add(rig.queue(), Job::Gate(Arc::default()));
        assert_eq!(rig.wait(&[op]), Err(WaitError::Deadlock(vec!["a gate".to_owned()])), "{mode:?}");
    }
}

#[test]
fn work_that_yields_goes_on_until_it_is_done() {
    for mode in modes() {
        let (rig, run) = (Rig::new(mode), Arc::new(AtomicU64::new(0)));
        let op = rig.add(rig.queue(), Job::Slices(500, Arc::clone(&run)));
        assert_eq!(rig.wait(&[op]), Ok(()), "{mode:?}");
        assert_eq!(run.load(Ordering::SeqCst), 500, "{mode:?}");
    }
}

#[test]
fn a_failure_reaches_the_state_with_the_note_of_its_op() {
    for mode in modes() {
        let (rig, log) = (Rig::new(mode), log());
        let queue = rig.queue();
        rig.add(queue, Job::Fails("on purpose"));
        let after = rig.add(queue, Job::Write(1, Arc::clone(&log)));
        assert_eq!(rig.wait(&[after]), Ok(()), "{mode:?}");
        assert_eq!(rig.0.lock().failures, [(7, "on purpose")], "{mode:?}");
        assert!(log.lock().is_empty(), "{mode:?}: the state refuses to start anything after it");
    }
}

#[test]
fn host_functions_of_one_lane_take_turns_with_the_one_that_runs() {
    let (rig, log) = (Rig::new(Mode::Deterministic(Order::Seeded(3))), log());
    let queues = [rig.queue(), rig.queue()];
    let ops = [0, 1].map(|at| rig.add(queues[at], Job::Host(at as u32, Arc::clone(&log))));
    assert_eq!(rig.wait(&ops), Ok(()));
    let mut ran = log.lock().clone();
    ran.sort_unstable();
    assert_eq!(ran, [0, 1]);
}

#[test]
fn a_hub_and_its_spokes_are_ordered_both_ways() {
    for mode in modes() {
        let (rig, log) = (Rig::new(mode), log());
        let (hub, spoke) = (rig.queue(), rig.queue());
        let write = |number| Job::Write(number, Arc::clone(&log));
        let follow = |queue: QueueId| {
            let mut before = SmallVec::new();
            let mut jobs = rig.0.lock();
            if queue == hub {
                jobs.engine.follow_spokes(hub, &mut before);
            } else {
                jobs.engine.follow_hub(queue, hub, &mut before);
            }
            before
        };
        let mut last = None;
        for number in 0..20 {
            let queue = if number % 3 == 0 { hub } else { spoke };
            last = Some(rig.add_after(queue, &follow(queue), write(number)));
        }
        assert_eq!(rig.wait(last.as_slice()), Ok(()), "{mode:?}");
        assert_eq!(*log.lock(), (0..20).collect::<Vec<_>>(), "{mode:?}");
    }
}

#[test]
fn a_retired_queue_goes_with_its_last_op_and_its_id_is_never_used_again() {
    let (rig, log) = (Rig::new(Mode::Deterministic(Order::Lazy)), log());
    let queue = rig.queue();
    let op = rig.add(queue, Job::Write(1, log));
    rig.0.lock().engine.retire_queue(queue);
    assert!(rig.0.lock().engine.is_live(queue));
    assert_eq!(rig.wait(&[op]), Ok(()));
    assert!(!rig.0.lock().engine.is_live(queue));
    assert_ne!(rig.queue(), queue);
    assert_eq!(rig.0.lock().engine.queue_count(), 1);
}

#[test]
fn an_op_that_ends_can_be_followed_by_more_before_its_successors() {
    for mode in modes() {
        let (rig, log) = (Rig::new(mode), log());
        let queue = rig.queue();
        let write = |number| Job::Write(number, Arc::clone(&log));
        let group = vec![(vec![], Job::Repeats(1, 3, Arc::clone(&log))), (vec![0], write(2)), (vec![], write(9))];
        rig.add_group(queue, group);
        let last = rig.add(queue, write(3));
        assert_eq!(rig.wait(&[last]), Ok(()), "{mode:?}");
        let ran: Vec<u32> = log.lock().iter().copied().filter(|number| *number != 9).collect();
        assert_eq!(ran, [1, 1, 1, 2, 3], "{mode:?}");
        assert_eq!(log.lock().len(), 6, "{mode:?}");
    }
}

#[test]
fn lazy_order_runs_a_long_chain_beside_a_queue_in_time_that_is_proportional_to_it() {
    let rig = Rig::new(Mode::Deterministic(Order::Lazy));
    let (queue, log) = (rig.queue(), log());
    let chain = (0..50_000_u32).map(|number| {
        let before = number.checked_sub(1).map(|before| before as usize);
        (before.into_iter().collect(), Job::Write(number, Arc::clone(&log)))
    });
    let end = rig.add_group(queue, chain.collect());
    assert_eq!(rig.wait(&[end]), Ok(()));
    assert!(log.lock().is_sorted() && log.lock().len() == 50_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// An op runs once, and after every op that it depends on, for any set of edges.
    #[test]
    fn every_order_keeps_every_edge(
        edges in prop::collection::vec((0..4_usize, prop::collection::vec(0..40_usize, 0..3)), 1..40),
        seed in any::<u64>(),
    ) {
        for mode in [Mode::Threads, Mode::Deterministic(Order::Lazy), Mode::Deterministic(Order::Seeded(seed))] {
            let (rig, log) = (Rig::new(mode), log());
            let queues = [(); 4].map(|()| rig.queue());
            let mut ops: Vec<OpId> = Vec::new();
            let mut before: Vec<Vec<usize>> = Vec::new();
            for (number, (queue, others)) in edges.iter().enumerate() {
                let others: Vec<usize> = others.iter().copied().filter(|other| *other < number).collect();
                let named: Vec<OpId> = others.iter().map(|other| ops[*other]).collect();
                ops.push(rig.add_after(queues[*queue], &named, Job::Write(number as u32, Arc::clone(&log))));
                let mut all = others;
                all.extend(edges[..number].iter().rposition(|(earlier, _)| earlier == queue));
                before.push(all);
            }
            prop_assert_eq!(rig.wait(&ops), Ok(()));
            let ran = log.lock().clone();
            prop_assert_eq!(ran.len(), edges.len());
            let place = |number: usize| ran.iter().position(|ran| *ran as usize == number);
            for (number, others) in before.iter().enumerate() {
                for other in others {
                    prop_assert!(place(*other) < place(number), "{} before {} in {:?}: {:?}", other, number, mode, ran);
                }
            }
        }
    }

    /// Ops beside a chain run in any order that keeps their edges, between the chain's ops before and behind
    /// them.
    #[test]
    fn a_group_keeps_its_edges_and_its_place_in_the_chain(
        edges in prop::collection::vec(prop::collection::vec(0..40_usize, 0..3), 1..40),
        seed in any::<u64>(),
    ) {
        for mode in [Mode::Threads, Mode::Deterministic(Order::Lazy), Mode::Deterministic(Order::Seeded(seed))] {
            let (rig, log) = (Rig::new(mode), log());
            let queue = rig.queue();
            rig.add(queue, Job::Write(1000, Arc::clone(&log)));
            let mut before: Vec<Vec<usize>> = Vec::new();
            let group = edges.iter().enumerate().map(|(number, others)| {
                let others: Vec<usize> = others.iter().copied().filter(|other| *other < number).collect();
                before.push(others.clone());
                (others, Job::Write(number as u32, Arc::clone(&log)))
            });
            let group: Vec<_> = group.collect();
            rig.add_group(queue, group);
            let last = rig.add(queue, Job::Write(2000, Arc::clone(&log)));
            prop_assert_eq!(rig.wait(&[last]), Ok(()));
            let ran = log.lock().clone();
            prop_assert_eq!(ran.len(), edges.len() + 2);
            prop_assert_eq!((ran[0], ran[ran.len() - 1]), (1000, 2000));
            let place = |number: usize| ran.iter().position(|ran| *ran as usize == number);
            for (number, others) in before.iter().enumerate() {
                for other in others {
                    prop_assert!(place(*other) < place(number), "{} before {} in {:?}: {:?}", other, number, mode, ran);
                }
            }
        }
    }
}

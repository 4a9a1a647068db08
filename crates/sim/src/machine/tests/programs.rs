//! Random programs: ordered work gives the same bytes in every mode; races never break the machine.

use std::collections::HashMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use warploom_engine::{Mode, QueueId};

use super::rig::{MODES, Memory, Rig};
use crate::ffi::handle::EventHandle;
use crate::machine::event::Event;
use crate::memory::{Compare, MemoryOp};

const WORDS: usize = 8;
/// A word for each gate follows the words that programs work on.
const GATES: usize = 64;

/// The stream of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Lane {
    Legacy,
    PerThread,
    Blocking(u8),
    NonBlocking(u8),
}

impl Lane {
    /// `true` if the two are ordered without an event.
    fn is_ordered_with(self, other: Lane) -> bool {
        let joins = |lane| !matches!(lane, Lane::NonBlocking(_));
        self == other || ((self == Lane::Legacy || other == Lane::Legacy) && joins(self) && joins(other))
    }
}

#[derive(Clone, Debug)]
enum Action {
    Write {
        word: usize,
        value: u64,
    },
    Copy {
        from: usize,
        to: usize,
    },
    Fill {
        word: usize,
        byte: u8,
    },
    /// Waits for a word that the host writes, unknown to the other streams.
    Gate,
    Query,
    Synchronize,
}

impl Action {
    /// The words that it accesses; `true` for writes.
    fn touches(&self) -> Vec<(usize, bool)> {
        match self {
            Action::Write { word, .. } | Action::Fill { word, .. } => vec![(*word, true)],
            Action::Copy { from, to } => vec![(*from, false), (*to, true)],
            Action::Gate | Action::Query | Action::Synchronize => Vec::new(),
        }
    }
}

fn lane() -> impl Strategy<Value = Lane> {
    prop_oneof![
        Just(Lane::Legacy),
        Just(Lane::PerThread),
        (0..2_u8).prop_map(Lane::Blocking),
        (0..3_u8).prop_map(Lane::NonBlocking),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => (0..WORDS, any::<u64>()).prop_map(|(word, value)| Action::Write { word, value }),
        4 => (0..WORDS, 0..WORDS).prop_map(|(from, to)| Action::Copy { from, to }),
        2 => (0..WORDS, any::<u8>()).prop_map(|(word, byte)| Action::Fill { word, byte }),
        1 => Just(Action::Gate),
        1 => Just(Action::Query),
        1 => Just(Action::Synchronize),
    ]
}

/// The result of a program whose actions run one after the other.
fn expected(program: &[(Lane, Action)]) -> Vec<u64> {
    let mut words = vec![0; WORDS];
    for (_, action) in program {
        match action {
            Action::Write { word, value } => words[*word] = *value,
            Action::Copy { from, to } => words[*to] = words[*from],
            Action::Fill { word, byte } => words[*word] = u64::from_ne_bytes([*byte; 8]),
            Action::Gate | Action::Query | Action::Synchronize => {}
        }
    }
    words
}

/// A machine that runs a program.
struct Runner {
    rig: Rig,
    memory: Memory,
    lanes: HashMap<Lane, QueueId>,
    opener: QueueId,
    gates: usize,
}

impl Runner {
    fn new(mode: Mode) -> Self {
        let rig = Rig::new(mode);
        let opener = rig.queue(1);
        Self { rig, memory: Memory::new(WORDS + GATES), lanes: HashMap::new(), opener, gates: 0 }
    }

    fn queue(&mut self, lane: Lane) -> QueueId {
        let rig = &self.rig;
        *self.lanes.entry(lane).or_insert_with(|| match lane {
            Lane::Legacy => rig.default_queue(0),
            Lane::PerThread => rig.default_queue(2),
            Lane::Blocking(_) => rig.queue(0),
            Lane::NonBlocking(_) => rig.queue(1),
        })
    }

    fn act(&mut self, lane: Lane, action: &Action) {
        let queue = self.queue(lane);
        let work = match action {
            Action::Write { word, value } => self.memory.write(*word, *value),
            Action::Copy { from, to } => {
                MemoryOp::Copy { to: self.memory.place(*to), from: self.memory.place(*from), bytes: 8 }.into()
            }
            Action::Fill { word, byte } => {
                MemoryOp::Fill { to: self.memory.place(*word), pattern: u32::from(*byte), element: 1, count: 8 }.into()
            }
            Action::Gate => return self.gate(queue),
            Action::Query => {
                let mut world = self.rig.world();
                let outstanding = world.outstanding(queue);
                self.rig.core.query(&mut world, &outstanding);
                return;
            }
            Action::Synchronize => return self.rig.synchronize(queue).expect("nothing is stuck"),
        };
        self.rig.submit(queue, work).expect("it is taken");
    }

    /// Synchronous mode would deadlock at the gate, so it is opened first there.
    fn gate(&mut self, queue: QueueId) {
        if self.gates == GATES {
            return;
        }
        let word = WORDS + self.gates;
        self.gates += 1;
        let wait =
            MemoryOp::WaitValue { at: self.memory.place(word), value: 1, wide: true, compare: Compare::Equal }.into();
        let mut steps = [(queue, wait), (self.opener, self.memory.write(word, 1))];
        if self.rig.core.mode == Mode::Sync {
            steps.reverse();
        }
        for (queue, work) in steps {
            self.rig.submit(queue, work).expect("it is taken");
        }
    }

    fn record(&mut self, lane: Lane) -> EventHandle {
        let queue = self.queue(lane);
        let call = self.rig.call();
        let mut world = self.rig.world();
        let event = world.events.insert(Event::new(self.rig.context, 0)).expect("there is room");
        world.record_event(queue, event).expect("the context is well");
        call.get_going(&mut world, queue).expect("nothing is stuck");
        event
    }

    fn wait(&mut self, lane: Lane, event: EventHandle) {
        let queue = self.queue(lane);
        let call = self.rig.call();
        let mut world = self.rig.world();
        world.wait_for_event(queue, event).expect("the context is well");
        call.get_going(&mut world, queue).expect("nothing is stuck");
    }

    fn result(&self) -> Vec<u64> {
        self.rig.finish().expect("nothing is stuck");
        assert_eq!(self.rig.world().engine.unfinished(), 0);
        self.memory.all()[..WORDS].to_vec()
    }
}

/// Runs a program, with a wait for each conflict (same word, at least one write) that has no other order.
fn run_ordered(mode: Mode, program: &[(Lane, Action)]) -> Vec<u64> {
    let mut runner = Runner::new(mode);
    // For each word: the last write, and the reads since.
    let mut accesses: Vec<Vec<(Lane, bool, EventHandle)>> = vec![Vec::new(); WORDS];
    for (lane, action) in program {
        let touches = action.touches();
        for (word, writes) in &touches {
            let conflicts = accesses[*word].iter().filter(|(_, wrote, _)| *writes || *wrote);
            let needed: Vec<_> =
                conflicts.filter(|(other, ..)| !other.is_ordered_with(*lane)).map(|(.., event)| *event).collect();
            for event in needed {
                runner.wait(*lane, event);
            }
        }
        runner.act(*lane, action);
        if !touches.is_empty() {
            let event = runner.record(*lane);
            for (word, writes) in touches {
                if writes {
                    accesses[word].clear();
                }
                accesses[word].push((*lane, writes, event));
            }
        }
    }
    runner.result()
}

fn run_unordered(mode: Mode, program: &[(Lane, Action)], stray: &[(Index, Lane)]) -> Vec<u64> {
    let mut runner = Runner::new(mode);
    let mut events = Vec::new();
    for (at, (lane, action)) in program.iter().enumerate() {
        runner.act(*lane, action);
        events.push(runner.record(*lane));
        if let Some((which, waiter)) = stray.get(at) {
            let event = *which.get(&events);
            runner.wait(*waiter, event);
        }
    }
    runner.result()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn an_ordered_program_gives_the_same_bytes_in_every_mode(program in vec((lane(), action()), 1..40)) {
        let expected = expected(&program);
        for mode in MODES {
            prop_assert_eq!(&run_ordered(mode, &program), &expected, "{:?}", mode);
        }
    }

    #[test]
    fn an_unordered_program_ends_in_every_mode(
        program in vec((lane(), action()), 1..40),
        stray in vec((any::<Index>(), lane()), 0..20),
    ) {
        for mode in MODES {
            let first = run_unordered(mode, &program, &stray);
            if let Mode::Deterministic(_) = mode {
                prop_assert_eq!(first, run_unordered(mode, &program, &stray), "{:?}", mode);
            }
        }
    }
}

//! A stand-in for NCCL on simulated machines: the same functions, for ranks that are all in this process.
//!
//! It writes down what it is called with. What ranks do together meets in a list; whoever arrives last
//! enqueues it for all: their streams wait for each other, make copies, and wait for each other again. Values
//! are reduced by a function of the host.
#![expect(unsafe_code, reason = "stands in for functions of C")]

mod functions;
mod reduce;
mod work;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use warploom::Driver;
use warploom::nccl::Nccl;
use warploom::nccl::raw::ncclResult_t;
use warploom::sys::types::CUdeviceptr;

use functions::TABLE;

const SUCCESS: ncclResult_t = 0;
const CUDA_ERROR: ncclResult_t = 1;
const TIMED_OUT: ncclResult_t = 2;
const INVALID_ARGUMENT: ncclResult_t = 4;
const INVALID_USAGE: ncclResult_t = 5;
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A simulated machine's NCCL: while it is held, its functions can be called on this thread, and, for
/// communicators, on any.
pub(crate) struct Fake {
    world: Arc<World>,
}

struct World {
    number: u64,
    driver: Driver,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    version: c_int,
    calls: Vec<String>,
    faults: HashMap<&'static str, ncclResult_t>,
    asynchronous: ncclResult_t,
    cliques: u64,
    alive: usize,
    joined: BTreeMap<u64, c_int>,
    meetings: BTreeMap<Key, Meeting>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Collective { clique: u64, place: u64 },
    Message { clique: u64, from: c_int, to: c_int, place: u64 },
}

#[derive(Default)]
struct Meeting {
    parts: Vec<Part>,
    /// The result, once there is one.
    done: Option<Result<(), ncclResult_t>>,
}

#[derive(Clone, Copy)]
struct Part {
    rank: c_int,
    context: usize,
    operation: Operation,
}

#[derive(Clone, Copy)]
struct Operation {
    kind: Kind,
    send: CUdeviceptr,
    receive: CUdeviceptr,
    count: usize,
    of: c_int,
    stream: usize,
}

#[derive(Clone, Copy)]
enum Kind {
    Broadcast(c_int),
    AllReduce(c_int),
    Reduce(c_int, c_int),
    AllGather,
    ReduceScatter(c_int),
    Send(c_int),
    Receive(c_int),
}

struct Comm {
    world: Arc<World>,
    clique: u64,
    rank: c_int,
    size: c_int,
    context: usize,
    places: RefCell<BTreeMap<(c_int, c_int), u64>>,
}

static WORLDS: Mutex<Vec<Weak<World>>> = Mutex::new(Vec::new());
static NUMBERS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static HERE: RefCell<Weak<World>> = const { RefCell::new(Weak::new()) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static GROUP: RefCell<Vec<(usize, Option<Operation>)>> = const { RefCell::new(Vec::new()) };
    static FAILED: Cell<ncclResult_t> = const { Cell::new(SUCCESS) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fake {
    pub(crate) fn on(driver: &Driver) -> Fake {
        let state = State {
            version: 22_803,
            calls: Vec::new(),
            faults: HashMap::new(),
            asynchronous: SUCCESS,
            cliques: 0,
            alive: 0,
            joined: BTreeMap::new(),
            meetings: BTreeMap::new(),
        };
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let driver = driver.clone();
        let world = Arc::new(World { number, driver, state: Mutex::new(state), changed: Condvar::new() });
        let mut worlds = lock(&WORLDS);
        worlds.retain(|world| world.strong_count() > 0);
        worlds.push(Arc::downgrade(&world));
        HERE.set(Arc::downgrade(&world));
        Fake { world }
    }

    pub(crate) fn nccl(&self) -> warploom::Result<Nccl> {
        // SAFETY: the functions below do what those of NCCL do, on contexts and streams of this driver.
        unsafe { Nccl::from_table(TABLE, &self.world.driver) }
    }

    pub(crate) fn set_version(&self, version: c_int) {
        lock(&self.world.state).version = version;
    }

    /// Lets a function answer with a failure from now on; 0 for none.
    pub(crate) fn fail(&self, function: &'static str, code: ncclResult_t) {
        lock(&self.world.state).faults.insert(function, code);
    }

    /// Lets all communicators have failed since.
    pub(crate) fn fail_later(&self, code: ncclResult_t) {
        lock(&self.world.state).asynchronous = code;
    }

    /// Takes the list of calls so far.
    pub(crate) fn take_calls(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.world.state).calls)
    }

    /// Number of communicators that have not been destroyed.
    pub(crate) fn alive(&self) -> usize {
        lock(&self.world.state).alive
    }
}

impl World {
    /// Writes a call down; a failure that was asked for is its answer.
    fn call(&self, function: &'static str, more: &str) -> Result<(), ncclResult_t> {
        let mut state = lock(&self.state);
        state.calls.push(format!("{function}{more}"));
        match state.faults.get(function) {
            None | Some(&SUCCESS) => Ok(()),
            Some(code) => Err(*code),
        }
    }

    /// Waits until `is_so` holds.
    fn wait<'s>(
        &self,
        state: MutexGuard<'s, State>,
        is_so: impl Fn(&State) -> bool,
    ) -> Result<MutexGuard<'s, State>, ncclResult_t> {
        let waited = self.changed.wait_timeout_while(state, PATIENCE, |state| !is_so(state));
        let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() { Err(TIMED_OUT) } else { Ok(state) }
    }

    fn await_ranks(&self, comm: &Comm) -> Result<(), ncclResult_t> {
        let all = |state: &State| state.joined.get(&comm.clique) == Some(&comm.size);
        self.wait(lock(&self.state), all).map(drop)
    }
}

impl Comm {
    /// Takes one rank's part to where it meets the others'. The last one does it.
    fn arrive(&self, operation: Operation) -> Result<Key, ncclResult_t> {
        let between = match operation.kind {
            Kind::Send(peer) => (self.rank, peer),
            Kind::Receive(peer) => (peer, self.rank),
            _ => (-1, -1),
        };
        // Of a message to itself, a rank has both ends.
        let end = if let Kind::Receive(_) = operation.kind { (-2 - between.0, between.1) } else { between };
        let place = {
            let mut places = self.places.borrow_mut();
            let place = places.entry(end).or_insert(0);
            *place += 1;
            *place
        };
        let (key, expected) = match between {
            (-1, -1) => (Key::Collective { clique: self.clique, place }, self.size as usize),
            (from, to) => (Key::Message { clique: self.clique, from, to, place }, 2),
        };
        let mut state = lock(&self.world.state);
        let meeting = state.meetings.entry(key).or_default();
        meeting.parts.push(Part { rank: self.rank, context: self.context, operation });
        if meeting.parts.len() == expected {
            meeting.done = Some(self.world.perform(&meeting.parts));
            self.world.changed.notify_all();
        }
        Ok(key)
    }

    /// Waits until the last has arrived.
    fn leave(&self, key: Key) -> Result<(), ncclResult_t> {
        let is_done = |state: &State| state.meetings.get(&key).is_some_and(|meeting| meeting.done.is_some());
        let state = self.world.wait(lock(&self.world.state), is_done)?;
        state.meetings.get(&key).and_then(|meeting| meeting.done).unwrap_or(Err(TIMED_OUT))
    }
}

/// Does several ranks' parts.
fn run(operations: &[(usize, Operation)]) -> Result<(), ncclResult_t> {
    let comms = || operations.iter().map(|(comm, operation)| (comm_at(*comm), *operation));
    let keys = comms().map(|(comm, operation)| comm.arrive(operation)).collect::<Result<Vec<_>, _>>()?;
    comms().zip(keys).try_for_each(|((comm, _), key)| comm.leave(key))
}

fn comm_at<'a>(comm: usize) -> &'a Comm {
    // SAFETY: callers of NCCL give communicators that `join` made, and give none back while they use it.
    unsafe { &*(comm as *const Comm) }
}

fn answer(result: Result<(), ncclResult_t>) -> ncclResult_t {
    let code = result.err().unwrap_or(SUCCESS);
    if code != SUCCESS && DEPTH.get() > 0 {
        FAILED.set(code);
    }
    code
}

fn here() -> Option<Arc<World>> {
    HERE.with_borrow(Weak::upgrade)
}

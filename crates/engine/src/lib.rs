//! Ordered work: ops with explicit predecessors, and the ways to run them.
//!
//! Enqueue work, and run it by threads or in an order that a seed repeats ([the program below](#example)). This
//! is the engine of warploom's simulated driver, without CUDA: a user brings the [`Work`] of ops and the
//! [`State`] that they change, and gets queues, executors, waiting, reproducible orders and happens-before.
//!
//! Every enqueued piece of work is an [`Op`]. It waits for its predecessors (the op before it in its
//! [`Queue`], and any others that it was enqueued behind) and then it is *ready*. The [`Mode`] chooses which
//! ready op runs next, and when; any choice is a legal execution, because the predecessors are all there is
//! to the order.
//!
//! ```text
//!   add ──▶ waiting ──(last predecessor done)──▶ ready ──▶ running ──▶ done
//!                                                  ▲          │
//!                                                  └─ parked ◀┘   nothing to do until memory changes
//! ```
//!
//! | type | contents |
//! |---|---|
//! | [`Engine`] | the unfinished ops, their queues, and the choice of the next one |
//! | [`Runner`] | the lock around the user's state; executor threads; waits that report deadlocks instead of hanging |
//! | [`VectorClock`], [`Moment`] | everything that is ordered before a queue's next op |
//! | [`Known`], [`Timelines`] | everything that a program may rely on to be over, for race detection |
//!
//! Work runs with the state unlocked; everything else happens under the lock. A *hub* is a queue that is
//! ordered against all of its *spokes*, in both directions (CUDA's legacy default stream is one). Virtual
//! time is a number that each op's end is booked with; an op starts no earlier than its predecessors ended.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU32, Ordering};
//! use std::time::Duration;
//! use warploom_engine::{Engine, HostOrder, Mode, OpId, Order, Runner, State, Step, Timelines, Work};
//!
//! /// Adds a number to a total.
//! struct Add(u32, Arc<AtomicU32>);
//!
//! impl Work for Add {
//!     type Owner = ();
//!     type Note = ();
//!     type Failure = ();
//!     type Touch = ();
//!
//!     fn run(&mut self) -> Step<()> {
//!         self.1.fetch_add(self.0, Ordering::Relaxed);
//!         Step::Done
//!     }
//!     fn touches(&self, _: impl FnMut(())) {}
//!     fn is_instant(&self) -> bool { false }
//!     fn runs_on_host(&self) -> bool { false }
//!     fn polls(&self) -> bool { false }
//!     fn is_short(&self) -> bool { true }
//!     fn take(&mut self) -> Self { Add(self.0, Arc::clone(&self.1)) }
//!     fn describe(&self) -> String { format!("an addition of {}", self.0) }
//! }
//!
//! struct Machine(Engine<Add>);
//!
//! impl State for Machine {
//!     type Work = Add;
//!     fn engine(&mut self) -> &mut Engine<Add> { &mut self.0 }
//!     fn starts(&mut self, _: OpId, _: &mut Add) -> bool { true }
//!     fn ended(&mut self, id: OpId, work: Add, _: Option<()>) { self.0.finish(id, &work, 0); }
//! }
//!
//! let mode = Mode::Deterministic(Order::Lazy);
//! let engine = Engine::new(mode, 1, Timelines::new(false, HostOrder::Observed));
//! let runner = Runner::new(mode, Duration::from_secs(1), Machine(engine), Box::new(|work: &mut Add| work.run()));
//! let (mut machine, total) = (runner.lock(), Arc::new(AtomicU32::new(0)));
//! let queue = machine.0.new_queue(0, ());
//! let op = machine.0.add(queue, &[], Add(2, Arc::clone(&total)), (), 0);
//! assert_eq!(total.load(Ordering::Relaxed), 0);   // lazy: only what a wait needs runs
//! assert_eq!(runner.wait(&mut machine, &[op], false), Ok(()));
//! assert_eq!(total.load(Ordering::Relaxed), 2);
//! ```

mod clock;
mod engine;
mod id;
mod known;
mod lane;
mod mode;
mod op;
mod order;
mod queue;
mod runner;
mod store;
mod timelines;
mod work;

pub use clock::{Epoch, VectorClock};
pub use engine::Engine;
pub use id::{OpId, QueueId};
pub use known::Known;
pub use mode::{Mode, Order};
pub use op::{Op, State as OpState};
pub use order::{Moment, Period};
pub use queue::Queue;
pub use runner::{Guard, Perform, Runner, State, WaitError, settle};
pub use timelines::{HostOrder, Timelines};
pub use work::{Step, Work};

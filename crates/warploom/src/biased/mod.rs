//! Locks and reference counts that are biased to the thread that made them.
//!
//! Most graphs are built, changed and launched by one thread. An atomic instruction there waits until all that
//! the driver has written before is in the cache, so that the four of a mutex and of a reference count cost a
//! tenth of the driver's own time to add or change a node. Here that thread needs none:
//!
//! ```text
//!   the thread with the bias           the first other thread, once
//!   inside = true                      stage = ending
//!   (the compiler keeps the order)     memory barrier on all threads of the process (membarrier)
//!   stage is biased?                   wait until inside is false
//!     yes: go on, then inside = false  stage = ended
//!     no: as any other thread          go on as with an ordinary mutex or count, as all do from now on
//! ```
//!
//! Either the barrier comes after the store to `inside`, which the other thread then sees; or it comes before
//! the load of `stage`, which then is not `biased`. Ending the bias takes some microseconds, once in the life of
//! a value. Where the system has no such barrier, values are never biased.

mod arc;
mod barrier;
mod bias;
mod mutex;
#[cfg(test)]
mod tests;

pub(crate) use arc::{BiasedArc, BiasedWeak};
pub(crate) use barrier::{is_available as is_barrier_available, pass_everywhere as pass_barrier_everywhere};
pub(crate) use mutex::{BiasedGuard, BiasedMutex};

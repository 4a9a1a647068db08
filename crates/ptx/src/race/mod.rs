//! Detection of data races between the threads of a kernel, and of barriers that some threads miss.
//!
//! ```text
//!   warp ─▶ Watched (a Memory and a Host) ─▶ Detector ─┬─ order::threads        vector clock of each thread
//!                                                      ├─ order::sync_variable  clocks that words pass on
//!                                                      ├─ order::barrier        arrivals at each barrier
//!                                                      ├─ shadow                last accesses to each byte
//!                                                      └─ findings              hazards, each once
//! ```
//!
//! The order is computed, not observed: a missing barrier is found even if the run gave the right result. An
//! access *happens before* another if there is a chain of these:
//!
//! | operation | orders |
//! |---|---|
//! | a thread | its own accesses |
//! | `bar.sync`, `bar.red` | all threads that come to it; `bar.arrive` before those that wait |
//! | `barrier.cluster` | all threads of the cluster |
//! | `bar.warp.sync`, and `.sync` shuffles, votes, matches, reductions | the lanes of the mask |
//! | fence, strong write; strong read of that, fence or barrier | the writer before the reader |
//! | `.release` and `.acquire` | the same, without fences |
//! | `mbarrier` | threads that arrive before those that see the phase over |
//! | `cp.async.wait_group`, `cp.async.wait_all` | the thread's copies before its accesses behind the wait |
//! | `mbarrier` that counts bytes | bulk copies, `st.async`, `red.async` before threads that see the phase over |
//! | `cp.async.bulk.wait_group` | the thread's bulk copies before its accesses; `.read`: their reads alone |
//!
//! A strong access is atomic, volatile, relaxed or stronger. Two of them are never a race; one and a plain
//! access are. A fence for the block (`.cta`) orders nothing for other blocks. A write of the value that is
//! there already counts as harmless next to another write, because threads often write the same flag; next to
//! a read it is a race. A plain read next to a compare-and-swap is none, because the swap checks the value. A
//! thread that has ended counts as having come to all later barriers of the whole block.
//!
//! Times are numbers of a common counter. A thread takes a new one at each release; an access is recorded
//! with the last one. A clock that has a thread's number covers all its accesses with a lower one. Barriers
//! make this cheap: behind one, a whole block has one entry. A clock that would grow beyond bounds is rounded
//! up, so that a race may be missed and none is invented.

mod access_record;
mod accessor;
mod async_copy;
mod async_proxy;
mod bulk_copy;
mod byte_set;
mod detector;
mod events;
mod findings;
mod hazard;
mod heap;
mod order;
mod shadow;
mod shared_memory;
mod watched;
mod watches;

pub use hazard::{Actor, Deed, Divergence, Hazard, HeapMisuse, MemorySpace, Presence};
pub use watched::Watched;
pub use watches::Watches;

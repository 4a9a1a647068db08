//! Detection of data races between the threads of a kernel, and of barriers that some threads miss.
//!
//! ```text
//!   warp ─▶ Watched (a Memory and a Host around another) ─▶ Detector ─┬─ threads   what does each thread know to be over?
//!                                                                      ├─ meetings  what do words pass on that threads meet in?
//!                                                                      ├─ shadow    who touched these bytes last?
//!                                                                      └─ gathering who has come to which barrier?
//! ```
//!
//! The order is computed, not observed: a missing barrier is found although the run happened to go well. What one thread
//! did is *before* what another does if there is a chain of these:
//!
//! | what | orders |
//! |---|---|
//! | a thread | its own accesses |
//! | `bar.sync`, `bar.red` | all that come to it, whichever number and count it has; `bar.arrive` before those that wait |
//! | `barrier.cluster` | all threads of the cluster |
//! | `bar.warp.sync`, and `.sync` shuffles, votes, matches, reductions | the lanes of the mask |
//! | a fence, then a strong write; a strong read of that, then a fence or barrier | the thread that wrote before the one that read |
//! | `.release` and `.acquire` | the same, without fences |
//! | `mbarrier` | those that arrive before those that see the phase over |
//! | `cp.async.wait_group`, `cp.async.wait_all` | the thread's copies before what it does behind |
//!
//! A strong access is atomic, volatile, relaxed or stronger. Two of them are never a race; one and a plain access are. A fence
//! for the block (`.cta`) passes nothing on to other blocks. Writes of what is there already are taken for harmless,
//! because threads often say the same to everyone; reads of them are not. So is a plain read that meets a compare-and-swap, which
//! sees for itself whether what was read still holds. A thread that has ended counts as having come to
//! the barriers behind that are for all of the block.
//!
//! Times are numbers of a common counter. A thread takes a new one when it passes on what it did; an access is stamped with
//! the last one. Whoever knows a thread up to a number knows all that is stamped with a lower one. Barriers make this cheap:
//! behind one, a block is known as a whole. Where a clock would grow beyond bounds it is rounded up, so that a
//! race may be missed and none is invented.

mod access_record;
mod accessor;
mod async_copy;
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

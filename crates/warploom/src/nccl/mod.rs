//! Collective operations between devices, on one node or many, by NVIDIA's NCCL.
//!
//! The feature `nccl` brings no NCCL along, and none is needed to build: [`Nccl::load`] finds `libnccl.so.2`
//! when the program runs, and says how to get it where there is none. It works with the real driver only,
//! since NCCL finds that by itself.
//!
//! | | |
//! |---|---|
//! | [`Nccl`] | the library |
//! | [`UniqueId`] | the id by which ranks of several processes find each other; sent over a channel of the program's own |
//! | [`LocalId`] | the id by which ranks of one process find each other |
//! | [`Communicator`] | one rank: in this process by [`Nccl::join_local`] and [`Nccl::join_alone`], with others by [`Nccl::join`] and [`Nccl::join_all`], which are `unsafe` |
//! | [`Group`] | operations that are enqueued at once |
//! | [`NcclError`] | the errors, in [`Error::Nccl`](crate::Error::Nccl) |
//!
//! The principles of the crate hold here: work is enqueued on a stream that is named, memory that is in use
//! stays until the stream is done with it, and lengths, ranks and contexts are checked before NCCL is called.
//! Memory that is sent and memory that is received do not overlap, which the borrows see to; where NCCL can
//! work in place, there is a function for that.
//!
//! NCCL trusts its ranks: one whose lengths differ from another's has its memory overwritten past the end.
//! Ranks of one process are compared, and the first that differs is refused ([`NcclError::Mismatch`]). Ranks
//! of other processes cannot be seen. Exchanging the lengths before each operation would need an operation
//! that all ranks take part in at the same place, which is what ranks that differ do not do; so joining them
//! is `unsafe`, once, and the calls after it are not.
//!
//! `docs/multi-node.md` shows how to start many nodes, and how to recover when one is lost.

mod collectives;
mod communicator;
mod element;
mod error;
mod group;
mod join;
mod ledger;
mod library;
mod load;
mod local_id;
mod operation;
pub mod raw;
mod unique_id;
mod version;

pub use communicator::Communicator;
pub use element::{Element, Reduction};
pub use error::{NcclCode, NcclError};
pub use group::Group;
pub use library::Nccl;
pub use load::LIBRARY_VARIABLE;
pub use local_id::LocalId;
pub use unique_id::UniqueId;
pub use version::NcclVersion;

#[cfg(doctest)]
#[doc = include_str!("../../../../docs/multi-node.md")]
struct MultiNode;

//! PTX programs that are decoded and run on the interpreter: launches, registers, links, clusters, bulk copies,
//! and what is found about their accesses.

mod broken_programs;
mod bulk_copies;
mod bulk_races;
mod clusters;
mod coalesced;
mod conditions;
mod launches;
mod link;
mod parallel_blocks;
mod pragmas;
mod races;
mod registers;

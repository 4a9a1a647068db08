//! `Cached`: reuse on streams, limits, captures, ends, misuse, and its blocks against a model.

mod captures;
mod ends;
mod lifetimes;
mod limits;
mod misuse;
mod model;
mod padding;
mod reuse;
mod sweeps;
mod trace;

pub(crate) use sweeps::SECOND_ATTEMPT;

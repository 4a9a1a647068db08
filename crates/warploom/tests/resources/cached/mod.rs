//! `Cached`: reuse on streams, limits, captures, ends, and its blocks against a model.

mod model;
mod trace;

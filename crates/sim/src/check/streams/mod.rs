//! Data races between streams, and between streams and the host.

mod host;
mod op;
mod order;
mod watch;

pub(super) use order::{missing, missing_edge, missing_since_birth};
pub(crate) use watch::Drafts;
pub(super) use watch::{Recording, Watch};

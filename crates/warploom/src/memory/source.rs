//! The resource that memory came from, and goes back to in the order of a stream.

use std::ops::Deref;
use std::sync::Arc;

use super::pool::driver_pool::DriverPool;
use super::resource::StreamOrdered;

/// Any stream-ordered resource. Pools are most of them, and what a pool does to free is known without asking.
#[derive(Clone)]
pub(super) enum Source {
    Pool(Arc<DriverPool>),
    Other(Arc<dyn StreamOrdered>),
}

impl Deref for Source {
    type Target = dyn StreamOrdered;

    #[inline]
    fn deref(&self) -> &Self::Target {
        match self {
            Source::Pool(pool) => &**pool,
            Source::Other(resource) => &**resource,
        }
    }
}

impl From<Arc<DriverPool>> for Source {
    #[inline]
    fn from(pool: Arc<DriverPool>) -> Source {
        Source::Pool(pool)
    }
}

impl From<Arc<dyn StreamOrdered>> for Source {
    #[inline]
    fn from(resource: Arc<dyn StreamOrdered>) -> Source {
        Source::Other(resource)
    }
}

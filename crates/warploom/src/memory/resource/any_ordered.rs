//! Any stream-ordered resource, with driver pools called directly.

use std::ops::Deref;
use std::sync::Arc;

use super::StreamOrdered;
use crate::memory::pool::driver_pool::DriverPool;
#[cfg(target_os = "linux")]
use crate::memory::pool::imported::Imported;

/// Any stream-ordered resource. Most are pools, whose free is called without dynamic dispatch.
#[derive(Clone)]
pub(in crate::memory) enum AnyOrdered {
    Pool(Arc<DriverPool>),
    /// A pool of another process.
    #[cfg(target_os = "linux")]
    Imported(Arc<Imported>),
    Other(Arc<dyn StreamOrdered>),
}

impl AnyOrdered {
    /// The resource, behind its trait.
    pub(in crate::memory) fn shared(&self) -> Arc<dyn StreamOrdered> {
        match self {
            AnyOrdered::Pool(pool) => Arc::<DriverPool>::clone(pool),
            #[cfg(target_os = "linux")]
            AnyOrdered::Imported(imported) => Arc::<Imported>::clone(imported),
            AnyOrdered::Other(resource) => Arc::clone(resource),
        }
    }
}

impl Deref for AnyOrdered {
    type Target = dyn StreamOrdered;

    #[inline]
    fn deref(&self) -> &Self::Target {
        match self {
            AnyOrdered::Pool(pool) => &**pool,
            #[cfg(target_os = "linux")]
            AnyOrdered::Imported(imported) => &**imported,
            AnyOrdered::Other(resource) => &**resource,
        }
    }
}

impl From<Arc<DriverPool>> for AnyOrdered {
    #[inline]
    fn from(pool: Arc<DriverPool>) -> AnyOrdered {
        AnyOrdered::Pool(pool)
    }
}

impl From<Arc<dyn StreamOrdered>> for AnyOrdered {
    #[inline]
    fn from(resource: Arc<dyn StreamOrdered>) -> AnyOrdered {
        AnyOrdered::Other(resource)
    }
}

//! The traits whose methods programs call, in one import.
//!
//! `use warploom::prelude::*;` brings the methods of a live set (`pool.peers().extend(…)`), those of a
//! resource behind its trait, and the bounds of generic code. Types are named where they are used.
//!
//! ```
//! use warploom::prelude::*;
//! use warploom::{Buffer, DevicePool, Driver};
//!
//! /// Zeroes on any stream-ordered resource, on any stream or capture.
//! fn zeroes(resource: &impl OrderedResource, queue: &impl Queue) -> warploom::Result<Buffer<u32>> {
//!     resource.zeroed(1024, queue)
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let driver = Driver::open(&warploom_sim::Machine::preset("pcie-pair")?)?;
//! let context = driver.device(0)?.context()?;
//! let pool = DevicePool::new(&context)?;
//! pool.peers().extend(driver.devices()?)?; // LiveSet
//! assert_eq!(pool.peers().len()?, 1);
//! assert_eq!(zeroes(&pool, &context.stream()?)?.len(), 1024);
//! # Ok(())
//! # }
//! ```

pub use crate::{DeviceCopy, LiveSet, OrderedResource, Queue, SynchronousResource};

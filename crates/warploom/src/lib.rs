//! A safe, explicit, object-level library over the CUDA driver.

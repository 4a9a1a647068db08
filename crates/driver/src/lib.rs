//! Finds a CUDA driver, fills the table, turns status into Result.

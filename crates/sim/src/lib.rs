//! A CUDA driver in memory: any number of virtual GPUs behind the same table of functions.

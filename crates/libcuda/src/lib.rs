//! The simulated CUDA driver as a shared library.

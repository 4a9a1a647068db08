//! Parses, checks and runs PTX; knows nothing of CUDA's API.

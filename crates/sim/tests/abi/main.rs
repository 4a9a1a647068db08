//! Superseded ABIs, the launch functions of CUDA 2.0, core dump settings, the error log, and null arguments.

mod contexts;
mod coredump;
mod error_log;
mod graphs;
mod launch;
mod null_arguments;
mod other_functions;
mod several_devices;
mod support;

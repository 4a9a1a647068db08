//! Modules, libraries, launches and occupancy, with the kernels of `crates/ptx/kernels`.

mod attributes;
mod bounds;
mod clusters;
mod code_image;
mod compilation;
mod containers;
mod devices;
mod faults;
mod launch;
mod library;
mod limits;
mod link;
mod module;
mod planted;
mod refused;
mod runtime;
mod spread;
mod stack_memory;
mod support;
mod sweep;
mod tensor_map;
mod wide_registers;

//! Device code: libraries, kernels, launch configurations and launches.
//!
//! | | |
//! |---|---|
//! | [`Library`] | code that was loaded, for every context of a driver |
//! | [`Kernel`] | a function in it that can be launched, with its [`ParameterInfo`] and [`KernelAttributes`] |
//! | [`TypedKernel`] | a kernel whose parameters were compared with types once |
//! | [`ArgumentList`] | arguments whose number and types are known at run time |
//! | [`UsedMemory`] | memory whose address a kernel finds in a struct or a table |
//! | [`LaunchConfig`] | grid, block and shared memory; [`CheckedConfig`] once it is checked |
//! | [`Occupancy`] | the occupancy of a kernel |
//!
//! Launching is `unsafe`: the crate cannot check how a kernel uses its arguments. Everything else about it is
//! checked here, before the driver is called: number and sizes of arguments, the limits of the device, and
//! its access to the memory. Memory that is passed stays until the kernel is done, even if the buffer is
//! dropped.

mod argument;
mod argument_list;
mod arguments;
mod attribute;
mod config;
mod dimensions;
mod error;
mod function;
mod global;
mod image;
pub(crate) mod jit;
mod launch;
mod library;
mod limits;
mod node_launch;
mod occupancy;
mod parameter;
mod typed;
mod used_contexts;
mod used_memory;

pub use argument::{Argument, Fits, ListArgument, Parameter};
pub use argument_list::ArgumentList;
pub use arguments::{Arguments, ArgumentsFor, Parameters};
pub use attribute::{KernelAttribute, KernelAttributes};
pub use config::LaunchConfig;
pub use dimensions::Dimensions;
pub use error::{LaunchError, LibraryError};
pub use function::Kernel;
#[cfg(feature = "nvrtc")]
pub(crate) use image::{HEADER, check_text};
pub use jit::JitOptions;
pub use library::Library;
pub use limits::{CheckedConfig, Shape};
pub(crate) use node_launch::{NodeAttribute, NodeLaunch};
pub use occupancy::{BlockSuggestion, Occupancy};
pub use parameter::ParameterInfo;
pub use typed::TypedKernel;
pub use used_memory::{UsedMemory, Using};

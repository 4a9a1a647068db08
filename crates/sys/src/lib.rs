//! The CUDA driver's C types and the one list of its functions; no behaviour.
//!
//! Name a function or a status code of the driver without linking to it:
//!
//! ```
//! use warploom_sys::Function;
//! use warploom_sys::types::CUresult;
//!
//! assert_eq!(Function::cuMemAlloc_v2.to_string(), "cuMemAlloc_v2");
//! assert!(Function::ALL.len() > 400);
//! assert_eq!(CUresult::CUDA_ERROR_OUT_OF_MEMORY.0, 2);
//! assert_eq!(CUresult(9999).0, 9999); // a code of a newer driver is a value, too
//! ```
//!
//! Names are those of `cuda.h`:
//!
//! - [`types`]: structs, newtype enums and constants. Enums are open: a code that a newer driver invents is a
//!   value like any other.
//! - [`for_each_function!`]: every driver function we know, with its ABI version and signature. The table,
//!   the loader, the simulator's entry points and the exported symbols expand from it.
//! - [`DriverTable`]: one optional pointer per function; [`Function`]: one name per function.
//! - [`Source`]: anything that can be asked for those pointers.
//! - [`MemoryAnnotationTable`]: functions of drivers that check programs, which are not NVIDIA's.
//!
//! The files under `generated` come from `cargo xtask generate`; `functions.txt` says which functions there
//! are.

mod annotations;
mod generated;
mod location;
mod source;
mod status;
mod table;

pub use annotations::{MEMORY_ANNOTATIONS_ID, MemoryAnnotationTable};
pub use generated::types;
pub use source::{GetProcAddress, Source};
pub use table::{DriverTable, Function};

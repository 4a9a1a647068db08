//! The CUDA driver's C types and the one list of its functions; no behaviour.
//!
//! Everything here is what `cuda.h` declares, under the names it has there:
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

//! Parses, checks and runs PTX; knows nothing of CUDA's API.
//!
//! PTX comes from NVRTC, from nvcc and from people, as text:
//!
//! ```text
//!   text ──▶ syntax (what is written, and where) ──▶ program (what it means) ──▶ exec (warps, memory, traps)
//! ```
//!
//! [`syntax::Module`] holds a whole text, and [`Header::read`] says what one was written for, which decides whether a
//! device can take it at all. A [`Program`] is a text that can be run: what it uses and this crate does not have is refused
//! with its line. A [`Grid`] runs one of its [`Kernel`]s over a [`Memory`], a few instructions at a time or to its end; a
//! kernel that cannot go on is a [`Trap`] that names thread, instruction and source line. A mistake is an [`Error`] with the
//! line and column it stands at, what was found there and what belongs there; no text, however broken, is a panic.
//!
//! Texts that need each other are made one by [`link::link`].
//!
//! Integers and IEEE arithmetic give what the hardware gives, to the bit, in every rounding. Functions that the hardware
//! approximates (`sin.approx`, `ex2.approx`, `rsqrt.approx`…) are within half a unit in the last place of the true value
//! here, and so as near to the hardware as that is to the true value. Products of matrices are summed with the precision
//! that the hardware keeps, bit for bit.
//!
//! What is missing: textures and surfaces, `wgmma` and `tcgen05`, bulk copies,
//! registers of 128 bits.
//!
//! ```
//! use warploom_ptx::{AddressSize, Header, Version};
//!
//! let header = Header::read(".version 8.7\n.target sm_90a\n.address_size 64\n")?;
//! assert!(header.version >= Version { major: 7, minor: 8 });
//! assert_eq!(header.target.to_string(), "sm_90a");
//! assert_eq!(header.address_size, AddressSize::Bits64);
//! # Ok::<(), warploom_ptx::Error>(())
//! ```

mod error;
mod exec;
pub mod link;
mod program;
mod race;
pub mod syntax;

pub use error::{Error, Place, Problem};
pub use exec::{
    Access, Block, Crew, Direct, Event, Fault, Grid, Host, Launch, LaunchError, Memory, Step, Touch, Trap, TrapKind,
    VecMemory,
};
pub use program::{Kernel, Parameter, Program, Variable, VariableSpace};
pub use race::{Actor, Deed, Divergence, Hazard, MemorySpace, Presence, Watched, Watches};
pub use syntax::{AddressSize, Features, Header, Target, TextureMode, Version};

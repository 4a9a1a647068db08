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
//! A kernel that goes well may be wrong all the same. [`Watched`] goes around a memory and finds threads that touch the same bytes
//! without an order, shared memory that nobody wrote, bytes that are used while `cp.async` copies them, blocks of a cluster that may not
//! be there, memory of the heap outside of its life and bounds, and barriers that not all come to. Each is a [`Hazard`], with the threads and their instructions; the order is computed
//! from what the kernel says, so that a missing barrier is found in a run that had luck:
//!
//! ```
//! use warploom_ptx::{Grid, Hazard, Launch, MemorySpace, Program, Step, VecMemory, Watched, Watches};
//!
//! let text = ".version 8.7 .target sm_90 .address_size 64
//!     .visible .entry swap() {
//!         .reg .b32 %r<4>; .shared .align 4 .b8 tile[256];
//!         mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2;
//!         st.shared.u32 [%r1], %r0;
//!         bar.sync 0;
//!         xor.b32 %r2, %r1, 4; ld.shared.u32 %r3, [%r2];
//!         ret;
//!     }";
//! let hazards = |text: &str| -> Result<Vec<Hazard>, Box<dyn std::error::Error>> {
//!     let (program, memory) = (Program::from_text(text)?, VecMemory::new(4096));
//!     let kernel = program.kernel("swap").ok_or("there is no such kernel")?;
//!     let launch = Launch { block: [64, 1, 1], ..Launch::default() };
//!     let watched = Watched::new(kernel, &launch, Watches::ALL, &memory);
//!     assert_eq!(Grid::new(kernel, launch, &watched)?.step(10_000), Step::Done);
//!     Ok(watched.take())
//! };
//! assert!(hazards(text)?.is_empty());
//! let found = hazards(&text.replace("bar.sync 0;", ""))?;
//! assert!(matches!(&found[..], [Hazard::Race { space: MemorySpace::Shared, bytes: 4, times: 64, .. }]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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

mod arith;
mod device;
mod error;
mod exec;
mod lanes;
pub mod link;
mod program;
mod race;
pub mod syntax;

pub use device::{
    Access, Direct, Event, Fault, Freed, HeapProblem, Host, Launch, LaunchError, Memory, Touch, Trap, TrapKind,
    VecMemory,
};
pub use error::{Error, Place, Problem};
pub use exec::{Block, Crew, Grid, Step};
pub use program::{Kernel, Parameter, Program, Variable, VariableSpace};
pub use race::{Actor, Deed, Divergence, Hazard, HeapMisuse, MemorySpace, Presence, Watched, Watches};
pub use syntax::{AddressSize, Features, Header, Target, TextureMode, Version};

//! Parses, checks and runs PTX, the assembly language of NVIDIA GPUs, without a GPU. It knows nothing of the
//! CUDA API.
//!
//! Run a kernel on memory of the host ([the first program](#example)), and find the data races of its threads
//! ([the second](#race-detection)).
//!
//! ```text
//!   text ──▶ syntax::Module ──▶ Program ──────────▶ Grid ────────────────▶ Step::Done
//!            words with         decoded kernels,    blocks, warps, lanes   or a Trap with thread,
//!            their position     variables           over a Memory          instruction, source line
//!                 ▲                                    │ each access
//!                 └── link::link                       ▼
//!                     several texts as one          Watched ──▶ Hazard…  data races, missed barriers
//! ```
//!
//! # Example
//!
//! A kernel that adds two arrays, on two blocks of 32 threads:
//!
//! ```
//! use warploom_ptx::{Grid, Launch, Program, Step, VecMemory};
//!
//! let program = Program::from_text(
//!     ".version 8.7 .target sm_90 .address_size 64
//!      .visible .entry add(.param .u64 x, .param .u64 y) {
//!          .reg .b32 %r<7>; .reg .b64 %rd<6>;
//!          ld.param.u64 %rd1, [x];
//!          ld.param.u64 %rd2, [y];
//!          mov.u32 %r1, %ctaid.x;  mov.u32 %r2, %ntid.x;  mov.u32 %r3, %tid.x;
//!          mad.lo.u32 %r4, %r1, %r2, %r3;
//!          mul.wide.u32 %rd3, %r4, 4;
//!          add.s64 %rd4, %rd1, %rd3;
//!          add.s64 %rd5, %rd2, %rd3;
//!          ld.global.u32 %r5, [%rd4];
//!          ld.global.u32 %r6, [%rd5];
//!          add.u32 %r5, %r5, %r6;
//!          st.global.u32 [%rd5], %r5;
//!          ret;
//!      }",
//! )?;
//! let memory = VecMemory::new(4096);
//! let (x, y) = (memory.upload(&[3, 0, 0, 0].repeat(64)), memory.upload(&[4, 0, 0, 0].repeat(64)));
//! let arguments = [x.to_le_bytes(), y.to_le_bytes()].concat();
//!
//! let kernel = program.kernel("add").ok_or("no kernel of that name")?;
//! let launch = Launch { grid: [2, 1, 1], block: [32, 1, 1], arguments: &arguments, ..Launch::default() };
//! assert_eq!(Grid::new(kernel, launch, &memory)?.step(10_000), Step::Done);
//! assert_eq!(memory.read(y, 256), [7, 0, 0, 0].repeat(64));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Stages
//!
//! - [`syntax`] reads a text into a tree. [`Header::read`] reads version, target and address size alone.
//! - [`Program`] is a text whose names are resolved and whose instructions are decoded. An instruction that
//!   this crate does not have is an [`Error`] with its line and column; no text causes a panic.
//! - [`link`](mod@link) merges texts that refer to each other.
//! - [`Grid`] runs a [`Kernel`] over a [`Memory`] and a [`Host`], a few instructions at a time or to its end,
//!   on one thread or on a [`Crew`] of them.
//! - [`Watched`] wraps a memory and finds data races, reads of uninitialised shared memory, bytes accessed
//!   while `cp.async` or a bulk copy copies them, bulk copies without a proxy fence, blocks of a cluster that
//!   may not exist, use after free and out-of-bounds accesses on the heap, and barriers that some threads
//!   miss.
//!
//! # Race detection
//!
//! Each [`Hazard`] names the threads and their instructions. Happens-before is computed from the
//! instructions, so that a missing barrier is found even in a run that gave the right result:
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
//!     let kernel = program.kernel("swap").ok_or("no kernel of that name")?;
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
//! # Directives and pragmas
//!
//! Those that NVRTC 12.0 to 13.4 and nvcc write, and their effect here:
//!
//! | directive | effect |
//! |---|---|
//! | `.version`, `.target`, `.address_size` | the [`Header`]; what is later is refused |
//! | `.file`, `.loc` | traps and hazards name the line of the source |
//! | `.section .debug_…` | read and not used |
//! | `.visible`, `.extern`, `.weak`, `.common` | [`link`](mod@link) resolves names by them |
//! | `.alias` | another name of a function |
//! | `.maxntid`, `.reqntid` | launches of other blocks are refused |
//! | `.reqnctapercluster` | the shape of clusters, unless the launch gives one |
//! | `.maxclusterrank` | told by [`Kernel::max_cluster_blocks`]; the launch checks it |
//! | `.explicitcluster` | told by [`Kernel::needs_cluster`]; launches without clusters are refused |
//! | `.blocksareclusters` | told by [`Kernel::counts_clusters`]; a launch multiplies its grid |
//! | `.maxnreg`, `.minnctapersm`, `.maxnctapersm` | advice about registers; not used |
//! | `.noreturn`, `.abi_preserve`, `.abi_preserve_control` | advice about calls; not used |
//! | `.attribute(.managed)` | told by [`Variable::managed`] |
//! | `.attribute(.unified(…))`, `.language` | kept in the tree, and not used |
//!
//! | pragma | effect |
//! |---|---|
//! | `used_bytes_mask N` | the bytes that the next instruction, a load, uses; others are not checked |
//! | `nounroll` | counts in the estimate of registers alone |
//! | `frequency N` | advice about branches; not used |
//! | `enable_smem_spilling`, `mma_throughput`, `abi_param_reg N` | advice about registers and calls; not used |
//! | others | ignored, with a [warning](Program::warnings); an error outside of functions |
//!
//! # Precision
//!
//! Integer and IEEE arithmetic have the bits of the hardware, in every rounding. Functions that the hardware
//! approximates (`sin.approx`, `ex2.approx`, `rsqrt.approx`…) are within half a unit in the last place of the
//! true value, and so at least as near to it as the hardware is. Matrix products are summed with the
//! precision of the hardware, bit for bit.
//!
//! Not simulated: textures and surfaces, `wgmma` and `tcgen05`, copies of tensors, `multimem`.

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
    Access, Bounds, Direct, Event, Fault, Freed, HeapProblem, Host, Launch, LaunchError, Memory, Touch, Trap, TrapKind,
    VecMemory,
};
pub use error::{Error, Position, Problem};
pub use exec::{Block, Cost, Crew, Grid, Step};
pub use program::{Kernel, Parameter, Program, Variable, VariableSpace};
pub use race::{Actor, Deed, Divergence, Hazard, HeapMisuse, MemorySpace, Presence, Watched, Watches};
pub use syntax::{AddressSize, Features, Header, Target, TextureMode, Version};

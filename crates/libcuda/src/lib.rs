//! The simulated CUDA driver as a shared library, for programs that look for `libcuda.so.1`.
//!
//! The library has one machine, which starts when the first of its functions is called and lives until the
//! process is gone. Environment variables say what it is and what it leaves behind:
//!
//! | variable | value |
//! |---|---|
//! | [`MACHINE_VARIABLE`] | a preset such as `dgx-h100`, or the path of a TOML file; without it, one H200 |
//! | [`CHECK_VARIABLE`] | `report` to check the program, `fail` to fail calls in which something is found, `off` for neither |
//! | [`CHECK_KERNELS_VARIABLE`] | what is looked for among threads of kernels: `all`, `none`, or some of `shared,global,uninitialised,barriers` |
//! | [`FAULTS_VARIABLE`] | what goes wrong on it: a plan in TOML, or the path of one |
//! | [`REPORT_VARIABLE`] | where a report goes when the process exits: a path, JSON if it ends in `.json`; `-` or `stderr` |
//! | [`RUN_VARIABLE`] | a folder in which each process leaves a journal: its start, findings as they are found, a report at exit |
//! | [`TIMELINE_VARIABLE`] | the path of a timeline for Perfetto or `chrome://tracing`, written when the process exits |
//! | [`RECORD_VARIABLE`] | a folder, into which the process writes its record when it exits, for an HTML page |
//! | [`HOST_MEMORY_VARIABLE`] | host memory for simulated memory, such as `16G`; without it, half |
//! | [`MODE_VARIABLE`] | the order of work: `threads`, or the same in each run: `eager`, `lazy`, `sync`, `seeded:7` |
//! | [`WORKERS_VARIABLE`] | how many threads run the blocks of a kernel; without it, as many as there are processors |
//!
//! ```text
//!   program ─▶ exports: one C function per row of the list ─▶ process: the machine's functions ─▶ warploom-sim
//!                │                                               │
//!              lookup: cuGetProcAddress hands out the exports    └─▶ settings: the environment
//!   exit    ─▶ at_exit ─▶ report, timeline, record, journal
//! ```
//!
//! Every function that `warploom-sys` lists is exported, under its own name and, where stream 0 can mean the
//! per-thread default stream, under that variant's name, too. A machine whose driver is older than a
//! function, or whose faults hide it, answers `CALL_REQUIRES_NEWER_DRIVER`, where the real library would not
//! have the symbol. A variable with a value that means nothing is reported on standard error, and every
//! function but `cuGetErrorName` and `cuGetErrorString` answers `SYSTEM_NOT_READY`.

mod at_exit;
mod complaint;
mod exports;
mod faults;
mod journal;
mod lookup;
mod machine;
mod process;
mod report;
mod settings;

pub use warploom_record::variables::*;

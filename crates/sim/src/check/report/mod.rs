//! Reports: the findings of checks as data and as text, and the settings of checks.

mod finding;
mod findings;
mod handles;
mod kernels;
mod settings;
mod text;

pub use finding::{Finding, FindingKind, LeakOwner, Leaked, MissingWait};
pub(crate) use findings::{Findings, emit};
pub use handles::{HandleProblem, ObjectKind};
pub(crate) use kernels::KernelHazard;
pub use kernels::{
    Absence, AbsentBlock, BarrierDivergence, CopySide, HeapMisuse, HeapProblem, Instead, KernelFault, KernelRace,
    MissingOrder, RacedMemory, SharedRead, ThreadAccess, ThreadInfo, UnfinishedCopy,
};
pub use settings::{Backtraces, CheckMode, Checks, KernelChecks};

//! Kernel faults: traps and illegal accesses that end a kernel early.

use warploom_ptx::{Trap, TrapKind};
use warploom_sys::types::CUresult;

use crate::check::KernelFault;

/// The sticky error of the context.
pub(super) fn code(kind: &TrapKind) -> CUresult {
    match kind {
        // A stack overflow is an access beyond the thread's local memory.
        TrapKind::Global(_)
        | TrapKind::Shared { .. }
        | TrapKind::Local(_)
        | TrapKind::Parameter(_)
        | TrapKind::Condition(_)
        | TrapKind::Stack { .. } => CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
        TrapKind::Misaligned { .. } => CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
        TrapKind::Assert { .. } => CUresult::CUDA_ERROR_ASSERT,
        TrapKind::Deadlock(_) => CUresult::CUDA_ERROR_LAUNCH_TIMEOUT,
        // An address in front of shared memory wraps, and names a block that no cluster has.
        TrapKind::Barrier { .. } | TrapKind::Cluster { rank: 16.., .. } => CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION,
        TrapKind::Call(_) | TrapKind::BranchIndex { .. } => CUresult::CUDA_ERROR_INVALID_PC,
        _ => CUresult::CUDA_ERROR_LAUNCH_FAILED,
    }
}

/// The message of a failed assertion.
pub(super) fn message(trap: &Trap) -> Option<String> {
    let TrapKind::Assert { message, file, line, function } = &trap.kind else { return None };
    let ([x, y, z], [tx, ty, tz]) = (trap.block, trap.thread);
    Some(format!(
        "{file}:{line}: {function}: block: [{x},{y},{z}], thread: [{tx},{ty},{tz}] Assertion `{message}` failed.\n"
    ))
}

/// A trap for a report.
pub(super) fn describe(trap: Trap) -> KernelFault {
    let address = match trap.kind {
        TrapKind::Global(address) | TrapKind::Misaligned { address, .. } => Some(address),
        _ => None,
    };
    let problem = match trap.kind {
        TrapKind::Stack { .. } => format!("{}; set CU_LIMIT_STACK_SIZE to what its calls need", trap.kind),
        _ => trap.kind.to_string(),
    };
    KernelFault {
        kernel: trap.kernel,
        problem,
        block: trap.block,
        thread: trap.thread,
        instruction: trap.instruction,
        line: trap.place.line,
        source: trap.source,
        address,
        near: None,
        freed: None,
    }
}

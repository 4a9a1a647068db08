//! The export table of memory annotations: its C functions, one of each for every slot.
#![expect(unsafe_code, reason = "C functions, whose pointers are C's promise")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use warploom_sys::types::{CUdeviceptr, CUresult, CUstream};
use warploom_sys::{Function, MemoryAnnotationTable};

use crate::api::annotations;
use crate::ffi::Cross;
use crate::ffi::status::Status;
use crate::machine::call::Call;
use crate::machine::slots::{self, SLOTS};
use crate::memory::shadow::InCall;

unsafe extern "C" fn lend<const SLOT: usize>(address: CUdeviceptr, bytes: usize, stream: CUstream) -> CUresult {
    // SAFETY: the C caller passed the stream, under the contract of the table.
    let stream = unsafe { stream.cross() };
    enter(SLOT, &|call| annotations::lend(call, address, bytes, stream))
}

unsafe extern "C" fn release<const SLOT: usize>(address: CUdeviceptr, stream: CUstream) -> CUresult {
    // SAFETY: as above.
    let stream = unsafe { stream.cross() };
    enter(SLOT, &|call| annotations::release(call, address, stream))
}

/// Runs the body of a function. Such calls are numbered like a driver's, but neither recorded nor made to
/// fail.
fn enter(slot: usize, body: &dyn Fn(&Call<'_>) -> Status) -> CUresult {
    let core = slots::machine(slot);
    let Some(core) = core.as_ref() else { return CUresult::CUDA_ERROR_DEINITIALIZED };
    if !core.home.is_here() || !core.findings.is_on() {
        return CUresult::CUDA_ERROR_NOT_INITIALIZED;
    }
    let call = Call::new(core, Function::cuGetExportTable, false);
    let _in_call = InCall::new(core.next_call(), Function::cuGetExportTable, core.findings.remembers_callers());
    let answer = match catch_unwind(AssertUnwindSafe(|| body(&call))) {
        Ok(Ok(())) => CUresult::CUDA_SUCCESS,
        Ok(Err(code)) => code,
        Err(_) => call.panicked(),
    };
    core.findings.tell();
    answer
}

macro_rules! tables {
    ($($slot:literal)*) => {
        [$(MemoryAnnotationTable {
            size: size_of::<MemoryAnnotationTable>(),
            lend: lend::<$slot>,
            release: release::<$slot>,
        }),*]
    };
}
static TABLES: [MemoryAnnotationTable; SLOTS] = tables!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);

/// The table of a slot's machine.
pub(crate) fn table(slot: usize) -> &'static MemoryAnnotationTable {
    &TABLES[slot]
}

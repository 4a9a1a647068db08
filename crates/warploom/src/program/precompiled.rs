//! NVRTC's memory for precompiled headers, and their status.
#![expect(unsafe_code, reason = "calls NVRTC with pointers")]

use std::ffi::CString;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::handle::Handle;
use super::nvrtc::answer;
use super::options::is_precompiling;
use super::{Nvrtc, NvrtcCode, NvrtcError, NvrtcVersion, PrecompiledHeader};
use crate::Result;

/// The first NVRTC with precompiled headers.
const SINCE: NvrtcVersion = NvrtcVersion { major: 12, minor: 8 };

/// NVRTC has one piece of memory for all precompiled headers, and frees it when it is to have another size.
/// Held while the memory is used or resized.
static TURN: Mutex<()> = Mutex::new(());

/// Waits until no other compilation uses the memory.
fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The turn, if any of the options has to do with precompiled headers.
pub(super) fn turn_for(options: &[CString]) -> Option<MutexGuard<'static, ()>> {
    options.iter().any(|option| is_precompiling(option.as_bytes())).then(turn)
}

/// The outcome and log of a precompiled header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Known(PrecompiledHeader),
    /// There was too little memory, and so much is needed.
    Exhausted {
        needed: usize,
    },
}

impl Nvrtc {
    /// The number of bytes for precompiled headers.
    ///
    /// # Errors
    ///
    /// [`NvrtcError::Lacks`] below 12.8, and NVRTC's error.
    #[doc(alias = "nvrtcGetPCHHeapSize")]
    pub fn precompiled_heap(&self) -> Result<usize> {
        let function = self.table().nvrtcGetPCHHeapSize.ok_or_else(|| self.lacks("nvrtcGetPCHHeapSize"))?;
        let mut size = 0;
        // SAFETY: `size` is writable.
        answer("nvrtcGetPCHHeapSize", unsafe { function(&raw mut size) })?;
        Ok(size)
    }

    /// Sets the size of the heap for precompiled headers, in bytes, for the whole process; it may take some
    /// more. There is no need to: a program that asks for more gets more.
    ///
    /// # Errors
    ///
    /// [`NvrtcError::Lacks`] below 12.8, and NVRTC's error.
    #[doc(alias = "nvrtcSetPCHHeapSize")]
    pub fn set_precompiled_heap(&self, bytes: usize) -> Result<()> {
        let _turn = turn();
        Ok(self.resize(bytes)?)
    }

    /// The caller holds the lock.
    pub(super) fn resize(&self, bytes: usize) -> Result<(), NvrtcError> {
        let function = self.table().nvrtcSetPCHHeapSize.ok_or_else(|| self.lacks("nvrtcSetPCHHeapSize"))?;
        // SAFETY: it takes a number, and nobody uses the memory that it frees: whoever does has the turn.
        answer("nvrtcSetPCHHeapSize", unsafe { function(bytes) })
    }

    fn lacks(&self, function: &'static str) -> NvrtcError {
        NvrtcError::Lacks { function, have: self.version(), needs: SINCE }
    }
}

impl Handle<'_> {
    /// The outcome of the precompiled header of the last compilation; `None` if NVRTC does not say.
    pub(super) fn precompiled(&self) -> Result<Option<Fate>, NvrtcError> {
        let (nvrtc, raw) = self.raw();
        let Some(status) = nvrtc.table().nvrtcGetPCHCreateStatus else { return Ok(None) };
        // SAFETY: the program is alive.
        Ok(Some(match NvrtcCode(unsafe { status(raw) }) {
            NvrtcCode::SUCCESS => Fate::Known(PrecompiledHeader::Created),
            NvrtcCode::NO_PCH_CREATE_ATTEMPTED => Fate::Known(PrecompiledHeader::NotAttempted),
            NvrtcCode::PCH_CREATE => Fate::Known(PrecompiledHeader::Failed),
            NvrtcCode::PCH_CREATE_HEAP_EXHAUSTED => {
                let name = "nvrtcGetPCHHeapSizeRequired";
                let function = nvrtc.table().nvrtcGetPCHHeapSizeRequired.ok_or_else(|| nvrtc.lacks(name))?;
                let mut needed = 0;
                // SAFETY: the program is alive, and `needed` is writable.
                answer(name, unsafe { function(raw, &raw mut needed) })?;
                Fate::Exhausted { needed }
            }
            code => return Err(NvrtcError::Call { function: "nvrtcGetPCHCreateStatus", code, detail: String::new() }),
        }))
    }
}

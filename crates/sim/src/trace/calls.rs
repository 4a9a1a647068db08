//! Counts of calls and of failed calls, per function.

use litemap::LiteMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde::{Serialize, Serializer};
use warploom_sys::Function;
use warploom_sys::types::CUresult;

use crate::process::home::lock_briefly_held;

/// Number of calls of one function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CallCount {
    /// The function.
    #[serde(serialize_with = "function_name")]
    pub function: Function,
    /// Its calls, those that failed and those that have not returned included.
    pub calls: u64,
    /// Those that failed, by their code.
    pub failed: Vec<Failures>,
}

/// Calls that answered with the same code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Failures {
    /// The code. `NOT_READY` is among the codes, though it is no error.
    #[serde(serialize_with = "code_name")]
    pub code: CUresult,
    /// Number of calls.
    pub calls: u64,
}

pub(super) fn function_name<S: Serializer>(function: &Function, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(function.name())
}

pub(super) fn code_name<S: Serializer>(code: &CUresult, serializer: S) -> Result<S::Ok, S::Error> {
    match code.name() {
        Some(name) => serializer.serialize_str(name),
        None => serializer.collect_str(code),
    }
}

/// Counts as calls begin and end.
pub(super) struct Calls {
    /// By the function's place in the list.
    made: Box<[AtomicU64]>,
    failed: Mutex<LiteMap<(Function, u32), u64>>,
}

impl Calls {
    pub(super) fn new() -> Self {
        Self { made: Function::ALL.iter().map(|_| AtomicU64::new(0)).collect(), failed: Mutex::default() }
    }

    pub(super) fn add(&self, function: Function) {
        self.made[function.index()].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn add_answer(&self, function: Function, code: CUresult) {
        if code != CUresult::CUDA_SUCCESS
            && let Some(mut failed) = lock_briefly_held(&self.failed)
        {
            *failed.entry((function, code.0)).or_default() += 1;
        }
    }

    /// The functions that were called, in the order of the list.
    pub(super) fn counts(&self) -> Vec<CallCount> {
        let failed = lock_briefly_held(&self.failed).map_or_else(LiteMap::new, |failed| failed.clone());
        let count = |function: &Function| {
            let calls = self.made[function.index()].load(Ordering::Relaxed);
            let codes = failed.iter().filter(|((failing, _), _)| failing == function);
            let failed = codes.map(|((_, code), calls)| Failures { code: CUresult(*code), calls: *calls });
            CallCount { function: *function, calls, failed: failed.collect() }
        };
        Function::ALL.iter().map(count).filter(|count| count.calls > 0).collect()
    }
}

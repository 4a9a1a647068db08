//! The process's one machine, and its functions, found once.
#![expect(unsafe_code, reason = "asks the machine's resolver, and gives the pointers it hands out their C types")]

use std::ffi::{CStr, c_void};
use std::mem::transmute;
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;

use warploom_sim::Machine;
use warploom_sys::types::{CUdriverProcAddress_flags as Flags, CUdriverProcAddressQueryResult, CUresult, cuuint64_t};
use warploom_sys::{DriverTable, Function, Source};

use crate::machine::{self, MACHINE_VARIABLE};

/// A machine that runs until the process ends.
pub(crate) struct Process {
    /// The functions in which stream 0 is the legacy default stream.
    pub(crate) legacy: DriverTable,
    /// The functions in which it is the per-thread one.
    pub(crate) per_thread: DriverTable,
    /// Keeps the machine.
    _source: Source,
}

/// The machine, started by whoever asks first. `None` if it could not be; that has been said.
pub(crate) fn process() -> Option<&'static Process> {
    static PROCESS: OnceLock<Option<Process>> = OnceLock::new();
    PROCESS.get_or_init(start).as_ref()
}

#[expect(clippy::print_stderr, reason = "a C program can be told what is wrong with its environment in no other way")]
fn start() -> Option<Process> {
    let description = std::env::var_os(MACHINE_VARIABLE);
    let description = description.as_ref().map(|description| description.to_string_lossy());
    match machine::start(description.as_deref()) {
        Ok(machine) => Some(Process::of(&machine)),
        Err(error) => {
            eprintln!("warploom: {MACHINE_VARIABLE} describes no machine that could be started: {error}");
            None
        }
    }
}

/// `name`, which must end in the one nul it contains, as C takes it.
const fn terminated(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name with one nul, at its end"),
    }
}

/// A function in the ABI of the version that introduced it, if a driver of `version` has that.
fn find(source: &Source, version: i32, function: Function, name: &CStr, flags: Flags) -> Option<NonNull<c_void>> {
    // The variants for per-thread default streams are younger than most of the functions they belong to.
    let since = match function.per_thread() {
        Some((since, _)) if flags == Flags::CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM => since,
        _ => function.version(),
    };
    // A resolver asked for an ABI that its driver is too old for answers with the one before.
    if since > version {
        return None;
    }
    let mut pointer = null_mut();
    let mut found = CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS;
    let (ask, flags) = (source.resolve(), cuuint64_t::from(flags.0));
    // SAFETY: `name` is terminated, both outputs are writable, and the source keeps the resolver callable.
    let status = unsafe { ask(name.as_ptr(), &raw mut pointer, since, flags, &raw mut found) };
    if status == CUresult::CUDA_SUCCESS { NonNull::new(pointer) } else { None }
}

macro_rules! resolve {
    ($($family:ident $slot:ident $name:literal $version:literal $per_thread:literal $suffix:literal
        ($($argument:ident: $type:ty),*);)*) => {
        fn table(source: &Source, version: i32, flags: Flags) -> DriverTable {
            DriverTable {
                $($slot: {
                    let name = const { terminated(concat!($name, "\0")) };
                    find(source, version, Function::$slot, name, flags).map(|entry| {
                        // SAFETY: by the promise of a source, this is the function that was asked for, in the ABI of the
                        // version that was asked for; the list gives the C signature of that pair.
                        unsafe { transmute::<NonNull<c_void>, unsafe extern "C" fn($($type),*) -> CUresult>(entry) }
                    })
                },)*
            }
        }
    };
}
warploom_sys::for_each_function!(resolve);

impl Process {
    fn of(machine: &Machine) -> Self {
        let (source, version) = (machine.source(), machine.topology().driver_version);
        let legacy = table(&source, version, Flags::CU_GET_PROC_ADDRESS_LEGACY_STREAM);
        let per_thread = table(&source, version, Flags::CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
        Self { legacy, per_thread, _source: source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! differences {
        ($($family:ident $slot:ident $name:literal $version:literal $per_thread:literal $suffix:literal
            ($($argument:ident: $type:ty),*);)*) => {
            /// The functions that only one of the two tables has.
            fn differences(process: &Process) -> Vec<&'static str> {
                let both = [$((stringify!($slot), process.legacy.$slot.is_some(), process.per_thread.$slot.is_some()),)*];
                both.into_iter().filter(|(_, legacy, per_thread)| legacy != per_thread).map(|(name, ..)| name).collect()
            }
        };
    }
    warploom_sys::for_each_function!(differences);

    #[test]
    fn a_function_is_there_for_both_default_streams_or_for_neither() -> Result<(), Box<dyn std::error::Error>> {
        let process = Process::of(&Machine::preset("h200")?);
        let (legacy, per_thread) = (process.legacy.cuStreamSynchronize, process.per_thread.cuStreamSynchronize);
        assert!(legacy.zip(per_thread).is_some_and(|(one, other)| !std::ptr::fn_addr_eq(one, other)));
        assert_eq!(differences(&process), [""; 0]);
        Ok(())
    }
}

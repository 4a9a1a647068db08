//! The process's one machine, and its functions, found once.
#![expect(unsafe_code, reason = "keeps what never ends behind a pointer, and gives functions their C types")]

use std::ffi::c_void;
use std::mem::transmute;
use std::panic::catch_unwind;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::time::Duration;

use warploom_record::variables::FAULTS_VARIABLE;
use warploom_sim::{Machine, StartError};
use warploom_sys::types::CUresult;
use warploom_sys::{DriverTable, Function};

use crate::complaint::complain;
use crate::journal::Journal;
use crate::machine;
use crate::settings::Settings;

/// A machine that runs until the process ends. Nothing of it is ever torn down: programs free things late,
/// and its threads may be in the middle of something.
pub(crate) struct Process {
    /// The functions in which stream 0 is the legacy default stream.
    pub(crate) legacy: DriverTable,
    /// The functions in which it is the per-thread one.
    pub(crate) per_thread: DriverTable,
    pub(crate) settings: Settings,
    /// The journal, if the process is part of a run.
    pub(crate) journal: Option<Arc<Journal>>,
    pub(crate) machine: Machine,
}

/// `None` if the machine could not be started; that has been said.
type Started = Option<Process>;

static STARTED: AtomicPtr<Started> = AtomicPtr::new(null_mut());

/// The machine, started by the first call.
pub(crate) fn process() -> Option<&'static Process> {
    running().unwrap_or_else(start_once)
}

/// The machine if it has been asked for before.
fn running() -> Option<Option<&'static Process>> {
    let started = STARTED.load(Ordering::Acquire);
    // SAFETY: null, or a box that `start_once` made and nobody frees.
    unsafe { started.as_ref() }.map(Option::as_ref)
}

/// The machine, if it has been started.
pub(crate) fn started() -> Option<&'static Process> {
    running().flatten()
}

/// Starts the machine on the first thread that calls; the others wait. The lock holds the process id, so a
/// child of `fork` does not wait for a thread that exists only in its parent.
fn start_once() -> Option<&'static Process> {
    static STARTER: AtomicU32 = AtomicU32::new(0);
    let own = std::process::id();
    loop {
        if let Some(started) = running() {
            return started;
        }
        let starter = STARTER.load(Ordering::Relaxed);
        if starter != own && STARTER.compare_exchange(starter, own, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    // Between the two looks another may have started it and be done.
    if running().is_none() {
        let started = catch_unwind(start).unwrap_or_else(|_| {
            complain("the simulator panicked when it was started: a bug in warploom");
            None
        });
        STARTED.store(Box::into_raw(Box::new(started)), Ordering::Release);
    }
    STARTER.store(0, Ordering::Release);
    started()
}

fn start() -> Started {
    let settings = Settings::read(|variable| std::env::var_os(variable)).map_err(complain).ok()?;
    let journal = settings.run.as_ref().and_then(|folder| match Journal::create(folder, &settings) {
        Ok(journal) => Some(Arc::new(journal)),
        Err(error) => {
            complain(format_args!("no journal can be written in {}: {error}", folder.display()));
            None
        }
    });
    match machine::start(&settings, journal.clone()) {
        Ok(machine) => Some(Process::of(machine, settings, journal)),
        Err(StartError::Faults(error)) => {
            complain(format_args!("{FAULTS_VARIABLE}: the plan does not fit the machine: {error}"));
            None
        }
        Err(error) => {
            complain(format_args!("the machine {:?} could not be started: {error}", settings.name));
            None
        }
    }
}

macro_rules! resolve {
    ($($family:ident $slot:ident $name:literal $version:literal $per_thread:literal $suffix:literal
        ($($argument:ident: $type:ty),*);)*) => {
        fn table(machine: &Machine, per_thread: bool) -> DriverTable {
            DriverTable {
                $($slot: machine.function(Function::$slot, per_thread).map(|entry| {
                    // SAFETY: a machine's function has the signature of the row of the list that it is asked
                    // for by.
                    unsafe { transmute::<NonNull<c_void>, unsafe extern "C" fn($($type),*) -> CUresult>(entry) }
                }),)*
            }
        }
    };
}
warploom_sys::for_each_function!(resolve);

impl Process {
    fn of(machine: Machine, settings: Settings, journal: Option<Arc<Journal>>) -> Self {
        Self { legacy: table(&machine, false), per_thread: table(&machine, true), settings, journal, machine }
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
        let settings = Settings::read(|_| None).map_err(|error| error.to_string())?;
        let process = Process::of(machine::start(&settings, None)?, settings, None);
        let (legacy, per_thread) = (process.legacy.cuStreamSynchronize, process.per_thread.cuStreamSynchronize);
        assert!(legacy.zip(per_thread).is_some_and(|(one, other)| !std::ptr::fn_addr_eq(one, other)));
        assert_eq!(differences(&process), [""; 0]);
        Ok(())
    }
}

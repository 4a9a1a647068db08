//! Driver functions that are not simulated: each answers `NOT_SUPPORTED` and names itself in the log.
#![expect(unsafe_code, reason = "calls every driver function with null pointers and zeros")]

use std::collections::BTreeSet;
use std::ptr::null_mut;

use warploom_driver::{Driver, Error, Function};
use warploom_sim::topology::Topology;
use warploom_sim::{LogKind, Mode, Order};
use warploom_sys::for_each_function;
use warploom_sys::types::CUresult;
use warploom_testkit::{TestResult, call, open};

/// The functions that answer `NOT_SUPPORTED` to any arguments, sorted. Strike out those that become
/// simulated.
const NOT_SIMULATED: &str = include_str!("unsupported.txt");

macro_rules! calls {
    ($($family:ident $slot:ident $name:literal $version:literal $per_thread:literal $suffix:literal
        ($($argument:ident: $type:ty),*);)*) => {
        /// Calls a function with null pointers and zeros.
        fn call_with_zeros(driver: &Driver, function: Function) -> Result<(), Error> {
            match function {
                $(Function::$slot => {
                    // SAFETY: integers, C enums, plain structs, pointers and optional functions, which may
                    // all be zero.
                    $(let $argument: $type = unsafe { std::mem::zeroed() };)*
                    // SAFETY: the simulator checks its arguments, and refuses null where there must be a
                    // pointer.
                    unsafe { driver.$slot($($argument),*) }
                })*
            }
        }
    };
}
for_each_function!(calls);

#[test]
fn exactly_the_listed_functions_are_not_simulated() -> TestResult {
    let mut topology = Topology::preset("h200")?;
    topology.driver_version = Function::ALL.iter().map(|function| function.version()).max().unwrap_or(0);
    let mut refused = BTreeSet::new();
    for &function in Function::ALL {
        let (machine, driver) = open(topology.clone(), Mode::Deterministic(Order::Eager))?;
        let driver = &driver;
        let mut context = null_mut();
        call!(driver.cuDevicePrimaryCtxRetain(&mut context, 0))?;
        call!(driver.cuCtxSetCurrent(context))?;
        assert!(driver.supports(function), "{function} is newer than the machine's driver");
        let answer = call_with_zeros(driver, function);
        let log = machine.log();
        if let Some(entry) = log.iter().find(|entry| entry.kind == LogKind::Unsupported) {
            assert_eq!(entry.function, function, "{entry}");
            assert!(entry.reason.contains(function.name()), "{entry}");
            assert_eq!(answer.err().and_then(|error| error.code()), Some(CUresult::CUDA_ERROR_NOT_SUPPORTED));
            refused.insert(function.to_string());
        }
    }
    let listed: BTreeSet<String> = NOT_SIMULATED.lines().map(str::to_owned).collect();
    let (new, gone) = (refused.difference(&listed), listed.difference(&refused));
    let (new, gone): (Vec<_>, Vec<_>) = (new.collect(), gone.collect());
    assert!(new.is_empty(), "no longer simulated, or new and not simulated: {new:#?}");
    assert!(gone.is_empty(), "simulated now, so remove them from unsupported.txt: {gone:#?}");
    assert!(NOT_SIMULATED.lines().is_sorted(), "unsupported.txt is sorted");
    Ok(())
}

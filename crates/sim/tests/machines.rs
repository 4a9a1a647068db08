//! Machines: several in one process, of several versions, coming and going.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use warploom_driver::Driver;
use warploom_sim::topology::{Topology, number};
use warploom_sim::{Machine, Mode, StartError};
use warploom_sys::Source;
use warploom_sys::types::{CUdevice_attribute, CUdriverProcAddressQueryResult as Query, CUresult};
use warploom_testkit::{ASYNCHRONOUS, Primary, TestResult, answers, call, code_of, open};

/// Slots belong to the process: who counts them has it alone, everyone else shares.
static SLOTS: RwLock<()> = RwLock::new(());

fn sharing() -> RwLockReadGuard<'static, ()> {
    SLOTS.read().unwrap_or_else(PoisonError::into_inner)
}

fn alone() -> RwLockWriteGuard<'static, ()> {
    SLOTS.write().unwrap_or_else(PoisonError::into_inner)
}

fn of_version(major: i32, minor: i32) -> TestResult<(Machine, Driver)> {
    let topology = Topology::preset("h200")?.into_builder().driver_version(major, minor).build()?;
    open(topology, Mode::Sync)
}

#[test]
fn machines_do_not_see_each_other() -> TestResult {
    let _turn = sharing();
    for mode in ASYNCHRONOUS {
        let (_here, here) = open(Topology::preset("h200")?, *mode)?;
        let (_there, there) = open(Topology::preset("h200")?, *mode)?;
        let (a, b) = (Primary::of(&here, 0)?, Primary::of(&there, 0)?);
        assert_ne!(a.context, b.context);

        let (mut memory, mut stream, mut current) = (0, null_mut(), null_mut());
        call!(here.cuMemAlloc_v2(&mut memory, 4096))?;
        call!(here.cuStreamCreate(&mut stream, 0))?;
        answers!(there.cuCtxSetCurrent(a.context), CUDA_ERROR_INVALID_CONTEXT);
        answers!(there.cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
        answers!(there.cuStreamDestroy_v2(stream), CUDA_ERROR_INVALID_HANDLE);
        answers!(there.cuMemFree_v2(memory), CUDA_ERROR_INVALID_VALUE);
        answers!(there.cuMemcpyHtoD_v2(memory, [0_u8; 16].as_ptr().cast(), 16), CUDA_ERROR_INVALID_VALUE);

        call!(here.cuCtxSetCurrent(null_mut()))?;
        call!(there.cuCtxGetCurrent(&mut current))?;
        assert_eq!(current, b.context);
        call!(here.cuCtxGetCurrent(&mut current))?;
        assert!(current.is_null());
        call!(here.cuStreamDestroy_v2(stream))?;
    }
    Ok(())
}

#[test]
fn a_machine_has_what_its_driver_version_had() -> TestResult {
    let _turn = sharing();
    let (_machine, driver) = of_version(12, 2)?;
    let mut version = 0;
    call!(driver.cuDriverGetVersion(&mut version))?;
    assert_eq!(version, 12020);
    let look_up = |name: &CStr, version| -> TestResult<_> {
        let (mut pointer, mut status) = (null_mut(), Query(77));
        call!(driver.cuGetProcAddress_v2(name.as_ptr(), &mut pointer, version, 0, &mut status))?;
        Ok((pointer.is_null(), status))
    };
    assert_eq!(look_up(c"cuMemAdvise", 12020)?, (false, Query::CU_GET_PROC_ADDRESS_SUCCESS));
    for unborn in [c"cuCtxRecordEvent", c"cuDeviceGetHostAtomicCapabilities", c"cuMemcpyBatchAsync"] {
        assert_eq!(look_up(unborn, 12020)?, (true, Query::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND), "{unborn:?}");
    }
    // The newest form it has of a function that changed later.
    assert_eq!(look_up(c"cuCtxCreate", -1)?, look_up(c"cuCtxCreate", 11040)?);
    let mut pointer = null_mut();
    answers!(driver.cuGetProcAddress(c"cuCtxCreate".as_ptr(), &mut pointer, 12050, 0), CUDA_ERROR_INVALID_VALUE);
    assert!(call!(driver.cuCtxCreate_v4(null_mut(), null_mut(), 0, 0)).is_err_and(|error| error.code().is_none()));
    Ok(())
}

#[test]
fn an_attribute_younger_than_the_driver_is_unknown() -> TestResult {
    let _turn = sharing();
    let ask = |driver: &Driver, number: i32| {
        let mut value = 77;
        code_of(call!(driver.cuDeviceGetAttribute(&mut value, CUdevice_attribute(number.cast_unsigned()), 0)))
    };
    let (_old, old) = of_version(12, 2)?;
    let (_new, new) = of_version(13, 0)?;
    for known in [number::WARP_SIZE, number::MULTICAST_SUPPORTED, number::NUMA_CONFIG] {
        assert_eq!(ask(&old, known), CUresult::CUDA_SUCCESS, "{known}");
    }
    for young in [number::HANDLE_TYPE_FABRIC_SUPPORTED, number::MPS_ENABLED, number::HOST_MEMORY_POOLS_SUPPORTED] {
        assert_eq!(ask(&old, young), CUresult::CUDA_ERROR_INVALID_VALUE, "{young}");
        assert_eq!(ask(&new, young), CUresult::CUDA_SUCCESS, "{young}");
    }
    Ok(())
}

#[test]
fn a_machine_without_devices_does_not_start_its_driver() -> TestResult {
    let _turn = sharing();
    let machine = Machine::builder().topology(Topology::builder().build()?).start()?;
    let driver = Driver::open(&machine)?;
    answers!(driver.cuInit(0), CUDA_ERROR_NO_DEVICE);
    let mut count = 77;
    answers!(driver.cuDeviceGetCount(&mut count), CUDA_ERROR_NOT_INITIALIZED);
    call!(driver.cuDriverGetVersion(&mut count))?;
    Ok(())
}

#[test]
fn more_machines_than_slots_wait_and_then_say_so() -> TestResult {
    let _turn = alone();
    let builder = Machine::builder().mode(Mode::Sync);
    let mut machines = Vec::new();
    let refused = loop {
        match builder.clone().slot_patience(Duration::from_millis(20)).start() {
            Ok(machine) => machines.push(machine),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, StartError::NoSlot { waited } if waited == Duration::from_millis(20)), "{refused}");
    assert!(refused.to_string().contains(&format!("{} machines", machines.len())), "{refused}");

    let last = machines.pop().ok_or("there is room for one")?;
    std::thread::scope(|scope| {
        let begun = Instant::now();
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(last);
        });
        let waited = builder.clone().slot_patience(Duration::MAX).start();
        assert!(waited.is_ok() && begun.elapsed() >= Duration::from_millis(50));
    });
    Ok(())
}

/// A function of a machine, as a program that found it by name would keep it.
fn version_function(source: &Source) -> unsafe extern "C" fn(*mut c_int) -> CUresult {
    let mut pointer: *mut c_void = null_mut();
    let mut status = Query(77);
    // SAFETY: a terminated name and writable outputs; the pointer is the function of that name and version.
    #[expect(unsafe_code, reason = "asks a resolver, and gives the pointer its C type")]
    unsafe {
        let found = source.resolve()(c"cuDriverGetVersion".as_ptr(), &mut pointer, 2020, 0, &mut status);
        assert!(found == CUresult::CUDA_SUCCESS && !pointer.is_null());
        std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_int) -> CUresult>(pointer)
    }
}

#[expect(unsafe_code, reason = "calls a C function, on purpose after its machine is gone")]
fn version_by(function: unsafe extern "C" fn(*mut c_int) -> CUresult) -> (CUresult, c_int) {
    let mut version = 77;
    // SAFETY: `version` is writable. The function is code of this process and outlives every machine.
    let code = unsafe { function(&raw mut version) };
    (code, version)
}

#[test]
fn a_stale_function_answers_that_its_machine_is_gone() -> TestResult {
    let _turn = alone();
    let (machine, driver) = of_version(12, 2)?;
    let function = version_function(&Source::from(&machine));
    let mut stale = null_mut();
    call!(driver.cuDevicePrimaryCtxRetain(&mut stale, 0))?;
    assert_eq!(version_by(function), (CUresult::CUDA_SUCCESS, 12020));
    drop(machine);
    assert_eq!(version_by(function), (CUresult::CUDA_SUCCESS, 12020), "a driver keeps its machine");
    drop(driver);
    assert_eq!(version_by(function), (CUresult::CUDA_ERROR_DEINITIALIZED, 77));

    // The slot serves the next machine, and old handles mean nothing to it.
    let (_machine, driver) = of_version(13, 0)?;
    assert_eq!(version_by(function), (CUresult::CUDA_SUCCESS, 13000));
    let mut context = null_mut();
    call!(driver.cuDevicePrimaryCtxRetain(&mut context, 0))?;
    assert_ne!(context, stale);
    answers!(driver.cuCtxSetCurrent(stale), CUDA_ERROR_INVALID_CONTEXT);
    Ok(())
}

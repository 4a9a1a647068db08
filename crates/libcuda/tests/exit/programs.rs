//! The programs. Each ends its process itself, one way or another.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::Duration;

use warploom_driver::Driver;
use warploom_sys::types::{CUdeviceptr, CUresult, CUstream};
use warploom_testkit::{call, code_of};

use crate::child::{Outcome, PROGRAM_VARIABLE, load};

/// After this long a process is taken for one that hangs, and ended by the kernel.
const SECONDS: u32 = 60;

#[test]
#[ignore = "a program that other tests run, in a process of its own"]
fn the_program_that_was_asked_for() -> Outcome {
    let program = std::env::var(PROGRAM_VARIABLE)?;
    // SAFETY: takes a number.
    unsafe { libc::alarm(SECONDS) };
    match program.as_str() {
        "copies" => copies(),
        "loads machine code" => loads_machine_code(),
        "races" => races(),
        "races, then is killed" => races_then_is_killed(),
        "initialises" => initializes(CUresult::CUDA_SUCCESS),
        "cannot initialise" => initializes(CUresult::CUDA_ERROR_SYSTEM_NOT_READY),
        "frees in an exit handler" => frees_in_an_exit_handler(),
        "frees with its thread" => frees_with_its_thread(),
        "exits on another thread" => exits_on_another_thread(),
        "exits while work runs" => exits_while_work_runs(),
        "exits in a host function" => exits_in_a_host_function(),
        "ends a thread in a host function" => ends_a_thread_in_a_host_function(),
        "ends a thread in a stream callback" => ends_a_thread_in_a_stream_callback(),
        "exits while others call" => exits_while_others_call(),
        "threads begin at once" => threads_begin_at_once(),
        "forks after use" => forks_after_use(),
        "forks before use" => forks_before_use(),
        other => Err(format!("there is no program {other:?}").into()),
    }
}

fn exit(code: i32) -> ! {
    // SAFETY: that is what this file is about.
    unsafe { libc::exit(code) }
}

/// The driver and the memory for handlers that get no argument.
static LEFT: OnceLock<(Driver, CUdeviceptr)> = OnceLock::new();

/// A driver with a current context on this thread, and memory.
fn begin() -> Outcome<(Driver, CUdeviceptr)> {
    let driver = load()?;
    driver.initialize()?;
    let (mut context, mut memory) = (null_mut(), 0);
    call!(driver.cuDevicePrimaryCtxRetain(&mut context, 0))?;
    call!(driver.cuCtxSetCurrent(context))?;
    call!(driver.cuMemAlloc_v2(&mut memory, 4096))?;
    Ok((driver, memory))
}

fn stream(driver: &Driver) -> Outcome<CUstream> {
    let mut stream = null_mut();
    call!(driver.cuStreamCreate(&mut stream, 1))?;
    Ok(stream)
}

fn copies() -> Outcome {
    let (driver, memory) = begin()?;
    let mut bytes = [1_u8; 4096];
    call!(driver.cuMemcpyHtoD_v2(memory, bytes.as_ptr().cast(), 4096))?;
    call!(driver.cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), memory, 1000))?;
    assert_eq!(code_of(call!(driver.cuMemFree_v2(1))), CUresult::CUDA_ERROR_INVALID_VALUE);
    exit(0)
}

/// Loads a cubin without PTX, twice.
fn loads_machine_code() -> Outcome {
    let (driver, _) = begin()?;
    let (image, mut module) = (include_bytes!("../../../sim/tests/kernels/images/plain.cubin"), null_mut());
    for _ in 0..2 {
        let refused = call!(driver.cuModuleLoadData(&mut module, image.as_ptr().cast()));
        assert_eq!(code_of(refused), CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU);
    }
    exit(0)
}

/// Fills memory in one stream and reads it in another, with nothing between.
fn race() -> Outcome<CUresult> {
    let (driver, memory) = begin()?;
    let (one, other) = (stream(&driver)?, stream(&driver)?);
    call!(driver.cuMemsetD8Async(memory, 1, 4096, one))?;
    Ok(code_of(call!(driver.cuMemcpyDtoDAsync_v2(memory + 2048, memory, 1024, other))))
}

fn races() -> Outcome {
    exit(i32::from(race()? != CUresult::CUDA_SUCCESS))
}

fn races_then_is_killed() -> Outcome {
    race()?;
    // SAFETY: a signal to this process itself, which ends it.
    unsafe { libc::raise(libc::SIGKILL) };
    Err("it was not killed".into())
}

/// Calls one function, twice, found by the loader.
fn initializes(expected: CUresult) -> Outcome {
    // SAFETY: the library is this package's own, and this is the function's C signature.
    let codes = unsafe {
        let library = libloading::Library::new(std::env::current_exe()?.with_file_name("libwarploom_cuda.so"))?;
        let initialize = library.get::<unsafe extern "C" fn(u32) -> CUresult>(b"cuInit\0")?;
        [initialize(0), initialize(0)]
    };
    assert_eq!(codes, [expected; 2]);
    exit(0)
}

extern "C" fn free_what_is_left() {
    let Some((driver, memory)) = LEFT.get() else { exit(3) };
    // The thread's context is gone with the thread's storage, if this is a thread of Rust's; freeing needs
    // none.
    let code = code_of(call!(driver.cuMemFree_v2(*memory)));
    if code != CUresult::CUDA_SUCCESS {
        // SAFETY: ends the process at once, with a code that the test does not expect.
        unsafe { libc::_exit(4) };
    }
}

fn frees_in_an_exit_handler() -> Outcome {
    // SAFETY: a function that takes nothing.
    unsafe { libc::atexit(free_what_is_left) };
    let begun = begin()?;
    LEFT.set(begun).map_err(|_| "set once")?;
    exit(0)
}

struct FreesLate(Driver, CUdeviceptr);

impl Drop for FreesLate {
    fn drop(&mut self) {
        let driver = &self.0;
        let mut text = std::ptr::null();
        call!(driver.cuGetErrorName(CUresult::CUDA_SUCCESS, &mut text)).unwrap_or_default();
        code_of(call!(driver.cuCtxSynchronize()));
        code_of(call!(driver.cuMemFree_v2(self.1)));
        code_of(call!(driver.cuMemAlloc_v2(&mut 0, 64)));
    }
}

thread_local! {
    static EARLY: RefCell<Option<FreesLate>> = const { RefCell::new(None) };
    static LATE: RefCell<Option<FreesLate>> = const { RefCell::new(None) };
}

/// Destructors of thread storage run in an unspecified order; some of these run when the library's own
/// is gone.
fn frees_with_its_thread() -> Outcome {
    EARLY.with(|early| drop(early.borrow_mut().take()));
    let (driver, memory) = begin()?;
    EARLY.with(|early| *early.borrow_mut() = Some(FreesLate(driver.clone(), memory)));
    LATE.with(|late| *late.borrow_mut() = Some(FreesLate(driver, memory)));
    std::thread::scope(|scope| {
        let other = scope.spawn(|| -> Result<(), String> {
            let (driver, memory) = begin().map_err(|error| error.to_string())?;
            LATE.with(|late| *late.borrow_mut() = Some(FreesLate(driver, memory)));
            Ok(())
        });
        other.join().unwrap_or_else(|_| Err("it panicked".to_owned()))
    })?;
    exit(0)
}

fn exits_on_another_thread() -> Outcome {
    let (driver, memory) = begin()?;
    let ended = std::thread::spawn(move || -> () {
        code_of(call!(driver.cuMemFree_v2(memory)));
        exit(7)
    });
    ended.join().map_err(|_| "it panicked".into())
}

/// Waits for ever.
extern "C" fn waits(_: *mut c_void) {
    loop {
        std::thread::park();
    }
}

extern "C" fn exits(_: *mut c_void) {
    exit(8)
}

fn exits_while_work_runs() -> Outcome {
    let (driver, memory) = begin()?;
    let (stuck, busy) = (stream(&driver)?, stream(&driver)?);
    call!(driver.cuLaunchHostFunc(stuck, Some(waits), null_mut()))?;
    for _ in 0..1000 {
        call!(driver.cuMemsetD8Async(memory, 1, 4096, stuck))?;
        call!(driver.cuMemsetD8Async(memory, 1, 4096, busy))?;
    }
    exit(0)
}

fn exits_in_a_host_function() -> Outcome {
    let (driver, _) = begin()?;
    let stream = stream(&driver)?;
    call!(driver.cuLaunchHostFunc(stream, Some(exits), null_mut()))?;
    call!(driver.cuStreamSynchronize(stream))?;
    Err("the host function came back".into())
}

static REACHED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" fn reaches(_: *mut c_void) {
    REACHED.store(true, Ordering::SeqCst);
}

// Only a function of C is called, so that this frame can be unwound.
unsafe extern "C" fn ends(data: *mut c_void) {
    // SAFETY: that is what the test is about.
    unsafe { libc::pthread_exit(data) }
}

unsafe extern "C" fn ends_back(_: CUstream, _: CUresult, data: *mut c_void) {
    // SAFETY: as above.
    unsafe { libc::pthread_exit(data) }
}

/// Exits a while after a stream has reached the last function but one.
fn exits_behind_reaches() -> ! {
    while !REACHED.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_millis(50));
    exit(9)
}

fn ends_a_thread_in_a_host_function() -> Outcome {
    let (driver, _) = begin()?;
    let stream = stream(&driver)?;
    call!(driver.cuLaunchHostFunc(stream, Some(reaches), null_mut()))?;
    call!(driver.cuLaunchHostFunc(stream, Some(ends), null_mut()))?;
    exits_behind_reaches()
}

fn ends_a_thread_in_a_stream_callback() -> Outcome {
    let (driver, _) = begin()?;
    let stream = stream(&driver)?;
    call!(driver.cuLaunchHostFunc(stream, Some(reaches), null_mut()))?;
    call!(driver.cuStreamAddCallback(stream, Some(ends_back), null_mut(), 0))?;
    exits_behind_reaches()
}

fn exits_while_others_call() -> Outcome {
    let (driver, _) = begin()?;
    let under_way = Barrier::new(5);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let Ok((driver, memory)) = begin() else { std::process::abort() };
                for round in 0_u64.. {
                    let filled = call!(driver.cuMemsetD8Async(memory, 1, 4096, null_mut()));
                    let waited = call!(driver.cuStreamSynchronize(null_mut()));
                    if filled.and(waited).is_err() {
                        std::process::abort();
                    }
                    if round == 1000 {
                        under_way.wait();
                    }
                }
            });
        }
        under_way.wait();
        code_of(call!(driver.cuCtxSynchronize()));
        exit(0)
    })
}

fn threads_begin_at_once() -> Outcome {
    let begins = Barrier::new(16);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| -> Result<usize, String> {
                    begins.wait();
                    let (driver, memory) = begin().map_err(|error| error.to_string())?;
                    call!(driver.cuMemsetD8_v2(memory, 1, 100)).map_err(|error| error.to_string())?;
                    // The thread ends with a current context and with memory that it never frees.
                    Ok(memory as usize)
                })
            })
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("it panicked".to_owned())));
        let mut addresses = joined.collect::<Result<Vec<usize>, String>>()?;
        addresses.sort_unstable();
        addresses.dedup();
        assert_eq!(addresses.len(), 16, "they share one machine");
        exit(0)
    })
}

/// Runs a body in a child, which exits with the code it gives; what the child's code was.
fn in_child(body: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child calls the body and exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        exit(body());
    }
    let mut status = 0;
    // SAFETY: the child that was just made, and a variable of this function's.
    unsafe { libc::waitpid(child, &mut status, 0) };
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -1 }
}

fn forks_after_use() -> Outcome {
    let (driver, memory) = begin()?;
    let code = in_child(|| {
        let codes = [code_of(call!(driver.cuInit(0))), code_of(call!(driver.cuMemFree_v2(memory)))];
        i32::from(codes != [CUresult::CUDA_ERROR_NOT_INITIALIZED; 2])
    });
    assert_eq!(code, 0);
    exit(0)
}

fn forks_before_use() -> Outcome {
    let driver = load()?;
    let code = in_child(|| i32::from(begin().is_err()));
    assert_eq!(code, 0, "a child that is the first to initialise can");
    driver.initialize()?;
    exit(0)
}

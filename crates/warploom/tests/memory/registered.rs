//! Memory of the program that is registered with the driver for a scope.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use warploom::capture::Global;
use warploom::sys::types::CUresult;
use warploom::{Context, DevicePool, Driver, Error, Function, GraphDef, MemoryError, Result, Stream};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode, Order};
use warploom_testkit::sweep::Sweep;
use warploom_testkit::{TestResult, driver_tests, in_every_mode, open};

use crate::gate::Gate;

const LEN: usize = 1 << 16;

fn setup(driver: &Driver) -> TestResult<(Context, Stream)> {
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    Ok((context, stream))
}

/// Calls `scope` on another thread while the stream is held up. Returns its answer, and `true` if it has
/// waited.
fn while_held_up<R: Send>(stream: &Stream, scope: impl FnOnce() -> R + Send) -> TestResult<(R, bool)> {
    let gate = Gate::close(stream)?;
    let (is_open, started) = (AtomicBool::new(false), Barrier::new(2));
    thread::scope(|threads| {
        let waiting = threads.spawn(|| {
            started.wait();
            (scope(), is_open.load(Ordering::Acquire))
        });
        started.wait();
        thread::sleep(Duration::from_millis(20));
        is_open.store(true, Ordering::Release);
        gate.open();
        waiting.join().map_err(|_| "the wait panicked".into())
    })
}

/// `true` if the memory is not registered: it can be.
fn is_free(context: &Context, values: &mut [u32]) -> bool {
    context.with_registered(values, |_| ()) == Ok(())
}

driver_tests! {
    fn registered_memory_is_copied_from_and_to_and_filled(driver) {
        let (context, stream) = setup(driver)?;
        let pool = DevicePool::new(&context)?;
        let mut values: Vec<u32> = (0..LEN as u32).collect();
        let device = context.with_registered_ref(&values, |host| -> Result<_> {
            let mut device = pool.allocate(LEN, &stream)?;
            host.copy_to(&mut device, &stream)?;
            Ok(device)
        })??;
        assert_eq!(device.download(&stream)?, values);
        let (counter, half) = (driver.count_calls(), LEN / 2);
        context.with_registered(&mut values, |host| -> Result<()> {
            let (first, second) = host.split_at_mut(half)?;
            first.fill(7, &stream)?;
            second.copy_from(device.slice(..half)?, &stream)
        })??;
        for function in [Function::cuMemHostRegister_v2, Function::cuMemHostUnregister, Function::cuStreamSynchronize] {
            assert_eq!(counter.count(function), 1, "{function:?}");
        }
        let expected = |at: usize| if at < half { 7 } else { at - half };
        assert!(values.iter().enumerate().all(|(at, value)| *value as usize == expected(at)));
        assert!(is_free(&context, &mut values));
    }

    /// The device writes the memory only after the body has returned.
    fn the_call_waits_for_the_streams_that_use_the_memory(driver) {
        let (context, stream) = setup(driver)?;
        let mut values = vec![0_u32; LEN];
        let fill = || context.with_registered(&mut values, |host| host.fill(9, &stream));
        let (filled, has_waited) = while_held_up(&stream, fill)?;
        filled??;
        assert!(has_waited);
        assert_eq!(values, vec![9; LEN]);
    }

    fn a_body_that_panics_leaves_memory_that_no_stream_uses(driver) {
        let (context, stream) = setup(driver)?;
        let mut values = vec![0_u32; LEN];
        let (panicked, has_waited) = while_held_up(&stream, || {
            catch_unwind(AssertUnwindSafe(|| {
                context.with_registered(&mut values, |host| {
                    host.fill(9, &stream).unwrap_or_default();
                    panic!("by the body");
                })
            }))
        })?;
        assert!(has_waited);
        assert!(panicked.is_err());
        assert_eq!(values, vec![9; LEN]);
        assert!(is_free(&context, &mut values));
    }

    /// A graph keeps a record of the memory, but must not write it when it is the caller's again.
    fn a_graph_of_the_scope_is_not_launched_after_it(driver) {
        let (context, stream) = setup(driver)?;
        let mut values = vec![0_u32; LEN];
        let address = values.as_ptr().addr() as u64;
        let exec = context.with_registered(&mut values, |mut host| -> Result<_> {
            let graph = GraphDef::new(&context)?;
            graph.entry().fill(host.reborrow(), 5)?;
            let exec = graph.instantiate()?;
            exec.launch(&stream)?;
            Ok(exec)
        })??;
        assert_eq!(values, vec![5; LEN], "the scope waits for launches, too");
        values.fill(1);
        let refused = MemoryError::HostBorrowed { address, bytes: LEN * 4 };
        assert_eq!(exec.launch(&stream), Err(refused.into()));
        stream.synchronize()?;
        assert_eq!(values, vec![1; LEN]);
        drop(exec);
        assert!(is_free(&context, &mut values));
    }

    fn a_scope_during_a_capture_leaves_it_alone(driver) {
        let (context, stream) = setup(driver)?;
        let other = context.stream()?;
        let mut values = vec![0_u32; LEN];
        let capture = stream.capture(Global)?;
        context.with_registered(&mut values, |host| host.fill(9, &other))??;
        assert_eq!(values, vec![9; LEN]);
        assert_eq!(capture.end()?.node_count()?, 0);
    }

    fn memory_that_is_registered_or_empty_is_refused_and_the_body_does_not_run(driver) {
        let (context, _stream) = setup(driver)?;
        let values = vec![0_u32; LEN];
        let refused = context.with_registered_ref(&values, |_| {
            context.with_registered_ref(&values[10..20], |_| panic!("is not run")).map_err(|error| error.code())
        })?;
        assert_eq!(refused, Err(Some(CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)));
        let empty = context.with_registered(&mut [0_u32; 0], |_| panic!("is not run"));
        assert_eq!(empty, Err::<(), _>(Error::Memory(MemoryError::EmptyBuffer)));
    }
}

#[test]
fn a_stream_of_another_device_is_waited_for_too() -> TestResult {
    in_every_mode(&Topology::preset("pcie-pair")?, 2, |_, driver| {
        let (here, there) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
        let far = there.stream()?;
        let from = DevicePool::new(&there)?.upload(&vec![3_u32; LEN], &far)?;
        let mut values = vec![0_u32; LEN];
        here.with_registered(&mut values, |host| from.copy_to(host, &far))??;
        assert_eq!(values, vec![3; LEN]);
        Ok(())
    })
}

#[test]
fn devices_that_cannot_register_memory_as_read_only_register_it_as_any() -> TestResult {
    let text = "[[device]]\nmodel = \"h200\"\nattributes = { read_only_host_register_supported = 0 }\n";
    let (_machine, driver) = open(Topology::from_toml(text)?, Mode::Threads)?;
    let (context, stream) = setup(&driver)?;
    let mut device = DevicePool::new(&context)?.allocate::<u8>(3, &stream)?;
    context.with_registered_ref(&[1_u8, 2, 3], |host| host.copy_to(&mut device, &stream))??;
    assert_eq!(device.download(&stream)?, [1, 2, 3]);
    Ok(())
}

/// Not with all calls failing from one on: then the process is aborted, see below.
#[test]
fn registrations_leave_nothing_behind_whichever_call_fails() -> TestResult {
    for mode in [Mode::Deterministic(Order::Eager), Mode::Deterministic(Order::Lazy), Mode::Threads] {
        let mut sweep = Sweep::new(Topology::preset("h200")?).mode(mode).after_effect(true).from_here(false);
        for name in ["cuCtxSetCurrent", "cuThreadExchangeStreamCaptureMode"] {
            sweep = sweep.tolerates(Calls::named(name)?);
        }
        sweep.run(|_: &Machine, driver: &Driver| -> Result<()> {
            let context = driver.device(0)?.context()?;
            let stream = context.stream()?;
            let (mut values, table) = (vec![0_u32; 64], [1_u32; 64]);
            context.with_registered(&mut values, |host| host.fill(2, &stream))??;
            context.with_registered_ref(&table, |host| {
                context.with_registered(&mut values, |to| host.copy_to(to, &stream))
            })???;
            assert_eq!(values, table);
            Ok(())
        });
    }
    Ok(())
}

const ABORTS: &str = "REGISTERED_ABORTS";

/// Memory that a device may still write is not given back.
#[test]
fn a_scope_whose_streams_cannot_be_waited_for_aborts() -> TestResult {
    if std::env::var_os(ABORTS).is_some() {
        let (machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(Order::Lazy))?;
        let (context, stream) = setup(&driver)?;
        let mut plan = Plan::new();
        for name in ["cuStreamSynchronize", "cuCtxSynchronize"] {
            plan = plan.rule(Rule::on(Calls::named(name)?).fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
        }
        let _failing = machine.inject(plan)?;
        let mut values = vec![0_u32; LEN];
        context.with_registered(&mut values, |host| host.fill(1, &stream))??;
        return Err("it has returned".into());
    }
    let this = "registered::a_scope_whose_streams_cannot_be_waited_for_aborts";
    let child = Command::new(std::env::current_exe()?).args(["--exact", this]).env(ABORTS, "1").output()?;
    assert_eq!(child.status.code(), None, "ended by a signal: {}", String::from_utf8_lossy(&child.stdout));
    Ok(())
}

//! The diagnostics hook. It is process-wide, so this is one test.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use warploom::diagnostics::{self, Report, Subject};
use warploom::sys::types::CUdeviceptr;
use warploom::{Context, DevicePool, Error, GraphDef, MemoryError, OrderedResource, Result, Stream, StreamOrdered};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{TestResult, open};

static REPORTS: Mutex<Vec<Report>> = Mutex::new(Vec::new());

fn reports() -> MutexGuard<'static, Vec<Report>> {
    REPORTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The subjects reported while calls of some functions fail.
fn while_failing(machine: &Machine, functions: &str, work: impl FnOnce()) -> TestResult<Vec<Subject>> {
    let mut plan = Plan::new();
    for function in functions.split(' ') {
        plan = plan.rule(Rule::on(Calls::named(function)?).fail(CUresult::CUDA_ERROR_UNKNOWN));
    }
    let _scope = machine.inject(plan)?;
    work();
    let reports = std::mem::take(&mut *reports());
    assert!(reports.iter().all(|report| report.error.code() == Some(CUresult::CUDA_ERROR_UNKNOWN)), "{reports:?}");
    Ok(reports.into_iter().map(|report| report.subject).collect())
}

#[test]
fn failures_of_drops_reach_the_hook() -> TestResult {
    diagnostics::set_hook(|report| reports().push(report.clone()));
    let (machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Threads)?;
    let context = driver.device(1)?.context()?;
    let stream = context.stream()?;
    let pool = DevicePool::new(&context)?;

    let buffer = pool.allocate::<u32>(25, &stream)?;
    let lost = [Subject::Memory { address: buffer.as_raw(), bytes: 100, device: 1 }];
    assert_eq!(while_failing(&machine, "cuMemFreeAsync", || drop(buffer))?, lost);
    let buffer = pool.allocate::<u8>(100, &stream)?;
    let closed = while_failing(&machine, "cuMemFreeAsync", || assert!(buffer.close().is_err()))?;
    assert_eq!(closed, [], "what is returned is not reported");

    let event = stream.record()?;
    let other = context.stream()?;
    assert_eq!(while_failing(&machine, "cuStreamDestroy*", || drop(other))?, [Subject::Stream { device: 1 }]);
    assert_eq!(while_failing(&machine, "cuMemPoolDestroy", || drop(pool))?, [Subject::Pool { device: 1 }]);
    drop((event, stream));
    let gone = while_failing(&machine, "cu*Destroy* cu*Release*", || drop(context))?;
    assert_eq!(gone, [Subject::Event, Subject::Context { device: 1 }]);

    let stream = driver.device(0)?.context()?.stream()?;
    let panicked = stream.host(|| panic!("at work"))?.wait().map(drop);
    let report = reports().pop().ok_or("a panic is reported")?;
    assert_eq!((report.subject.clone(), Err(report.error.clone())), (Subject::HostFunction, panicked));
    assert_eq!(report.to_string(), "while running a host function: a host function panicked: at work");

    a_failing_deallocate_reaches_the_hook(&machine, &driver.device(0)?.context()?)?;
    a_failed_release_is_reported_after_the_change(&machine, &driver.device(0)?.context()?)?;
    a_hook_may_use_the_graph_that_a_failure_concerns(&machine, &driver.device(0)?.context()?)?;
    a_hook_may_record_events_while_the_pool_of_events_is_full(&machine, &driver.device(0)?.context()?)?;
    diagnostics::reset_hook();
    Ok(())
}

/// S2.18: the failure to release owners that were replaced is reported after the change, which was made.
fn a_failed_release_is_reported_after_the_change(machine: &Machine, context: &Context) -> TestResult {
    let (graph, stream) = (GraphDef::new(context)?, context.stream()?);
    let mut host = graph.entry().host(|| ())?;
    graph.as_raw()?; // from here on with user objects
    let called = Arc::new(AtomicBool::new(false));
    let function = Arc::clone(&called);
    let mut returned = Ok(());
    let reported = while_failing(machine, "cuGraphReleaseUserObject", || {
        returned = host.set_function(move || function.store(true, Ordering::Relaxed));
        warploom::graph::reclaim();
    })?;
    assert_eq!((returned, reported), (Ok(()), vec![Subject::GraphOwners]));
    graph.instantiate()?.launch(&stream)?;
    stream.synchronize()?;
    assert!(called.load(Ordering::Relaxed));
    Ok(())
}

/// The pool of a context is not locked while it destroys an event.
fn a_hook_may_record_events_while_the_pool_of_events_is_full(machine: &Machine, context: &Context) -> TestResult {
    let stream = context.stream()?;
    let (recorded, received) = channel();
    let hooked = stream.clone();
    diagnostics::set_hook(move |report| {
        assert_eq!(report.subject, Subject::Event);
        recorded.send(hooked.record().map(drop)).unwrap_or_default();
    });
    let events = (0..70).map(|_| stream.record()).collect::<Result<Vec<_>>>()?;
    let rule = Rule::on(Calls::named("cuEventDestroy*")?).nth(1).fail(CUresult::CUDA_ERROR_UNKNOWN);
    let scope = machine.inject(Plan::new().rule(rule))?;
    std::thread::spawn(move || drop(events));
    received.recv_timeout(Duration::from_secs(20))??;
    drop(scope);
    Ok(())
}

/// A failure to take back a node is reported when the graph is not locked any more.
fn a_hook_may_use_the_graph_that_a_failure_concerns(machine: &Machine, context: &Context) -> TestResult {
    let graph = GraphDef::new(context)?;
    let (weak, counts) = (graph.downgrade(), Arc::new(Mutex::new(Vec::new())));
    let seen = Arc::clone(&counts);
    diagnostics::set_hook(move |report| {
        let count = weak.upgrade().map(|graph| graph.node_count());
        seen.lock().unwrap_or_else(PoisonError::into_inner).push((report.subject.clone(), count));
    });
    let fail = |name| Ok::<_, Box<dyn std::error::Error>>(Rule::on(Calls::named(name)?));
    let code = CUresult::CUDA_ERROR_UNKNOWN;
    let plan =
        Plan::new().rule(fail("cuGraphAddEmptyNode")?.fail_after(code)).rule(fail("cuGraphDestroyNode")?.fail(code));
    let scope = machine.inject(plan)?;
    assert!(graph.empty().is_err());
    drop(scope);
    warploom::graph::reclaim();
    let counts = std::mem::take(&mut *counts.lock().unwrap_or_else(PoisonError::into_inner));
    assert_eq!(counts, [(Subject::GraphOwners, Some(Ok(1)))]);
    diagnostics::set_hook(|report| reports().push(report.clone()));
    Ok(())
}

/// S4.24: also where it is a resource of one's own that fails, and where the hook panics.
fn a_failing_deallocate_reaches_the_hook(machine: &Machine, context: &Context) -> TestResult {
    let stream = context.stream()?;
    let stubborn = Arc::new(Stubborn { inner: DevicePool::new(context)?.resource(), gives_up: AtomicBool::new(false) });
    let kept = stubborn.upload(b"kept", &stream)?;
    let address = kept.as_raw();
    drop(kept);
    let expected = Report::clone(&reports()[0]);
    assert_eq!(expected.subject, Subject::Memory { address, bytes: 4, device: 0 });
    assert_eq!(expected.error, Error::Memory(MemoryError::NotStreamOrdered));
    let text = format!(
        "while dropping 4 bytes of memory at {address:#x} of device 0: {}",
        Error::Memory(MemoryError::NotStreamOrdered)
    );
    assert_eq!(expected.to_string(), text);

    diagnostics::set_hook(|_| panic!("the hook's own fault"));
    drop(stubborn.upload(b"kept", &stream)?);
    diagnostics::set_hook(|report| reports().push(report.clone()));
    reports().clear();

    stubborn.gives_up.store(true, Ordering::Relaxed);
    drop(stubborn.upload(b"freed", &stream)?);
    assert_eq!(*reports(), []);
    stream.synchronize()?;
    assert!(machine.findings().is_empty(), "{:?}", machine.findings());
    Ok(())
}

/// A resource that does not take back what it has handed out, until it does.
struct Stubborn {
    inner: Arc<dyn StreamOrdered>,
    gives_up: AtomicBool,
}

#[expect(unsafe_code, reason = "a resource answers for its memory")]
// SAFETY: hands out what another resource does, and keeps some of it for ever.
unsafe impl StreamOrdered for Stubborn {
    fn context(&self) -> &Context {
        self.inner.context()
    }

    fn allocate_raw(&self, bytes: usize, stream: &Stream) -> Result<CUdeviceptr> {
        self.inner.allocate_raw(bytes, stream)
    }

    unsafe fn deallocate_raw(&self, address: CUdeviceptr, bytes: usize, stream: &Stream) -> Result<()> {
        if !self.gives_up.load(Ordering::Relaxed) {
            return Err(Error::Memory(MemoryError::NotStreamOrdered));
        }
        // SAFETY: handed on as it came.
        unsafe { self.inner.deallocate_raw(address, bytes, stream) }
    }
}

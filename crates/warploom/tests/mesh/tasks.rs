//! Copies in tasks: awaited on any executor, and cancelled (S3.21).

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use warploom::sys::types::CUresult;
use warploom::{Buffer, CopyError, DeviceMemory, DevicePool, Error, Function, Mesh, Result, Stream};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_testkit::{TestResult, driver_tests};

use super::Site;
use super::gate::Gate;

/// Timeout for a task that is never woken.
const PATIENCE: Duration = Duration::from_secs(20);

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future to its end, asleep whenever there is nothing to do.
fn block_on<F: IntoFuture>(future: F) -> F::Output {
    let mut future = pin!(future.into_future());
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Task::from_waker(&waker)) {
            return output;
        }
        std::thread::park_timeout(deadline.saturating_duration_since(Instant::now()));
        assert!(Instant::now() < deadline, "nobody woke the task");
    }
}

async fn there_and_back(mesh: &Mesh, ends: [&mut Buffer<u8>; 2], streams: &[Stream]) -> Result<()> {
    let [here, there] = ends;
    mesh.copy(&*here, &mut *there, &streams[1])?.await?;
    here.zero(&streams[0])?;
    mesh.copy(&*there, here, &streams[0])?.await
}

driver_tests! {
    /// S3.21: on every driver, a copy is awaited.
    threads fn a_copy_on_one_device_is_awaited(driver) {
        let context = crate::contexts(driver)?.swap_remove(0);
        let topology = warploom::Topology::probe(&driver.devices()?)?;
        let (mesh, _) = Mesh::enable(&topology, std::slice::from_ref(&context))?;
        let (pool, stream) = (DevicePool::new(&context)?, context.stream()?);
        let source = pool.upload(&[3_u8; 4096], &stream)?;
        let mut copy = pool.allocate::<u8>(4096, &stream)?;
        block_on(mesh.copy(&source, &mut copy, &stream)?)?;
        assert!(stream.is_idle()?);
        assert_eq!(copy.download(&stream)?, [3; 4096]);
    }
}

/// S3.21: without any runtime.
#[test]
fn copies_are_awaited_without_a_runtime() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (mesh, streams) = (site.mesh()?, site.streams()?);
    let mut here = DeviceMemory::new(&site.contexts[0]).upload(&[7_u8; 4096], &streams[0])?;
    let mut there = DeviceMemory::new(&site.contexts[1]).upload(&[0_u8; 4096], &streams[1])?;
    block_on(there_and_back(&mesh, [&mut here, &mut there], &streams))?;
    assert_eq!(here.download(&streams[0])?, [7; 4096]);
    Ok(())
}

/// S3.21: on tokio's threads, many at once; a task may be spawned, so it can go from thread to thread.
#[test]
fn copies_are_awaited_on_tokio() -> TestResult {
    let site = Site::preset("dgx-h100")?;
    let mesh = Arc::new(site.mesh()?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    let mut tasks = Vec::new();
    for at in 0..16_usize {
        let (mesh, one, other) =
            (Arc::clone(&mesh), site.contexts[at % 8].clone(), site.contexts[(at * 3 + 1) % 8].clone());
        tasks.push(runtime.spawn(async move {
            let streams = [one.stream()?, other.stream()?];
            let mut here = DeviceMemory::new(&one).upload(&[at as u8; 1024], &streams[0])?;
            let mut there = DeviceMemory::new(&other).upload(&[0_u8; 1024], &streams[1])?;
            there_and_back(&mesh, [&mut here, &mut there], &streams).await?;
            here.download(&streams[0])
        }));
    }
    for (at, task) in tasks.into_iter().enumerate() {
        assert_eq!(runtime.block_on(task)??, [at as u8; 1024]);
    }
    Ok(())
}

/// S3.21: a task that is given up in the middle of a copy frees nothing that is in use.
#[test]
fn a_task_that_is_given_up_leaves_its_memory_to_the_copy() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (mesh, pools) = site.open_pools()?;
    let streams = site.streams()?;
    let mut kept = pools[1].zeroed::<u8>(1 << 16, &streams[1])?;
    let gate = Gate::close(&streams[1])?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let (used, task) = {
        let (mesh, source) = (Arc::new(mesh), pools[0].upload(&[9_u8; 1 << 16], &streams[0])?);
        let (own, stream, pool) = (Arc::clone(&mesh), streams[1].clone(), pools[1].clone());
        let task = runtime.spawn(async move {
            let mut target = pool.allocate::<u8>(1 << 16, &stream)?;
            own.copy(&source, &mut target, &stream)?.await
        });
        (mesh, task)
    };
    runtime.block_on(tokio::task::yield_now()); // the task has begun, and waits
    assert!(!task.is_finished());
    task.abort();
    assert!(runtime.block_on(task).is_err_and(|error| error.is_cancelled()));
    // Source, destination, future and ticket are gone; the copy is still to come. What is allocated now may
    // not be theirs.
    let mut other = pools[0].allocate::<u8>(1 << 16, &streams[0])?;
    other.fill(1, &streams[0])?;
    used.copy(&other, &mut kept, &streams[1])?;
    gate.open();
    assert!(kept.download(&streams[1])?.iter().all(|byte| *byte == 1));
    Ok(())
}

/// S3.21: what goes wrong is the future's result; a failed record included.
#[test]
fn a_failure_is_the_result_of_the_future() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (mesh, streams) = (site.mesh()?, site.streams()?);
    let source = DeviceMemory::new(&site.contexts[0]).upload(b"here", &streams[0])?;
    let mut target = DeviceMemory::new(&site.contexts[1]).upload(b"away", &streams[1])?;
    let code = CUresult::CUDA_ERROR_NOT_PERMITTED;
    let ticket = mesh.copy(&source, &mut target, &streams[1])?;
    let scope = site.machine.inject(Plan::new().rule(Rule::on(Calls::from(Function::cuEventRecord)).fail(code)))?;
    assert_eq!(block_on(ticket).unwrap_err().code(), Some(code));
    drop(scope);
    let refused = mesh.copy(source.slice(1..)?, &mut target, &streams[1]).err();
    assert_eq!(refused, Some(Error::Copy(CopyError::LengthMismatch { source_len: 3, destination_len: 4 })));
    streams[1].synchronize()?;
    Ok(())
}

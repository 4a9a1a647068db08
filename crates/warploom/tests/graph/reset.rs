//! Graphs and everything else of a device whose primary context was reset.
#![expect(unsafe_code, reason = "resets devices, and launches kernels where that is refused")]

use warploom::capture::Relaxed;
use warploom::graph::InstantiateOptions;
use warploom::{ContextError, DeviceMemory, Error, GraphDef, LaunchConfig};
use warploom_sim::Mode;
use warploom_sim::topology::Topology;
use warploom_testkit::{TestResult, budget, open};

use crate::support::Stage;

/// M.8: graphs, kernels, pools, buffers, streams and events of the device are stale alike, and go without a
/// call; those of another device are not.
#[test]
fn everything_of_a_device_is_stale_after_a_reset() -> TestResult {
    let (_machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Threads)?;
    let stage = Stage::new(&driver)?;
    let mut buffer = stage.zeroed(64)?;
    let memory = DeviceMemory::new(&stage.context).upload(&[1_u32; 64], &stage.stream)?;
    let event = stage.stream.record()?;
    let node = stage.graph.entry().fill(&mut buffer, 7)?;
    let exec = stage.graph.instantiate()?;
    exec.launch(&stage.stream)?;
    let capture = stage.other.capture(Relaxed)?;
    let captured = capture.end()?;
    let elsewhere = GraphDef::new(&driver.device(1)?.context()?)?;
    elsewhere.empty()?;
    let (kernel, config) = (stage.saxpy()?, LaunchConfig::new(1, 32));
    // SAFETY: the kernel reads and writes 4 values of each, as numbers whose bits are those of integers.
    unsafe { kernel.launch(&stage.stream, &config, (1.0_f32, &memory, &mut buffer, 4_u32)) }?;
    stage.context.synchronize()?;
    // SAFETY: what was made on the device is used only where it is to be refused, and nothing runs there.
    unsafe { driver.device(0)?.reset_context() }?;

    #[track_caller]
    fn stale(result: Result<(), Error>) {
        let is_stale = matches!(result, Err(Error::Context(ContextError::Stale { device: 0, expected: 0, found: 1 })));
        assert!(is_stale, "{result:?}");
    }
    let stream = &stage.stream;
    budget(&driver, &[], || -> TestResult {
        stale(exec.launch(stream));
        stale(exec.upload(stream));
        stale(stage.graph.instantiate().map(drop));
        stale(elsewhere.instantiate_with(&InstantiateOptions::new().upload_on(stream)).map(drop));
        stale(stage.graph.entry().fill(&mut buffer, 8).map(drop));
        stale(node.set_value(9_u32));
        stale(captured.instantiate().map(drop));
        // SAFETY: it is refused.
        stale(unsafe { kernel.launch(stream, &config, (1.0_f32, &memory, &mut buffer, 4_u32)) });
        stale(stage.pool.allocate::<u8>(4, stream).map(drop));
        stale(buffer.fill(1, stream));
        stale(memory.download(stream).map(drop));
        stale(stream.synchronize());
        stale(stream.wait(&event));
        stale(event.synchronize());
        stale(stage.context.synchronize());
        Ok(())
    })?;
    budget(&driver, &[], || drop((buffer, memory, event)));

    let other = driver.device(1)?.context()?;
    let stream = other.stream()?;
    let mut elsewhere = DeviceMemory::new(&other).zeroed::<u8>(4, &stream)?;
    elsewhere.fill(3, &stream)?;
    assert_eq!(elsewhere.download(&stream)?, [3; 4]);
    let renewed = Stage::new(&driver)?;
    assert_eq!(renewed.zeroed(4)?.download(&renewed.stream)?, [0; 4]);
    Ok(())
}

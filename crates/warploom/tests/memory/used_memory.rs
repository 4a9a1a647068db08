//! Memory that kernels find by its address: in tables and structs, and by declarations of the program.
#![expect(unsafe_code, reason = "launches kernels, and fills memory by its address")]

use std::fmt::Write as _;

use warploom::capture::Relaxed;
use warploom::graph::reclaim;
use warploom::leaks::{Kind, Leaks};
use warploom::{
    ArgumentList, Arguments, Buffer, Context, DeviceMemory, DevicePool, Driver, Error, Function, GraphDef, Kernel,
    LaunchConfig, LaunchError, LiveSet, Mesh, PeerError, Result, Stream, Topology,
};
use warploom_sim::fault::Calls;
use warploom_sim::{Mode, Order};
use warploom_testkit::sweep::Sweep;
use warploom_testkit::{TestResult, budget, driver_tests, open};

use crate::gate::Gate;

const SCALE: &str = include_str!("../../examples/scale.ptx");
const SCALE_ALL: &str = include_str!("../../examples/scale_all.ptx");

/// A context with two streams, and a kernel that scales the values at each address of a table.
struct Stage {
    context: Context,
    stream: Stream,
    other: Stream,
    pool: DevicePool,
    scale_all: Kernel,
}

impl Stage {
    fn new(driver: &Driver) -> Result<Stage> {
        let context = driver.device(0)?.context()?;
        let (stream, other) = (context.stream()?, context.stream()?);
        let (pool, scale_all) = (DevicePool::new(&context)?, context.load(SCALE_ALL)?.kernel("scale_all")?);
        Ok(Stage { context, stream, other, pool, scale_all })
    }

    /// Two buffers of two values, and the table of their addresses.
    fn tables(&self) -> Result<(Buffer<f32>, Buffer<f32>, Buffer<u64>)> {
        let (one, two) = (self.pool.upload(&[1.0, 2.0], &self.stream)?, self.pool.upload(&[3.0, 4.0], &self.stream)?);
        let table = self.pool.upload(&[one.as_raw(), two.as_raw()], &self.stream)?;
        self.stream.synchronize()?;
        Ok((one, two, table))
    }
}

const SHAPE: fn() -> LaunchConfig = || LaunchConfig::new(2, 32);

driver_tests! {
    /// A kernel on another stream than the memory's uses it by a table; dropping the buffers frees them after
    /// the kernel.
    fn memory_in_a_table_stays_until_the_kernel_is_done(driver) {
        let stage = Stage::new(driver)?;
        let (mut one, mut two, table) = stage.tables()?;
        let gate = Gate::close(&stage.other)?;
        let used = [(&mut one).into(), two.as_slice_mut().into()];
        // SAFETY: it scales two values at each of the two addresses.
        unsafe { stage.scale_all.launch(&stage.other, &SHAPE(), (2.0_f32, &table, 2_u32).using(&used)) }?;
        drop((one, two));
        let reused = stage.pool.zeroed::<f32>(2, &stage.stream)?;
        gate.open();
        stage.stream.wait_for(&stage.other)?;
        assert_eq!(reused.download(&stage.stream)?, [0.0, 0.0]);
    }

    fn a_kernel_of_known_parameters_may_use_other_memory_too(driver) {
        let stage = Stage::new(driver)?;
        let kernel = stage.scale_all.typed::<(f32, &[u64], u32)>()?;
        let (mut one, mut two, table) = stage.tables()?;
        let used = [(&mut one).into(), (&mut two).into()];
        // SAFETY: it scales two values at each of the two addresses.
        unsafe { kernel.launch(&stage.stream, &SHAPE(), (2.0, &table, 2).using(&used)) }?;
        assert_eq!(one.download(&stage.stream)?, [2.0, 4.0]);
        assert_eq!(two.download(&stage.stream)?, [6.0, 8.0]);
    }

    /// A graph keeps the memory of a table, as it keeps its arguments.
    fn a_graph_keeps_the_memory_of_a_table(driver) {
        let stage = Stage::new(driver)?;
        let leaks = Leaks::track(driver);
        let (mut one, mut two, table) = stage.tables()?;
        let graph = GraphDef::new(&stage.context)?;
        let used = [(&mut one).into(), (&mut two).into()];
        // SAFETY: it scales two values at each of the two addresses.
        unsafe { graph.entry().kernel(&stage.scale_all, &SHAPE(), (2.0_f32, &table, 2_u32).using(&used)) }?;
        drop((one, two, table));
        let memory = || leaks.report().alive().iter().filter(|alive| matches!(alive.kind, Kind::Memory { .. })).count();
        reclaim();
        assert_eq!(memory(), 3);
        let exec = graph.instantiate()?;
        exec.launch(&stage.stream)?;
        stage.stream.synchronize()?;
    }

    fn a_captured_launch_keeps_the_memory_of_a_table(driver) {
        let stage = Stage::new(driver)?;
        let (mut one, two, table) = stage.tables()?;
        let capture = stage.stream.capture(Relaxed)?;
        let used = [(&mut one).into()];
        // SAFETY: it scales two values at each of the two addresses.
        unsafe { stage.scale_all.launch(&capture, &SHAPE(), (2.0_f32, &table, 2_u32).using(&used)) }?;
        two.used_by(&capture)?;
        let graph = capture.end()?;
        drop((one, two, table));
        let exec = GraphDef::from(graph).instantiate()?;
        exec.launch(&stage.stream)?;
        stage.stream.synchronize()?;
    }

    /// Work by a raw address on a stream that was declared: the free comes after it.
    fn a_buffer_is_freed_after_the_streams_that_were_declared(driver) {
        let stage = Stage::new(driver)?;
        let buffer = stage.pool.zeroed::<u8>(1000, &stage.stream)?;
        buffer.used_by(&stage.other)?;
        let gate = Gate::close(&stage.other)?;
        let fill = |raw| {
            // SAFETY: the buffer has 1000 bytes, which nothing else uses, and stays until the stream is done.
            unsafe { driver.cuMemsetD8Async(buffer.as_raw(), 7, 1000, raw) }
        };
        stage.other.with_raw(fill)??;
        drop(buffer);
        let reused = stage.pool.zeroed::<u8>(1000, &stage.stream)?;
        gate.open();
        stage.stream.wait_for(&stage.other)?;
        assert_eq!(reused.download(&stage.stream)?, [0; 1000]);
    }

    /// The declared stream comes after the allocation, and copies that order themselves come after it.
    fn a_declaration_orders_both_ways(driver) {
        let stage = Stage::new(driver)?;
        let (mesh, _) = Mesh::enable(&Topology::probe(&driver.devices()?)?, std::slice::from_ref(&stage.context))?;
        let buffer = stage.pool.zeroed::<u8>(1000, &stage.stream)?;
        buffer.slice(..500)?.used_by(&stage.other)?;
        let fill = |raw| {
            // SAFETY: the buffer has 1000 bytes, which nothing else uses, and stays until the stream is done.
            unsafe { driver.cuMemsetD8Async(buffer.as_raw(), 7, 500, raw) }
        };
        stage.other.with_raw(fill)??;
        let mut copy = stage.pool.allocate::<u8>(1000, &stage.stream)?;
        mesh.copy(&buffer, &mut copy, &stage.stream)?;
        let expected: Vec<u8> = [vec![7; 500], vec![0; 500]].concat();
        assert_eq!(copy.download(&stage.stream)?, expected);
    }

    fn a_declaration_of_the_home_stream_makes_no_driver_call(driver) {
        let stage = Stage::new(driver)?;
        let buffer = stage.pool.zeroed::<u8>(1000, &stage.stream)?;
        budget(driver, &[], || buffer.used_by(&stage.stream))?;
        drop(stage.stream.record()?);
        budget(driver, &[(Function::cuEventRecord, 1), (Function::cuStreamWaitEvent, 1)], || {
            buffer.used_by(&stage.other)
        })?;
        budget(driver, &[], || buffer.used_by(&stage.other))?;
    }

    fn an_argument_list_launches_as_a_tuple_does(driver) {
        let stage = Stage::new(driver)?;
        let scale = stage.context.load(SCALE)?.kernel("scale")?;
        let mut values = stage.pool.upload(&[1.0_f32, 2.0, 3.0], &stage.stream)?;
        let mut arguments = ArgumentList::new();
        arguments.push(2.0_f32).push(&mut values).push(3_u32);
        assert_eq!(arguments.len(), 3);
        for _ in 0..2 {
            // SAFETY: it reads and writes as many values as it is told.
            unsafe { scale.launch(&stage.stream, &LaunchConfig::cover(3, 32), &arguments) }?;
        }
        assert_eq!(values.download(&stage.stream)?, [4.0, 8.0, 12.0]);
    }

    fn an_argument_list_is_compared_with_the_parameters(driver) {
        let stage = Stage::new(driver)?;
        let scale = stage.context.load(SCALE)?.kernel("scale")?;
        let values = stage.pool.zeroed::<f32>(3, &stage.stream)?;
        let mut arguments = ArgumentList::new();
        arguments.push(2.0_f32).push(&values);
        // SAFETY: it is refused before the driver is asked.
        let missing = unsafe { scale.launch(&stage.stream, &LaunchConfig::cover(3, 32), &arguments) };
        assert_eq!(missing, Err(Error::Launch(LaunchError::ArgumentCount { given: 2, takes: 3 })));
        arguments.push(3_u64);
        // SAFETY: as above.
        let too_large = unsafe { scale.launch(&stage.stream, &LaunchConfig::cover(3, 32), &arguments) };
        assert_eq!(too_large, Err(Error::Launch(LaunchError::ArgumentSize { index: 2, given: 8, takes: 4 })));
    }

    /// Memory of a list stays until the kernel is done, and a graph keeps it.
    fn the_memory_of_an_argument_list_stays(driver) {
        let stage = Stage::new(driver)?;
        let scale = stage.context.load(SCALE)?.kernel("scale")?;
        let mut values = stage.pool.upload(&[1.0_f32, 2.0, 3.0], &stage.stream)?;
        stage.stream.synchronize()?;
        let gate = Gate::close(&stage.other)?;
        let mut arguments = ArgumentList::new();
        arguments.push(2.0_f32).push(&mut values).push(3_u32);
        let graph = GraphDef::new(&stage.context)?;
        // SAFETY: it reads and writes as many values as it is told.
        unsafe { graph.entry().kernel(&scale, &LaunchConfig::cover(3, 32), &arguments) }?;
        // SAFETY: as above.
        unsafe { scale.launch(&stage.other, &LaunchConfig::cover(3, 32), &arguments) }?;
        drop(values);
        drop(stage.pool.zeroed::<f32>(3, &stage.stream)?);
        gate.open();
        stage.other.synchronize()?;
        graph.instantiate()?.launch(&stage.other)?;
        stage.other.synchronize()?;
    }

    /// More arguments than a tuple has, and than a launch has room for on the stack.
    fn an_argument_list_may_be_long(driver) {
        let stage = Stage::new(driver)?;
        let mut text = String::from(".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry sum(.param .u64 out");
        (0..80).try_for_each(|index| write!(text, ", .param .u32 p{index}"))?;
        text += ")\n{\n.reg .b32 %r<3>; .reg .b64 %rd<3>;\nmov.u32 %r1, 0;\n";
        (0..80).try_for_each(|index| writeln!(text, "ld.param.u32 %r2, [p{index}]; add.u32 %r1, %r1, %r2;"))?;
        text += "ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd2, %rd1; st.global.u32 [%rd2], %r1; ret;\n}\n";
        let sum = stage.context.load(&text)?.kernel("sum")?;
        let mut out = stage.pool.zeroed::<u32>(1, &stage.stream)?;
        let mut arguments = ArgumentList::new();
        arguments.push(&mut out);
        (0..80_u32).for_each(|index| _ = arguments.push(index));
        // SAFETY: it writes one value.
        unsafe { sum.launch(&stage.stream, &LaunchConfig::new(1, 1), &arguments) }?;
        assert_eq!(out.download(&stage.stream)?, [(0..80).sum::<u32>()]);
    }
}

/// Memory of a pool of another device that was not opened to this one.
#[test]
fn memory_that_the_device_has_no_access_to_is_refused() -> TestResult {
    let topology = warploom_sim::topology::Topology::preset("dgx-h100")?;
    let (_machine, driver) = open(topology, Mode::Deterministic(Order::Lazy))?;
    let stage = Stage::new(&driver)?;
    let far = driver.device(1)?.context()?;
    let (stream, pool) = (far.stream()?, DevicePool::new(&far)?);
    let (mut buffer, table) = (pool.zeroed::<f32>(2, &stream)?, stage.pool.zeroed::<u64>(2, &stage.stream)?);
    let is_closed = |result: Result<()>| matches!(result, Err(Error::Peer(PeerError::NotEnabled { .. })));
    assert!(is_closed(buffer.used_by(&stage.stream)));
    let used = [(&mut buffer).into()];
    // SAFETY: it is refused before the driver is asked.
    let launched = unsafe { stage.scale_all.launch(&stage.stream, &SHAPE(), (1.0_f32, &table, 0_u32).using(&used)) };
    assert!(is_closed(launched));
    pool.peers().insert(driver.device(0)?)?;
    buffer.used_by(&stage.stream)?;
    Ok(())
}

#[test]
fn declarations_leave_nothing_behind() -> TestResult {
    for mode in [Mode::Deterministic(Order::Eager), Mode::Deterministic(Order::Lazy), Mode::Threads] {
        let sweep = Sweep::new(warploom_sim::topology::Topology::preset("h200")?).mode(mode).after_effect(true);
        sweep.tolerates(Calls::named("cuCtxSetCurrent")?).run(|_, driver: &Driver| -> Result<()> {
            let context = driver.device(0)?.context()?;
            let (stream, other) = (context.stream()?, context.stream()?);
            let buffer = DeviceMemory::new(&context).allocate::<u8>(100)?;
            buffer.used_by(&stream)?;
            buffer.used_by(&other)?;
            buffer.close()?;
            stream.close()?;
            other.close()?;
            context.close()
        });
    }
    Ok(())
}

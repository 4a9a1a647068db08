//! Graphs with memory and nodes of several devices.

use warploom::graph::{AllocNode, Operand, OperandMut};
use warploom::leaks::Leaks;
use warploom::{
    AccessLayer, DeviceError, DeviceMemory, DevicePool, Error, GraphDef, LaunchConfig, LiveSet as _, ManagedMemory,
    PeerError,
};
use warploom_sim::Mode;
use warploom_sim::topology::{DeviceModel, PeerLink, Topology};
use warploom_testkit::{TestResult, assert_sound, open};

use crate::support::Stage;

/// M.4: a copy between devices keeps both allocations, and is refused when it is added if the node's device
/// has no access to one of them.
#[test]
fn copies_between_devices_are_checked_when_they_are_added() -> TestResult {
    let (machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
    let stage = Stage::new(&driver)?;
    let far = driver.device(1)?.context()?;
    let (pool, stream) = (DevicePool::new(&far)?, far.stream()?);
    let source = pool.upload(&[1_u32, 2, 3, 4], &stream)?;
    let mut target = stage.zeroed(4)?;
    let refused = stage.graph.entry().copy(&source, &mut target).map(drop);
    let missing = PeerError::NotEnabled { from: 0, to: 1, layer: AccessLayer::Pool };
    assert_eq!(refused, Err(missing.into()));
    assert_eq!(stage.graph.node_count()?, 0);

    pool.peers().insert(0)?;
    let leaks = Leaks::track(&driver);
    let graph = GraphDef::new(&stage.context)?;
    graph.entry().copy(&source, &mut target)?;
    source.close()?;
    graph.instantiate()?.launch(&stage.stream)?;
    assert_eq!(target.download(&stage.stream)?, [1, 2, 3, 4]);
    drop(graph);
    assert!(stage.within_a_while(|| leaks.report().is_empty()), "{}", leaks.report());
    assert_sound(&machine);
    Ok(())
}

/// GN-11: the peers of a graph's memory are read back, without its own device, also of a node that is found.
#[test]
fn the_peers_of_memory_of_a_graph_are_read_back() -> TestResult {
    let (_machine, driver) = open(Topology::preset("hgx-a100-4")?, Mode::Threads)?;
    let graph = GraphDef::new(&driver.device(1)?.context()?)?;
    let devices = driver.devices()?;
    let own = graph.entry().allocate::<u32>(4)?;
    assert_eq!(own.peers()?, []);
    let peers = [devices[3].clone(), devices[1].clone(), devices[0].clone()];
    let shared = own.then().allocate_at::<u32>(devices[1].clone(), 4, &peers)?;
    assert_eq!(shared.peers()?, [devices[3].clone(), devices[0].clone()]);
    assert_eq!(shared.node().downcast::<AllocNode<u8>>()?.peers()?, shared.peers()?);
    Ok(())
}

/// M.6: managed memory of another device's context is an operand like any other, without access of a device
/// without links.
#[test]
fn managed_memory_of_another_context_is_copied_by_a_node() -> TestResult {
    let (machine, driver) = open(Topology::preset("pcie-t4")?, Mode::Threads)?;
    let stage = Stage::new(&driver)?;
    let far = driver.device(1)?.context()?;
    let stream = far.stream()?;
    let mut managed = ManagedMemory::new(&far)?.upload(&[1_u32, 2, 3, 4], &stream)?;
    let refused = DevicePool::new(&far)?.upload(&[1_u32; 4], &stream)?;
    let mut target = stage.zeroed(4)?;
    assert!(stage.graph.entry().copy(&refused, &mut target).is_err());
    let copy = stage.graph.entry().copy(&*managed, &mut target)?;
    copy.then().fill(managed.slice_mut(2..)?, 9)?;
    stage.graph.instantiate()?.launch(&stage.stream)?;
    assert_eq!(target.download(&stage.stream)?, [1, 2, 3, 4]);
    stage.stream.synchronize()?;
    assert_eq!(managed.host()?, [1, 2, 9, 9]);
    assert_sound(&machine);
    Ok(())
}

/// Nodes of one graph run in several contexts, which the graph keeps.
#[test]
fn nodes_run_in_the_context_that_they_are_told() -> TestResult {
    let (machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
    let stage = Stage::new(&driver)?;
    let (mut near, mut far) = (stage.zeroed(4)?, {
        let far = driver.device(1)?.context()?;
        DeviceMemory::new(&far).zeroed::<u32>(4, &far.stream()?)?
    });
    let context = far.context().clone();
    context.synchronize()?;
    let fill = stage.graph.entry().fill(&mut near, 1)?;
    let other = fill.then().on(&context).fill(&mut far, 2)?;
    other.set_value(3_u32)?;
    let exec = stage.graph.instantiate()?;
    exec.launch(&stage.stream)?;
    stage.stream.synchronize()?;
    assert_eq!(near.download(&stage.stream)?, [1; 4]);
    assert_eq!(far.download(&context.stream()?)?, [3; 4]);
    assert_sound(&machine);
    Ok(())
}

/// Memory that an executable keeps is no more open to a node of another device than before, and the device's own
/// is.
#[test]
fn kept_memory_is_checked_for_the_device_of_the_node() -> TestResult {
    kept_memory_is_checked(0)
}

/// As before, with as much memory as is looked up by its identity.
#[test]
fn kept_memory_is_checked_among_much() -> TestResult {
    kept_memory_is_checked(10)
}

fn kept_memory_is_checked(fills: usize) -> TestResult {
    let (machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
    let stage = Stage::new(&driver)?;
    let far = driver.device(1)?.context()?;
    let (pool, stream) = (DevicePool::new(&far)?, far.stream()?);
    let (x, mut y) =
        (stage.pool.upload(&[1.0_f32; 4], &stage.stream)?, stage.pool.upload(&[2.0_f32; 4], &stage.stream)?);
    let (far_x, mut far_y) = (pool.upload(&[10.0_f32; 4], &stream)?, pool.upload(&[20.0_f32; 4], &stream)?);
    let (kernel, shape) = (stage.saxpy()?, LaunchConfig::new(1, 4));
    for _ in 0..fills {
        stage.graph.entry().fill(&mut stage.zeroed(1)?, 1)?;
    }
    let (near, other, exec);
    #[expect(unsafe_code, reason = "adds kernels")]
    // SAFETY: it reads and writes as many values as it is told.
    unsafe {
        near = stage.graph.entry().kernel(&kernel, &shape, (1.0_f32, &x, &mut y, 4_u32))?;
        other = near.then().on(&far).kernel(&kernel, &shape, (1.0_f32, &far_x, &mut far_y, 4_u32))?;
        exec = stage.graph.instantiate()?;
        let missing = PeerError::NotEnabled { from: 1, to: 0, layer: AccessLayer::Pool };
        assert_eq!(exec.node(&other).set(&kernel, &shape, (2.0_f32, &x, &mut far_y, 4_u32)), Err(missing.into()));
        exec.node(&other).set(&kernel, &shape, (2.0_f32, &far_x, &mut far_y, 4_u32))?;
        stage.pool.peers().insert(1)?;
        exec.node(&near).set(&kernel, &shape, (3.0_f32, &x, &mut y, 4_u32))?;
        exec.launch(&stage.stream)?;
        stage.stream.synchronize()?;
        assert_eq!(far_y.download(&stream)?, [40.0; 4]);
        exec.node(&other).set(&kernel, &shape, (2.0_f32, &x, &mut far_y, 4_u32))?;
    }
    exec.launch(&stage.stream)?;
    stage.stream.synchronize()?;
    assert_eq!(y.download(&stage.stream)?, [8.0; 4]);
    assert_eq!(far_y.download(&stream)?, [42.0; 4]);
    assert_sound(&machine);
    Ok(())
}

/// M.1, M.7: memory of a graph is on the device that is named, and open to the others that are; a device that
/// cannot reach it is refused, in that direction.
#[test]
fn memory_of_a_graph_is_open_to_devices_that_reach_it() -> TestResult {
    let link = PeerLink::nvlink();
    let topology = Topology::builder().devices(2, DeviceModel::A100).peer(1, 0, link).build()?;
    let (machine, driver) = open(topology, Mode::Threads)?;
    let stage = Stage::new(&driver)?;
    let (near, far) = (driver.device(0)?, driver.device(1)?);
    let far_context = far.context()?;
    let refused = stage.graph.entry().allocate_at::<u32>(&far, 4, &[near.clone(), far.clone()]).map(drop);
    assert_eq!(refused, Err(PeerError::Unsupported { owner: 1, peers: vec![0] }.into()));
    let (other_machine, other) = open(Topology::preset("pcie-pair")?, Mode::Threads)?;
    let foreign = stage.graph.entry().allocate_at::<u32>(other.device(0)?, 4, &[]).map(drop);
    assert!(matches!(foreign, Err(Error::Device(DeviceError::DriverMismatch { .. }))), "{foreign:?}");
    assert_eq!(stage.graph.node_count()?, 0);
    assert_sound(&other_machine);

    let (here, there) = (
        stage.graph.entry().allocate_at::<f32>(&near, 4, std::slice::from_ref(&far))?,
        stage.graph.entry().allocate_at::<f32>(&far, 4, &[])?,
    );
    let kernel = stage.saxpy()?;
    let mut result = DeviceMemory::new(&far_context).zeroed::<f32>(4, &far_context.stream()?)?;
    far_context.synchronize()?;
    #[expect(unsafe_code, reason = "uses memory of the graph")]
    // SAFETY: all nodes come after the allocations and before the frees; the kernel reads and writes as many values
    // as it is told.
    unsafe {
        let fill = stage.graph.after([&here, &there]).fill(OperandMut::of_graph(&here), 7.0)?;
        let fill = fill.then().on(&far_context).fill(OperandMut::of_graph(&there), 8.0)?;
        // Device 1 reads the memory of device 0.
        let arguments = (2.0_f32, &here, &there, 4_u32);
        let sum = fill.then().on(&far_context).kernel(&kernel, &LaunchConfig::new(1, 4), arguments)?;
        let copy = sum.then().on(&far_context).copy(Operand::of_graph(&there), &mut result)?;
        copy.then().free(&here)?.then().free(&there)?;
    }
    stage.graph.instantiate()?.launch(&stage.stream)?;
    stage.stream.synchronize()?;
    assert_eq!(result.download(&far_context.stream()?)?, [22.0; 4]);
    assert_sound(&machine);
    Ok(())
}

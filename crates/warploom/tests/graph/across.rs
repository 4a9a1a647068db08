//! Graphs with memory and nodes of several devices.

use warploom::leaks::Leaks;
use warploom::{AccessLayer, DeviceMemory, DevicePool, GraphDef, LiveSet as _, ManagedMemory, PeerError};
use warploom_sim::Mode;
use warploom_sim::topology::Topology;
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

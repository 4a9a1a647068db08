//! Later work on other streams, as the documentation of `Mesh::copy` lists it (S3.18).

use warploom::{Buffer, DeviceMemory, Function, Mesh, Result, Stream};
use warploom_sim::{FindingKind, Mode, Order};
use warploom_testkit::{TestResult, budget};

use super::Site;

/// A copy from a buffer of device 0 to one of device 1, which is made on a stream of device 1.
struct Stage {
    mesh: Mesh,
    source: Buffer<u32>,
    target: Buffer<u32>,
    spare: Buffer<u32>,
    /// A stream of device 0, and the second stream of device 1.
    streams: [Stream; 2],
}

type Later = fn(&mut Stage) -> Result<()>;

/// Operations after the copy on another stream than the copy's, and `true` for those that wait by themselves.
const LATER: &[(&str, bool, Later)] = &[
    ("a mesh copy that reads the destination", true, |stage| {
        stage.mesh.copy(&stage.target, &mut stage.spare, &stage.streams[1]).map(drop)
    }),
    ("a mesh copy that writes the destination", true, |stage| {
        stage.mesh.copy(&stage.spare, &mut stage.target, &stage.streams[1]).map(drop)
    }),
    ("a mesh copy that writes the source", true, |stage| {
        stage.mesh.copy(&stage.spare, &mut stage.source, &stage.streams[0]).map(drop)
    }),
    ("a mesh copy that reads the source", true, |stage| {
        stage.mesh.copy(&stage.source, &mut stage.spare, &stage.streams[0]).map(drop)
    }),
    ("a fill of the destination", false, |stage| stage.target.fill(9, &stage.streams[1])),
    ("a fill of the source", false, |stage| stage.source.fill(9, &stage.streams[0])),
    ("a copy of the destination", false, |stage| stage.target.copy_to(&mut stage.spare, &stage.streams[1])),
    ("a download of the destination", false, |stage| stage.target.download(&stage.streams[1]).map(drop)),
];

/// The ways to have the stream of a later operation wait for the copy.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wait {
    None,
    ByTicket,
    ByMemory,
}

/// The races of a copy and a later operation, whose stream may be made to wait first.
fn races(later: Later, wait: Wait, order: Order) -> TestResult<usize> {
    let site = Site::in_mode(warploom_sim::topology::Topology::preset("pcie-pair")?, Mode::Deterministic(order))?;
    let (mesh, streams) = (site.mesh()?, site.streams()?);
    let memory = [0, 1].map(|at: usize| DeviceMemory::new(&site.contexts[at]));
    let (source, mut target) = (memory[0].upload(&[1, 2], &streams[0])?, memory[1].upload(&[0, 0], &streams[1])?);
    let spare = memory[1].upload(&[3, 4], &streams[1])?;
    site.contexts.iter().try_for_each(|context| context.synchronize())?;
    let others = [site.contexts[0].stream()?, site.contexts[1].stream()?];
    let ticket = mesh.copy(&source, &mut target, &streams[1])?;
    if wait == Wait::ByTicket {
        others.iter().try_for_each(|stream| ticket.hold_back(stream))?;
    }
    let mut stage = Stage { mesh, source, target, spare, streams: others };
    if wait == Wait::ByMemory {
        stage.source.as_slice_mut().hold_back(&stage.streams[0])?;
        stage.target.as_slice_mut().hold_back(&stage.streams[1])?;
    }
    later(&mut stage)?;
    // Both ends are freed after all of it.
    drop(stage);
    site.contexts.iter().try_for_each(|context| context.synchronize())?;
    let found = site.machine.take_findings();
    assert!(!found.iter().any(|found| matches!(found.kind, FindingKind::UseAfterFree { .. })), "{found:?}");
    Ok(found.iter().filter(|found| matches!(found.kind, FindingKind::Race { .. })).count())
}

#[test]
fn mesh_copies_and_frees_wait_for_a_copy_and_other_work_waits_for_its_ticket() -> TestResult {
    for (name, waits, later) in LATER {
        for order in [Order::Eager, Order::Lazy] {
            assert_eq!(races(*later, Wait::None, order)? == 0, *waits, "{name}");
            for wait in [Wait::ByTicket, Wait::ByMemory] {
                assert_eq!(races(*later, wait, order)?, 0, "{name}, {wait:?}");
            }
        }
    }
    Ok(())
}

/// S3.18: readers wait for writers, and writers for both, each by one event; without a conflict there is no call.
#[test]
fn a_stream_is_held_back_by_conflicting_work_alone() -> TestResult {
    let site = Site::in_mode(warploom_sim::topology::Topology::preset("pcie-pair")?, Mode::Deterministic(Order::Lazy))?;
    let (mesh, streams) = (site.mesh()?, site.streams()?);
    let memory = [0, 1].map(|at: usize| DeviceMemory::new(&site.contexts[at]));
    let (mut source, mut target) = (memory[0].allocate::<u32>(2)?, memory[1].allocate::<u32>(2)?);
    let other = site.contexts[1].stream()?;
    mesh.copy(&source, &mut target, &streams[1])?;
    // The events are used again from here on.
    drop([streams[1].record()?, streams[1].record()?]);
    let (driver, waits) = (&site.driver, [(Function::cuEventRecord, 1), (Function::cuStreamWaitEvent, 1)]);
    budget(driver, &[], || source.as_slice().hold_back(&other))?;
    budget(driver, &waits, || source.as_slice_mut().hold_back(&other))?;
    budget(driver, &waits, || target.as_slice().hold_back(&other))?;
    budget(driver, &[], || target.as_slice_mut().hold_back(&other))?;
    budget(driver, &[], || target.as_slice_mut().hold_back(&streams[1]))?;
    Ok(())
}

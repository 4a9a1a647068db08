//! Later work on other streams, as the documentation of `Mesh::copy` lists it (S3.18).

use warploom::{Buffer, DeviceMemory, Mesh, Result, Stream};
use warploom_sim::{FindingKind, Mode, Order};
use warploom_testkit::TestResult;

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

/// The races of a copy and a later operation, for which the stream of the operation may be held back.
fn races(later: Later, is_held_back: bool, order: Order) -> TestResult<usize> {
    let site = Site::in_mode(warploom_sim::topology::Topology::preset("pcie-pair")?, Mode::Deterministic(order))?;
    let (mesh, streams) = (site.mesh()?, site.streams()?);
    let memory = [0, 1].map(|at: usize| DeviceMemory::new(&site.contexts[at]));
    let (source, mut target) = (memory[0].upload(&[1, 2], &streams[0])?, memory[1].upload(&[0, 0], &streams[1])?);
    let spare = memory[1].upload(&[3, 4], &streams[1])?;
    site.contexts.iter().try_for_each(|context| context.synchronize())?;
    let others = [site.contexts[0].stream()?, site.contexts[1].stream()?];
    let ticket = mesh.copy(&source, &mut target, &streams[1])?;
    if is_held_back {
        others.iter().try_for_each(|stream| ticket.hold_back(stream))?;
    }
    let mut stage = Stage { mesh, source, target, spare, streams: others };
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
            assert_eq!(races(*later, false, order)? == 0, *waits, "{name}");
            assert_eq!(races(*later, true, order)?, 0, "{name}, held back");
        }
    }
    Ok(())
}

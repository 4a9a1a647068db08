//! Copies between devices that a grant allows (S0.28).
//!
//! The copy is one that needs access: enqueued on a stream of the peer, by addresses alone. `Buffer::copy_to`
//! names both contexts, and the driver then finds another way where there is no access.

use warploom::sys::types::CUresult;
use warploom::{Buffer, DevicePool, Driver, LiveSet, ManagedMemory, PinnedMemory, Stream, SynchronousResource};
use warploom_sim::topology::Topology;
use warploom_testkit::{TestResult, call, code_of, in_every_mode};

/// The code of a copy of a buffer's bytes that the stream's device makes by itself, and the bytes, if it
/// succeeds.
fn fetch(driver: &Driver, from: &Buffer, to: &DevicePool, stream: &Stream) -> TestResult<(CUresult, Option<Vec<u8>>)> {
    let arrived = to.zeroed(from.len(), stream)?;
    let answer =
        code_of(call!(driver.cuMemcpyDtoDAsync_v2(arrived.as_raw(), from.as_raw(), from.len(), stream.as_raw())));
    stream.synchronize()?;
    let bytes = if answer == CUresult::CUDA_SUCCESS { Some(arrived.download(stream)?) } else { None };
    Ok((answer, bytes))
}

const REFUSED: (CUresult, Option<Vec<u8>>) = (CUresult::CUDA_ERROR_INVALID_VALUE, None);

fn copied(bytes: &[u8]) -> (CUresult, Option<Vec<u8>>) {
    (CUresult::CUDA_SUCCESS, Some(bytes.to_vec()))
}

/// S0.28: refused before the grant, made after it, refused after revoking.
#[test]
fn a_peer_copies_exactly_while_it_has_access() -> TestResult {
    in_every_mode(&Topology::preset("pcie-pair")?, 2, |_, driver| {
        let (here, there) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
        let (stream, other) = (here.stream()?, there.stream()?);
        let (pool, target) = (DevicePool::new(&here)?, DevicePool::new(&there)?);
        let sent = pool.upload(b"to whom it may concern", &stream)?;
        stream.synchronize()?;
        assert_eq!(fetch(driver, &sent, &target, &other)?, REFUSED);
        for _ in 0..2 {
            pool.peers().insert(1)?;
            assert_eq!(fetch(driver, &sent, &target, &other)?, copied(b"to whom it may concern"));
            pool.peers().remove(1)?;
            assert_eq!(fetch(driver, &sent, &target, &other)?, REFUSED);
        }
        // A grant also concerns what the pool allocates later.
        pool.peers().insert(1)?;
        let later = pool.upload(b"later", &stream)?;
        stream.synchronize()?;
        assert_eq!(fetch(driver, &later, &target, &other)?, copied(b"later"));
        Ok(())
    })
}

/// S0.28: memory that every device uses needs no grant at the other end, on a stream of any device and with any
/// current one: the pool's owner can make the copy.
#[test]
fn a_copy_to_managed_or_page_locked_memory_needs_no_grant() -> TestResult {
    in_every_mode(&Topology::preset("pcie-pair")?, 2, |_, driver| {
        let (here, there) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
        let (stream, far) = (here.stream()?, there.stream()?);
        let sent = DevicePool::new(&there)?.upload(b"to whom it may concern", &far)?;
        far.synchronize()?;
        let mut managed = ManagedMemory::new(&here)?.allocate(sent.len())?;
        let mut pinned = PinnedMemory::new(&here).allocate(sent.len())?;
        for current in [&here, &there] {
            let to = [managed.as_raw(), pinned.as_raw()];
            current.scope(|| -> TestResult {
                for to in to {
                    call!(driver.cuMemcpyAsync(to, sent.as_raw(), sent.len(), stream.as_raw()))?;
                }
                Ok(())
            })??;
            stream.synchronize()?;
            assert_eq!(managed.host()?, b"to whom it may concern");
            assert_eq!(pinned.download(&stream)?, b"to whom it may concern");
            managed.fill(0, &stream)?;
            pinned.fill(0, &stream)?;
            stream.synchronize()?;
        }
        Ok(())
    })
}

/// S0.28: each of the four states of two peers, reached from each other one with one operation.
#[test]
fn all_twelve_transitions_of_two_peers_work() -> TestResult {
    in_every_mode(&Topology::preset("hgx-a100-4")?, 1, |_, driver| {
        let contexts = [0, 1, 2].map(|ordinal| driver.device(ordinal).and_then(|device| device.context()));
        let [here, one, two] = contexts;
        let (here, one, two) = (here?, one?, two?);
        let pool = DevicePool::new(&here)?;
        let sent = pool.upload(b"one, two, both or none", &here.stream()?)?;
        here.synchronize()?;
        let sides = [(1_u32, DevicePool::new(&one)?, one.stream()?), (2, DevicePool::new(&two)?, two.stream()?)];
        let states: [&[u32]; 4] = [&[], &[1], &[2], &[1, 2]];
        let mut transitions = 0;
        for from in states {
            for to in states.into_iter().filter(|to| *to != from) {
                for state in [from, to] {
                    pool.peers().assign(state.iter().copied())?;
                    for (ordinal, target, stream) in &sides {
                        let expected =
                            if state.contains(ordinal) { copied(b"one, two, both or none") } else { REFUSED };
                        assert_eq!(fetch(driver, &sent, target, stream)?, expected, "{from:?} to {to:?}, in {state:?}");
                    }
                }
                transitions += 1;
            }
        }
        assert_eq!(transitions, 12);
        Ok(())
    })
}

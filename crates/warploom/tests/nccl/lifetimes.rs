//! Memory that NCCL uses stays until it is done.

use warploom::leaks::{Kind, Leaks};
use warploom::nccl::Reduction;
use warploom::{DeviceMemory, DevicePool, Function, LiveSet as _, Mesh, Topology};
use warploom_sim::Mode;
use warploom_sim::topology::Topology as Wiring;
use warploom_testkit::{TestResult, assert_sound, driver_tests, open, while_waiting};

use super::gate::Gate;
use super::{Alone, Fake, four, with_four};

driver_tests! {
    /// Dropped on their home stream while another stream has yet to use them.
    threads fn buffers_that_are_dropped_in_use_are_freed_afterwards(driver) {
        let Alone { communicator, context, stream, pool, library: _library } = Alone::on(driver)?;
        let (home, next) = (context.stream()?, context.stream()?);
        let sent = pool.upload(&[7_u32; 1024], &home)?;
        let mut received = pool.zeroed::<u32>(1024, &home)?;
        let mut kept = pool.zeroed::<u32>(1024, &next)?;
        stream.wait_for(&next)?;
        // The first operation of a communicator may wait for the device.
        communicator.all_reduce(&sent, &mut received, Reduction::Sum, &stream)?;
        stream.synchronize()?;
        let gate = Gate::close(&stream)?;
        communicator.all_reduce(&sent, &mut received, Reduction::Sum, &stream)?;
        communicator.all_gather(&received, &mut kept, &stream)?;
        drop((sent, received));
        // Unused memory of the pool may go to others now; memory in use may not.
        let mut other = pool.upload(&[9_u32; 1024], &next)?;
        other.fill(8, &next)?;
        next.synchronize()?;
        gate.open();
        assert_eq!(kept.download(&stream)?, [7; 1024]);
        drop(gate);
        communicator.close()?;
    }

    /// A communicator may outlive any number of streams that it was used on.
    fn a_communicator_does_not_keep_streams(driver) {
        let Alone { communicator, context, stream, pool, library: _library } = Alone::on(driver)?;
        let mut values = pool.upload(&[7_u32; 64], &stream)?;
        let leaks = Leaks::track(driver);
        for _ in 0..50 {
            let short = context.stream()?;
            communicator.all_reduce_in_place(&mut values, Reduction::Sum, &short)?;
            stream.wait_for(&short)?;
        }
        assert_eq!(leaks.report().count(|kind| kind == Kind::Stream), 0);
        assert_eq!(values.download(&stream)?, [7; 64]);
        communicator.close()?;
    }

    /// Memory that is freed at once is waited for by the free.
    fn plain_memory_that_is_dropped_in_use_is_waited_for(driver) {
        let Alone { communicator, context, stream, pool, library: _library } = Alone::on(driver)?;
        let memory = DeviceMemory::new(&context);
        let sent = memory.upload(&[5_u32; 64], &stream)?;
        let mut received = pool.zeroed::<u32>(64, &stream)?;
        communicator.all_gather(&sent, &mut received, &stream)?;
        drop(sent);
        assert_eq!(received.download(&stream)?, [5; 64]);
        communicator.close()?;
    }

    /// Memory of a pool that has come into being on another stream is there when NCCL uses it.
    fn memory_is_there_on_whichever_stream_nccl_uses_it(driver) {
        let Alone { communicator, context, stream, library: _library, .. } = Alone::on(driver)?;
        let (home, pool) = (context.stream()?, DevicePool::new(&context)?);
        let mut values = pool.zeroed::<u32>(64, &home)?;
        stream.wait_for(&home)?;
        communicator.broadcast(&mut values, 0, &stream)?;
        let mut group = communicator.nccl().group();
        let mut fresh = pool.allocate::<u32>(64, &home)?;
        group.all_gather(&communicator, &values, &mut fresh, &stream)?;
        group.run()?;
        assert_eq!(fresh.download(&stream)?, [0; 64]);
        drop((fresh, values));
        communicator.close()?;
    }
}

#[test]
fn every_ranks_memory_stays_until_all_are_done() -> TestResult {
    with_four(|_, ranks| {
        let homes = ranks.iter().map(|rank| rank.communicator.context().stream()).collect::<Result<Vec<_>, _>>()?;
        let mut received = Vec::new();
        let mut sent = Vec::new();
        for (rank, home) in ranks.iter().zip(&homes) {
            sent.push(rank.pool.upload(&[rank.communicator.rank(); 256], home)?);
            received.push(rank.pool.zeroed::<u32>(1024, &rank.stream)?);
        }
        let mut group = ranks[0].communicator.nccl().group();
        for ((rank, sent), received) in ranks.iter().zip(&sent).zip(&mut received) {
            group.all_gather(&rank.communicator, sent, received, &rank.stream)?;
        }
        group.run()?;
        drop(sent);
        for (rank, home) in ranks.iter().zip(&homes) {
            rank.pool.upload(&[99_u32; 256], home)?;
        }
        for (rank, received) in ranks.iter().zip(&received) {
            let values = received.download(&rank.stream)?;
            assert_eq!((0..4).map(|from| values[from * 256]).collect::<Vec<_>>(), [0, 1, 2, 3]);
        }
        Ok(())
    })
}

/// A copy that orders itself knows what NCCL has written and read.
#[test]
fn copies_of_a_mesh_come_after_work_of_nccl() -> TestResult {
    with_four(|_, ranks| {
        let contexts: Vec<_> = ranks.iter().map(|rank| rank.communicator.context().clone()).collect();
        let pools: Vec<_> = ranks.iter().map(|rank| &rank.pool).collect();
        let devices: Vec<_> = contexts.iter().map(|context| context.device().clone()).collect();
        let (mesh, _) = Mesh::open(&Topology::probe(&devices)?, &contexts, &pools)?;
        let mut sums = Vec::new();
        for rank in ranks {
            let home = rank.communicator.context().stream()?;
            sums.push(rank.pool.upload(&[rank.communicator.rank(); 64], &home)?);
        }
        let mut group = ranks[0].communicator.nccl().group();
        for (rank, sum) in ranks.iter().zip(&mut sums) {
            group.all_reduce_in_place(&rank.communicator, sum, Reduction::Sum, &rank.stream)?;
        }
        group.run()?;
        let other = contexts[3].stream()?;
        let mut copied = ranks[3].pool.allocate::<u32>(64, &other)?;
        mesh.copy(&sums[0], &mut copied, &other)?;
        assert_eq!(copied.download(&other)?, [6; 64]);
        Ok(())
    })
}

/// NCCL lets one device of a process use the buffers of another, on streams that have not met them: access to
/// a pool is taken away when these are done.
#[test]
fn access_of_a_rank_is_taken_away_after_its_work() -> TestResult {
    let (machine, driver) = open(Wiring::preset("hgx-a100-4")?, Mode::Threads)?;
    let fake = Fake::on(&driver);
    let ranks = four(&fake, &driver)?;
    let pool = &ranks[0].pool;
    pool.peers().extend([1, 2])?;
    let gate = Gate::close(&ranks[3].stream)?;
    let check = || {
        assert!(pool.peers().contains(1)?);
        Ok(())
    };
    let wait = Function::cuCtxSynchronize;
    assert!(while_waiting(&machine, wait, || pool.peers().remove(1), check, || gate.open())??);
    drop(gate);
    ranks.into_iter().try_for_each(|rank| rank.communicator.close())?;
    assert_sound(&machine);
    Ok(())
}

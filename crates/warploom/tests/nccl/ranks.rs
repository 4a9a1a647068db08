//! Results of collective operations over several ranks.

use std::thread;
use std::time::Instant;

use warploom::nccl::{Communicator, NcclError, Reduction};
use warploom::{Buffer, Context, DevicePool, Driver, Result};
use warploom_sim::Mode;
use warploom_sim::topology::Topology;
use warploom_testkit::{TestResult, assert_sound, open};

use super::fake::PATIENCE;
use super::{Fake, Rank, join, nccl_error, with_four};

/// A buffer for each rank: rank r has `values(r)`.
fn each(ranks: &[Rank], values: impl Fn(u32) -> Vec<i32>) -> Result<Vec<Buffer<i32>>> {
    ranks.iter().map(|rank| rank.pool.upload(&values(rank.communicator.rank()), &rank.stream)).collect()
}

fn all(ranks: &[Rank], buffers: &[Buffer<i32>]) -> Result<Vec<Vec<i32>>> {
    ranks.iter().zip(buffers).map(|(rank, buffer)| buffer.download(&rank.stream)).collect()
}

#[test]
fn a_broadcast_gives_all_ranks_the_roots_values() -> TestResult {
    with_four(|_, ranks| {
        let mut values = each(ranks, |rank| vec![rank as i32, 10])?;
        let nccl = ranks[0].communicator.nccl();
        let mut group = nccl.group();
        assert!(group.is_empty());
        for (rank, values) in ranks.iter().zip(&mut values) {
            group.broadcast(&rank.communicator, values, 2, &rank.stream)?;
        }
        assert_eq!(group.len(), 4);
        group.run()?;
        assert_eq!(all(ranks, &values)?, vec![vec![2, 10]; 4]);

        let sent = each(ranks, |rank| vec![rank as i32, 20])?;
        let mut group = nccl.group();
        for ((rank, sent), values) in ranks.iter().zip(&sent).zip(&mut values) {
            group.broadcast_to(&rank.communicator, sent, values, 3, &rank.stream)?;
        }
        group.run()?;
        assert_eq!(all(ranks, &values)?, vec![vec![3, 20]; 4]);
        Ok(())
    })
}

#[test]
fn an_all_reduce_gives_all_ranks_the_reduction() -> TestResult {
    let results = [
        (Reduction::Sum, [14, -14]),
        (Reduction::Product, [120, 120]),
        (Reduction::Max, [5, -2]),
        (Reduction::Min, [2, -5]),
        (Reduction::Average, [3, -3]),
    ];
    with_four(|_, ranks| {
        for (reduction, expected) in results {
            let sent = each(ranks, |rank| vec![rank as i32 + 2, -2 - rank as i32])?;
            let mut received = each(ranks, |_| vec![0, 0])?;
            let mut group = ranks[0].communicator.nccl().group();
            for ((rank, sent), received) in ranks.iter().zip(&sent).zip(&mut received) {
                group.all_reduce(&rank.communicator, sent, received, reduction, &rank.stream)?;
            }
            group.run()?;
            assert_eq!(all(ranks, &received)?, vec![expected.to_vec(); 4], "{reduction}");

            let mut values = sent;
            let mut group = ranks[0].communicator.nccl().group();
            for (rank, values) in ranks.iter().zip(&mut values) {
                group.all_reduce_in_place(&rank.communicator, values, reduction, &rank.stream)?;
            }
            group.run()?;
            assert_eq!(all(ranks, &values)?, vec![expected.to_vec(); 4], "{reduction} in place");
        }
        Ok(())
    })
}

#[test]
fn a_reduce_gives_the_root_alone_the_reduction() -> TestResult {
    with_four(|_, ranks| {
        let sent = each(ranks, |rank| vec![rank as i32, 1])?;
        let mut received = ranks[1].pool.zeroed::<i32>(2, &ranks[1].stream)?;
        let mut group = ranks[0].communicator.nccl().group();
        let mut room = Some(received.as_slice_mut());
        for (rank, sent) in ranks.iter().zip(&sent) {
            let receive = if rank.communicator.rank() == 1 { room.take() } else { None };
            group.reduce(&rank.communicator, sent, receive, Reduction::Sum, 1, &rank.stream)?;
        }
        group.run()?;
        assert_eq!(received.download(&ranks[1].stream)?, [6, 4]);

        let mut values = sent;
        let mut group = ranks[0].communicator.nccl().group();
        for (rank, values) in ranks.iter().zip(&mut values) {
            group.reduce_in_place(&rank.communicator, values, Reduction::Max, 3, &rank.stream)?;
        }
        group.run()?;
        assert_eq!(values[3].download(&ranks[3].stream)?, [3, 1]);
        Ok(())
    })
}

#[test]
fn an_all_gather_gives_all_ranks_the_values_of_each_in_order() -> TestResult {
    with_four(|_, ranks| {
        let sent = each(ranks, |rank| vec![rank as i32, -(rank as i32)])?;
        let mut received = each(ranks, |_| vec![9; 8])?;
        let mut group = ranks[0].communicator.nccl().group();
        for ((rank, sent), received) in ranks.iter().zip(&sent).zip(&mut received) {
            group.all_gather(&rank.communicator, sent, received, &rank.stream)?;
        }
        group.run()?;
        let expected = vec![0, 0, 1, -1, 2, -2, 3, -3];
        assert_eq!(all(ranks, &received)?, vec![expected.clone(); 4]);

        let mut values = each(ranks, |rank| {
            let mut values = vec![9; 8];
            values[2 * rank as usize..][..2].copy_from_slice(&[rank as i32, -(rank as i32)]);
            values
        })?;
        let mut group = ranks[0].communicator.nccl().group();
        for (rank, values) in ranks.iter().zip(&mut values) {
            group.all_gather_in_place(&rank.communicator, values, &rank.stream)?;
        }
        group.run()?;
        assert_eq!(all(ranks, &values)?, vec![expected; 4]);
        Ok(())
    })
}

#[test]
fn a_reduce_scatter_gives_each_its_part() -> TestResult {
    with_four(|_, ranks| {
        let sent = each(ranks, |rank| (0..8).map(|place| place * 10 + rank as i32).collect())?;
        let mut received = each(ranks, |_| vec![0, 0])?;
        let mut group = ranks[0].communicator.nccl().group();
        for ((rank, sent), received) in ranks.iter().zip(&sent).zip(&mut received) {
            group.reduce_scatter(&rank.communicator, sent, received, Reduction::Sum, &rank.stream)?;
        }
        group.run()?;
        let part = |rank: i32| vec![rank * 80 + 6, rank * 80 + 46];
        assert_eq!(all(ranks, &received)?, (0..4).map(part).collect::<Vec<_>>());

        let mut values = sent;
        let mut group = ranks[0].communicator.nccl().group();
        for (rank, values) in ranks.iter().zip(&mut values) {
            group.reduce_scatter_in_place(&rank.communicator, values, Reduction::Sum, &rank.stream)?;
        }
        group.run()?;
        for (index, (rank, values)) in ranks.iter().zip(&values).enumerate() {
            let mine = values.slice(2 * index..2 * index + 2)?.download(&rank.stream)?;
            assert_eq!(mine, part(index as i32));
        }
        Ok(())
    })
}

#[test]
fn messages_go_round_in_a_group() -> TestResult {
    with_four(|_, ranks| {
        let sent = each(ranks, |rank| vec![rank as i32; 3])?;
        let mut received = each(ranks, |_| vec![9; 3])?;
        let mut group = ranks[0].communicator.nccl().group();
        for ((rank, sent), received) in ranks.iter().zip(&sent).zip(&mut received) {
            let here = rank.communicator.rank();
            group.send(&rank.communicator, sent, (here + 1) % 4, &rank.stream)?;
            group.receive(&rank.communicator, received, (here + 3) % 4, &rank.stream)?;
        }
        group.run()?;
        assert_eq!(all(ranks, &received)?, [vec![3; 3], vec![0; 3], vec![1; 3], vec![2; 3]]);
        Ok(())
    })
}

/// The rank of a thread: joined, and values that it has at the end.
fn on_a_thread(driver: &Driver, rank: u32, joined: impl FnOnce(&Context) -> Result<Communicator>) -> Result<Vec<i32>> {
    let context = driver.device(rank)?.context()?;
    let communicator = joined(&context)?;
    let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    let mut values = pool.upload(&[rank as i32, 1], &stream)?;
    for _ in 0..10 {
        communicator.all_reduce_in_place(&mut values, Reduction::Max, &stream)?;
    }
    if rank == 0 {
        communicator.send(&values, 1, &stream)?;
    } else if rank == 1 {
        communicator.receive(&mut values, 0, &stream)?;
    }
    communicator.all_reduce_in_place(&mut values, Reduction::Sum, &stream)?;
    let result = values.download(&stream)?;
    communicator.close()?;
    Ok(result)
}

/// The results of four threads.
fn of_four<T: Send>(rank: impl Fn(u32) -> Result<T> + Sync) -> Result<Vec<T>> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|number| {
                scope.spawn({
                    let rank = &rank;
                    move || rank(number)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

#[test]
fn each_rank_may_have_a_thread_of_its_own() -> TestResult {
    let (machine, driver) = open(Topology::preset("hgx-a100-4")?, Mode::Threads)?;
    let fake = Fake::on(&driver);
    let nccl = fake.nccl()?;
    let (id, local) = (nccl.unique_id()?, nccl.local_id(4)?);
    assert_eq!(local.size(), 4);
    // As from another process: nothing but the text of the id.
    let joined = |context: &Context, rank| join(&nccl, context, &id.to_string().parse()?, rank, 4);
    let results = of_four(|rank| on_a_thread(&driver, rank, |context| joined(context, rank)))?;
    assert_eq!(results, vec![vec![12, 4]; 4]);
    let results = of_four(|rank| on_a_thread(&driver, rank, |context| nccl.join_local(context, &local, rank)))?;
    assert_eq!(results, vec![vec![12, 4]; 4]);
    assert_eq!(fake.alive(), 0);
    assert_sound(&machine);
    Ok(())
}

/// Ranks that joined without a promise: a call that would write past the end of another's memory is refused.
#[test]
fn a_rank_of_a_thread_that_differs_is_refused_and_the_others_memory_is_whole() -> TestResult {
    let (machine, driver) = open(Topology::preset("hgx-a100-4")?, Mode::Threads)?;
    let fake = Fake::on(&driver);
    let (nccl, local) = (fake.nccl()?, fake.nccl()?.local_id(4)?);
    let joined = of_four(|rank| nccl.join_local(&driver.device(rank)?.context()?, &local, rank))?;
    let taken = nccl.join_local(joined[1].context(), &local, 1);
    assert_eq!(nccl_error(taken), NcclError::RankTaken { rank: 1 });
    let absent = nccl.join_local(joined[1].context(), &local, 4);
    assert_eq!(nccl_error(absent), NcclError::NoSuchRank { rank: 4, size: 4 });
    let ranks = joined.into_iter().map(Rank::new).collect::<Result<Vec<_>>>()?;
    let values = each(&ranks, |rank| vec![rank as i32; 5])?;
    fake.take_calls();
    let (ranks, values): (Vec<_>, Vec<_>) = thread::scope(|scope| -> TestResult<_> {
        let (mut reducing, mut calls) = (Vec::new(), 0);
        for (number, (rank, mut values)) in ranks.into_iter().zip(values).enumerate() {
            let communicator = &rank.communicator;
            if number > 0 {
                let short = communicator.all_reduce_in_place(values.slice_mut(..3)?, Reduction::Sum, &rank.stream);
                assert!(matches!(nccl_error(short), NcclError::Mismatch { .. }));
                let other = communicator.broadcast(values.slice_mut(..4)?, 0, &rank.stream);
                assert!(matches!(nccl_error(other), NcclError::Mismatch { .. }));
            }
            reducing.push(scope.spawn(move || -> Result<(Rank, Buffer<i32>)> {
                rank.communicator.all_reduce_in_place(values.slice_mut(..4)?, Reduction::Sum, &rank.stream)?;
                Ok((rank, values))
            }));
            // The call of NCCL waits for the other ranks.
            let deadline = Instant::now() + PATIENCE;
            while calls <= number {
                assert!(Instant::now() < deadline, "rank {number} has not called NCCL; {calls} have");
                let made = fake.take_calls();
                assert!(
                    made.iter().all(|call| call.starts_with("ncclAllReduce") && call.contains("count 4")),
                    "{made:?}"
                );
                calls += made.len();
                thread::yield_now();
            }
        }
        let reduced = reducing.into_iter().map(|thread| thread.join().expect("no panic"));
        Ok(reduced.collect::<Result<Vec<_>>>()?.into_iter().unzip())
    })?;
    assert_eq!(all(&ranks, &values)?, [0, 1, 2, 3].map(|rank| vec![6, 6, 6, 6, rank]));
    ranks.into_iter().try_for_each(|rank| rank.communicator.close())?;
    assert_sound(&machine);
    Ok(())
}

//! Reading and then writing is one step for all threads of the process (C.6).

use std::sync::Barrier;

use warploom::{DevicePool, LiveSet, Result};
use warploom_testkit::TestResult;

use super::{ordinals, pool_on, set};

const ROUNDS: usize = 200;

/// C.6: through values of their own, threads take one device each, again and again; none is lost and none is
/// taken twice.
#[test]
fn no_change_of_another_thread_is_lost() -> TestResult {
    let (_machine, driver, _) = pool_on("dgx-h100")?;
    let context = driver.device(0)?.context()?;
    let barrier = Barrier::new(7);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..8_u32)
            .map(|mine| {
                let (context, barrier) = (&context, &barrier);
                scope.spawn(move || -> Result<()> {
                    let pool = DevicePool::default_of(context)?;
                    barrier.wait();
                    for _ in 0..ROUNDS {
                        // Each of them reads everything and writes what differs by the thread's own device.
                        pool.peers().toggle([mine])?;
                        assert!(pool.peers().contains(mine)?);
                        pool.peers().retain(|device| device.ordinal() != mine)?;
                        assert!(!pool.peers().contains(mine)?);
                    }
                    pool.peers().extend([mine])
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("the thread does not panic"))
    })?;
    assert_eq!(ordinals(DevicePool::default_of(&context)?.peers())?, set(1..8));
    Ok(())
}

/// C.6: of assignments at the same time, one is the last, and what it assigned is what there is.
#[test]
fn one_of_several_assignments_is_the_last() -> TestResult {
    let (_machine, driver, _) = pool_on("dgx-h100")?;
    let context = driver.device(0)?.context()?;
    let halves = [[1_u32, 2, 3], [4, 5, 6], [1, 4, 7], [2, 5, 7]];
    let barrier = Barrier::new(halves.len());
    let assign = &|half: [u32; 3]| {
        let pool = DevicePool::default_of(&context)?;
        barrier.wait();
        pool.peers().assign(half)
    };
    for _ in 0..ROUNDS {
        std::thread::scope(|scope| {
            let threads = halves.map(|half| scope.spawn(move || assign(half)));
            threads.into_iter().try_for_each(|thread| thread.join().expect("the thread does not panic"))
        })?;
        let left = ordinals(DevicePool::default_of(&context)?.peers())?;
        assert!(halves.iter().any(|half| left == set(*half)), "{left:?}");
    }
    Ok(())
}

/// C.6: what several threads pop is popped once.
#[test]
fn an_element_is_popped_by_one_thread() -> TestResult {
    let (_machine, _driver, pool) = pool_on("dgx-h100")?;
    for _ in 0..20 {
        pool.peers().extend(1..8)?;
        let barrier = Barrier::new(4);
        let mut popped = std::thread::scope(|scope| -> Result<Vec<u32>> {
            let pop = || -> Result<Vec<u32>> {
                barrier.wait();
                std::iter::from_fn(|| pool.peers().pop_first().transpose())
                    .map(|device| device.map(|device| device.ordinal()))
                    .collect()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(pop)).collect();
            let mut all = Vec::new();
            for thread in threads {
                all.extend(thread.join().expect("the thread does not panic")?);
            }
            Ok(all)
        })?;
        popped.sort_unstable();
        assert_eq!(popped, [1, 2, 3, 4, 5, 6, 7]);
    }
    Ok(())
}

/// C.6: a read of the whole set sees a bulk change whole or not at all.
#[test]
fn half_of_a_change_is_never_seen() -> TestResult {
    let (_machine, driver, pool) = pool_on("dgx-h100")?;
    let all = set(1..8);
    let devices = driver.devices()?;
    std::thread::scope(|scope| -> TestResult {
        let writer = scope.spawn(|| -> Result<()> {
            for _ in 0..ROUNDS {
                pool.peers().toggle(&devices)?;
            }
            Ok(())
        });
        while !writer.is_finished() {
            let seen = ordinals(pool.peers())?;
            assert!(seen.is_empty() || seen == all, "{seen:?}");
        }
        writer.join().expect("the thread does not panic")?;
        Ok(())
    })
}

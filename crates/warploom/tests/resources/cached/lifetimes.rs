//! Lifetimes of a cache and of the streams of its lanes: neither is counted by buffers, and both outlive
//! them.

use std::sync::mpsc::channel;

use warploom::graph::reclaim;
use warploom::leaks::{Kind, Leaks};
use warploom::{Buffer, Cached, DevicePool, Function, OrderedResource, Stream};
use warploom_testkit::driver_tests;

/// A block of its own segment, which leaves nothing free in its lane.
const LARGE: usize = 4 << 20;

/// An end of a buffer, which may use another stream.
type End = fn(Buffer<u8>, &Stream) -> warploom::Result<()>;

fn streams(leaks: &Leaks) -> usize {
    leaks.report().count(|kind| kind == Kind::Stream)
}

driver_tests! {
    /// A stream whose last handle is dropped stays while a buffer of its lane lives.
    fn a_stream_lives_while_a_buffer_of_it_does(driver) {
        let context = driver.device(0)?.context()?;
        let other = context.stream()?;
        let cache = Cached::new(&DevicePool::new(&context)?);
        let ends: [End; 3] = [
            |buffer, _| buffer.close(),
            |mut buffer, other| buffer.fill(2, other),
            |mut buffer, other| buffer.set_free_stream(other),
        ];
        for end in ends {
            let leaks = Leaks::track(driver);
            let home = context.stream()?;
            let mut buffer = cache.zeroed::<u8>(LARGE, &home)?;
            drop(home);
            cache.release_unused()?; // takes lanes away that have no blocks and no stream
            drop(cache.allocate::<u8>(2 * LARGE, &other)?);
            assert_eq!(streams(&leaks), 1, "{}", leaks.report());
            buffer.fill(7, &other)?;
            assert_eq!(buffer.slice(..3)?.download(&other)?, [7; 3]);
            end(buffer, &other)?;
            assert_eq!(cache.statistics().in_use, 0);
            cache.release_unused()?;
            assert_eq!(cache.statistics().reserved, 0);
            leaks.assert_none();
        }
    }

    /// A buffer that stays on its stream alone is freed there although the last handle is gone.
    fn a_buffer_is_freed_at_home_after_the_last_handle_to_its_stream(driver) {
        let context = driver.device(0)?.context()?;
        let cache = Cached::new(&DevicePool::new(&context)?);
        let leaks = Leaks::track(driver);
        let (first, second) = {
            let home = context.stream()?;
            (cache.zeroed::<u8>(LARGE, &home)?, cache.zeroed::<u8>(LARGE, &home)?)
        };
        cache.release_unused()?;
        drop(first);
        cache.release_unused()?;
        assert_eq!((streams(&leaks), cache.statistics().in_use), (1, LARGE));
        drop(second);
        assert_eq!(cache.statistics().in_use, 0);
        cache.release_unused()?;
        leaks.assert_none();
    }

    /// A cache lives until its last buffer ends, and gives its memory back then, once.
    fn a_cache_lives_while_a_buffer_of_it_does(driver) {
        let context = driver.device(0)?.context()?;
        let leaks = Leaks::track(driver);
        let stream = context.stream()?;
        let cache = Cached::new(&DevicePool::new(&context)?);
        drop(cache.zeroed::<u8>(2 * LARGE, &stream)?);
        let (first, second) = (cache.zeroed::<u8>(LARGE, &stream)?, cache.zeroed::<u8>(LARGE, &stream)?);
        let calls = driver.count_calls();
        drop((cache.clone(), stream));
        drop(cache);
        assert_eq!(calls.count(Function::cuMemFreeAsync), 0, "a buffer holds the cache");
        assert_eq!(leaks.report().count(|kind| kind == Kind::Pool), 1, "{}", leaks.report());
        let second = std::thread::spawn(|| { drop(first); second }).join().map_err(|_| "the drop panicked")?;
        assert_eq!(leaks.report().count(|kind| kind == Kind::Pool), 1, "{}", leaks.report());
        drop(calls);
        let driver = driver.clone();
        let last = std::thread::spawn(move || {
            let calls = driver.count_calls();
            drop(second);
            calls.count(Function::cuMemFreeAsync)
        });
        assert_eq!(last.join().map_err(|_| "the drop panicked")?, 3);
        leaks.assert_none();
    }

    /// The count of buffers passes 0 while the cache has a handle.
    fn a_cache_without_buffers_lives_while_it_has_a_handle(driver) {
        let context = driver.device(0)?.context()?;
        let leaks = Leaks::track(driver);
        let stream = context.stream()?;
        let cache = Cached::new(&DevicePool::new(&context)?);
        let calls = driver.count_calls();
        for _ in 0..10 {
            drop(cache.zeroed::<u8>(LARGE, &stream)?);
        }
        assert_eq!((calls.count(Function::cuMemFreeAsync), cache.statistics().hits), (0, 9));
        drop(cache);
        assert_eq!(calls.count(Function::cuMemFreeAsync), 1);
        drop((calls, stream));
        leaks.assert_none();
    }

    /// A duplicate is a buffer of the same cache.
    fn a_duplicate_holds_the_cache(driver) {
        let context = driver.device(0)?.context()?;
        let leaks = Leaks::track(driver);
        let (stream, other) = (context.stream()?, context.stream()?);
        let cache = Cached::new(&DevicePool::new(&context)?);
        let buffer = cache.upload(&[1_u8, 2, 3], &stream)?;
        let duplicate = buffer.duplicate(&other)?;
        assert_eq!(cache.statistics().in_use, 2 * 512);
        drop((cache, buffer, stream));
        assert_eq!(duplicate.download(&other)?, [1, 2, 3]);
        drop((duplicate, other));
        leaks.assert_none();
    }

    /// The resource of a buffer is a handle to its cache, also where all others are gone.
    fn the_resource_of_a_buffer_holds_the_cache(driver) {
        let context = driver.device(0)?.context()?;
        let leaks = Leaks::track(driver);
        let stream = context.stream()?;
        let cache = Cached::new(&DevicePool::new(&context)?);
        let buffer = cache.zeroed::<u8>(LARGE, &stream)?;
        let address = buffer.as_raw();
        drop(cache);
        let [first, second] = [(); 2].map(|()| buffer.ordered_resource().expect("a cache is one"));
        drop((buffer, first));
        assert_eq!(leaks.report().count(|kind| kind == Kind::Pool), 1, "{}", leaks.report());
        let again = second.zeroed::<u8>(LARGE, &stream)?;
        assert_eq!(again.as_raw(), address);
        drop((again, second, stream));
        leaks.assert_none();
    }

    /// S4.14: a cache whose last handle is dropped in a callback gives its memory back elsewhere.
    fn a_cache_that_a_host_function_drops_is_given_back(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let pool = DevicePool::new(&context)?;
        let (idle, busy) = (Cached::new(&pool), Cached::new(&pool));
        drop(idle.zeroed::<u8>(LARGE, &stream)?);
        let buffer = busy.zeroed::<u8>(LARGE, &stream)?;
        assert_eq!(pool.statistics()?.used, 2 * LARGE as u64);
        stream.host(move || drop((idle, busy, buffer)))?.wait()?;
        reclaim();
        stream.synchronize()?;
        assert_eq!(pool.statistics()?.used, 0, "a call in a callback is refused");
    }

    /// Threads drop handles to caches and streams while others drop their buffers.
    fn handles_and_buffers_end_at_once(driver) {
        let context = driver.device(0)?.context()?;
        let leaks = Leaks::track(driver);
        for round in 0..10 {
            let cache = Cached::new(&DevicePool::new(&context)?);
            let (senders, receivers): (Vec<_>, Vec<_>) = (0..4).map(|_| channel::<Buffer<u8>>()).unzip();
            let worker = |cache: Cached, thread: usize| {
                let (context, next) = (context.clone(), senders[(thread + 1) % 4].clone());
                move || -> warploom::Result<()> {
                    let stream = context.stream()?;
                    for step in 0..20 {
                        let buffer = cache.zeroed::<u8>(1000 + 3000 * ((step + round) % 5), &stream)?;
                        if step % 3 == 0 {
                            next.send(buffer).expect("the neighbour waits for it");
                        }
                        if step % 7 == thread {
                            cache.release_unused()?;
                        }
                    }
                    Ok(())
                }
            };
            let workers: Vec<_> = (0..4).map(|thread| std::thread::spawn(worker(cache.clone(), thread))).collect();
            drop(cache);
            drop(senders);
            let droppers = receivers.into_iter().map(|all| std::thread::spawn(move || all.into_iter().for_each(drop)));
            let droppers: Vec<_> = droppers.collect();
            for thread in workers {
                thread.join().map_err(|_| "a worker panicked")??;
            }
            for thread in droppers {
                thread.join().map_err(|_| "a drop panicked")?;
            }
            leaks.assert_none();
        }
    }
}

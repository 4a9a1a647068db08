//! Reuse of freed memory: by which stream, and when.

use std::ptr::null_mut;
use std::time::Duration;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUdeviceptr, CUevent, CUresult};
use warploom_testkit::{Gate, Primary, Stream, TestResult, answers, call, code_of, driver_tests};

use crate::fixture::{CHUNK, FOLLOW, INTERNAL, MIB, OPPORTUNISTIC, Pool, RESERVED, USED};

struct Event {
    driver: Driver,
    raw: CUevent,
}

impl Event {
    fn new(driver: &Driver) -> TestResult<Event> {
        let mut raw = null_mut();
        call!(driver.cuEventCreate(&mut raw, 2))?;
        Ok(Event { driver: driver.clone(), raw })
    }

    /// Orders later work of `later` after the work of `earlier` so far.
    fn order(&self, earlier: &Stream, later: &Stream) -> TestResult {
        let driver = &self.driver;
        call!(driver.cuEventRecord(self.raw, earlier.raw))?;
        Ok(call!(driver.cuStreamWaitEvent(later.raw, self.raw, 0))?)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let driver = &self.driver;
        let result = call!(driver.cuEventDestroy_v2(self.raw));
        assert!(result.is_ok() || std::thread::panicking(), "{result:?}");
    }
}

fn query(driver: &Driver, stream: &Stream) -> CUresult {
    code_of(call!(driver.cuStreamQuery(stream.raw)))
}

/// A pool with one chunk that has been allocated on a stream and is about to be freed there.
struct Scene {
    pool: Pool,
    first: Stream,
    second: Stream,
    address: CUdeviceptr,
}

impl Scene {
    fn new(driver: &Driver, switches: [bool; 3]) -> TestResult<Scene> {
        let pool = Pool::hoarding(driver)?;
        for (attribute, switch) in [FOLLOW, OPPORTUNISTIC, INTERNAL].into_iter().zip(switches) {
            pool.set(attribute, switch.into())?;
        }
        let [first, second] = [Stream::new(driver)?, Stream::new(driver)?];
        let address = pool.take(CHUNK, first.raw)?;
        first.synchronize()?;
        Ok(Scene { pool, first, second, address })
    }

    fn free(&self) -> TestResult {
        self.pool.free(self.address, self.first.raw)
    }

    /// Allocates as much as was freed, and tells whether that is the freed memory; then the pool has not
    /// grown.
    fn is_reused_on(&self, stream: &Stream) -> TestResult<bool> {
        let address = self.pool.take(CHUNK, stream.raw)?;
        let reused = address == self.address;
        let chunks = if reused { 1 } else { 2 };
        assert_eq!([self.pool.get(RESERVED)?, self.pool.get(USED)?], [chunks * CHUNK, CHUNK]);
        self.pool.free(address, stream.raw)?;
        Ok(reused)
    }
}

fn all_switches() -> impl Iterator<Item = [bool; 3]> {
    (0..8).map(|bits| [bits & 1 != 0, bits & 2 != 0, bits & 4 != 0])
}

driver_tests! {
    fn a_stream_takes_its_own_freed_memory_at_once(driver) {
        let _primary = Primary::of(driver, 0)?;
        let gate = Gate::new(driver)?;
        for switches in all_switches() {
            let scene = Scene::new(driver, switches)?;
            gate.hold(scene.first.raw)?;
            scene.free()?;
            assert!(scene.is_reused_on(&scene.first)?, "{switches:?}");
        }
        gate.open_and_wait()?;
    }

    fn another_stream_grows_the_pool_rather_than_wait(driver) {
        let _primary = Primary::of(driver, 0)?;
        let gate = Gate::new(driver)?;
        for switches in all_switches() {
            let scene = Scene::new(driver, switches)?;
            gate.hold(scene.first.raw)?;
            scene.free()?;
            assert!(!scene.is_reused_on(&scene.second)?, "{switches:?}");
            scene.second.synchronize()?;
        }
        gate.open_and_wait()?;
    }

    fn a_stream_that_waits_for_the_free_takes_the_memory(driver) {
        let _primary = Primary::of(driver, 0)?;
        let gate = Gate::new(driver)?;
        for switches in all_switches() {
            let scene = Scene::new(driver, switches)?;
            let event = Event::new(driver)?;
            gate.hold(scene.first.raw)?;
            scene.free()?;
            event.order(&scene.first, &scene.second)?;
            let [follow, ..] = switches;
            assert_eq!(scene.is_reused_on(&scene.second)?, follow, "{switches:?}");
            assert_eq!(query(driver, &scene.second), CUresult::CUDA_ERROR_NOT_READY);
        }
        gate.open_and_wait()?;
    }

    fn a_wait_for_what_came_before_the_free_is_not_enough(driver) {
        let _primary = Primary::of(driver, 0)?;
        let gate = Gate::new(driver)?;
        for switches in all_switches() {
            let scene = Scene::new(driver, switches)?;
            let event = Event::new(driver)?;
            gate.hold(scene.first.raw)?;
            event.order(&scene.first, &scene.second)?;
            scene.free()?;
            assert!(!scene.is_reused_on(&scene.second)?, "{switches:?}");
        }
        gate.open_and_wait()?;
    }

    fn the_default_stream_waits_for_frees_by_itself(driver) {
        let _primary = Primary::of(driver, 0)?;
        let gate = Gate::new(driver)?;
        let pool = Pool::hoarding(driver)?;
        pool.set(OPPORTUNISTIC, 0)?;
        let stream = Stream::with_flags(driver, 0)?;
        let address = pool.take(CHUNK, stream.raw)?;
        stream.synchronize()?;
        gate.hold(stream.raw)?;
        pool.free(address, stream.raw)?;
        assert_eq!(pool.take(CHUNK, null_mut())?, address);
        pool.free(address, null_mut())?;
        assert_eq!(pool.take(CHUNK, stream.raw)?, address);
        pool.free(address, stream.raw)?;
        gate.open_and_wait()?;
    }

    fn anybody_takes_memory_that_the_host_saw_freed(driver) {
        let _primary = Primary::of(driver, 0)?;
        for switches in all_switches() {
            let scene = Scene::new(driver, switches)?;
            scene.free()?;
            scene.first.synchronize()?;
            assert!(scene.is_reused_on(&scene.second)?, "{switches:?}");
            scene.second.synchronize()?;
        }
    }

    threads fn a_free_that_is_done_is_taken_opportunistically(driver) {
        let _primary = Primary::of(driver, 0)?;
        for switches in all_switches() {
            let scene = Scene::new(driver, switches)?;
            scene.free()?;
            std::thread::sleep(Duration::from_millis(30));
            let [_, opportunistic, _] = switches;
            assert_eq!(scene.is_reused_on(&scene.second)?, opportunistic, "{switches:?}");
            scene.second.synchronize()?;
        }
    }

    fn a_pool_at_its_maximum_makes_the_stream_wait(driver) {
        let _primary = Primary::of(driver, 0)?;
        let gate = Gate::new(driver)?;
        let pool = Pool::with(driver, |properties| properties.maxSize = CHUNK as usize)?;
        let [first, second] = [Stream::new(driver)?, Stream::new(driver)?];
        let address = pool.take(CHUNK, first.raw)?;
        first.synchronize()?;
        gate.hold(first.raw)?;
        pool.free(address, first.raw)?;
        assert_eq!(pool.take(CHUNK, second.raw)?, address);
        assert_eq!(query(driver, &second), CUresult::CUDA_ERROR_NOT_READY);
        pool.free(address, second.raw)?;
        gate.open_and_wait()?;
    }

    fn reused_memory_belongs_to_the_new_allocation_when_the_old_free_comes(driver) {
        let _primary = Primary::of(driver, 0)?;
        let gate = Gate::new(driver)?;
        let stream = Stream::new(driver)?;
        let pool = Pool::hoarding(driver)?;
        let first = pool.take(4096, stream.raw)?;
        stream.synchronize()?;
        gate.hold(stream.raw)?;
        pool.free(first, stream.raw)?;
        let second = pool.take(4096, stream.raw)?;
        assert_eq!(second, first);
        gate.open_and_wait()?;
        let sent = [9u8; 4096];
        let mut received = [0u8; 4096];
        call!(driver.cuMemcpyHtoD_v2(second, sent.as_ptr().cast(), sent.len()))?;
        let third = pool.take(4096, stream.raw)?;
        assert_ne!(third, second, "the free was of the old allocation");
        call!(driver.cuMemcpyDtoH_v2(received.as_mut_ptr().cast(), second, received.len()))?;
        assert_eq!(sent, received);
        assert_eq!(pool.get(USED)?, 8192);
        pool.free(second, stream.raw)?;
        pool.free(third, stream.raw)?;
        stream.synchronize()?;
        assert_eq!(pool.get(USED)?, 0);
    }

    fn waiting_for_an_event_gives_memory_back_and_asking_does_not(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let event = Event::new(driver)?;
        let pool = Pool::new(driver)?;
        let address = pool.take(64 * MIB, stream.raw)?;
        stream.synchronize()?;
        pool.free(address, stream.raw)?;
        call!(driver.cuEventRecord(event.raw, stream.raw))?;
        while query(driver, &stream) != CUresult::CUDA_SUCCESS {
            std::thread::yield_now();
        }
        call!(driver.cuEventQuery(event.raw))?;
        assert_eq!(pool.get(RESERVED)?, 2 * CHUNK);
        call!(driver.cuEventSynchronize(event.raw))?;
        assert_eq!(pool.get(RESERVED)?, 0);
    }

    fn a_pool_in_use_by_held_work_can_be_destroyed(driver) {
        let _primary = Primary::of(driver, 0)?;
        let gate = Gate::new(driver)?;
        let stream = Stream::new(driver)?;
        let pool = Pool::new(driver)?;
        let address = pool.take(4096, stream.raw)?;
        stream.synchronize()?;
        gate.hold(stream.raw)?;
        pool.free(address, stream.raw)?;
        let raw = pool.raw;
        drop(pool);
        answers!(driver.cuMemPoolTrimTo(raw, 0), CUDA_ERROR_INVALID_VALUE);
        gate.open_and_wait()?;
    }

    fn pool_memory_is_freed_at_once_even_under_a_held_stream(driver) {
        let _primary = Primary::of(driver, 0)?;
        let gate = Gate::new(driver)?;
        let stream = Stream::new(driver)?;
        let pool = Pool::new(driver)?;
        let address = pool.take(4096, stream.raw)?;
        stream.synchronize()?;
        gate.hold(stream.raw)?;
        call!(driver.cuMemFree_v2(address))?;
        assert_eq!(pool.get(RESERVED)?, 0);
        assert_eq!(query(driver, &stream), CUresult::CUDA_ERROR_NOT_READY);
        gate.open_and_wait()?;
    }
}

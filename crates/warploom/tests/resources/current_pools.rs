//! Current pools that were made here, by other code, or for another context.

use std::ptr::null_mut;

use warploom::{
    Context, ContextOptions, DefaultResource, DevicePool, Driver, Error, Host, Location, ManagedPool, MemoryError,
    OrderedResource, PinnedPool,
};
use warploom_sim::topology::Topology;
use warploom_sim::{Mode, Resource};
use warploom_testkit::sys::types::{CUmemAllocationType, CUmemPoolProps, CUmemoryPool};
use warploom_testkit::{TestResult, call, driver_tests, open};

const PINNED: CUmemAllocationType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
const MANAGED: CUmemAllocationType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED;

/// A pool that other code makes.
fn foreign(driver: &Driver, kind: CUmemAllocationType, place: &Location) -> TestResult<CUmemoryPool> {
    let (properties, mut raw) = (
        CUmemPoolProps {
            allocType: kind,
            handleTypes: warploom_testkit::sys::types::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: place.to_raw(),
            win32SecurityAttributes: null_mut(),
            maxSize: 0,
            usage: 0,
            gpuDirectRDMACapable: 0,
            reserved: [0; 53],
        },
        null_mut(),
    );
    call!(driver.cuMemPoolCreate(&raw mut raw, &raw const properties))?;
    Ok(raw)
}

fn untracked(of: &'static str) -> Error {
    Error::Memory(MemoryError::Untracked { of, device: 0 })
}

/// After a current managed pool was destroyed, a driver makes the device's own default pool current, once that was asked
/// for. Its memory is not managed, so that it is refused, until the default pool is made current.
fn assert_refused_until_reset(driver: &Driver, context: &Context, place: &Location) -> TestResult {
    let found = ManagedPool::current(context, Some(place.clone())).map(drop);
    assert_eq!(found, Err(untracked("managed memory")));
    let default = ManagedPool::default_of(context, Some(place.clone()))?;
    call!(driver.cuMemSetMemPool(&mut place.to_raw(), MANAGED, default.as_raw()))?;
    assert_eq!(ManagedPool::current(context, Some(place.clone()))?.as_raw(), default.as_raw());
    Ok(())
}

fn found(context: &Context) -> Option<DevicePool> {
    match context.default_resource() {
        Ok(DefaultResource::Pool(pool)) => Some(pool),
        _ => None,
    }
}

driver_tests! {
    fn a_current_pool_that_was_made_here_outlives_its_other_handles(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let own = DevicePool::new(&context)?;
        let raw = own.as_raw();
        call!(driver.cuDeviceSetMemPool(0, raw))?;
        let (current, default) = (DevicePool::current(&context)?, found(&context).expect("a pool"));
        let before = current.upload(&[1_u8, 2], &stream)?;
        drop(own);
        assert_eq!((current.as_raw(), default.as_raw(), DevicePool::current(&context)?.as_raw()), (raw, raw, raw));
        assert!(current.is_owned());
        assert!(current.statistics()?.used >= 2);
        assert_eq!(default.upload(&[3_u8], &stream)?.download(&stream)?, [3]);
        drop((current, default));
        assert_eq!(before.download(&stream)?, [1, 2]);
        drop(before);
        // The pool has ended, and the driver has made its own current again.
        assert_eq!(DevicePool::current(&context)?.as_raw(), DevicePool::default_of(&context)?.as_raw());
    }

    fn a_current_managed_pool_that_was_made_here_outlives_its_other_handles(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let here = Location::from(context.device());
        DevicePool::default_of(&context)?;
        let own = ManagedPool::preferring(&context, here.clone())?;
        call!(driver.cuMemSetMemPool(&mut here.to_raw(), MANAGED, own.as_raw()))?;
        let current = ManagedPool::current(&context, Some(here.clone()))?;
        drop(own);
        assert_eq!(current.upload(&[3_u8], &stream)?.download(&stream)?, [3]);
        drop(current);
        assert_refused_until_reset(driver, &context, &here)?;
    }

    fn a_current_pool_of_other_code_is_taken_by_an_unsafe_call_only(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let here = Location::from(context.device());
        let raw = foreign(driver, PINNED, &here)?;
        call!(driver.cuDeviceSetMemPool(0, raw))?;
        assert_eq!(DevicePool::current(&context).map(drop), Err(untracked("device memory")));
        assert_eq!(context.default_resource().map(drop), Err(untracked("device memory")));
        let text = untracked("device memory").to_string();
        assert!(text.contains("device 0") && text.contains("current_untracked"), "{text}");
        #[expect(unsafe_code, reason = "the pool is destroyed at the end of this test")]
        // SAFETY: see above.
        let pool = unsafe { DevicePool::current_untracked(&context) }?;
        assert_eq!((pool.as_raw(), pool.is_owned()), (raw, false));
        assert_eq!(pool.upload(&[3_u8], &stream)?.download(&stream)?, [3]);
        drop(pool);
        stream.synchronize()?;
        call!(driver.cuMemPoolDestroy(raw))?;
        DevicePool::current(&context)?;
    }

    fn a_current_managed_pool_of_other_code_is_taken_by_an_unsafe_call_only(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let here = Location::from(context.device());
        DevicePool::default_of(&context)?;
        let raw = foreign(driver, MANAGED, &here)?;
        call!(driver.cuMemSetMemPool(&mut here.to_raw(), MANAGED, raw))?;
        let found = ManagedPool::current(&context, Some(here.clone())).map(drop);
        assert_eq!(found, Err(untracked("managed memory")));
        #[expect(unsafe_code, reason = "the pool is destroyed at the end of this test")]
        // SAFETY: see above.
        let pool = unsafe { ManagedPool::current_untracked(&context, Some(here.clone())) }?;
        assert_eq!(pool.upload(&[3_u8], &stream)?.download(&stream)?, [3]);
        drop(pool);
        stream.synchronize()?;
        call!(driver.cuMemPoolDestroy(raw))?;
        assert_refused_until_reset(driver, &context, &here)?;
    }

    fn the_current_pool_of_another_context_is_not_shared(driver) {
        let context = driver.device(0)?.context()?;
        let other = driver.device(0)?.create_context(ContextOptions::new())?;
        let own = DevicePool::new(&other)?;
        call!(driver.cuDeviceSetMemPool(0, own.as_raw()))?;
        assert_eq!(DevicePool::current(&context).map(drop), Err(untracked("device memory")));
        assert_eq!(DevicePool::current(&other)?.as_raw(), own.as_raw());
        drop(own);
        DevicePool::current(&context)?;
    }
}

/// On the simulator only: the pool of the host is not set on hardware, where other programs' tests use it.
#[test]
fn current_pools_of_the_host_are_shared_or_untracked() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let driver = &driver;
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    let place = Location::from(Host::Any);
    let own = PinnedPool::new(&context)?;
    call!(driver.cuMemSetMemPool(&mut place.to_raw(), PINNED, own.as_raw()))?;
    let current = PinnedPool::current(&context, Host::Any)?;
    drop(own);
    assert_eq!(current.upload(&[3_u8], &stream)?.download(&stream)?, [3]);
    drop(current);
    assert_eq!(machine.census().live(Resource::Pool), 0);
    PinnedPool::current(&context, Host::Any)?;
    let raw = foreign(driver, PINNED, &place)?;
    call!(driver.cuMemSetMemPool(&mut place.to_raw(), PINNED, raw))?;
    assert_eq!(PinnedPool::current(&context, Host::Any).map(drop), Err(untracked("page-locked memory")));
    #[expect(unsafe_code, reason = "the pool is destroyed at the end of this test")]
    // SAFETY: see above.
    let pool = unsafe { PinnedPool::current_untracked(&context, Host::Any) }?;
    assert_eq!(pool.upload(&[3_u8], &stream)?.download(&stream)?, [3]);
    drop(pool);
    stream.synchronize()?;
    call!(driver.cuMemPoolDestroy(raw))?;
    Ok(())
}

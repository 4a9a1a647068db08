//! The default resource of a context (DEV-15).

use warploom::capture::Relaxed;
use warploom::{CaptureError, ContextError, DefaultResource, DevicePool, Driver, Error, Function, MemoryError, Result};
use warploom_sim::fault::Calls;
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
use warploom_testkit::sweep::Sweep;
use warploom_testkit::{TestResult, budget, call, driver_tests, open};

driver_tests! {
    fn the_default_resource_is_the_pool_that_is_current(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let calls = [
            (Function::cuDeviceGetAttribute, 1),
            (Function::cuDeviceGetMemPool, 1),
            (Function::cuDeviceGetDefaultMemPool, 1),
        ];
        let resource = budget(driver, &calls, || context.default_resource())?;
        let DefaultResource::Pool(pool) = &resource else { panic!("{resource:?}") };
        assert_eq!(pool.as_raw(), DevicePool::default_of(&context)?.as_raw());
        assert_eq!(resource.context(), &context);
        let buffer = budget(driver, &[(Function::cuMemAllocFromPoolAsync, 1)], || resource.allocate::<u32>(4, &stream))?;
        drop(buffer);
        assert_eq!(resource.zeroed::<u32>(3, &stream)?.download(&stream)?, [0; 3]);
        assert_eq!(resource.upload(&[1_u8, 2], &stream)?.download(&stream)?, [1, 2]);

        let own = DevicePool::new(&context)?;
        call!(driver.cuDeviceSetMemPool(0, own.as_raw()))?;
        let current = context.default_resource();
        call!(driver.cuDeviceSetMemPool(0, pool.as_raw()))?;
        assert!(matches!(current?, DefaultResource::Pool(pool) if pool.as_raw() == own.as_raw()));
    }
}

fn without_pools() -> TestResult<(Machine, Driver)> {
    let text = "[[device]]\nmodel = \"h200\"\nattributes = { memory_pools_supported = 0 }\n";
    open(Topology::from_toml(text)?, Mode::Threads)
}

#[test]
fn a_device_without_pools_has_plain_memory_with_the_same_checks() -> TestResult {
    let (_machine, driver) = without_pools()?;
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    let resource = context.default_resource()?;
    assert!(matches!(resource, DefaultResource::Memory(_)));
    assert_eq!(resource.context(), &context);
    assert_eq!(resource.zeroed::<u32>(3, &stream)?.download(&stream)?, [0; 3]);
    assert_eq!(resource.upload(&[1_u8, 2], &stream)?.download(&stream)?, [1, 2]);
    let other = driver.device(0)?.create_context(warploom::ContextOptions::new())?;
    let foreign = other.stream()?;
    budget(&driver, &[], || {
        let mismatch = ContextError::Mismatch { stream: 0, memory: 0 };
        assert_eq!(resource.allocate::<u8>(4, &foreign).map(drop), Err(Error::Context(mismatch)));
    });
    let capture = stream.capture(Relaxed)?;
    let refused = resource.allocate::<u8>(4, &capture).map(drop);
    assert_eq!(refused, Err(Error::Capture(CaptureError::OrdinaryPool { resource: "DeviceMemory" })));
    capture.end()?;
    let too_large = MemoryError::TooLarge { len: usize::MAX, element: 4 };
    assert_eq!(resource.allocate::<u32>(usize::MAX, &stream).map(drop), Err(Error::Memory(too_large)));
    Ok(())
}

#[test]
fn the_default_resource_leaves_nothing_behind_whichever_call_fails() -> TestResult {
    let sweep = Sweep::new(Topology::preset("h200")?).after_effect(true);
    sweep.tolerates(Calls::named("cuCtxSetCurrent")?).run(|_: &Machine, driver: &Driver| -> Result<()> {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        context.default_resource()?.upload(&[1_u8, 2], &stream)?.download(&stream).map(drop)
    });
    Ok(())
}

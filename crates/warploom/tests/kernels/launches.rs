//! Launches of kernels.
#![expect(unsafe_code, reason = "launches kernels")]

use warploom::sys::types::CUresult;
use warploom::{DeviceError, DevicePool, Error, LaunchConfig, LiveSet, ManagedMemory, PeerError};
use warploom_sim::Mode;
use warploom_sim::topology::Topology;
use warploom_testkit::{TestResult, driver_tests, in_every_mode, open};

use super::{Bench, MEMORY, VECTOR, readable};

/// As many values, of which each is a bit different, and a scalar.
fn values(len: usize) -> Vec<f32> {
    (0..len).map(|at| at as f32 * 0.5 - 3.0).collect()
}

driver_tests! {
    fn a_kernel_computes(driver) {
        let bench = Bench::new(driver)?;
        let (host_x, host_y) = (values(1000), values(1000));
        let (x, mut y) = (bench.pool.upload(&host_x, &bench.stream)?, bench.pool.upload(&host_y, &bench.stream)?);
        let shape = LaunchConfig::cover(x.len(), 256);
        // SAFETY: saxpy reads x and writes y, both of n elements.
        unsafe { bench.kernel("saxpy")?.launch(&bench.stream, &shape, (2.0_f32, &x, &mut y, x.len() as u32)) }?;
        let expected: Vec<f32> = host_x.iter().zip(&host_y).map(|(x, y)| x.mul_add(2.0, *y)).collect();
        assert_eq!(y.download(&bench.stream)?, expected);
        assert_eq!(x.download(&bench.stream)?, host_x);
    }

    fn a_typed_kernel_takes_slices_and_managed_memory(driver) {
        let bench = Bench::new(driver)?;
        let (saxpy, host) = (bench.saxpy()?, values(64));
        let mut x = ManagedMemory::new(&bench.context)?.zeroed::<f32>(64, &bench.stream)?;
        x.copy_from_host(&host, &bench.stream)?;
        let mut y = bench.pool.zeroed::<f32>(64, &bench.stream)?;
        let shape = LaunchConfig::cover(16, 32);
        // SAFETY: 16 values each.
        unsafe { saxpy.launch(&bench.stream, &shape, (1.0, x.slice(8..24)?, y.slice_mut(32..48)?, 16)) }?;
        // SAFETY: 64 values each.
        unsafe { saxpy.launch(&bench.stream, &LaunchConfig::cover(64, 32), (0.5, &x, &mut y, 64)) }?;
        let part = |at: usize| if (32..48).contains(&at) { host[at - 24] } else { 0.0 };
        let expected: Vec<f32> = (0..64).map(|at| host[at].mul_add(0.5, part(at))).collect();
        assert_eq!(y.download(&bench.stream)?, expected);
    }

    fn a_kernel_has_the_shared_memory_that_it_is_given(driver) {
        let bench = Bench::with(driver, MEMORY)?;
        let host: Vec<i32> = (0..32).collect();
        let (x, mut y) = (bench.pool.upload(&host, &bench.stream)?, bench.pool.zeroed::<i32>(32, &bench.stream)?);
        let shape = LaunchConfig::new(1, 32).shared_memory(32 * 4);
        // SAFETY: 32 values each, and as many in shared memory.
        unsafe { bench.kernel("reverse_dynamic")?.launch(&bench.stream, &shape, (&x, &mut y)) }?;
        assert_eq!(y.download(&bench.stream)?, host.iter().rev().copied().collect::<Vec<_>>());
    }

    fn kernels_see_the_variables_of_their_library(driver) {
        let bench = Bench::with(driver, MEMORY)?;
        // SAFETY: it is used before the kernel, on the same stream.
        let mut counter = unsafe { bench.library.global::<u64>("counter", &bench.context) }?;
        counter.copy_from_host(&[40], &bench.stream)?;
        let mut seen = bench.pool.zeroed::<u64>(32, &bench.stream)?;
        let shape = LaunchConfig::new(1, 1);
        // SAFETY: it writes at most one value for each thread, and the counter.
        unsafe { bench.kernel("count_calls")?.launch(&bench.stream, &shape, (&mut seen, 2_i32)) }?;
        assert_ne!(counter.download(&bench.stream)?, [40]);
    }

    fn launches_have_attributes(driver) {
        let bench = Bench::new(driver)?;
        let (saxpy, host) = (bench.saxpy()?, values(256));
        let x = bench.pool.upload(&host, &bench.stream)?;
        let plain = LaunchConfig::new(2, 128);
        let priority = bench.context.priority_range()?.greatest;
        for shape in [plain, plain.cooperative(), plain.priority(priority), plain.overlap_previous()] {
            let mut y = bench.pool.zeroed::<f32>(256, &bench.stream)?;
            // SAFETY: 256 values each.
            unsafe { saxpy.launch(&bench.stream, &shape, (1.0, &x, &mut y, 256)) }?;
            assert_eq!(y.download(&bench.stream)?, host, "{shape:?}");
        }
    }

    fn a_default_stream_launches_too(driver) {
        let bench = Bench::new(driver)?;
        let (stream, saxpy, host) = (bench.context.legacy_stream(), bench.saxpy()?, values(32));
        let x = bench.pool.upload(&host, &stream)?;
        let mut y = bench.pool.zeroed::<f32>(32, &stream)?;
        // SAFETY: 32 values each.
        unsafe { saxpy.launch(&stream, &LaunchConfig::new(1, 32), (1.0, &x, &mut y, 32)) }?;
        assert_eq!(y.download(&stream)?, host);
    }

    fn a_kernel_is_launched_from_any_thread(driver) {
        let bench = Bench::new(driver)?;
        let (saxpy, host) = (bench.saxpy()?, values(32));
        let x = bench.pool.upload(&host, &bench.stream)?;
        let mut y = bench.pool.zeroed::<f32>(32, &bench.stream)?;
        let launched = std::thread::scope(|scope| {
            // SAFETY: 32 values each.
            let launch = || unsafe { saxpy.launch(&bench.stream, &LaunchConfig::new(1, 32), (1.0, &x, &mut y, 32)) };
            scope.spawn(launch).join()
        });
        launched.expect("the thread does not panic")?;
        assert_eq!(y.download(&bench.stream)?, host);
    }
}

#[test]
fn a_library_serves_all_devices_and_memory_that_was_opened() -> TestResult {
    let topology = Topology::preset("hgx-a100-4")?;
    let host = values(64);
    let found = in_every_mode(&topology, 2, |_, driver| {
        let saxpy = warploom::Library::from_ptx(driver, &readable(VECTOR))?.kernel("saxpy")?;
        let context = driver.device(0)?.context()?;
        let (pool, stream) = (DevicePool::new(&context)?, context.stream()?);
        pool.peers().extend(driver.devices()?)?;
        let x = pool.upload(&host, &stream)?;
        stream.synchronize()?;
        let mut found = Vec::new();
        for device in driver.devices()? {
            let context = device.context()?;
            let stream = context.stream()?;
            let mut y = DevicePool::new(&context)?.zeroed::<f32>(64, &stream)?;
            // SAFETY: 64 values each, of which x can be used by all devices.
            unsafe { saxpy.launch(&stream, &LaunchConfig::new(1, 64), (1.0_f32, &x, &mut y, 64_u32)) }?;
            found.push(y.download(&stream)?);
        }
        Ok(found)
    })?;
    assert_eq!(found, vec![host; 4]);
    Ok(())
}

#[test]
fn memory_that_the_device_cannot_reach_is_refused() -> TestResult {
    let (_machine, driver) = open(Topology::preset("hgx-a100-4")?, Mode::Threads)?;
    let bench = Bench::new(&driver)?;
    let far = driver.device(1)?.context()?;
    let x = DevicePool::new(&far)?.zeroed::<f32>(4, &far.stream()?)?;
    let mut y = bench.pool.zeroed::<f32>(4, &bench.stream)?;
    // SAFETY: it is refused.
    let refused = unsafe { bench.saxpy()?.launch(&bench.stream, &LaunchConfig::new(1, 32), (1.0, &x, &mut y, 4)) };
    assert!(matches!(refused, Err(Error::Peer(PeerError::NotEnabled { from: 0, to: 1, .. }))), "{refused:?}");
    Ok(())
}

#[test]
fn arguments_of_another_driver_are_refused() -> TestResult {
    let (_one, one) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (_other, other) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (here, there) = (Bench::new(&one)?, Bench::new(&other)?);
    let saxpy = here.saxpy()?;
    let (x, mut y) = (here.pool.zeroed::<f32>(4, &here.stream)?, here.pool.zeroed::<f32>(4, &here.stream)?);
    let far = there.pool.zeroed::<f32>(4, &there.stream)?;
    let shape = LaunchConfig::new(1, 32);
    // SAFETY: both are refused.
    let refused = unsafe {
        [
            saxpy.launch(&there.stream, &shape, (1.0, &x, &mut y, 4)),
            saxpy.launch(&here.stream, &shape, (1.0, &far, &mut y, 4)),
        ]
    };
    for refused in refused {
        assert!(matches!(refused, Err(Error::Device(DeviceError::DriverMismatch { .. }))), "{refused:?}");
    }
    Ok(())
}

#[test]
fn a_kernel_that_goes_outside_is_heard_of_when_the_stream_is_waited_for() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let bench = Bench::new(&driver)?;
    let x = bench.pool.zeroed::<f32>(4, &bench.stream)?;
    let shape = LaunchConfig::new(1, 32);
    // SAFETY: it is not: nothing is at that address. On a simulated machine that is found.
    let launched = unsafe { bench.kernel("saxpy")?.launch(&bench.stream, &shape, (1.0_f32, &x, 8_u64, 4_u32)) };
    let failed = launched.and_then(|()| bench.stream.synchronize());
    let code = failed.as_ref().err().and_then(Error::code);
    assert_eq!(code, Some(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
    assert!(failed.is_err_and(|error| error.is_context_fatal()));
    assert!(!machine.findings().is_empty());
    Ok(())
}

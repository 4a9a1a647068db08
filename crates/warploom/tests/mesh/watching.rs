//! Watching for resets of devices (S3.30).
#![expect(unsafe_code, reason = "resets devices, and answers for what was made in them")]

use std::time::Duration;

use warploom::{ContextError, Driver, Error};
use warploom_testkit::{TestResult, call};

use super::Site;

fn reset(driver: &Driver, device: u32) -> TestResult {
    // SAFETY: nothing but contexts was made on the device.
    Ok(unsafe { driver.device(device)?.reset_context() }?)
}

/// S3.30: every watcher is told of every reset, in order, and of those before it watched of none.
#[test]
fn watchers_are_told_which_device_is_in_which_life() -> TestResult {
    let site = Site::preset("hgx-a100-4")?;
    reset(&site.driver, 0)?;
    let watches = [site.driver.watch_generations()?, site.driver.watch_generations()?];
    for device in [2, 0, 2] {
        reset(&site.driver, device)?;
    }
    for watch in &watches {
        let told: Vec<_> = std::iter::from_fn(|| watch.try_recv().transpose()).collect::<Result<_, _>>()?;
        let told: Vec<_> = told.into_iter().map(|change| (change.device, change.generation)).collect();
        assert_eq!(told, [(2, 1), (0, 2), (2, 2)]);
        assert_eq!(watch.recv_timeout(Duration::from_millis(1))?, None);
    }
    Ok(())
}

/// S3.30: what others do is told when it is noticed.
#[test]
fn a_reset_by_others_is_told_when_it_is_noticed() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (driver, watch) = (&site.driver, site.driver.watch_generations()?);
    call!(driver.cuDevicePrimaryCtxReset_v2(1))?;
    assert_eq!(watch.try_recv()?, None);
    assert!(matches!(site.contexts[1].check(), Err(Error::Context(ContextError::Stale { .. }))));
    assert_eq!(watch.recv()?.device, 1);
    Ok(())
}

/// S3.30: a reader on another thread is woken.
#[test]
fn a_thread_that_waits_is_woken() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let watch = site.driver.watch_generations()?;
    let reader = std::thread::spawn(move || watch.recv());
    reset(&site.driver, 1)?;
    let change = reader.join().map_err(|_| "the reader panicked")??;
    assert_eq!((change.device, change.generation), (1, 1));
    Ok(())
}

/// S3.30: who does not read is told that changes were missed, after those that were kept.
#[test]
fn a_watch_that_is_not_read_is_lost_and_says_so() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (lazy, unread) = (site.driver.watch_generations()?, site.driver.watch_generations()?);
    drop(unread);
    for _ in 0..65 {
        reset(&site.driver, 0)?;
    }
    for generation in 1..=64 {
        assert_eq!(lazy.recv()?.generation, generation);
    }
    assert_eq!(lazy.try_recv(), Err(Error::Context(ContextError::WatchLost)));
    assert_eq!(lazy.recv(), Err(Error::Context(ContextError::WatchLost)));
    reset(&site.driver, 0)?;
    assert_eq!(lazy.recv_timeout(Duration::ZERO), Err(Error::Context(ContextError::WatchLost)));
    Ok(())
}

/// S3.30: a watch does not keep the driver, and says when it is gone.
#[test]
fn a_watch_outlives_its_driver_with_an_error() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let watch = site.driver.watch_generations()?;
    reset(&site.driver, 1)?;
    drop(site);
    assert_eq!(watch.recv()?.device, 1);
    assert_eq!(watch.recv(), Err(Error::Context(ContextError::WatchLost)));
    assert_eq!(watch.try_recv(), Err(Error::Context(ContextError::WatchLost)));
    Ok(())
}

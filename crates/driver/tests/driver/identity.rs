//! Driver identity, and values kept once per driver.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::Duration;

use warploom_driver::{Driver, Result};

use crate::fake;

#[derive(Default)]
struct Visits(AtomicU32);

#[derive(Default)]
struct Others(AtomicU32);

#[test]
fn drivers_are_ordered_as_they_were_opened() -> Result<()> {
    let (first, second) = (fake::driver()?, fake::driver()?);
    assert!(first.id() < second.id());
    assert_eq!(first.id(), first.clone().id());
    Ok(())
}

#[test]
fn an_extension_is_one_per_driver_and_type() -> Result<()> {
    let (driver, other) = (fake::driver()?, fake::driver()?);
    driver.extension::<Visits>().0.fetch_add(1, Ordering::Relaxed);
    assert_eq!(driver.clone().extension::<Visits>().0.load(Ordering::Relaxed), 1);
    assert_eq!(driver.extension::<Others>().0.load(Ordering::Relaxed), 0);
    assert_eq!(other.extension::<Visits>().0.load(Ordering::Relaxed), 0);
    Ok(())
}

#[test]
fn an_extension_goes_with_the_last_handle() -> Result<()> {
    let driver = fake::driver()?;
    let clone = driver.clone();
    let kept: Weak<Visits> = Arc::downgrade(&driver.extension::<Visits>());
    drop(driver);
    assert!(kept.upgrade().is_some());
    drop(clone);
    assert!(kept.upgrade().is_none());
    Ok(())
}

static ASKED: Mutex<Option<Driver>> = Mutex::new(None);

/// Asks for another extension of the driver while it is made.
struct Asking(Arc<Visits>);

impl Default for Asking {
    fn default() -> Asking {
        let driver = ASKED.lock().expect("no panic").clone().expect("the test has set it");
        Asking(driver.extension())
    }
}

#[test]
fn an_extension_may_ask_for_another_while_it_is_made() -> Result<()> {
    let driver = fake::driver()?;
    *ASKED.lock().expect("no panic") = Some(driver.clone());
    let (send, received) = channel();
    let asking = driver.clone();
    thread::spawn(move || send.send(asking.extension::<Asking>()));
    let made = received.recv_timeout(Duration::from_secs(20)).expect("it is made");
    assert!(Arc::ptr_eq(&made.0, &driver.extension()) && Arc::ptr_eq(&made, &driver.extension()));
    Ok(())
}

//! Resolution: the functions a source is asked for, each at its version.

use std::collections::HashMap;
use std::sync::Arc;

use warploom_driver::sys::types::CUdriverProcAddress_flags;
use warploom_driver::{Driver, DriverVersion, Error, Function, Result};

use crate::fake;

fn asked_by_opening() -> Result<Vec<(String, i32, u64)>> {
    fake::driver()?;
    Ok(fake::ASKED.take())
}

#[test]
fn each_function_is_asked_for_at_the_version_that_introduced_its_abi() -> Result<()> {
    let mut asked = asked_by_opening()?;
    // Before anything else, and in a form that every driver has.
    assert_eq!((asked[0].0.as_str(), asked[0].1), ("cuDriverGetVersion", 2020));
    let legacy = u64::from(CUdriverProcAddress_flags::CU_GET_PROC_ADDRESS_LEGACY_STREAM.0);
    assert!(asked.iter().all(|(_, _, flags)| *flags == legacy));

    let known = Function::ALL.iter().filter(|function| function.version() <= 12020);
    let expected: Vec<_> =
        known.map(|function| (function.base_name().to_owned(), function.version(), legacy)).collect();
    assert!(expected.len() > 300);
    asked.remove(0);
    assert_eq!(asked, expected);
    Ok(())
}

#[test]
fn a_name_with_several_abis_is_asked_for_once_per_abi() -> Result<()> {
    let mut versions = HashMap::<_, Vec<_>>::new();
    for (name, version, _) in asked_by_opening()? {
        versions.entry(name).or_default().push(version);
    }
    assert_eq!(versions["cuCtxCreate"], [2000, 3020, 11040]);
    assert_eq!(versions["cuMemAdvise"], [8000, 12020]);
    Ok(())
}

/// C.2: the driver's version decides, at run time.
#[test]
fn nothing_newer_than_the_driver_is_asked_for() -> Result<()> {
    for version in [11040, 12000, 12020, 13000] {
        fake::VERSION.set(version);
        let newest = asked_by_opening()?.into_iter().map(|(_, asked, _)| asked).max();
        assert_eq!(newest, Some(version));
    }
    Ok(())
}

#[test]
fn a_driver_older_than_12_loads_with_the_functions_it_has() -> Result<()> {
    fake::VERSION.set(11040);
    let driver = fake::driver()?;
    assert_eq!(driver.version(), DriverVersion::new(11, 4));
    assert!(driver.supports(Function::cuMemAlloc_v2));
    driver.initialize()
}

/// C.1, C.2: the functions of a source of the test's, of which one is absent.
#[test]
fn a_function_that_is_not_found_leaves_its_slot_empty() -> Result<()> {
    let driver = fake::driver()?;
    assert!(driver.supports(Function::cuInit) && driver.table().cuInit.is_some());
    assert!(!driver.supports(Function::cuMemFree_v2) && driver.table().cuMemFree_v2.is_none());

    // The pointer that comes with a failure is not a function.
    fake::ABSENT.set("cuInit");
    assert!(!fake::driver()?.supports(Function::cuInit));
    Ok(())
}

#[test]
fn success_without_a_pointer_leaves_the_slot_empty() -> Result<()> {
    fake::NULL.set("cuInit");
    let driver = fake::driver()?;
    assert!(!driver.supports(Function::cuInit));
    assert!(matches!(driver.initialize(), Err(Error::Unsupported { function: Function::cuInit, .. })));
    Ok(())
}

#[test]
fn a_source_without_a_version_is_not_a_driver() {
    fake::NULL.set("cuDriverGetVersion");
    let error = fake::driver().expect_err("there is no version");
    assert_eq!(error.to_string(), "fake is not a CUDA driver: it has no cuDriverGetVersion");
}

#[test]
fn a_driver_that_cannot_tell_its_version_gives_its_own_error() {
    fake::ABSENT.set("version");
    let error = fake::driver().expect_err("the version fails");
    assert!(error.to_string().starts_with("cuDriverGetVersion failed: CUDA_ERROR_STUB_LIBRARY (34): "), "{error}");
}

#[test]
fn handles_of_a_driver_keep_its_functions_alive() -> Result<()> {
    let alive = Arc::new(());
    let driver = Driver::open(fake::source(Arc::clone(&alive)))?;
    assert!(!driver.is_library());
    let clone = driver.clone();
    drop(driver);
    assert_eq!(Arc::strong_count(&alive), 2);
    drop(clone);
    assert_eq!(Arc::strong_count(&alive), 1);
    Ok(())
}

#[test]
fn a_driver_is_known_by_description_version_and_identity() -> Result<()> {
    let driver = fake::driver()?;
    assert_eq!(driver.description(), "fake");
    assert_eq!(format!("{driver:?}"), r#"Driver { description: "fake", version: 12.2, observed: false, .. }"#);
    assert!(driver.ptr_eq(&driver.clone()));
    assert!(!driver.ptr_eq(&fake::driver()?));
    Ok(())
}

#[test]
fn a_driver_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + Clone + 'static>() {}
    shared::<Driver>();
    shared::<Error>();
}

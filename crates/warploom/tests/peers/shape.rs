//! Properties of the set of peers: live, ordered, and held by the driver alone.

use warploom::sys::types::CUmemAccess_flags;
use warploom::{AccessLevel, DeviceError, DevicePool, Error, Function, LiveSet};
use warploom_sim::Machine;
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{AccessSpy, TestResult, budget, driver_tests, implements};

use super::{ordinals, pool_of, pool_on, set};

driver_tests! {
    /// S0.4, S0.9, S0.10: on any driver, also with one device.
    fn the_pool_s_own_device_has_access_and_is_no_member(driver) {
        let device = driver.device(0)?;
        let pool = DevicePool::new(&device.context()?)?;
        let peers = pool.peers();
        assert_eq!((peers.level(0)?, peers.level(&device)?), (AccessLevel::ReadWrite, AccessLevel::ReadWrite));
        budget(driver, &[], || -> TestResult {
            assert!(!peers.contains(0)? && !peers.insert(0)? && !peers.remove(&device)?);
            peers.extend([&device])?;
            Ok(())
        })?;
        assert!(peers.is_empty()?);
        assert_eq!(format!("{peers:?}"), "PeerSet { owner: 0, members: {} }");
    }

    /// S0.10, S0.16: refused by us, before the driver is asked.
    fn a_device_beyond_the_last_is_refused(driver) {
        let pool = DevicePool::new(&driver.device(0)?.context()?)?;
        let count = u32::try_from(driver.devices()?.len())?;
        budget(driver, &[], || -> TestResult {
            let peers = pool.peers();
            assert_eq!(peers.insert(count), Err(Error::Device(DeviceError::NoSuchDevice { ordinal: count, count })));
            assert_eq!(peers.level(count), Err(Error::Device(DeviceError::NoSuchDevice { ordinal: count, count })));
            let ordinals = vec![count, count + 7, u32::MAX];
            assert_eq!(
                peers.extend([0, u32::MAX, count + 7, count, count + 7]),
                Err(Error::Device(DeviceError::NoSuchDevices { ordinals, count }))
            );
            assert!(!peers.contains(count)? && !peers.remove(u32::MAX)?);
            peers.subtract([count, u32::MAX])?;
            Ok(())
        })?;
    }
}

/// S0.1, S0.2, S0.3: views made before a change, by whomever, show it.
#[test]
fn a_view_shows_what_others_change() -> TestResult {
    let (_machine, driver, pool) = pool_on("hgx-a100-4")?;
    let (early, other) = budget(&driver, &[], || (pool.peers(), pool.peers()));
    assert!(early.is_empty()?);
    other.extend([1, 3])?;
    assert_eq!(ordinals(early)?, set([1, 3]));
    pool.clone().peers().remove(1)?;
    assert!(!early.contains(1)? && other.contains(3)?);
    Ok(())
}

/// S0.4: the owner is never a member, and the others are whichever have read-write access.
#[test]
fn only_read_write_access_is_membership() -> TestResult {
    let machine = Machine::preset("hgx-a100-4")?;
    let (driver, spy) = AccessSpy::open(&machine)?;
    let pool = DevicePool::new(&driver.device(1)?.context()?)?;
    let peers = pool.peers();
    peers.extend([0, 2, 3])?;
    spy.pretend(0, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE);
    spy.pretend(2, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ);
    assert_eq!(ordinals(peers)?, set([3]));
    assert!(!peers.contains(0)? && !peers.contains(1)? && !peers.contains(2)? && peers.contains(3)?);
    let levels = [0, 1, 2, 3].map(|ordinal| peers.level(ordinal));
    // S0.7
    let [none, own, read, write] = levels;
    assert_eq!((none?, own?), (AccessLevel::None, AccessLevel::ReadWrite));
    assert_eq!((read?, write?), (AccessLevel::Read, AccessLevel::ReadWrite));
    Ok(())
}

/// S0.4: a device with read-only access is not a member, so it can be made one.
#[test]
fn a_device_that_may_only_read_can_be_inserted() -> TestResult {
    let machine = Machine::preset("pcie-pair")?;
    let (driver, spy) = AccessSpy::open(&machine)?;
    let pool = DevicePool::new(&driver.device(0)?.context()?)?;
    spy.pretend(1, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ);
    assert!(pool.peers().insert(1)?);
    assert_eq!(spy.take(), [[(1, 3)]]);
    Ok(())
}

/// S0.5: devices, ascending, and an iterator does not change while it is walked.
#[test]
fn members_are_devices_in_order_and_as_they_were() -> TestResult {
    let (_machine, driver, pool) = pool_of(warploom_sim::topology::Topology::preset("dgx-h100")?, 4)?;
    let peers = pool.peers();
    peers.extend([7, 0, 5, 2])?;
    let mut walk = peers.iter()?;
    assert_eq!(walk.next(), Some(driver.device(0)?));
    peers.assign([1, 6])?;
    assert_eq!(walk.collect::<Vec<_>>(), [driver.device(2)?, driver.device(5)?, driver.device(7)?]);
    assert_eq!(ordinals(peers)?, set([1, 6]));
    Ok(())
}

/// S0.6: every operation takes devices and ordinals.
#[test]
fn devices_and_ordinals_name_the_same() -> TestResult {
    let (_machine, driver, pool) = pool_on("hgx-a100-4")?;
    let peers = pool.peers();
    let [_, one, two, three] = driver.devices()?.try_into().map_err(|_| "four devices")?;
    assert!(peers.insert(&one)? && !peers.insert(1)?);
    assert!(peers.contains(one.clone())? && peers.contains(1)?);
    assert!(peers.remove(1)? && !peers.remove(&one)?);
    peers.extend([&one, &two])?;
    peers.extend([1, 2])?;
    assert_eq!(ordinals(peers)?, set([1, 2]));
    peers.toggle([one.clone(), three.clone()])?;
    assert_eq!(ordinals(peers)?, set([2, 3]));
    peers.toggle([1_u32, 3])?;
    peers.intersect([&one])?;
    assert_eq!(ordinals(peers)?, set([1]));
    peers.assign(vec![three.clone(), two])?;
    peers.subtract([2])?;
    peers.intersect([3])?;
    assert_eq!(peers.snapshot()?, [three.clone()].into());
    peers.assign([1])?;
    peers.subtract(&[one])?;
    assert!(peers.is_empty()?);
    Ok(())
}

/// S0.8: the text has the contents, or says why it cannot.
#[test]
fn the_debug_text_is_live_and_never_panics() -> TestResult {
    let (machine, _driver, pool) = pool_on("hgx-a100-4")?;
    let peers = pool.peers();
    assert_eq!(format!("{peers:?}"), "PeerSet { owner: 0, members: {} }");
    peers.extend([3, 1])?;
    assert_eq!(format!("{peers:?}"), "PeerSet { owner: 0, members: {1, 3} }");
    let _scope = machine.inject(
        Plan::new().rule(Rule::on(Calls::from(Function::cuMemPoolGetAccess)).fail(CUresult::CUDA_ERROR_UNKNOWN)),
    )?;
    let text = format!("{peers:?}");
    assert!(
        text.starts_with("PeerSet { owner: 0, error: cuMemPoolGetAccess failed: CUDA_ERROR_UNKNOWN (999)"),
        "{text}"
    );
    Ok(())
}

/// A device of another driver is named by mistake: its ordinal says nothing about this one.
#[test]
fn a_device_of_another_driver_is_refused_by_what_adds() -> TestResult {
    let (_machine, driver, pool) = pool_on("pcie-pair")?;
    let (_other, other, _) = pool_on("pcie-pair")?;
    let foreign = other.device(1)?;
    budget(&driver, &[], || -> TestResult {
        let peers = pool.peers();
        assert!(matches!(peers.insert(&foreign), Err(Error::Device(DeviceError::DriverMismatch { .. }))));
        assert!(matches!(peers.level(&foreign), Err(Error::Device(DeviceError::DriverMismatch { .. }))));
        assert!(matches!(peers.extend([&foreign]), Err(Error::Device(DeviceError::DriverMismatch { .. }))));
        assert!(!peers.contains(&foreign)? && !peers.remove(&foreign)?);
        Ok(())
    })?;
    assert!(pool.peers().is_empty()?);
    Ok(())
}

/// Every copy of a view is live, on any thread.
#[test]
fn copies_of_a_view_on_other_threads_see_and_change_the_same_set() -> TestResult {
    let (_machine, _driver, pool) = pool_on("hgx-a100-4")?;
    let peers = pool.peers();
    std::thread::scope(|scope| {
        let inserted = scope.spawn(move || peers.insert(3));
        inserted.join().expect("it does not panic")
    })?;
    assert_eq!(ordinals(peers)?, set([3]));
    peers.remove(3)?;
    let seen = std::thread::scope(|scope| scope.spawn(|| peers.is_empty()).join().expect("it does not panic"))?;
    assert!(seen);
    Ok(())
}

/// C.5: a live view has none of the standard library's traits for sets, which cannot fail.
#[test]
fn views_have_no_trait_that_cannot_fail() {
    type Set = warploom::PeerSet<'static>;
    let found = [
        ("PartialEq", implements!(Set: PartialEq)),
        ("IntoIterator", implements!(Set: IntoIterator)),
        ("Extend", implements!(Set: Extend<u32>)),
        ("FromIterator", implements!(Set: FromIterator<u32>)),
        ("Hash", implements!(Set: std::hash::Hash)),
        ("BitOr", implements!(Set: std::ops::BitOr)),
        ("Sub", implements!(Set: std::ops::Sub)),
    ];
    assert!(found.iter().all(|(_, holds)| !holds), "{found:?}");
}

//! Locations that managed memory stays mapped for: a live set of devices and the host.

use std::collections::BTreeSet;

use warploom::sys::types::CUresult;
use warploom::{Device, Driver, Error, Function, Host, LiveSet, Location, ManagedBuffer, ManagedError, NumaId};
use warploom_sim::fault::{Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
use warploom_testkit::{TestResult, budget, driver_tests, open};

use super::{LARGE, costs_asking, setup};

#[path = "../contract/live_set.rs"]
mod live_set;
#[path = "../contract/turns.rs"]
mod turns;

const ADVISE: Function = Function::cuMemAdvise_v2;
const ASK: Function = Function::cuMemRangeGetAttribute;
const HOST: Location = Location::Host(Host::Any);
const CALLER: Location = Location::Host(Host::NumaCurrent);

fn buffer_on(preset: &str) -> TestResult<(Machine, Driver, ManagedBuffer)> {
    let (machine, driver) = open(Topology::preset(preset)?, Mode::Threads)?;
    let buffer = setup(&driver)?.2.allocate(LARGE)?;
    Ok((machine, driver, buffer))
}

/// Every device, and the host.
fn places(driver: &Driver) -> TestResult<Vec<Location>> {
    Ok(driver.devices()?.into_iter().map(Location::from).chain([HOST]).collect())
}

driver_tests! {
    /// S1.19, S0.26: what holds for every live set, with a place that can never be in it.
    fn with_one_device_it_is_a_set_like_any_other(driver) {
        let (_context, _stream, memory) = setup(driver)?;
        let buffer = memory.allocate::<u8>(LARGE)?;
        for one in places(driver)? {
            live_set::of_capacity_one(&buffer.accessed_by(), &one, || CALLER, true)?;
        }
    }

    /// S1.19: every view asks the driver, and no view remembers.
    fn every_view_sees_the_changes_of_the_others(driver) {
        let (_context, _stream, memory) = setup(driver)?;
        let buffer = memory.allocate::<u8>(LARGE)?;
        let (first, second) = (buffer.accessed_by(), buffer.accessed_by());
        assert!(first.insert(driver.device(0)?)? && !second.insert(driver.device(0)?)?);
        assert!(second.insert(Host::Any)?);
        assert_eq!(first.iter()?.collect::<Vec<_>>(), places(driver)?, "devices first, the host last");
        assert!(first.remove(driver.device(0)?)? && !second.contains(driver.device(0)?)?);
        assert_eq!(format!("{second:?}"), "AccessedBy { members: {\"host\"} }");
    }

    /// S1.20: one question a read; one more call for each element that changes, and none for what does not.
    fn calls_are_as_few_as_there_are_changes(driver) {
        let (context, _stream, memory) = setup(driver)?;
        let buffer = memory.allocate::<u8>(LARGE)?;
        let set = budget(driver, &[], || buffer.accessed_by());
        let here = driver.device(0)?;
        let reads = [(ASK, 1)];
        // A write makes the context current once more than it has calls.
        let writes = |changes: u64| [(ASK, 1), (ADVISE, changes)];
        assert!(costs_asking(&context, 3, &writes(1), || set.insert(&here))?);
        assert!(!costs_asking(&context, 1, &reads, || set.insert(&here))?);
        assert!(costs_asking(&context, 1, &reads, || set.contains(&here))?);
        assert_eq!(costs_asking(&context, 1, &reads, || set.len())?, 1);
        assert_eq!(costs_asking(&context, 1, &reads, || set.iter())?.count(), 1);
        assert!(!costs_asking(&context, 1, &reads, || set.remove(Host::Any))?);
        costs_asking(&context, 3, &writes(1), || set.extend(places(driver).unwrap_or_default()))?;
        costs_asking(&context, 4, &writes(2), || set.clear())?;
        costs_asking(&context, 1, &reads, || set.clear())?;
        costs_asking(&context, 3, &writes(1), || set.assign([HOST]))?;
        costs_asking(&context, 4, &writes(2), || set.assign([&here]))?;
        costs_asking(&context, 4, &writes(2), || set.toggle(places(driver).unwrap_or_default()))?;
        assert!(costs_asking(&context, 3, &writes(1), || set.pop_first())?.is_some());
        costs_asking(&context, 0, &[], || set.extend(std::iter::empty::<Location>()))?;
    }

    /// S1.21: a NUMA node can never be a member: an error to add, and no news otherwise; no driver call for
    /// either.
    fn numa_nodes_are_never_members(driver) {
        let (_context, _stream, memory) = setup(driver)?;
        let buffer = memory.allocate::<u8>(LARGE)?;
        let set = buffer.accessed_by();
        let node = Location::from(Host::Numa(NumaId::try_from(0_u32)?));
        budget(driver, &[], || {
            for place in [node.clone(), CALLER] {
                let refused = Error::Managed(ManagedError::LocationNotAllowed { advice: "accessed_by", locations: vec![place.clone()] });
                assert_eq!(set.insert(place.clone()), Err(refused));
                assert_eq!(set.remove(place.clone()), Ok(false));
                assert_eq!(set.contains(place), Ok(false));
            }
        });
    }

    /// S1.17, S1.22: all are looked at before any is advised, and all that are refused are named.
    fn one_that_cannot_be_a_member_leaves_the_set_as_it_was(driver) {
        let (_context, _stream, memory) = setup(driver)?;
        let buffer = memory.allocate::<u8>(LARGE)?;
        let (set, here) = (buffer.accessed_by(), Location::from(driver.device(0)?));
        set.insert(here.clone())?;
        let node = Location::from(Host::Numa(NumaId::try_from(0_u32)?));
        let given = [CALLER, HOST, node.clone()];
        let refused = Err(Error::Managed(ManagedError::LocationNotAllowed { advice: "accessed_by", locations: vec![node.clone(), CALLER] }));
        budget(driver, &[], || {
            assert_eq!(set.assign(given.clone()), refused);
            assert_eq!(set.extend(given.clone()), refused);
            assert_eq!(set.toggle(given.clone()), refused);
        });
        assert_eq!(set.assign([node]).map_err(|error| error.to_string()), Err(
            "accessed_by cannot be host NUMA node 0; it takes devices and the host as a whole".to_owned()
        ));
        assert_eq!(set.snapshot()?, BTreeSet::from([here]));
    }
}

/// S1.19, S0.26: with eight devices and the host.
#[test]
fn with_eight_devices_it_is_a_set_like_any_other_too() -> TestResult {
    let (_machine, driver, buffer) = buffer_on("dgx-h100")?;
    let places = places(&driver)?;
    assert_eq!(places.len(), 9);
    live_set::in_general(&buffer.accessed_by(), &places)
}

/// S1.20: on a machine of eight.
#[test]
fn many_changes_are_one_question_and_one_call_each() -> TestResult {
    let (_machine, driver, buffer) = buffer_on("dgx-h100")?;
    let (context, set) = (buffer.context(), buffer.accessed_by());
    let devices = driver.devices()?;
    let changes = |count| [(ASK, 1), (ADVISE, count)];
    costs_asking(context, 10, &changes(8), || set.extend(devices.iter()))?;
    costs_asking(context, 7, &changes(5), || set.retain(|place| place < Location::from(&devices[3])))?;
    costs_asking(context, 8, &changes(6), || {
        set.assign([Location::from(&devices[0]), HOST].into_iter().chain(devices[4..7].iter().map(Location::from)))
    })?;
    assert_eq!(set.len()?, 5);
    Ok(())
}

/// S1.23: removals come first.
#[test]
fn removals_come_before_additions() -> TestResult {
    let (machine, driver, buffer) = buffer_on("hgx-a100-4")?;
    let set = buffer.accessed_by();
    let device = |ordinal| driver.device(ordinal);
    set.assign([device(2)?, device(3)?])?;
    // From the third piece of advice on, everything fails, what would take the first two back included.
    let rule = Rule::on(ADVISE).from(3).fail(CUresult::CUDA_ERROR_UNKNOWN);
    let scope = machine.inject(Plan::new().rule(rule))?;
    assert!(set.assign([device(0)?, device(1)?]).is_err());
    drop(scope);
    assert!(set.is_empty()?);
    Ok(())
}

/// C.6: threads that change the same set do not lose each other's changes.
#[test]
fn threads_take_turns() -> TestResult {
    let (_machine, driver, buffer) = buffer_on("dgx-h100")?;
    let devices: Vec<Device> = driver.devices()?;
    std::thread::scope(|scope| {
        for device in &devices {
            let set = buffer.accessed_by();
            scope.spawn(move || {
                for _ in 0..10 {
                    assert_eq!(set.toggle([device]), Ok(()));
                }
                assert_eq!(set.insert(device), Ok(true));
            });
        }
    });
    assert_eq!(buffer.accessed_by().len()?, devices.len());
    Ok(())
}

/// C.6: also if one of them has read the set already.
#[test]
fn changes_take_turns() -> TestResult {
    let (machine, driver, buffer) = buffer_on("pcie-pair")?;
    let device = driver.device(1)?;
    buffer.accessed_by().insert(&device)?;
    let pop = || Ok(buffer.accessed_by().pop_first()?.is_some());
    turns::changes_take_turns(&machine, ADVISE, pop, || buffer.accessed_by().remove(&device))
}

//! Locations, and both of the driver's forms of them.

use std::collections::{BTreeSet, HashSet};

use warploom::sys::types::CUmemLocationType;
use warploom::{Advice, CopyOptions, Error, Host, Location, LocationError, ManagedMemory, ManagedPool, NumaId, advise};
use warploom_sim::{Mode, topology::Topology};
use warploom_testkit::{TestResult, budget, driver_tests, open};

fn node(id: u32) -> Host {
    Host::Numa(NumaId::try_from(id).expect("a node has 31 bits"))
}

/// S1.1, S1.2: three forms that are never equal, and no number that the driver has no room for.
#[test]
fn the_forms_of_the_host_are_different_values() {
    let hosts = [Host::Any, node(0), node(1), Host::NumaCurrent];
    assert_eq!(HashSet::from(hosts).len(), 4);
    assert_eq!(BTreeSet::from(hosts).into_iter().collect::<Vec<_>>(), hosts);
    assert_eq!(
        NumaId::try_from(u32::MAX),
        Err(Error::Location(LocationError::InvalidNumaId { id: i64::from(u32::MAX) }))
    );
    assert_eq!(NumaId::try_from(-1_i32), Err(Error::Location(LocationError::InvalidNumaId { id: -1 })));
    assert_eq!(NumaId::try_from(i32::MAX).map(NumaId::get), Ok(2_147_483_647));
    let message = NumaId::try_from(-1_i32).unwrap_err().to_string();
    assert_eq!(message, "-1 is not a NUMA node; they are counted from 0 to 2147483647");
}

/// S1.3: texts that tell the forms apart and are read back.
#[test]
fn the_text_of_a_host_is_read_back() {
    let hosts = [Host::Any, node(0), node(7), Host::NumaCurrent];
    let texts = ["host", "host NUMA node 0", "host NUMA node 7", "host NUMA node of the caller"];
    assert_eq!(hosts.map(|host| host.to_string()), texts);
    assert_eq!(texts.map(|text| text.parse::<Host>()), hosts.map(Ok));
    for wrong in ["", "Host", "host NUMA node", "host NUMA node -1", "host NUMA node 4294967295", "device 0"] {
        let message = wrong.parse::<Host>().unwrap_err().to_string();
        assert!(message.contains(wrong) && message.contains("expected host"), "{message}");
    }
}

driver_tests! {
    /// S1.3: locations, too. A device is one of the driver that is named.
    fn the_text_of_a_location_is_read_back(driver) {
        for location in [driver.device(0)?.into(), Location::from(Host::Any), node(7).into(), Host::NumaCurrent.into()] {
            assert_eq!(Location::parse(&location.to_string(), driver)?, location);
        }
        for wrong in ["", "device", "device -1", "0", "devices 0", "host NUMA node"] {
            let message = Location::parse(wrong, driver).expect_err("is no location").to_string();
            assert!(message.contains(wrong) && message.contains("expected device N, host"), "{message}");
        }
        assert_eq!(Location::parse("device 4294967295", driver), driver.device(u32::MAX).map(Location::from));
        assert!(driver.device(u32::MAX).is_err());
    }

    /// S1.4, S1.6, S1.7: both forms of every place, and no NUMA node in the older one.
    fn a_location_has_the_forms_the_driver_takes(driver) {
        let device = driver.device(0)?;
        let cases = [
            (Location::from(&device), CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, 0, Ok(0)),
            (Host::Any.into(), CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST, 0, Ok(-1)),
            (
                node(3).into(),
                CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA,
                3,
                Err(Error::Location(LocationError::NumaUnsupported { host: node(3) })),
            ),
            (
                Host::NumaCurrent.into(),
                CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT,
                0,
                Err(Error::Location(LocationError::NumaUnsupported { host: Host::NumaCurrent })),
            ),
        ];
        budget(driver, &[], || {
            for (location, kind, id, legacy) in cases {
                let raw = location.to_raw();
                assert_eq!((raw.type_, raw.id()), (kind, id), "{location}");
                assert_eq!(location.to_legacy_raw(), legacy, "{location}");
            }
        });
    }
}

#[test]
fn locations_are_ordered_devices_first() -> TestResult {
    let (_machine, driver) = open(Topology::preset("asymmetric")?, Mode::Sync)?;
    let mut places: Vec<Location> = vec![Host::NumaCurrent.into(), node(1).into(), Host::Any.into()];
    places.extend(driver.devices()?.into_iter().rev().map(Location::from));
    places.sort();
    let texts: Vec<String> = places.iter().map(ToString::to_string).collect();
    let last = ["host", "host NUMA node 1", "host NUMA node of the caller"];
    assert_eq!(texts, [&["device 0", "device 1", "device 2"], &last[..]].concat());
    assert_eq!(places.iter().collect::<HashSet<_>>().len(), 6);
    Ok(())
}

/// S1.7: the error names the driver that is needed and what to use instead.
#[test]
fn a_numa_node_in_the_older_form_is_refused_with_a_remedy() {
    let message = Location::from(node(2)).to_legacy_raw().unwrap_err().to_string();
    assert_eq!(message, "host NUMA node 2 needs driver 12.2; on this one, use the host as a whole");
}

/// M.7: one value names a location to advice, prefetches, hints of copies and the placement of pools.
#[test]
fn one_location_is_advice_destination_hint_and_placement() -> TestResult {
    let (_machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Sync)?;
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    for location in [Location::from(driver.device(1)?), Location::from(Host::Any)] {
        let pool = ManagedPool::preferring(&context, location.clone())?;
        assert_eq!(pool.preferred_location(), Some(&location));
        let buffer = ManagedMemory::new(&context)?.upload(&[1_u8; 64], &stream)?;
        advise([&buffer], Advice::PreferredLocation(Some(location.clone())))?;
        buffer.prefetch(location.clone(), &stream)?;
        let both = (buffer.preferred_location()?, buffer.last_prefetch_location()?);
        assert_eq!(both, (Some(location.clone()), Some(location.clone())));
        let mut copy = pool.allocate::<u8>(64, &stream)?;
        let hints = CopyOptions::new().source_hint(location.clone()).destination_hint(location);
        buffer.as_slice().copy_to_with(&mut copy, hints, &stream)?;
        assert_eq!(copy.host()?, [1; 64]);
    }
    Ok(())
}

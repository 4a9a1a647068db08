//! Advice: told to the driver, read back from the driver.
#![expect(unsafe_code, reason = "wraps memory that is not managed as if it were")]

use warploom::sys::types::{CUmem_advise, CUresult};
use warploom::{
    Buffer, DeviceError, DeviceMemory, Error, Function, Host, LiveSet, Location, LocationError, ManagedBuffer,
    ManagedError, ManagedPool, ManagedRange, NumaId, Result,
};
use warploom_sim::Mode;
use warploom_sim::topology::{DeviceModel, Topology};
use warploom_testkit::{TestResult, budget, call, driver_tests, open};

use super::{LARGE, code, costs, costs_asking, on_driver, setup, without_concurrent_access};

const ADVISE: Function = Function::cuMemAdvise_v2;
const ASK: Function = Function::cuMemRangeGetAttribute;

fn node(id: u32) -> Result<Location> {
    Ok(Host::Numa(NumaId::try_from(id)?).into())
}

driver_tests! {
    /// S1.8, S1.14: told and asked every time; the driver is the only one that knows.
    fn mostly_read_memory_is_told_and_asked_for(driver) {
        let (_context, _stream, memory) = setup(driver)?;
        let buffer = memory.allocate::<u8>(LARGE)?;
        assert!(!buffer.read_mostly()?);
        buffer.set_read_mostly(true)?;
        assert!(buffer.read_mostly()? && buffer.as_range().read_mostly()?);
        // SAFETY: outlived by what it borrows, and nobody writes.
        let another = unsafe { ManagedBuffer::<u8>::borrowed(buffer.as_raw(), LARGE, buffer.context()) }?;
        another.set_read_mostly(false)?;
        assert!(!buffer.read_mostly()?);
    }

    /// S1.14, S1.15: on a device, on the host, or nowhere in particular.
    fn a_preferred_location_is_told_and_asked_for(driver) {
        let (_context, _stream, memory) = setup(driver)?;
        let (buffer, here) = (memory.allocate::<u32>(LARGE)?, driver.device(0)?);
        assert_eq!(buffer.preferred_location()?, None);
        buffer.set_preferred_location(&here)?;
        assert_eq!(buffer.preferred_location()?, Some(Location::Device(here.clone())));
        buffer.set_preferred_location(Host::Any)?;
        assert_eq!(buffer.preferred_location()?, Some(Location::Host(Host::Any)));
        buffer.set_preferred_location(Location::from(here.clone()))?;
        assert_eq!(buffer.preferred_location()?, Some(here.into()));
        buffer.set_preferred_location(None)?;
        assert_eq!(buffer.preferred_location()?, None);
    }

    /// Parts have places of their own, and the whole has one only if they agree.
    fn parts_are_advised_for_themselves(driver) {
        let (_context, _stream, memory) = setup(driver)?;
        let buffer = memory.allocate::<u16>(LARGE)?;
        let (first, second) = buffer.as_slice().split_at(LARGE / 2)?;
        let (first, second) = (ManagedRange::from(first), ManagedRange::from(second));
        first.set_preferred_location(Host::Any)?;
        assert_eq!(first.preferred_location()?, Some(Host::Any.into()));
        assert_eq!((second.preferred_location()?, buffer.preferred_location()?), (None, None));
        second.set_preferred_location(Host::Any)?;
        assert_eq!(buffer.preferred_location()?, Some(Host::Any.into()));
        let nothing = ManagedRange::from(buffer.slice(5..5)?);
        budget(driver, &[], || {
            assert_eq!(nothing.read_mostly(), Err(Error::Managed(ManagedError::EmptyRange { what: "read_mostly" })));
            assert_eq!(nothing.set_preferred_location(None), Err(Error::Managed(ManagedError::EmptyRange { what: "preferred_location" })));
            assert_eq!(nothing.accessed_by().len(), Err(Error::Managed(ManagedError::EmptyRange { what: "accessed_by" })));
        });
    }

    /// S1.5, S1.6: a NUMA node of this host, and the one of the caller, can be named. Whether a host of one
    /// node remembers it is up to the driver.
    fn numa_nodes_can_be_preferred(driver) {
        let (_context, _stream, memory) = setup(driver)?;
        let buffer = memory.allocate::<u8>(LARGE)?;
        for place in [node(0)?, Host::NumaCurrent.into()] {
            buffer.set_preferred_location(place)?;
            let host = buffer.preferred_location()?;
            assert!(matches!(host, None | Some(Location::Host(_))), "{host:?}");
        }
        assert_eq!(code(buffer.set_preferred_location(node(4000)?)), Some(CUresult::CUDA_ERROR_INVALID_VALUE));
    }

    /// S1.D: one call to tell; one to ask, or two where a place is a kind and a number.
    fn advice_costs_what_it_says(driver) {
        let (context, stream, memory) = setup(driver)?;
        let buffer = memory.allocate::<u8>(LARGE)?;
        costs(&context, &[(ADVISE, 1)], || buffer.set_read_mostly(true))?;
        costs(&context, &[(ASK, 1)], || buffer.read_mostly())?;
        costs(&context, &[(ADVISE, 1)], || buffer.set_preferred_location(Host::Any))?;
        costs(&context, &[(ADVISE, 1)], || buffer.set_preferred_location(None))?;
        costs_asking(&context, 3, &[(ASK, 2)], || buffer.preferred_location())?;
        buffer.prefetch(Host::Any, &stream)?;
        costs_asking(&context, 3, &[(ASK, 2)], || buffer.last_prefetch_location())?;
        budget(driver, &[], || buffer.accessed_by());
        // The previous current context is restored.
        let around = [(Function::cuCtxGetCurrent, 1), (Function::cuCtxSetCurrent, 2)];
        budget(driver, &[&around[..], &[(ASK, 1)]].concat(), || buffer.read_mostly())?;
    }

    /// S1.10: memory that is not managed is refused before anything else is looked at, with no call but one
    /// question.
    fn memory_that_is_not_managed_is_refused_first(driver) {
        let (context, stream, _memory) = setup(driver)?;
        let device = DeviceMemory::new(&context).allocate::<u8>(LARGE)?;
        // SAFETY: outlived by what it borrows, and nobody else writes.
        let mut lie = unsafe { ManagedBuffer::<u8>::borrowed(device.as_raw(), LARGE, &context) }?;
        let not_managed = |what| Error::Managed(ManagedError::NotManaged { what, index: None });
        let asked = [(Function::cuPointerGetAttribute, 1)];
        assert_eq!(budget(driver, &asked, || lie.read_mostly()), Err(not_managed("read_mostly")));
        let node = node(4000)?;
        let legacy = context.legacy_stream();
        budget(driver, &[], || {
            assert_eq!(lie.set_read_mostly(true), Err(not_managed("read_mostly")));
            assert_eq!(lie.preferred_location(), Err(not_managed("preferred_location")));
            assert_eq!(lie.set_preferred_location(node.clone()), Err(not_managed("preferred_location")));
            assert_eq!(lie.last_prefetch_location(), Err(not_managed("last_prefetch_location")));
            assert_eq!(lie.accessed_by().insert(node.clone()), Err(not_managed("accessed_by")));
            assert_eq!(lie.accessed_by().assign([node.clone()]), Err(not_managed("accessed_by")));
            assert_eq!(lie.accessed_by().snapshot(), Err(not_managed("accessed_by")));
            assert_eq!(lie.prefetch(node.clone(), &stream), Err(not_managed("prefetch")));
            assert_eq!(lie.discard(&legacy), Err(not_managed("discard")));
            assert_eq!(lie.discard_prefetch(node.clone(), &legacy), Err(not_managed("discard")));
        });
        assert_eq!(
            not_managed("prefetch").to_string(),
            "prefetch: the memory is not managed; allocate it from ManagedMemory or a ManagedPool"
        );
    }

    /// S1.36: some drivers refuse advice on memory of a managed pool; their answer is passed on.
    fn the_driver_s_answer_to_advice_on_memory_of_a_pool_is_passed_on(driver) {
        let (context, stream, _memory) = setup(driver)?;
        let buffer = ManagedPool::new(&context)?.zeroed::<u8>(LARGE, &stream)?;
        let host = Location::from(Host::Any).to_raw();
        let advise = |advice| {
            let told = context.scope(|| call!(driver.cuMemAdvise_v2(buffer.as_raw(), LARGE, advice, host)))?;
            told.map_err(Error::from)
        };
        let told = advise(CUmem_advise::CU_MEM_ADVISE_SET_READ_MOSTLY);
        assert_eq!(advise(CUmem_advise::CU_MEM_ADVISE_UNSET_READ_MOSTLY).is_ok(), told.is_ok());
        assert_eq!(buffer.set_read_mostly(true), told);
        assert_eq!(buffer.read_mostly()?, told.is_ok());
        let told = advise(CUmem_advise::CU_MEM_ADVISE_SET_PREFERRED_LOCATION);
        assert_eq!(buffer.set_preferred_location(Host::Any), told);
        let told = advise(CUmem_advise::CU_MEM_ADVISE_SET_ACCESSED_BY);
        assert_eq!(buffer.accessed_by().insert(Host::Any).map(drop), told);
        buffer.prefetch(driver.device(0)?, &stream)?;
        assert_eq!(buffer.last_prefetch_location()?, Some(driver.device(0)?.into()));
    }
}

/// S1.6, S1.14, S1.15: drivers before 12.2 take ordinals, and give them back.
#[test]
fn older_drivers_are_told_ordinals() -> TestResult {
    on_driver(12, 1, |driver| {
        let (context, stream, memory) = setup(driver)?;
        let (buffer, here) = (memory.allocate::<u8>(LARGE)?, Location::from(driver.device(0)?));
        let advise = Function::cuMemAdvise;
        costs(&context, &[(advise, 1)], || buffer.set_read_mostly(true))?;
        assert!(costs(&context, &[(ASK, 1)], || buffer.read_mostly())?);
        assert_eq!(costs(&context, &[(ASK, 1)], || buffer.preferred_location())?, None);
        for place in [here.clone(), Host::Any.into()] {
            costs(&context, &[(advise, 1)], || buffer.set_preferred_location(place.clone()))?;
            assert_eq!(costs(&context, &[(ASK, 1)], || buffer.preferred_location())?, Some(place));
        }
        costs(&context, &[(advise, 1)], || buffer.set_preferred_location(None))?;
        assert_eq!(buffer.preferred_location()?, None);
        buffer.prefetch(here.clone(), &stream)?;
        assert_eq!(costs(&context, &[(ASK, 1)], || buffer.last_prefetch_location())?, Some(here));
        assert!(buffer.accessed_by().insert(Host::Any)?);
        assert_eq!(buffer.accessed_by().len()?, 1);
        Ok(())
    })
}

/// S1.7: a NUMA node that the driver cannot be told is refused before the driver is, and names the
/// substitute.
#[test]
fn older_drivers_have_no_numa_nodes() -> TestResult {
    on_driver(12, 1, |driver| {
        let (_context, stream, memory) = setup(driver)?;
        let buffer = memory.allocate::<u8>(LARGE)?;
        for host in [Host::Numa(NumaId::try_from(0_u32)?), Host::NumaCurrent] {
            let refused = Err(Error::Location(LocationError::NumaUnsupported { host }));
            budget(driver, &[], || {
                assert_eq!(buffer.set_preferred_location(host), refused);
                assert_eq!(buffer.prefetch(host, &stream), refused);
            });
        }
        let error = buffer.prefetch(Host::NumaCurrent, &stream).expect_err("as above").to_string();
        assert!(error.contains("12.2") && error.contains("the host as a whole"), "{error}");
        Ok(())
    })
}

/// S1.16: where there are several nodes, the one that was named is read back as it was named, the caller's
/// own included.
#[test]
fn numa_nodes_are_read_back_where_there_are_several() -> TestResult {
    let topology = Topology::builder().device(DeviceModel::H200).numa_nodes(3).build()?;
    let (_machine, driver) = open(topology, Mode::Threads)?;
    let (_context, _stream, memory) = setup(&driver)?;
    let buffer = memory.allocate::<u8>(LARGE)?;
    for place in [node(2)?, node(0)?, Host::Any.into(), Host::NumaCurrent.into(), node(1)?] {
        buffer.set_preferred_location(place.clone())?;
        assert_eq!(buffer.preferred_location()?, Some(place));
    }
    Ok(())
}

/// S1.35: without concurrent access, read-mostly is passed over, and a preferred location is the driver's
/// error.
#[test]
fn without_concurrent_access_advice_does_little() -> TestResult {
    let (_machine, driver) = open(without_concurrent_access("h200", 0)?, Mode::Threads)?;
    let (_context, _stream, memory) = setup(&driver)?;
    let buffer = memory.allocate::<u8>(LARGE)?;
    buffer.set_read_mostly(true)?;
    assert!(!buffer.read_mostly()?);
    let refused = buffer.set_preferred_location(driver.device(0)?);
    assert_eq!(code(refused), Some(CUresult::CUDA_ERROR_INVALID_DEVICE));
    Ok(())
}

/// A device of another driver is no place in this one.
#[test]
fn places_of_another_driver_are_refused() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (_other, other) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (_context, stream, memory) = setup(&driver)?;
    let (buffer, elsewhere) = (memory.allocate::<u8>(LARGE)?, other.device(0)?);
    let foreign = setup(&other)?.1;
    budget(&driver, &[], || {
        let refused: [Result<()>; 4] = [
            buffer.set_preferred_location(&elsewhere),
            buffer.prefetch(&elsewhere, &stream),
            buffer.prefetch(Host::Any, &foreign),
            buffer.accessed_by().insert(&elsewhere).map(drop),
        ];
        assert!(
            refused.iter().all(|result| matches!(result, Err(Error::Device(DeviceError::DriverMismatch { .. })))),
            "{refused:?}"
        );
    });
    Ok(())
}

/// S1.11: a plain buffer of managed memory is as good as a managed one.
#[test]
fn a_range_of_any_buffer_of_managed_memory_is_managed() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (_context, _stream, memory) = setup(&driver)?;
    let buffer: Buffer<u64> = memory.allocate(LARGE)?.into_buffer();
    ManagedRange::from(&buffer).set_read_mostly(true)?;
    assert!(ManagedBuffer::try_from(buffer)?.read_mostly()?);
    Ok(())
}

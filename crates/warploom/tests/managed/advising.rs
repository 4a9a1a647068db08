//! One piece of advice about several ranges.

use warploom::sys::types::CUresult;
use warploom::{
    Advice, DeviceMemory, Driver, Error, Function, Host, LiveSet, Location, LocationError, ManagedBuffer, ManagedError,
    ManagedRange, NumaId, Result, advise,
};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
use warploom_testkit::sweep::Sweep;
use warploom_testkit::{TestResult, budget, driver_tests, open};

use super::{LARGE, costs_asking, on_driver, setup};

const ADVISE: Function = Function::cuMemAdvise_v2;
const ASK: Function = Function::cuMemRangeGetAttribute;
const HOST: Location = Location::Host(Host::Any);

fn buffers(driver: &Driver, count: usize) -> TestResult<Vec<ManagedBuffer>> {
    let memory = setup(driver)?.2;
    Ok((0..count).map(|_| memory.allocate(LARGE)).collect::<Result<_>>()?)
}

driver_tests! {
    fn one_or_many_buffers_are_advised_alike(driver) {
        let buffers = buffers(driver, 3)?;
        let here = Location::from(driver.device(0)?);
        advise([&buffers[0]], Advice::ReadMostly(true))?;
        advise(&buffers, Advice::PreferredLocation(Some(here.clone())))?;
        advise(&buffers, Advice::AccessedBy(HOST))?;
        for buffer in &buffers {
            assert_eq!(buffer.preferred_location()?.as_ref(), Some(&here));
            assert_eq!(buffer.accessed_by().snapshot()?, [HOST].into());
        }
        let read_mostly: Vec<bool> = buffers.iter().map(|buffer| buffer.read_mostly()).collect::<Result<_>>()?;
        assert_eq!(read_mostly, [true, false, false]);
        advise(&buffers, Advice::NotAccessedBy(HOST))?;
        advise(&buffers, Advice::PreferredLocation(None))?;
        let half = ManagedRange::from(buffers[1].slice(LARGE / 2..)?);
        advise([ManagedRange::from(&buffers[2]), half], Advice::ReadMostly(true))?;
        assert!(buffers[1].accessed_by().is_empty()? && buffers[1].preferred_location()?.is_none());
        assert!(half.read_mostly()? && buffers[2].read_mostly()?);
    }

    /// One call for each range, and one question for each that may have to be restored.
    fn a_single_range_costs_one_call(driver) {
        let buffers = buffers(driver, 3)?;
        let context = buffers[0].context().clone();
        costs_asking(&context, 1, &[(ADVISE, 1)], || advise([&buffers[0]], Advice::ReadMostly(true)))?;
        costs_asking(&context, 5, &[(ADVISE, 3), (ASK, 2)], || advise(&buffers, Advice::ReadMostly(false)))?;
    }

    /// S1.10, S1.17: everything is checked before any advice is given, the kind of memory first.
    fn ranges_and_locations_are_checked_before_any_advice(driver) {
        let (context, _stream, memory) = setup(driver)?;
        let buffer = memory.allocate::<u8>(LARGE)?;
        let device = DeviceMemory::new(&context).allocate::<u8>(LARGE)?;
        let node = Location::from(Host::Numa(NumaId::try_from(0_u32)?));
        let nothing: [&ManagedBuffer; 0] = [];
        assert_eq!(advise(nothing, Advice::ReadMostly(true)), Err(Error::Managed(ManagedError::EmptyBatch)));
        let refused = advise([buffer.as_slice(), device.as_slice()], Advice::AccessedBy(node.clone()));
        let not_managed = ManagedError::NotManaged { what: "accessed_by", index: Some(1) };
        assert_eq!(refused, Err(Error::Managed(not_managed)));
        budget(driver, &[], || {
            let refused = advise([&buffer], Advice::AccessedBy(node.clone()));
            let not_allowed = ManagedError::LocationNotAllowed { advice: "accessed_by", locations: vec![node.clone()] };
            assert_eq!(refused, Err(Error::Managed(not_allowed)));
            let part = buffer.slice(..0).map(|part| advise([buffer.as_slice(), part], Advice::ReadMostly(true)));
            assert_eq!(part, Ok(Err(Error::Managed(ManagedError::EmptyRange { what: "read_mostly" }))));
        });
        assert!(!buffer.read_mostly()? && buffer.accessed_by().is_empty()?);
    }
}

/// S1.24: what was advised before is as it was.
#[test]
fn advice_that_fails_is_taken_back() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Sync)?;
    let buffers = buffers(&driver, 3)?;
    buffers[0].set_preferred_location(HOST)?;
    let here = Location::from(driver.device(0)?);
    let rule = Rule::on(ADVISE).nth(3).fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    {
        let _scope = machine.inject(Plan::new().rule(rule))?;
        let error = advise(&buffers, Advice::PreferredLocation(Some(here.clone()))).expect_err("the plan says so");
        let expected = matches!(&error, Error::Managed(ManagedError::AdviceFailed { index: 2, undone: true, .. }));
        assert!(expected && error.is_out_of_memory(), "{error:?}");
    }
    let locations: Vec<_> = buffers.iter().map(|buffer| buffer.preferred_location()).collect::<Result<_>>()?;
    assert_eq!(locations, [Some(HOST), None, None]);
    let rule = Rule::on(ADVISE).from(2).fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    let _scope = machine.inject(Plan::new().rule(rule))?;
    let error = advise(&buffers, Advice::AccessedBy(here)).expect_err("the plan says so");
    let expected = matches!(&error, Error::Managed(ManagedError::AdviceFailed { index: 1, undone: false, .. }));
    assert!(expected, "{error:?}");
    assert_eq!(
        error.to_string().split(": ").next(),
        Some("advice about item 1 failed, and not everything could be taken back")
    );
    Ok(())
}

/// S1.7: before anything is advised.
#[test]
fn older_drivers_refuse_a_numa_node_and_take_everything_else() -> TestResult {
    on_driver(12, 1, |driver| {
        let buffers = buffers(driver, 2)?;
        budget(driver, &[], || {
            let refused = advise(&buffers, Advice::PreferredLocation(Some(Host::NumaCurrent.into())));
            let unsupported = LocationError::NumaUnsupported { host: Host::NumaCurrent };
            assert_eq!(refused, Err(Error::Location(unsupported)));
        });
        advise(&buffers, Advice::PreferredLocation(Some(HOST)))?;
        assert_eq!(buffers[1].preferred_location()?, Some(HOST));
        Ok(())
    })
}

#[test]
fn advice_about_several_leaves_nothing_behind_whichever_call_fails() -> TestResult {
    let sweep = Sweep::new(Topology::preset("h200")?).after_effect(true);
    sweep.tolerates(Calls::named("cuCtxSetCurrent")?).run(|_: &Machine, driver: &Driver| -> Result<()> {
        let memory = warploom::ManagedMemory::new(&driver.device(0)?.context()?)?;
        let buffers = [memory.allocate::<u8>(LARGE)?, memory.allocate::<u8>(LARGE)?];
        advise(&buffers, Advice::PreferredLocation(Some(HOST)))?;
        advise(&buffers, Advice::AccessedBy(HOST))
    });
    Ok(())
}

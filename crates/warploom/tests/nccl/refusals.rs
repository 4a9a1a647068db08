//! Operations that are refused before NCCL is called.

use warploom::nccl::{Nccl, NcclError, NcclVersion, Reduction};
use warploom::{ContextError, ContextOptions, DeviceError, DevicePool, Driver, Error};
use warploom_sim::Mode;
use warploom_sim::topology::Topology;
use warploom_testkit::{TestResult, budget, open};

use super::{Alone, Fake, eager, four, join, join_all, nccl_error};

#[test]
fn a_library_that_is_too_old_is_refused() -> TestResult {
    let (_machine, _driver, fake) = eager("h200")?;
    fake.set_version(21_304);
    let error = nccl_error(fake.nccl());
    assert_eq!(error, NcclError::TooOld { have: NcclVersion { major: 2, minor: 13, patch: 4 } });
    assert_eq!(error.to_string(), "NCCL 2.13.4 is too old; install 2.14.0 or newer");
    fake.fail("ncclGetVersion", 3);
    assert_eq!(nccl_error(fake.nccl()).code().map(|code| code.0), Some(3));
    Ok(())
}

#[test]
fn a_missing_library_is_an_error_that_says_how_to_get_it() {
    #[expect(unsafe_code, reason = "there is no such library")]
    // SAFETY: as said.
    let error = nccl_error(unsafe { Nccl::load_from("/warploom-absent/libnccl.so.2") });
    assert!(matches!(&error, NcclError::NotFound { tried } if tried.len() == 1), "{error}");
    assert!(error.to_string().contains("nvidia-nccl-cu13"), "{error}");
}

#[test]
fn a_context_that_nccl_cannot_work_in_is_refused() -> TestResult {
    let (_machine, driver, fake) = eager("pcie-pair")?;
    let (nccl, device) = (fake.nccl()?, driver.device(0)?);
    let id = nccl.unique_id()?;
    fake.take_calls();

    let created = device.create_context(ContextOptions::new())?;
    assert_eq!(nccl_error(join(&nccl, &created, &id, 0, 1)), NcclError::NotPrimary { device: 0 });

    let (_other_machine, other) = open(Topology::preset("h200")?, Mode::Threads)?;
    let elsewhere = other.device(0)?.context()?;
    let error = nccl_error(join(&nccl, &elsewhere, &id, 0, 1));
    assert_eq!(error, NcclError::OtherDriver { driver: other.description().to_owned() });
    assert_eq!(fake.take_calls(), Vec::<String>::new());
    Ok(())
}

#[test]
fn ranks_that_do_not_exist_or_are_taken_are_refused() -> TestResult {
    let (_machine, driver, fake) = eager("pcie-pair")?;
    let (nccl, first, second) = (fake.nccl()?, driver.device(0)?.context()?, driver.device(1)?.context()?);
    let id = nccl.unique_id()?;
    fake.take_calls();
    for (rank, size) in [(0, 0), (1, 1), (u32::MAX, 2), (0, u32::MAX)] {
        assert_eq!(nccl_error(join(&nccl, &first, &id, rank, size)), NcclError::NoSuchRank { rank, size });
        let joined = join_all(&nccl, &id, size, &[(rank, &first)]);
        assert_eq!(nccl_error(joined), NcclError::NoSuchRank { rank, size });
    }
    assert_eq!(nccl_error(join_all(&nccl, &id, 2, &[])), NcclError::NoRanks);
    assert_eq!(nccl_error(nccl.join_alone(&[])), NcclError::NoRanks);
    let twice = join_all(&nccl, &id, 2, &[(0, &first), (1, &first)]);
    assert_eq!(nccl_error(twice), NcclError::SameDevice { device: 0 });
    let taken = join_all(&nccl, &id, 2, &[(1, &first), (1, &second)]);
    assert_eq!(nccl_error(taken), NcclError::RankTaken { rank: 1 });
    assert_eq!(fake.take_calls(), Vec::<String>::new());
    Ok(())
}

#[test]
fn lengths_that_do_not_fit_are_refused_before_any_call() -> TestResult {
    let (_machine, driver, fake) = eager("hgx-a100-4")?;
    let ranks = four(&fake, &driver)?;
    let (one, stream) = (&ranks[1].communicator, &ranks[1].stream);
    let (short, mut long) = (ranks[1].pool.upload(&[1_u32; 3], stream)?, ranks[1].pool.upload(&[1_u32; 10], stream)?);
    fake.take_calls();
    budget(&driver, &[], || -> TestResult {
        let lengths = NcclError::LengthMismatch { send: 3, receive: 10 };
        assert_eq!(nccl_error(one.all_reduce(&short, &mut long, Reduction::Sum, stream)), lengths);
        assert_eq!(nccl_error(one.broadcast_to(&short, &mut long, 1, stream)), lengths);
        let reduced = one.reduce(&short, Some(long.as_slice_mut()), Reduction::Sum, 0, stream);
        assert_eq!(nccl_error(reduced), lengths);

        let parts = |part, whole| NcclError::PartMismatch { part, whole, size: 4 };
        assert_eq!(nccl_error(one.all_gather(&short, &mut long, stream)), parts(3, 10));
        assert_eq!(nccl_error(one.all_gather_in_place(&mut long, stream)), parts(2, 10));
        let scattered = one.reduce_scatter(&short, &mut long, Reduction::Sum, stream);
        assert_eq!(nccl_error(scattered), parts(10, 3));
        assert_eq!(nccl_error(one.reduce_scatter_in_place(&mut long, Reduction::Sum, stream)), parts(2, 10));

        let root = one.reduce(&short, None, Reduction::Sum, 1, stream);
        assert_eq!(nccl_error(root), NcclError::NoReceiver { root: 1 });

        let nobody = NcclError::NoSuchRank { rank: 4, size: 4 };
        assert_eq!(nccl_error(one.send(&short, 4, stream)), nobody);
        assert_eq!(nccl_error(one.receive(&mut long, 4, stream)), nobody);
        assert_eq!(nccl_error(one.broadcast(&mut long, 4, stream)), nobody);
        assert_eq!(nccl_error(one.reduce_in_place(&mut long, Reduction::Sum, 4, stream)), nobody);
        Ok(())
    })?;
    assert_eq!(fake.take_calls(), Vec::<String>::new());
    Ok(())
}

#[test]
fn streams_and_memory_of_other_contexts_are_refused_before_any_call() -> TestResult {
    let (_machine, driver, fake) = eager("hgx-a100-4")?;
    let ranks = four(&fake, &driver)?;
    let (zero, one) = (&ranks[0], &ranks[1]);
    let mut here = zero.pool.upload(&[1_u32; 4], &zero.stream)?;
    let mut there = one.pool.upload(&[1_u32; 4], &one.stream)?;
    let legacy = zero.communicator.context().legacy_stream();
    let per_thread = zero.communicator.context().per_thread_stream();
    fake.take_calls();
    budget(&driver, &[], || {
        let other = |what| NcclError::OtherContext { what, device: 1, communicator: 0 };
        let (communicator, stream) = (&zero.communicator, &zero.stream);
        assert_eq!(nccl_error(communicator.broadcast(&mut here, 0, &one.stream)), other("stream"));
        assert_eq!(nccl_error(communicator.broadcast(&mut there, 0, stream)), other("memory"));
        assert_eq!(nccl_error(communicator.broadcast_to(&there, &mut here, 0, stream)), other("memory"));
        for default in [&legacy, &per_thread] {
            assert_eq!(nccl_error(communicator.broadcast(&mut here, 0, default)), NcclError::DefaultStream);
        }
        let mut group = communicator.nccl().group();
        assert_eq!(nccl_error(group.broadcast(communicator, &mut there, 0, stream)), other("memory"));
        assert!(group.is_empty());
    });
    let (_other_machine, other) = open(Topology::preset("h200")?, Mode::Threads)?;
    let context = other.device(0)?.context()?;
    let foreign = DevicePool::new(&context)?.upload(&[1_u32; 4], &context.stream()?)?;
    let refused = zero.communicator.broadcast_to(&foreign, &mut here, 0, &zero.stream);
    assert!(matches!(refused, Err(Error::Device(DeviceError::DriverMismatch { .. }))), "{refused:?}");
    assert_eq!(fake.take_calls(), Vec::<String>::new());
    Ok(())
}

#[test]
fn ranks_of_a_process_that_differ_are_refused_before_nccl_is_called() -> TestResult {
    let (_machine, driver, fake) = eager("hgx-a100-4")?;
    let ranks = four(&fake, &driver)?;
    let mut values = Vec::new();
    for rank in &ranks {
        values.push(rank.pool.upload(&[1_i32; 4], &rank.stream)?);
    }
    fake.take_calls();
    let mut group = ranks[0].communicator.nccl().group();
    for (rank, values) in ranks.iter().zip(&mut values) {
        let len = if rank.communicator.rank() == 2 { 3 } else { 4 };
        let values = values.slice_mut(..len)?;
        group.all_reduce_in_place(&rank.communicator, values, Reduction::Sum, &rank.stream)?;
    }
    let error = nccl_error(group.run());
    assert!(matches!(error, NcclError::Mismatch { rank: 2, .. }), "{error}");
    assert_eq!(fake.take_calls(), Vec::<String>::new());
    // The ranks before it have gone on, and cannot be brought back.
    let broken = ranks[0].communicator.broadcast(&mut values[0], 0, &ranks[0].stream);
    assert_eq!(nccl_error(broken), NcclError::Broken);
    ranks.into_iter().try_for_each(|rank| rank.communicator.abort())?;
    assert_eq!(fake.alive(), 0);
    Ok(())
}

/// A simulated machine is never handed to the system's NCCL.
#[test]
fn the_systems_nccl_takes_only_the_systems_driver() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    assert!(!driver.is_library());
    let (_other_machine, other) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (fake, context) = (Fake::on(&driver), other.device(0)?.context()?);
    let joined = fake.nccl()?.join_alone(&[context]);
    assert!(matches!(nccl_error(joined), NcclError::OtherDriver { .. }));
    Ok(())
}

#[test]
fn a_communicator_of_a_context_that_was_reset_is_refused_and_left_alone() -> TestResult {
    fn reset(driver: &Driver) -> TestResult {
        #[expect(unsafe_code, reason = "what was made in the context is not used again, but for contexts")]
        // SAFETY: as said; the communicator only refuses.
        unsafe { driver.device(0)?.reset_context() }?;
        Ok(())
    }
    let (_machine, driver, _fake) = eager("h200")?;
    let Alone { communicator, stream, pool, library, context: _context } = Alone::on(&driver)?;
    let mut values = pool.upload(&[1_u32; 4], &stream)?;
    reset(&driver)?;
    let refused = communicator.broadcast(&mut values, 0, &stream);
    assert!(matches!(refused, Err(Error::Context(ContextError::Stale { .. }))), "{refused:?}");
    assert!(matches!(communicator.check(), Err(Error::Context(ContextError::Stale { .. }))));
    library.fake.as_ref().map(Fake::take_calls);
    drop(communicator);
    assert_eq!(library.fake.as_ref().map(Fake::take_calls), Some(Vec::new()));
    Ok(())
}

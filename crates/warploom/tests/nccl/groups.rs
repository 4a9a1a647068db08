//! Groups: nothing happens before they are run, and then all at once.

use warploom::nccl::{NcclError, Reduction};
use warploom_testkit::{TestResult, budget};

use super::{Alone, Fake, eager, nccl_error};

#[test]
fn nothing_is_called_before_a_group_is_run() -> TestResult {
    let (_machine, driver, _fake) = eager("h200")?;
    let Alone { communicator, stream, pool, library, .. } = Alone::on(&driver)?;
    let fake = library.fake.as_ref().ok_or("a stand-in")?;
    let mut values = pool.upload(&[1_u32; 4], &stream)?;
    fake.take_calls();
    let mut group = library.nccl.group();
    budget(&driver, &[], || group.all_reduce_in_place(&communicator, values.as_slice_mut(), Reduction::Sum, &stream))?;
    assert_eq!(fake.take_calls(), Vec::<String>::new());
    group.run()?;
    let calls = ["ncclGroupStart", "ncclAllReduce rank 0 count 4 type 3", "ncclGroupEnd"];
    assert_eq!(fake.take_calls(), calls);

    let mut group = library.nccl.group();
    group.broadcast(&communicator, &mut values, 0, &stream)?;
    drop(group);
    budget(&driver, &[], || library.nccl.group().run())?;
    assert_eq!(fake.take_calls(), Vec::<String>::new());
    communicator.close()?;
    Ok(())
}

#[test]
fn an_operation_alone_is_one_call() -> TestResult {
    let (_machine, driver, _fake) = eager("h200")?;
    let Alone { communicator, stream, pool, library, .. } = Alone::on(&driver)?;
    let fake = library.fake.as_ref().ok_or("a stand-in")?;
    let mut values = pool.upload(&[1.0_f64; 4], &stream)?;
    fake.take_calls();
    communicator.reduce_scatter_in_place(&mut values, Reduction::Min, &stream)?;
    assert_eq!(fake.take_calls(), ["ncclReduceScatter rank 0 count 4 type 8"]);
    communicator.close()?;
    Ok(())
}

#[test]
fn a_group_is_ended_also_if_a_call_in_it_fails() -> TestResult {
    let (_machine, driver, _fake) = eager("h200")?;
    let Alone { communicator, stream, pool, library, context } = Alone::on(&driver)?;
    let fake = library.fake.as_ref().ok_or("a stand-in")?;
    let (mut values, mut more) = (pool.upload(&[1_u8; 4], &stream)?, pool.upload(&[2_u8; 4], &stream)?);
    fake.take_calls();
    fake.fail("ncclBroadcast", 4);
    let mut group = library.nccl.group();
    group.broadcast(&communicator, &mut values, 0, &stream)?;
    group.all_gather_in_place(&communicator, &mut more, &stream)?;
    let error = nccl_error(group.run());
    assert!(matches!(error, NcclError::Call { function: "ncclBroadcast", .. }), "{error}");
    assert_eq!(error.to_string(), "ncclBroadcast failed: ncclInvalidArgument (4): the stand-in was told to fail");
    assert_eq!(fake.take_calls(), ["ncclGroupStart", "ncclBroadcast rank 0 count 4 type 1", "ncclGroupEnd"]);
    assert_eq!(nccl_error(communicator.broadcast(&mut values, 0, &stream)), NcclError::Broken);
    communicator.abort()?;

    fake.fail("ncclBroadcast", 0);
    let next = library.nccl.join_alone(&[context])?.remove(0);
    next.broadcast(&mut values, 0, &stream)?;
    next.close()?;
    Ok(())
}

#[test]
fn a_group_is_of_one_library() -> TestResult {
    let (_machine, driver, _fake) = eager("h200")?;
    let Alone { communicator, stream, pool, library: _library, .. } = Alone::on(&driver)?;
    let other = Fake::on(&driver);
    let mut values = pool.upload(&[1_u8; 4], &stream)?;
    let nccl = other.nccl()?;
    let mut group = nccl.group();
    assert_eq!(nccl_error(group.broadcast(&communicator, &mut values, 0, &stream)), NcclError::OtherLibrary);
    drop(group);
    communicator.close()?;
    Ok(())
}

#[test]
fn several_ranks_join_at_once_or_not_at_all() -> TestResult {
    let (_machine, driver, fake) = eager("pcie-pair")?;
    let (nccl, first, second) = (fake.nccl()?, driver.device(0)?.context()?, driver.device(1)?.context()?);
    fake.take_calls();
    let contexts = [first, second];
    let joined = nccl.join_alone(&contexts)?;
    let calls = ["ncclGetUniqueId", "ncclGroupStart", "ncclCommInitRank rank 0 of 2", "ncclCommInitRank rank 1 of 2"];
    assert_eq!(fake.take_calls()[..4], calls);
    assert_eq!(joined.iter().map(|rank| rank.device().ordinal()).collect::<Vec<_>>(), [0, 1]);
    drop(joined);
    assert_eq!(fake.alive(), 0);

    for (function, code) in [("ncclCommInitRank", 2), ("ncclGroupEnd", 6), ("ncclGroupStart", 3)] {
        fake.fail(function, code);
        let error = nccl_error(nccl.join_alone(&contexts));
        assert_eq!(error.code().map(|code| code.0), Some(code), "{error}");
        assert_eq!(fake.alive(), 0, "{function}");
        fake.fail(function, 0);
    }
    fake.fail("ncclCommInitRank", 2);
    let error = nccl_error(nccl.join_local(&contexts[0], &nccl.local_id(1)?, 0));
    assert!(matches!(error, NcclError::Call { function: "ncclCommInitRank", .. }), "{error}");
    assert_eq!(fake.alive(), 0);
    Ok(())
}

//! One rank: every operation on every driver.

use warploom::nccl::{Element, NcclVersion, Reduction};
use warploom_testkit::driver_tests;

use super::{Alone, Library, TestResult};

/// Sends values through every operation; alone, each of them comes back.
fn all_operations<T: Element + PartialEq + std::fmt::Debug>(alone: &Alone, values: [T; 4]) -> TestResult {
    let Alone { communicator, stream, pool, .. } = alone;
    let sent = pool.upload(&values, stream)?;
    let other = pool.upload(&[values[3]; 4], stream)?;
    let reset = || other.duplicate(stream);

    let mut received = reset()?;
    communicator.broadcast_to(&sent, &mut received, 0, stream)?;
    assert_eq!(received.download(stream)?, values);
    communicator.broadcast(&mut received, 0, stream)?;
    assert_eq!(received.download(stream)?, values);

    for reduction in [Reduction::Sum, Reduction::Product, Reduction::Max, Reduction::Min, Reduction::Average] {
        let mut received = reset()?;
        communicator.all_reduce(&sent, &mut received, reduction, stream)?;
        assert_eq!(received.download(stream)?, values, "{reduction}");
        communicator.all_reduce_in_place(&mut received, reduction, stream)?;
        assert_eq!(received.download(stream)?, values, "{reduction} in place");
    }

    let mut received = reset()?;
    communicator.reduce(&sent, Some(received.as_slice_mut()), Reduction::Sum, 0, stream)?;
    communicator.reduce_in_place(&mut received, Reduction::Sum, 0, stream)?;
    assert_eq!(received.download(stream)?, values);

    let mut received = reset()?;
    communicator.all_gather(&sent, &mut received, stream)?;
    communicator.all_gather_in_place(&mut received, stream)?;
    assert_eq!(received.download(stream)?, values);

    let mut received = reset()?;
    communicator.reduce_scatter(&sent, &mut received, Reduction::Max, stream)?;
    communicator.reduce_scatter_in_place(&mut received, Reduction::Max, stream)?;
    assert_eq!(received.download(stream)?, values);

    let mut received = reset()?;
    let mut group = communicator.nccl().group();
    group.send(communicator, &sent, 0, stream)?;
    group.receive(communicator, &mut received, 0, stream)?;
    group.run()?;
    assert_eq!(received.download(stream)?, values);
    Ok(())
}

driver_tests! {
    fn every_operation_takes_every_type_of_values(driver) {
        let alone = Alone::on(driver)?;
        all_operations(&alone, [1_i8, -2, 3, 4])?;
        all_operations(&alone, [1_u8, 2, 255, 4])?;
        all_operations(&alone, [1_i32, -2, 3, i32::MAX])?;
        all_operations(&alone, [1_u32, 2, 3, u32::MAX])?;
        all_operations(&alone, [1_i64, -2, 3, i64::MIN])?;
        all_operations(&alone, [1_u64, 2, 3, u64::MAX])?;
        all_operations(&alone, [1.5_f32, -2.0, 3.0, 0.25])?;
        all_operations(&alone, [1.5_f64, -2.0, 3.0, 0.25])?;
        #[cfg(feature = "half")]
        {
            all_operations(&alone, [1.5, -2.0, 3.0, 0.25].map(half::f16::from_f32))?;
            all_operations(&alone, [1.5, -2.0, 3.0, 0.25].map(half::bf16::from_f32))?;
        }
        alone.communicator.check()?;
        alone.communicator.close()?;
    }

    fn a_communicator_has_its_rank_and_size(driver) {
        let alone = Alone::on(driver)?;
        assert_eq!((alone.communicator.rank(), alone.communicator.size()), (0, 1));
        assert_eq!(alone.communicator.device(), &driver.device(0)?);
        assert_eq!(alone.communicator.context(), &alone.context);
        assert!(alone.library.nccl.version() >= NcclVersion::OLDEST);
        alone.communicator.close()?;
    }

    fn no_values_are_a_right_number_of_values(driver) {
        let alone = Alone::on(driver)?;
        let mut values = alone.pool.upload(&[1_u32, 2], &alone.stream)?;
        alone.communicator.all_reduce_in_place(values.slice_mut(1..1)?, Reduction::Sum, &alone.stream)?;
        alone.communicator.broadcast(values.slice_mut(2..)?, 0, &alone.stream)?;
        assert_eq!(values.download(&alone.stream)?, [1, 2]);
        alone.communicator.close()?;
    }

    fn the_current_context_stays_current(driver) {
        let Alone { communicator, context, stream, pool, library } = Alone::on(driver)?;
        assert_eq!(driver.current_context()?, None);
        let mut values = pool.upload(&[1_u32, 2], &stream)?;
        communicator.all_reduce_in_place(&mut values, Reduction::Sum, &stream)?;
        assert_eq!(driver.current_context()?, None);
        context.scope(|| communicator.broadcast(&mut values, 0, &stream))??;
        let mut group = library.nccl.group();
        group.all_gather_in_place(&communicator, &mut values, &stream)?;
        group.run()?;
        communicator.close()?;
        assert_eq!(driver.current_context()?, None);
    }

    fn work_of_several_streams_goes_through_one_communicator(driver) {
        let Alone { communicator, context, stream, pool, library: _library } = Alone::on(driver)?;
        let other = context.stream()?;
        let mut values = pool.upload(&[1_u32, 2], &stream)?;
        communicator.all_reduce_in_place(&mut values, Reduction::Sum, &stream)?;
        other.wait_for(&stream)?;
        communicator.all_reduce_in_place(&mut values, Reduction::Sum, &other)?;
        assert_eq!(values.download(&other)?, [1, 2]);
        communicator.close()?;
    }

    fn an_aborted_communicator_leaves_the_device_usable(driver) {
        let Alone { communicator, stream, pool, library, context } = Alone::on(driver)?;
        let mut values = pool.upload(&[1_u32, 2], &stream)?;
        communicator.broadcast(&mut values, 0, &stream)?;
        stream.synchronize()?;
        communicator.abort()?;
        let next = library.nccl.join_alone(&[context])?.remove(0);
        next.broadcast(&mut values, 0, &stream)?;
        assert_eq!(values.download(&stream)?, [1, 2]);
        drop(next);
    }

    fn the_library_is_found_as_often_as_it_is_looked_for(driver) {
        let (first, second) = (Library::of(driver)?, Library::of(driver)?);
        assert_eq!(first.nccl.version(), second.nccl.version());
        assert_ne!(first.nccl.unique_id()?, second.nccl.unique_id()?);
    }
}

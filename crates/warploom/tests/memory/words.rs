//! Words that streams write and wait for.

use warploom::capture::{Global, Relaxed};
use warploom::{
    CaptureError, Comparison, Context, DeviceError, DevicePool, Driver, Error, Function, Result, Stream, StreamError,
    StreamWord,
};
use warploom_sim::fault::Calls;
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode, Order};
use warploom_testkit::sweep::Sweep;
use warploom_testkit::{ASYNCHRONOUS, TestResult, assert_sound, budget, driver_tests, open};

use crate::gate::Gate;

fn setup(driver: &Driver) -> TestResult<(Context, Stream, Stream)> {
    let context = driver.device(0)?.context()?;
    Ok((context.clone(), context.stream()?, context.stream()?))
}

/// `true` if the stream is still at its wait.
fn is_held_up(stream: &Stream) -> TestResult<bool> {
    Ok(!stream.is_idle()?)
}

driver_tests! {
    /// The machine that this runs on checks that the download is ordered behind the fill.
    fn the_host_releases_a_stream_and_that_one_another(driver) {
        let (context, first, second) = setup(driver)?;
        let mut buffer = DevicePool::new(&context)?.zeroed::<u32>(1 << 16, &first)?;
        second.wait_for(&first)?;
        let word = StreamWord::<u32>::new(&context, 0)?;
        word.wait(Comparison::AtLeast(1), &first)?;
        buffer.fill(7, &first)?;
        word.write(2, &first)?;
        word.wait(Comparison::Equal(2), &second)?;
        assert!(is_held_up(&first)? && is_held_up(&second)?);
        assert_eq!(word.load(), 0);
        word.store(1);
        assert_eq!(buffer.download(&second)?, vec![7; 1 << 16]);
        assert_eq!(word.load(), 2);
    }

    fn a_stream_waits_until_the_comparison_holds(driver) {
        let (context, stream, _) = setup(driver)?;
        let narrow: [(Comparison<u32>, u32, u32); 6] = [
            (Comparison::AtLeast(5), 4, 5),
            (Comparison::AtLeast(5), 0xFFFF_FFFF, 6),
            (Comparison::AtLeast(0xFFFF_FFFE), 0xFFFF_FFFD, 3), // behind the wrap
            (Comparison::Equal(5), 6, 5),
            (Comparison::And(0b1100), 0b0011, 0b0110),
            (Comparison::Nor(0xFFFF_FF00), 0xFF, 0xFE),
        ];
        for (comparison, not_yet, enough) in narrow {
            let word = StreamWord::new(&context, not_yet)?;
            word.wait(comparison, &stream)?;
            assert!(is_held_up(&stream)?, "{comparison:?} holds for {not_yet:#x}");
            word.store(enough);
            stream.synchronize()?;
        }
        let wide: [(Comparison<u64>, u64, u64); 4] = [
            (Comparison::AtLeast(1 << 40), 1 << 39, (1 << 40) + 1),
            (Comparison::Equal(1 << 40), 0, 1 << 40),
            (Comparison::And(1 << 40), 1 << 39, 3 << 40),
            (Comparison::Nor(u64::MAX << 1), 1, 0),
        ];
        for (comparison, not_yet, enough) in wide {
            let word = StreamWord::new(&context, not_yet)?;
            word.wait(comparison, &stream)?;
            assert!(is_held_up(&stream)?, "{comparison:?} holds for {not_yet:#x}");
            word.write(enough, &context.stream()?)?;
            stream.synchronize()?;
            assert_eq!(word.load(), enough);
        }
    }

    fn a_write_and_a_wait_are_one_driver_call_each(driver) {
        let (context, stream, _) = setup(driver)?;
        let (word, wide) = (StreamWord::<u32>::new(&context, 0)?, StreamWord::<u64>::new(&context, 0)?);
        word.write(1, &stream)?;
        wide.write(1, &stream)?;
        let calls = [
            (Function::cuStreamWriteValue32_v2, 1),
            (Function::cuStreamWaitValue32_v2, 2),
            (Function::cuStreamWriteValue64_v2, 1),
            (Function::cuStreamWaitValue64_v2, 1),
        ];
        budget(driver, &calls, || -> Result<()> {
            word.write(2, &stream)?;
            word.wait(Comparison::AtLeast(2), &stream)?;
            word.wait(Comparison::Nor(2), &stream)?;
            wide.write(2, &stream)?;
            wide.wait(Comparison::Equal(2), &stream)
        })?;
        stream.synchronize()?;
        budget(driver, &[], || (word.store(3), word.load()));
        drop((word, wide));
        budget(driver, &[], || StreamWord::<u32>::new(&context, 9))?;
    }

    /// The memory of a word is not used for another while a stream waits for it.
    fn a_word_dropped_while_a_stream_waits_for_it_stays_until_then(driver) {
        let (context, first, second) = setup(driver)?;
        let word = StreamWord::<u32>::new(&context, 0)?;
        let address = word.as_raw();
        let gate = Gate::close(&second)?;
        word.write(1, &second)?;
        word.wait(Comparison::Equal(1), &first)?;
        drop(word);
        let others = (0..100).map(|_| StreamWord::<u32>::new(&context, 5)).collect::<Result<Vec<_>>>()?;
        assert!(others.iter().all(|other| other.as_raw() != address));
        assert!(is_held_up(&first)?);
        gate.open();
        first.synchronize()?;
        second.synchronize()?;
        assert!(others.iter().all(|other| other.load() == 5));
        assert_eq!(StreamWord::<u32>::new(&context, 5)?.as_raw(), address, "it is given back behind the waits");
    }

    /// Freeing page-locked memory waits for the whole context; dropping a word must not.
    fn dropping_a_word_waits_for_no_stream(driver) {
        let (context, first, second) = setup(driver)?;
        let (held, word) = (StreamWord::<u32>::new(&context, 0)?, StreamWord::<u32>::new(&context, 0)?);
        held.wait(Comparison::Equal(1), &first)?;
        word.write(1, &second)?;
        second.synchronize()?;
        drop(word);
        assert!(is_held_up(&first)?);
        held.store(1);
        first.synchronize()?;
    }

    fn a_captured_stream_is_refused(driver) {
        let (context, stream, _) = setup(driver)?;
        let word = StreamWord::<u32>::new(&context, 0)?;
        let capture = stream.capture(Relaxed)?;
        let refused: Error = CaptureError::NotCapturable { what: "a word that streams write and wait for" }.into();
        budget(driver, &[], || {
            assert_eq!(word.write(1, &capture), Err(refused.clone()));
            assert_eq!(word.wait(Comparison::Equal(0), &capture), Err(refused.clone()));
        });
        capture.end()?;
    }

    fn a_word_made_or_dropped_during_a_capture_leaves_it_alone(driver) {
        let (context, stream, other) = setup(driver)?;
        let capture = stream.capture(Global)?;
        drop(StreamWord::<u64>::new(&context, 0)?);
        assert_eq!(capture.end()?.node_count()?, 0);
        let word = StreamWord::<u32>::new(&context, 0)?;
        word.write(1, &stream)?;
        word.write(2, &other)?;
        let capture = stream.capture(Global)?;
        drop(word);
        assert_eq!(capture.end()?.node_count()?, 0);
        other.synchronize()?;
    }
}

#[test]
fn devices_without_wide_words_or_nor_refuse_them_by_name() -> TestResult {
    let text = "[[device]]\nmodel = \"h200\"\n\
                attributes = { can_use_64_bit_stream_mem_ops = 0, can_use_stream_wait_value_nor = 0 }\n";
    let (_machine, driver) = open(Topology::from_toml(text)?, Mode::Threads)?;
    let (context, stream, _) = setup(&driver)?;
    let no = |of| Error::Stream(StreamError::NoWords { device: 0, of });
    assert_eq!(StreamWord::<u64>::new(&context, 0).map(drop), Err(no("words of 64 bits")));
    let word = StreamWord::<u32>::new(&context, 0)?;
    assert_eq!(word.wait(Comparison::Nor(1), &stream), Err(no("the comparison NOR")));
    word.wait(Comparison::Equal(0), &stream)?;
    stream.synchronize()?;
    Ok(())
}

#[test]
fn streams_of_other_devices_signal_each_other_and_those_of_other_drivers_are_refused() -> TestResult {
    for mode in ASYNCHRONOUS {
        let (machine, driver) = open(Topology::preset("pcie-pair")?, *mode)?;
        let (here, there) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
        let (near, far) = (here.stream()?, there.stream()?);
        let word = StreamWord::<u64>::new(&here, 0)?;
        let mut buffer = DevicePool::new(&there)?.zeroed::<u8>(1 << 12, &far)?;
        word.wait(Comparison::AtLeast(1), &far)?;
        buffer.fill(3, &far)?;
        word.write(2, &far)?;
        word.write(1, &near)?;
        word.wait(Comparison::AtLeast(2), &near)?;
        drop(word);
        near.synchronize()?;
        assert_eq!(buffer.download(&far)?, vec![3; 1 << 12]);
        assert_sound(&machine);
    }
    let (_one, one) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (_other, other) = open(Topology::preset("h200")?, Mode::Threads)?;
    let word = StreamWord::<u32>::new(&one.device(0)?.context()?, 0)?;
    let stranger = other.device(0)?.context()?.stream()?;
    let refused = budget(&other, &[], || word.write(1, &stranger));
    assert!(matches!(refused, Err(Error::Device(DeviceError::DriverMismatch { .. }))), "{refused:?}");
    Ok(())
}

/// Not in the mode `Threads`, where it depends on the threads if a stream is done when its word is dropped.
#[test]
fn words_leave_nothing_behind_whichever_call_fails() -> TestResult {
    for mode in [Mode::Deterministic(Order::Eager), Mode::Deterministic(Order::Lazy)] {
        let mut sweep = Sweep::new(Topology::preset("h200")?).mode(mode).after_effect(true);
        // In a `drop`.
        for name in ["cuCtxSetCurrent", "cuStreamQuery", "cuLaunchHostFunc"] {
            sweep = sweep.tolerates(Calls::named(name)?);
        }
        sweep.run(|_: &Machine, driver: &Driver| -> Result<()> {
            let context = driver.device(0)?.context()?;
            let (first, second) = (context.stream()?, context.stream()?);
            let (word, wide) = (StreamWord::<u32>::new(&context, 0)?, StreamWord::<u64>::new(&context, 0)?);
            word.write(1, &first)?;
            wide.write(1, &first)?;
            first.synchronize()?;
            word.wait(Comparison::AtLeast(1), &second)?;
            wide.wait(Comparison::Nor(1), &second)?;
            drop((word, wide));
            StreamWord::<u32>::new(&context, 1)?;
            Ok(())
        });
    }
    Ok(())
}

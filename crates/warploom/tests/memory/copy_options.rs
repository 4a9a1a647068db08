//! Copies with options, one and many, on drivers that have calls for them and on those that do not (CPY-2 to
//! CPY-5).

use warploom::sys::types::CUresult;
use warploom::{
    CopyError, CopyOptions, DeviceMemory, DevicePool, Driver, Error, Function, Host, MemoryError, PinnedMemory, Result,
    SourceOrder, Stream, copy_batch_with,
};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_sim::{Mode, Order};
use warploom_testkit::sweep::Sweep;
use warploom_testkit::{TestResult, budget, driver_tests, open};

fn setup(driver: &Driver) -> TestResult<(DeviceMemory, Stream)> {
    let context = driver.device(0)?.context()?;
    Ok((DeviceMemory::new(&context), context.stream()?))
}

fn with_driver(version: &str) -> TestResult<Topology> {
    Ok(Topology::from_toml(&format!("driver = \"{version}\"\npreset = \"pcie-pair\""))?)
}

/// The newest call that a driver has for a copy with options.
fn newest(driver: &Driver) -> Function {
    use Function::{cuMemcpyBatchAsync, cuMemcpyBatchAsync_v2, cuMemcpyDtoDAsync_v2, cuMemcpyWithAttributesAsync};
    let newer = [cuMemcpyWithAttributesAsync, cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync];
    newer.into_iter().find(|call| driver.supports(*call)).unwrap_or(cuMemcpyDtoDAsync_v2)
}

/// The driver calls of a copy, except the query of its stream's capture state.
fn calls(copy: Function) -> Vec<(Function, u64)> {
    let context: &[_] = match copy {
        Function::cuMemcpyDtoDAsync_v2 => &[],
        _ => &[(Function::cuCtxGetCurrent, 1), (Function::cuCtxSetCurrent, 2)],
    };
    [context, &[(Function::cuStreamIsCapturing, 1), (copy, 1)]].concat()
}

fn orders() -> [CopyOptions; 3] {
    [SourceOrder::Stream, SourceOrder::DuringCall, SourceOrder::Any].map(|order| CopyOptions::new().source_order(order))
}

driver_tests! {
    /// CPY-3: on this driver, whichever that is.
    fn a_copy_with_any_options_is_one_call_and_copies(driver) {
        let (memory, stream) = setup(driver)?;
        let from = memory.upload(&[1_u16, 2, 3, 4], &stream)?;
        let here = driver.device(0)?;
        let hints = |options: CopyOptions| options.source_hint(&here).destination_hint(Host::Any).overlap();
        let has_options = newest(driver) != Function::cuMemcpyDtoDAsync_v2;
        for options in orders().into_iter().chain(orders().map(hints)) {
            let mut to = memory.zeroed::<u16>(4, &stream)?;
            stream.synchronize()?;
            if has_options || options != CopyOptions::new().source_order(SourceOrder::DuringCall) {
                let is_plain = options == CopyOptions::new();
                let call = if is_plain { Function::cuMemcpyDtoDAsync_v2 } else { newest(driver) };
                budget(driver, &calls(call), || from.as_slice().copy_to_with(&mut to, options, &stream))?;
                assert_eq!(to.download(&stream)?, [1, 2, 3, 4], "{options:?}");
            }
        }
    }

    /// The host's memory is the copy's source until the call returns, and no longer.
    fn a_source_that_is_read_during_the_call_may_be_changed_after_it(driver) {
        let (memory, stream) = setup(driver)?;
        if newest(driver) == Function::cuMemcpyDtoDAsync_v2 {
            return Ok(());
        }
        let pinned = PinnedMemory::new(memory.context());
        let mut source = pinned.buffer_of(&[5_u8; 4096])?.into_buffer();
        let other = memory.context().stream()?;
        let mut to = memory.allocate::<u8>(4096)?;
        let options = CopyOptions::new().source_order(SourceOrder::DuringCall);
        source.as_slice().copy_to_with(&mut to, options, &stream)?;
        source.fill(9, &other)?;
        other.synchronize()?;
        assert_eq!(to.download(&stream)?, [5; 4096]);
    }

    /// CPY-4.
    fn a_batch_takes_options_for_each_of_its_copies(driver) {
        let (memory, stream) = setup(driver)?;
        let from = memory.upload(&(0..60).collect::<Vec<u32>>(), &stream)?;
        let mut to = memory.zeroed::<u32>(60, &stream)?;
        stream.synchronize()?;
        let [plain, _, any] = orders();
        let (mut rest, mut copies) = (to.as_slice_mut(), Vec::new());
        for (piece, options) in from.as_slice().chunks(10)?.zip([plain, plain, any, any.overlap(), any.overlap(), plain]) {
            let (first, others) = rest.split_at_mut(10)?;
            copies.push((piece, first, options));
            rest = others;
        }
        copy_batch_with(copies, &stream)?;
        assert_eq!(to.download(&stream)?, from.download(&stream)?);
    }

    fn invalid_options_are_refused_before_the_driver_is_called(driver) {
        let (memory, stream) = setup(driver)?;
        let pool = DevicePool::new(memory.context())?;
        let (ordered, plain) = (pool.zeroed::<u8>(4, &stream)?, memory.allocate::<u8>(4)?);
        let (mut to, mut short) = (memory.allocate::<u8>(4)?, memory.allocate::<u8>(3)?);
        let legacy = memory.context().legacy_stream();
        let [in_order, during, any] = orders();
        budget(driver, &[], || {
            for options in [during, any] {
                let refused = ordered.as_slice().copy_to_with(&mut to, options, &stream);
                assert_eq!(refused, Err(Error::Copy(CopyError::SourceOrder)));
                let batch = [(&plain, &mut short, in_order), (&ordered, &mut to, options)];
                let error = Box::new(Error::Copy(CopyError::LengthMismatch { source_len: 4, destination_len: 3 }));
                assert_eq!(copy_batch_with(batch, &stream), Err(Error::Memory(MemoryError::InBatch { index: 0, error })));
                let error = Box::new(Error::Copy(CopyError::SourceOrder));
                let refused = copy_batch_with([(&ordered, &mut to, options)], &stream);
                assert_eq!(refused, Err(Error::Memory(MemoryError::InBatch { index: 0, error })));
            }
            let refused = plain.as_slice().copy_to_with(&mut short, any, &stream);
            assert_eq!(refused, Err(Error::Copy(CopyError::LengthMismatch { source_len: 4, destination_len: 3 })));
            assert_eq!(plain.as_slice().copy_to_with(&mut to, in_order, &legacy), Err(Error::Copy(CopyError::LegacyStream)));
            assert_eq!(copy_batch_with([(&plain, &mut to, in_order)], &legacy), Err(Error::Copy(CopyError::LegacyStream)));
        });
    }
}

#[test]
fn options_are_values_that_compare() {
    let [plain, during, any] = orders();
    assert_eq!(plain, CopyOptions::new());
    assert!(during != any && any == any.source_order(SourceOrder::Any) && any != any.overlap());
    assert_ne!(any.source_hint(Host::Any), any.destination_hint(Host::Any));
}

/// CPY-3, CPY-5: each version of the driver has its newest call, and the oldest cannot read a source during a
/// call.
#[test]
fn each_driver_copies_with_the_newest_call_it_has() -> TestResult {
    for (version, call) in [
        ("12.6", Function::cuMemcpyDtoDAsync_v2),
        ("12.8", Function::cuMemcpyBatchAsync),
        ("13.0", Function::cuMemcpyBatchAsync_v2),
        ("13.2", Function::cuMemcpyWithAttributesAsync),
    ] {
        let (_machine, driver) = open(with_driver(version)?, Mode::Deterministic(Order::Lazy))?;
        assert_eq!(newest(&driver), call);
        let (memory, stream) = setup(&driver)?;
        let from = memory.upload(b"over", &stream)?;
        let (mut to, mut other) = (memory.allocate(4)?, memory.allocate(4)?);
        let [plain, during, any] = orders();
        for options in [plain.overlap(), any] {
            budget(&driver, &calls(call), || from.as_slice().copy_to_with(&mut to, options, &stream))?;
            assert_eq!(to.download(&stream)?, b"over");
        }
        let refused = from.as_slice().copy_to_with(&mut to, during, &stream);
        let batch = copy_batch_with([(&from, &mut to, any), (&from, &mut other, during)], &stream);
        if call == Function::cuMemcpyDtoDAsync_v2 {
            assert_eq!(refused, Err(Error::Copy(CopyError::DuringCall)));
            assert_eq!(
                batch,
                Err(Error::Memory(MemoryError::InBatch {
                    index: 1,
                    error: Box::new(Error::Copy(CopyError::DuringCall))
                }))
            );
        } else {
            assert_eq!((refused, batch), (Ok(()), Ok(())));
        }
    }
    Ok(())
}

/// Between devices no call takes options; order is kept, and a promise that cannot be is refused.
#[test]
fn copies_between_devices_are_in_stream_order_or_refused() -> TestResult {
    let (_machine, driver) = open(with_driver("13.2")?, Mode::Deterministic(Order::Lazy))?;
    let (memory, stream) = setup(&driver)?;
    let there = DeviceMemory::new(&driver.device(1)?.context()?);
    let from = memory.upload(b"far", &stream)?;
    let mut to = there.allocate(3)?;
    let [_, during, any] = orders();
    let peer = [(Function::cuStreamIsCapturing, 1), (Function::cuMemcpyPeerAsync, 1)];
    budget(&driver, &peer, || from.as_slice().copy_to_with(&mut to, any, &stream))?;
    stream.synchronize()?;
    assert_eq!(from.as_slice().copy_to_with(&mut to, during, &stream), Err(Error::Copy(CopyError::DuringCall)));
    assert_eq!(to.download(&there.context().stream()?)?, b"far");
    Ok(())
}

#[test]
fn a_stream_that_cannot_be_asked_gets_no_copy() -> TestResult {
    let (machine, driver) = open(with_driver("13.0")?, Mode::Threads)?;
    let (memory, stream) = setup(&driver)?;
    let (from, mut to) = (memory.upload(b"a", &stream)?, memory.upload(b"b", &stream)?);
    let plan = Plan::new().rule(Rule::on(Function::cuStreamIsCapturing).fail(CUresult::CUDA_ERROR_UNKNOWN));
    let scope = machine.inject(plan)?;
    let refused = from.as_slice().copy_to_with(&mut to, CopyOptions::new(), &stream);
    assert_eq!(refused.map_err(|error| error.code()), Err(Some(CUresult::CUDA_ERROR_UNKNOWN)));
    drop(scope);
    assert_eq!(to.download(&stream)?, b"b");
    Ok(())
}

#[test]
fn copies_with_options_leave_nothing_behind() -> TestResult {
    for version in ["12.6", "12.8", "13.0", "13.2"] {
        let sweep = Sweep::new(with_driver(version)?).mode(Mode::Deterministic(Order::Lazy)).after_effect(true);
        sweep.tolerates(Calls::named("cuCtxSetCurrent")?).run(|_, driver: &Driver| -> Result<()> {
            let context = driver.device(0)?.context()?;
            let (stream, memory) = (context.stream()?, DeviceMemory::new(&context));
            let from = memory.zeroed::<u8>(64, &stream)?;
            let (mut one, mut other) = (memory.allocate(64)?, memory.allocate(64)?);
            stream.synchronize()?;
            let any = CopyOptions::new().source_order(SourceOrder::Any);
            from.as_slice().copy_to_with(&mut one, any, &stream)?;
            copy_batch_with([(&from, &mut one, any), (&from, &mut other, any.overlap())], &stream)?;
            stream.synchronize()
        });
    }
    Ok(())
}

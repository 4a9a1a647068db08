use std::collections::BTreeSet;
use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::topology::{DeviceModel, Topology};
use warploom_testkit::sim::{Mode, Order};
use warploom_testkit::sys::types::{
    CUdeviceptr, CUmemLocation, CUmemLocationType, CUmemcpyAttributes, CUresult, CUstream,
};
use warploom_testkit::{ASYNCHRONOUS, Primary, Stream, TestResult, answers, call, code_of, driver_tests, open};

use crate::support::{ANY_ORDER, DURING_CALL, Memory, STREAM_ORDER, attributes, counting};

const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;
const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const NOBODY: usize = usize::MAX;
const UNTOUCHED: usize = 12345;

#[derive(Clone)]
struct Batch {
    to: Vec<CUdeviceptr>,
    from: Vec<CUdeviceptr>,
    sizes: Vec<usize>,
    count: usize,
    attributes: Vec<CUmemcpyAttributes>,
    starts: Vec<usize>,
    attribute_count: usize,
}

impl Batch {
    /// Copies of 64 bytes, the addresses 4096 apart.
    fn new(to: &Memory, from: &Memory, count: usize) -> Batch {
        let apart = |base: u64| (0..count as u64).map(|index| base + index * 4096).collect();
        Batch {
            to: apart(to.address),
            from: apart(from.address),
            sizes: vec![64; count],
            count,
            attributes: vec![attributes(STREAM_ORDER); 3],
            starts: vec![0],
            attribute_count: 1,
        }
    }

    fn with(&self, change: impl FnOnce(&mut Batch)) -> Batch {
        let mut changed = self.clone();
        change(&mut changed);
        changed
    }

    /// An empty vector stands for a null pointer.
    fn submit(&mut self, driver: &Driver, stream: CUstream) -> (CUresult, usize) {
        fn pointer<T>(values: &mut [T]) -> *mut T {
            if values.is_empty() { null_mut() } else { values.as_mut_ptr() }
        }
        let mut culprit = UNTOUCHED;
        let [to, from] = [pointer(&mut self.to), pointer(&mut self.from)];
        let (sizes, starts) = (pointer(&mut self.sizes), pointer(&mut self.starts));
        let (attributes, attribute_count) = (pointer(&mut self.attributes), self.attribute_count);
        let count = self.count;
        let code = code_of(call!(driver.cuMemcpyBatchAsync(
            to,
            from,
            sizes,
            count,
            attributes,
            starts,
            attribute_count,
            &mut culprit,
            stream
        )));
        let newer = code_of(call!(driver.cuMemcpyBatchAsync_v2(
            to,
            from,
            sizes,
            count,
            attributes,
            starts,
            attribute_count,
            stream
        )));
        assert_eq!(newer, code, "the older and the newer function");
        (code, culprit)
    }
}

driver_tests! {
    fn a_batch_copies_everything(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let sent = counting(3 * 4096);
        let from = Memory::of(driver, &sent)?;
        let to = Memory::of(driver, &[0; 3 * 4096])?;
        let mut host = vec![0_u8; 64];
        let mut batch = Batch::new(&to, &from, 3);
        batch.to[1] = host.as_mut_ptr().expose_provenance() as u64;
        batch.from[2] = sent[100..].as_ptr().addr() as u64;
        batch.starts = vec![0, 2];
        batch.attribute_count = 2;
        batch.attributes[1] = attributes(ANY_ORDER);
        assert_eq!(batch.submit(driver, stream.raw), (SUCCESS, NOBODY));
        stream.synchronize()?;
        let received = to.read()?;
        assert_eq!(received[..64], sent[..64]);
        assert_eq!(host, sent[4096..4160]);
        assert_eq!(received[8192..8256], sent[100..164]);
        assert_eq!(received[8256..], [0; 4032]);
    }

    fn a_batch_is_ordered_with_its_stream(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let from = Memory::of(driver, &[1; 8192])?;
        let to = Memory::of(driver, &[0; 8192])?;
        call!(driver.cuMemsetD8Async(from.address, 2, 8192, stream.raw))?;
        assert_eq!(Batch::new(&to, &from, 2).submit(driver, stream.raw), (SUCCESS, NOBODY));
        call!(driver.cuMemsetD8Async(from.address, 3, 8192, stream.raw))?;
        call!(driver.cuMemcpyDtoDAsync_v2(from.address + 64, to.address + 4096, 64, stream.raw))?;
        stream.synchronize()?;
        assert_eq!(from.read()?[64..128], [2; 64], "what follows the batch sees it");
        for index in 0..2 {
            assert_eq!(to.read()?[4096 * index..][..64], [2; 64], "the batch sees what precedes it");
        }
    }

    fn a_source_read_during_the_call_may_change_after_it(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let to = Memory::of(driver, &[0; 8192])?;
        let mut host = [6_u8; 64];
        let mut batch = Batch::new(&to, &to, 1);
        batch.from[0] = host.as_ptr().addr() as u64;
        batch.attributes[0] = attributes(DURING_CALL);
        assert_eq!(batch.submit(driver, stream.raw), (SUCCESS, NOBODY));
        host.fill(7);
        stream.synchronize()?;
        assert_eq!(to.read()?[..64], [6; 64]);
    }

    fn the_arrays_of_a_batch_must_make_sense(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let [from, to] = [Memory::new(driver, 8192)?, Memory::new(driver, 8192)?];
        let ok = Batch::new(&to, &from, 2);
        for (what, batch) in [
            ("no copies", ok.with(|batch| batch.count = 0)),
            ("null destinations", ok.with(|batch| batch.to.clear())),
            ("null sources", ok.with(|batch| batch.from.clear())),
            ("null sizes", ok.with(|batch| batch.sizes.clear())),
            ("null attributes", ok.with(|batch| batch.attributes.clear())),
            ("null starts", ok.with(|batch| batch.starts.clear())),
            ("no attributes", ok.with(|batch| batch.attribute_count = 0)),
            ("more attributes than copies", ok.with(|batch| {
                batch.starts = vec![0, 1, 2];
                batch.attribute_count = 3;
            })),
            ("starts with the second", ok.with(|batch| batch.starts = vec![1])),
            ("same start twice", ok.with(|batch| {
                batch.starts = vec![0, 0];
                batch.attribute_count = 2;
            })),
            ("start behind the last", ok.with(|batch| {
                batch.starts = vec![0, 2];
                batch.attribute_count = 2;
            })),
        ] {
            assert_eq!(batch.clone().submit(driver, stream.raw), (INVALID, NOBODY), "{what}");
        }
        stream.synchronize()?;
    }

    fn a_batch_is_refused_where_no_context_is_current(driver) {
        let primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let [from, to] = [Memory::of(driver, &[1; 8192])?, Memory::new(driver, 8192)?];
        let mut batch = Batch::new(&to, &from, 2);
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        let (refused, _) = batch.submit(driver, stream.raw);
        primary.make_current()?;
        assert_eq!(refused, CUresult::CUDA_ERROR_INVALID_VALUE);
        assert_eq!(batch.submit(driver, stream.raw).0, CUresult::CUDA_SUCCESS);
        stream.synchronize()?;
    }

    fn attributes_must_make_sense(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let [from, to] = [Memory::new(driver, 8192)?, Memory::new(driver, 8192)?];
        let ok = Batch::new(&to, &from, 2);
        let with = |attributes| ok.with(|batch| batch.attributes[0] = attributes).submit(driver, stream.raw);
        for (order, expected) in [(0, INVALID), (1, SUCCESS), (2, SUCCESS), (3, SUCCESS), (4, INVALID), (u32::MAX, INVALID)] {
            assert_eq!(with(attributes(order)), (expected, NOBODY), "order {order}");
        }
        for (flags, expected) in [(0, SUCCESS), (1, SUCCESS), (2, INVALID), (3, INVALID), (1 << 31, INVALID)] {
            assert_eq!(with(CUmemcpyAttributes { flags, ..attributes(1) }), (expected, NOBODY), "flags {flags}");
        }
        for (kind, id, expected) in [
            (0, 0, SUCCESS),
            (1, 0, SUCCESS),
            (1, 9, INVALID),
            (2, 0, SUCCESS),
            (3, 0, SUCCESS),
            (4, 0, SUCCESS),
            (5, 0, INVALID),
            (6, 0, INVALID),
            (u32::MAX, 0, INVALID),
        ] {
            let hint = CUmemLocation::new(CUmemLocationType(kind), id);
            let source = CUmemcpyAttributes { srcLocHint: hint, ..attributes(1) };
            assert_eq!(with(source), (expected, NOBODY), "source at {kind}, {id}");
            let destination = CUmemcpyAttributes { dstLocHint: hint, ..attributes(1) };
            assert_eq!(with(destination), (expected, NOBODY), "destination at {kind}, {id}");
        }
        stream.synchronize()?;
    }

    fn a_copy_that_is_wrong_is_named_and_those_before_it_are_made(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let from = Memory::of(driver, &[1; 8192])?;
        let to = Memory::of(driver, &[0; 8192])?;
        let ok = Batch::new(&to, &from, 2);
        for (what, batch, culprit) in [
            ("nothing to copy", ok.with(|batch| batch.sizes[1] = 0), 1),
            ("null destination", ok.with(|batch| batch.to[1] = 0), 1),
            ("null source", ok.with(|batch| batch.from[0] = 0), 0),
            ("past the end", ok.with(|batch| batch.sizes[1] = 1 << 20), 1),
        ] {
            assert_eq!(batch.clone().submit(driver, stream.raw), (INVALID, culprit), "{what}");
        }
        stream.synchronize()?;
        let bytes = to.read()?;
        assert!(bytes[..64].iter().all(|byte| *byte == 1) && bytes[64..].iter().all(|byte| *byte == 0));
        let (mut batch, null) = (ok.with(|batch| batch.sizes[1] = 0), null_mut());
        let [sizes, starts] = [batch.sizes.as_mut_ptr(), batch.starts.as_mut_ptr()];
        let [to, from] = [batch.to.as_mut_ptr(), batch.from.as_mut_ptr()];
        let attributes = batch.attributes.as_mut_ptr();
        answers!(
            driver.cuMemcpyBatchAsync(to, from, sizes, 2, attributes, starts, 1, null, stream.raw),
            CUDA_ERROR_INVALID_VALUE
        );
    }

    fn the_legacy_default_stream_takes_no_batch(driver) {
        let _primary = Primary::of(driver, 0)?;
        let [from, to] = [Memory::new(driver, 8192)?, Memory::new(driver, 8192)?];
        let mut batch = Batch::new(&to, &from, 2);
        assert_eq!(batch.submit(driver, null_mut()), (INVALID, UNTOUCHED));
        assert_eq!(batch.submit(driver, std::ptr::without_provenance_mut(1)), (INVALID, NOBODY));
        assert_eq!(batch.submit(driver, std::ptr::without_provenance_mut(2)), (SUCCESS, NOBODY));
        call!(driver.cuCtxSynchronize())?;
    }
}

/// The real driver promises no order either; a program that needs one is to fail under some seed.
#[test]
fn the_copies_of_a_batch_are_not_ordered_with_each_other() -> TestResult {
    let mut last = BTreeSet::new();
    for seed in 0..32 {
        let (_machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(Order::Seeded(seed)))?;
        let driver = &driver;
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let from = Memory::of(driver, &[[1; 4096], [2; 4096]].concat())?;
        let to = Memory::of(driver, &[0; 4096])?;
        let mut batch = Batch::new(&to, &from, 2);
        batch.to[1] = to.address;
        assert_eq!(batch.submit(driver, stream.raw), (SUCCESS, NOBODY));
        stream.synchronize()?;
        last.insert(to.read()?[0]);
    }
    assert_eq!(last, BTreeSet::from([1, 2]));
    Ok(())
}

/// A source that may be read at any time is read at the worst time for a program that relies on stream order.
#[test]
fn a_source_read_at_any_time_is_not_read_in_stream_order() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(Order::Lazy))?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let stream = Stream::new(driver)?;
    let to = Memory::of(driver, &[0; 4096])?;
    let mut host = [6_u8; 64];
    for (order, expected) in [(STREAM_ORDER, 7), (ANY_ORDER, 6)] {
        host.fill(6);
        let mut batch = Batch::new(&to, &to, 1);
        batch.from[0] = host.as_ptr().addr() as u64;
        batch.attributes[0] = attributes(order);
        assert_eq!(batch.submit(driver, stream.raw), (SUCCESS, NOBODY));
        host.fill(7);
        stream.synchronize()?;
        assert_eq!(to.read()?[..64], [expected; 64], "order {order}");
    }
    Ok(())
}

#[test]
fn one_copy_with_attributes_is_a_batch_of_one() -> TestResult {
    for mode in ASYNCHRONOUS {
        let topology = Topology::builder().driver_version(13, 2).device(DeviceModel::H200).build()?;
        let (_machine, driver) = open(topology, *mode)?;
        let driver = &driver;
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let to = Memory::of(driver, &[0; 64])?;
        let mut host = counting(64);
        let from = host.as_ptr().addr() as u64;
        let mut during = attributes(DURING_CALL);
        call!(driver.cuMemcpyWithAttributesAsync(to.address, from, 64, &mut during, stream.raw))?;
        host.fill(0);
        stream.synchronize()?;
        assert_eq!(to.read()?, counting(64));
        let mut wrong = attributes(0);
        let (at, raw) = (to.address, stream.raw);
        answers!(driver.cuMemcpyWithAttributesAsync(at, from, 64, &mut wrong, raw), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemcpyWithAttributesAsync(at, from, 64, null_mut(), raw), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemcpyWithAttributesAsync(at, from, 64, &mut during, null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemcpyWithAttributesAsync(at, from, 0, &mut during, raw), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemcpyWithAttributesAsync(at, from, 65, &mut during, raw), CUDA_ERROR_INVALID_VALUE);
    }
    Ok(())
}

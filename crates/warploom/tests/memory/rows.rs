//! Rows: copies and fills in two dimensions.

use warploom::{
    Context, ContextError, CopyError, DeviceError, DeviceMemory, DevicePool, Driver, Error, Function, MemoryError,
    Result, RowsMut, Stream,
};
use warploom_sim::fault::Calls;
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode, Order};
use warploom_testkit::sweep::Sweep;
use warploom_testkit::{TestResult, budget, driver_tests, in_every_mode, open};

fn setup(driver: &Driver) -> TestResult<(DevicePool, Stream)> {
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    Ok((DevicePool::new(&context)?, stream))
}

/// The numbers from 0 on.
fn counting(len: u16) -> Vec<u16> {
    (0..len).collect()
}

/// The effect of a copy of rows, computed on the host.
fn copied(mut to: Vec<u16>, at: [usize; 2], from: &[u16], shape: [usize; 2]) -> Vec<u16> {
    let ([to_start, to_pitch], [width, height]) = (at, shape);
    for row in 0..height {
        let start = to_start + row * to_pitch;
        to[start..start + width].copy_from_slice(&from[row * width..(row + 1) * width]);
    }
    to
}

driver_tests! {
    fn packed_rows_of_the_host_go_where_the_pitch_says_and_come_back(driver) {
        let (pool, stream) = setup(driver)?;
        for [start, pitch, width, height] in [[0, 7, 7, 5], [3, 7, 4, 5], [1, 9, 1, 4], [0, 11, 10, 1], [2, 6, 6, 2]] {
            let mut buffer = pool.zeroed::<u16>(40, &stream)?;
            let sent = counting(u16::try_from(width * height)?);
            buffer.slice_mut(start..)?.rows_mut(pitch, width, height)?.copy_from_host(&sent, &stream)?;
            let expected = copied(vec![0; 40], [start, pitch], &sent, [width, height]);
            assert_eq!(buffer.download(&stream)?, expected, "{width}×{height} at {start} of {pitch}");
            assert_eq!(buffer.slice(start..)?.rows(pitch, width, height)?.download(&stream)?, sent);
        }
    }

    fn rows_are_copied_from_one_pitch_to_another(driver) {
        let (pool, stream) = setup(driver)?;
        let from = pool.upload(&counting(60), &stream)?;
        let mut to = pool.zeroed::<u16>(50, &stream)?;
        let rows = from.rows(10, 4, 6)?;
        let target = to.slice_mut(1..)?.rows_mut(8, 4, 6)?;
        budget(driver, &[(Function::cuMemcpy2DAsync_v2, 1)], || rows.copy_to(target, &stream))?;
        let packed: Vec<u16> = (0..6).flat_map(|row| row * 10..row * 10 + 4).collect();
        assert_eq!(to.download(&stream)?, copied(vec![0; 50], [1, 8], &packed, [4, 6]));
        assert_eq!(to.slice(1..)?.rows(8, 4, 6)?.row(2)?.download(&stream)?, [20, 21, 22, 23]);
    }

    fn a_part_of_rows_is_the_part_of_each(driver) {
        let (pool, stream) = setup(driver)?;
        let mut buffer = pool.upload(&counting(20), &stream)?;
        let rows = buffer.rows(5, 4, 4)?;
        assert_eq!(rows.part(1..3, 1..=2)?.download(&stream)?, [6, 7, 11, 12]);
        assert_eq!(rows.part(3.., ..)?.download(&stream)?, [15, 16, 17, 18]);
        let mut host = [0; 2];
        rows.part(2..3, ..2)?.copy_to_host(&mut host, &stream)?;
        assert_eq!(host, [10, 11]);
        buffer.rows_mut(5, 4, 4)?.part_mut(1.., 3..)?.fill(99, &stream)?;
        assert_eq!(buffer.download(&stream)?, [0, 1, 2, 3, 4, 5, 6, 7, 99, 9, 10, 11, 12, 99, 14, 15, 16, 17, 99, 19]);
        buffer.rows_mut(5, 4, 4)?.row_mut(3)?.fill(7, &stream)?;
        assert_eq!(buffer.slice(14..)?.download(&stream)?, [14, 7, 7, 7, 7, 19]);
    }

    fn a_fill_of_rows_leaves_the_gaps(driver) {
        let (pool, stream) = setup(driver)?;
        let mut bytes = pool.zeroed::<u8>(10, &stream)?;
        let rows = bytes.rows_mut(4, 2, 3)?;
        budget(driver, &[(Function::cuMemsetD2D8Async, 1)], || rows.fill(5, &stream))?;
        assert_eq!(bytes.download(&stream)?, [5, 5, 0, 0, 5, 5, 0, 0, 5, 5]);
        let mut pairs = pool.zeroed::<u16>(5, &stream)?;
        let rows = pairs.rows_mut(3, 2, 2)?;
        budget(driver, &[(Function::cuMemsetD2D16Async, 1)], || rows.fill(0x0102, &stream))?;
        assert_eq!(pairs.download(&stream)?, [0x0102, 0x0102, 0, 0x0102, 0x0102]);
        let mut words = pool.upload(&[1.5_f32; 6], &stream)?;
        let rows = words.rows_mut(3, 1, 2)?;
        budget(driver, &[(Function::cuMemsetD2D32Async, 1)], || rows.fill(-2.5, &stream))?;
        assert_eq!(words.download(&stream)?, [-2.5, 1.5, 1.5, -2.5, 1.5, 1.5]);
        words.rows_mut(2, 1, 3)?.zero(&stream)?;
        assert_eq!(words.download(&stream)?, [0.0, 1.5, 0.0, -2.5, 0.0, 1.5]);
        let mut wide = pool.upload(&[[1_u64; 3]; 4], &stream)?;
        wide.rows_mut(2, 1, 2)?.fill([0; 3], &stream)?;
        assert_eq!(wide.download(&stream)?, [[0; 3], [1; 3], [0; 3], [1; 3]]);
    }

    /// The machine that this runs on checks for races to the byte.
    fn columns_that_take_turns_in_memory_are_written_by_two_streams_at_once(driver) {
        let (pool, stream) = setup(driver)?;
        let other = stream.context().stream()?;
        let mut buffer = pool.zeroed::<u8>(64 * 100, &stream)?;
        other.wait(&stream.record()?)?;
        let (left, right) = buffer.rows_mut(64, 60, 100)?.split_at_column_mut(20)?;
        left.fill(1, &stream)?;
        right.fill(2, &other)?;
        stream.wait(&other.record()?)?;
        let bytes = buffer.download(&stream)?;
        let expected = |at: usize| match at % 64 { 0..20 => 1, 20..60 => 2, _ => 0 };
        assert!(bytes.iter().enumerate().all(|(at, byte)| *byte == expected(at)));
    }

    fn columns_are_copied_into_other_columns_of_the_same_rows(driver) {
        let (pool, stream) = setup(driver)?;
        let mut buffer = pool.upload(&[1_u16, 2, 0, 0, 3, 4, 0, 0], &stream)?;
        let (left, right) = buffer.rows_mut(4, 4, 2)?.split_at_column_mut(2)?;
        right.copy_from(left, &stream)?;
        assert_eq!(buffer.download(&stream)?, [1, 2, 1, 2, 3, 4, 3, 4]);
        let (upper, mut lower) = buffer.rows_mut(4, 4, 2)?.split_at_row_mut(1)?;
        lower.reborrow().part_mut(.., ..)?.copy_from(upper, &stream)?;
        lower.part_mut(.., 3..)?.fill(9, &stream)?;
        assert_eq!(buffer.download(&stream)?, [1, 2, 1, 2, 1, 2, 1, 9]);
    }

    fn invalid_rows_are_refused_before_the_driver_is_called(driver) {
        let (pool, stream) = setup(driver)?;
        let (mut buffer, mut other) = (pool.zeroed::<u64>(20, &stream)?, pool.zeroed::<u64>(20, &stream)?);
        budget(driver, &[], || -> TestResult {
            assert_eq!(buffer.rows(4, 5, 1).map(drop), Err(Error::Memory(MemoryError::RowTooWide { width: 5, pitch: 4 })));
            let outside = |pitch, width, height| Err(Error::Memory(MemoryError::RowsOutOfRange { pitch, width, height, len: 20 }));
            assert_eq!(buffer.rows(5, 5, 5).map(drop), outside(5, 5, 5));
            assert_eq!(buffer.rows(19, 2, 2).map(drop), outside(19, 2, 2));
            assert_eq!(buffer.rows_mut(usize::MAX, 1, 3).map(drop), outside(usize::MAX, 1, 3));
            assert_eq!(buffer.rows(5, 1, usize::MAX).map(drop), outside(5, 1, usize::MAX));
            let rows = buffer.rows(5, 4, 3)?;
            assert_eq!(rows.part(4.., ..).map(drop), Err(Error::Memory(MemoryError::OutOfRange { start: 4, end: 3, len: 3 })));
            assert_eq!(rows.part(.., ..5).map(drop), Err(Error::Memory(MemoryError::OutOfRange { start: 0, end: 5, len: 4 })));
            assert_eq!(rows.row(3).map(drop), Err(Error::Memory(MemoryError::OutOfRange { start: 3, end: 4, len: 3 })));
            assert!(rows.row(usize::MAX).is_err());
            let shapes = Error::Copy(CopyError::ShapeMismatch { source_shape: (4, 3), destination_shape: (3, 4) });
            assert_eq!(rows.copy_to(other.rows_mut(5, 3, 4)?, &stream), Err(shapes));
            let lengths = Error::Copy(CopyError::LengthMismatch { source_len: 12, destination_len: 11 });
            assert_eq!(rows.copy_to_host(&mut [0; 11], &stream), Err(lengths));
            assert!(buffer.rows_mut(5, 4, 3)?.copy_from_host(&[0; 13], &stream).is_err());
            assert_eq!(buffer.rows_mut(5, 4, 3)?.fill(1, &stream), Err(Error::Memory(MemoryError::Fill { size: 8 })));
            let memory = DeviceMemory::new(stream.context());
            assert_eq!(memory.pitched::<u8>(0, 4).map(drop), Err(Error::Memory(MemoryError::EmptyBuffer)));
            assert_eq!(memory.pitched::<[u8; 3]>(4, 4).map(drop), Err(Error::Memory(MemoryError::Pitch { element: 3 })));
            let (len, element) = (usize::MAX, 4);
            assert_eq!(memory.pitched::<u32>(len, 2).map(drop), Err(Error::Memory(MemoryError::TooLarge { len, element })));
            assert_eq!(memory.pitched::<u32>(len / 2, 1).map(drop), Err(Error::Memory(MemoryError::TooLarge { len: len / 2, element })));
            Ok(())
        })?;
        assert_eq!(buffer.rows(20, 20, 1)?.pitch(), 20);
        let exactly = buffer.rows(6, 2, 4)?;
        assert_eq!((exactly.pitch(), exactly.width(), exactly.height(), exactly.is_empty()), (6, 2, 4, false));
    }

    fn a_single_row_may_have_any_pitch(driver) {
        let (pool, stream) = setup(driver)?;
        let mut buffer = pool.zeroed::<u16>(4, &stream)?;
        buffer.rows_mut(usize::MAX, 2, 1)?.fill(3, &stream)?;
        buffer.rows_mut(3, 3, 1)?.part_mut(.., 2..)?.copy_from_host(&[8], &stream)?;
        assert_eq!(buffer.rows(usize::MAX, 4, 1)?.download(&stream)?, [3, 3, 8, 0]);
    }

    fn nothing_is_asked_of_the_driver_for_no_values(driver) {
        let (pool, stream) = setup(driver)?;
        let (mut buffer, mut other) = (pool.zeroed::<u8>(8, &stream)?, pool.zeroed::<u8>(8, &stream)?);
        budget(driver, &[], || -> Result<()> {
            assert!(buffer.rows(4, 0, 2)?.is_empty() && buffer.rows(usize::MAX, usize::MAX, 0)?.is_empty());
            buffer.rows_mut(4, 4, 0)?.fill(1, &stream)?;
            buffer.rows_mut(4, 4, 2)?.part_mut(2.., ..)?.copy_from_host(&[], &stream)?;
            buffer.rows(4, 4, 2)?.part(.., 4..)?.copy_to(other.rows_mut(3, 0, 2)?, &stream)?;
            assert!(buffer.rows(4, 4, 2)?.part(1..1, ..)?.download(&stream)?.is_empty());
            Ok(())
        })?;
    }

    fn rows_of_pitched_memory_begin_where_the_driver_says(driver) {
        let (_pool, stream) = setup(driver)?;
        let memory = DeviceMemory::new(stream.context());
        let (mut image, pitch) = memory.pitched::<u16>(100, 3)?;
        assert!(pitch >= 100 && image.len() == 3 * pitch);
        image.rows_mut(pitch, 100, 3)?.copy_from_host(&counting(300), &stream)?;
        assert_eq!(image.rows(pitch, 100, 3)?.row(2)?.download(&stream)?, &counting(300)[200..]);
        let (wide, pitch) = memory.pitched::<[u64; 128]>(3, 2)?;
        assert_eq!(wide.size_in_bytes(), pitch * 2 * 1024);
        budget(driver, &[(Function::cuMemFree_v2, 1)], || drop(wide));
    }

    fn rows_dropped_while_another_stream_uses_them_are_freed_after_that_use(driver) {
        let (pool, stream) = setup(driver)?;
        let other = stream.context().stream()?;
        let mut results = Vec::new();
        for round in 0..6_u8 {
            let mut source = pool.allocate::<u8>(1 << 18, &stream)?;
            source.fill(round, &stream)?;
            let mut result = pool.zeroed::<u8>(1 << 17, &other)?;
            source.rows(1 << 9, 1 << 8, 1 << 9)?.copy_to(result.rows_mut(1 << 8, 1 << 8, 1 << 9)?, &other)?;
            drop(source);
            results.push(result);
        }
        for (round, result) in results.iter().enumerate() {
            assert!(result.download(&other)?.iter().all(|byte| usize::from(*byte) == round), "round {round}");
        }
    }
}

/// Pools whose memory the other devices cannot touch are no hindrance: the driver goes through the host.
#[test]
fn rows_on_one_device_are_copied_to_another_in_one_call() -> TestResult {
    for preset in ["hgx-a100-4", "pcie-t4"] {
        let packed = in_every_mode(&Topology::preset(preset)?, 3, |_, driver| {
            let (here, there) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
            let (stream, other) = (here.stream()?, there.stream()?);
            let from = DevicePool::new(&here)?.upload(&counting(1000), &stream)?;
            let mut to = DevicePool::new(&there)?.zeroed::<u16>(2000, &other)?;
            stream.wait(&other.record()?)?;
            let (rows, target) = (from.rows(100, 30, 10)?, to.rows_mut(150, 30, 10)?);
            rows.copy_to(target, &stream)?;
            let (rows, target) = (rows.part(.., ..5)?, to.slice_mut(40..)?.rows_mut(150, 5, 10)?);
            budget(driver, &[(Function::cuMemcpy3DPeerAsync, 1)], || rows.copy_to(target, &stream))?;
            other.wait(&stream.record()?)?;
            Ok(to.rows(150, 45, 10)?.download(&other)?)
        })?;
        for (row, values) in (0..).zip(packed.chunks(45)) {
            let start = row * 100;
            let expected: Vec<u16> = (start..start + 30).chain([0; 10]).chain(start..start + 5).collect();
            assert_eq!(values, expected, "row {row} on {preset}");
        }
    }
    Ok(())
}

#[test]
fn streams_of_other_devices_and_memory_of_other_drivers_are_refused() -> TestResult {
    let (_machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
    let contexts = (0..3).map(|ordinal| driver.device(ordinal)?.context()).collect::<Result<Vec<Context>>>()?;
    let mut near = DeviceMemory::new(&contexts[0]).allocate::<u8>(8)?;
    let mut far = DeviceMemory::new(&contexts[1]).allocate::<u8>(8)?;
    let foreign = contexts[2].stream()?;
    let (_other_machine, other) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (pool, stream) = setup(&other)?;
    let elsewhere = pool.zeroed::<u8>(8, &stream)?;
    let own = contexts[0].stream()?;
    budget(&driver, &[], || -> TestResult {
        let refused = Err(Error::Context(ContextError::Mismatch { stream: 2, memory: 0 }));
        assert_eq!(near.rows_mut(4, 2, 2)?.fill(1, &foreign), refused);
        assert_eq!(near.rows_mut(4, 2, 2)?.copy_from_host(&[0; 4], &foreign), refused);
        assert_eq!(near.rows(4, 2, 2)?.download(&foreign).map(drop), refused);
        assert_eq!(near.rows(4, 2, 2)?.copy_to(far.rows_mut(4, 2, 2)?, &foreign), refused);
        let refused = elsewhere.rows(4, 2, 2)?.copy_to(near.rows_mut(4, 2, 2)?, &own);
        assert!(matches!(refused, Err(Error::Device(DeviceError::DriverMismatch { .. }))), "{refused:?}");
        Ok(())
    })
}

fn swept(preset: &str, more: &[&str], scenario: fn(&Driver) -> Result<()>) -> TestResult {
    for mode in [Mode::Deterministic(Order::Eager), Mode::Deterministic(Order::Lazy), Mode::Threads] {
        let mut sweep = Sweep::new(Topology::preset(preset)?).mode(mode).after_effect(true);
        for name in ["cuCtxSetCurrent"].iter().chain(more) {
            sweep = sweep.tolerates(Calls::named(name)?);
        }
        sweep.run(|_: &Machine, driver: &Driver| scenario(driver));
    }
    Ok(())
}

#[test]
fn rows_leave_nothing_behind_whichever_call_fails() -> TestResult {
    swept("h200", &[], |driver| {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let (mut image, pitch) = DeviceMemory::new(&context).pitched::<u32>(5, 3)?;
        image.rows_mut(pitch, 5, 3)?.fill(7, &stream)?;
        image.rows_mut(pitch, 4, 3)?.copy_from_host(&[1; 12], &stream)?;
        let mut copy = DevicePool::new(&context)?.zeroed::<u32>(15, &stream)?;
        let target: RowsMut<'_, u32> = copy.rows_mut(5, 5, 3)?;
        image.rows(pitch, 5, 3)?.copy_to(target, &stream)?;
        copy.rows(5, 2, 3)?.download(&stream)?;
        Ok(())
    })
}

#[test]
fn copies_of_rows_between_devices_leave_nothing_behind() -> TestResult {
    // Calls that buffers and pools make in their `drop` to be freed after their last use.
    let parting = [
        "cuCtxGetCurrent",
        "cuEventCreate",
        "cuEventRecord",
        "cuStreamWaitEvent",
        "cuStreamSynchronize",
        "cuMemPoolGetAccess",
    ];
    swept("pcie-pair", &parting, |driver| {
        let (here, there) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
        let (stream, other) = (here.stream()?, there.stream()?);
        let from = DevicePool::new(&here)?.upload(b"acrossways", &stream)?;
        let mut to = DevicePool::new(&there)?.allocate(6, &other)?;
        from.rows(5, 3, 2)?.copy_to(to.rows_mut(3, 3, 2)?, &stream)?;
        other.wait(&stream.record()?)?;
        to.download(&other)?;
        Ok(())
    })
}

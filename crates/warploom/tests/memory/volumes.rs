//! Volumes: copies in three dimensions.

use warploom::{
    Context, ContextError, CopyError, DeviceError, DeviceMemory, DevicePool, Driver, Error, Function, MemoryError,
    PinnedMemory, Result, Stream, SynchronousResource, VolumeShape,
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
fn counting(len: usize) -> Vec<u16> {
    (0..=u16::MAX).take(len).collect()
}

/// The positions of a volume's values in the memory that it begins at.
fn positions(shape: VolumeShape) -> Vec<usize> {
    let rows = (0..shape.depth()).flat_map(|plane| (0..shape.height()).map(move |row| (plane, row)));
    rows.flat_map(|(plane, row)| {
        let start = (plane * shape.plane_height() + row) * shape.pitch();
        start..start + shape.width()
    })
    .collect()
}

/// The effect of a copy of packed values, computed on the host.
fn copied(mut to: Vec<u16>, start: usize, shape: VolumeShape, packed: &[u16]) -> Vec<u16> {
    for (position, value) in positions(shape).into_iter().zip(packed) {
        to[start + position] = *value;
    }
    to
}

/// Shapes with gaps behind rows, behind planes, behind both and nowhere, with their start, in 200 values.
fn shapes() -> [(usize, VolumeShape); 7] {
    let shape = VolumeShape::packed;
    [
        (0, shape(4, 5, 3)),
        (3, shape(4, 5, 3).with_pitch(7)),
        (2, shape(4, 2, 3).with_plane_height(9)),
        (1, shape(3, 2, 4).with_pitch(5).with_plane_height(6)),
        (0, shape(9, 1, 4).with_pitch(12).with_plane_height(2)),
        (5, shape(1, 6, 1).with_pitch(11)),
        (7, shape(8, 1, 1)),
    ]
}

driver_tests! {
    fn packed_planes_of_the_host_go_where_the_shape_says_and_come_back(driver) {
        let (pool, stream) = setup(driver)?;
        for (start, shape) in shapes() {
            let mut buffer = pool.zeroed::<u16>(200, &stream)?;
            let sent = counting(positions(shape).len());
            buffer.slice_mut(start..)?.volume_mut(shape)?.copy_from_host(&sent, &stream)?;
            assert_eq!(buffer.download(&stream)?, copied(vec![0; 200], start, shape, &sent), "{shape:?} at {start}");
            assert_eq!(buffer.slice(start..)?.volume(shape)?.download(&stream)?, sent);
            let mut host = vec![0; sent.len()];
            buffer.slice(start..)?.volume(shape)?.copy_to_host(&mut host, &stream)?;
            assert_eq!(host, sent);
        }
    }

    /// Pieces of whole planes, of rows, and of parts of rows, which go through staging memory.
    fn large_volumes_of_the_host_go_piece_by_piece(driver) {
        let (pool, stream) = setup(driver)?;
        for (width, height, depth) in [(200, 30, 40), (5000, 40, 2), (80_000, 1, 3), (100, 5, 400)] {
            let shape = VolumeShape::packed(width, height, depth).with_pitch(width + 3).with_plane_height(height + 1);
            let len = shape.pitch() * shape.plane_height() * depth;
            let mut buffer = pool.zeroed::<u16>(len, &stream)?;
            let sent: Vec<u16> = (0..width * height * depth).map(|at| (at % 65_521) as u16).collect();
            buffer.volume_mut(shape)?.copy_from_host(&sent, &stream)?;
            assert!(buffer.download(&stream)? == copied(vec![0; len], 0, shape, &sent), "{shape:?}");
            assert!(buffer.volume(shape)?.download(&stream)? == sent, "{shape:?}");
            let mut host = vec![0; sent.len()];
            buffer.volume(shape)?.copy_to_host(&mut host, &stream)?;
            assert!(host == sent, "{shape:?}");
        }
    }

    fn a_volume_is_copied_from_one_shape_to_another_in_one_call(driver) {
        let (pool, stream) = setup(driver)?;
        let from = pool.upload(&counting(200), &stream)?;
        for (start, shape) in shapes() {
            let (width, height, depth) = (shape.width(), shape.height(), shape.depth());
            let wider = VolumeShape::packed(width, height, depth).with_pitch(width + 2).with_plane_height(height + 1);
            let mut to = pool.zeroed::<u16>(300, &stream)?;
            let (volume, target) = (from.slice(start..)?.volume(shape)?, to.volume_mut(wider)?);
            budget(driver, &[(Function::cuMemcpy3DAsync_v2, 1)], || volume.copy_to(target, &stream))?;
            let packed: Vec<u16> = positions(shape).into_iter().map(|at| (start + at) as u16).collect();
            assert_eq!(to.download(&stream)?, copied(vec![0; 300], 0, wider, &packed), "{shape:?} at {start}");
        }
    }

    fn page_locked_memory_is_either_end_of_a_copy(driver) {
        let (pool, stream) = setup(driver)?;
        let pinned = PinnedMemory::new(stream.context());
        let shape = VolumeShape::packed(4, 5, 3).with_pitch(7);
        let mut host = pinned.upload(&counting(105), &stream)?;
        let mut device = pool.zeroed::<u16>(60, &stream)?;
        device.volume_mut(VolumeShape::packed(4, 5, 3))?.copy_from(host.volume(shape)?, &stream)?;
        host.zero(&stream)?;
        device.volume(VolumeShape::packed(4, 5, 3))?.copy_to(host.volume_mut(shape)?, &stream)?;
        let packed: Vec<u16> = positions(shape).into_iter().map(|at| at as u16).collect();
        assert_eq!(host.download(&stream)?, copied(vec![0; 105], 0, shape, &packed));
    }

    fn a_part_of_a_volume_is_the_part_of_each_plane_and_row(driver) {
        let (pool, stream) = setup(driver)?;
        let mut buffer = pool.upload(&counting(60), &stream)?; // three planes of four rows of five, the last a gap
        let shape = VolumeShape::packed(4, 4, 3).with_pitch(5);
        let volume = buffer.volume(shape)?;
        assert_eq!(volume.part(1..3, 2..=3, ..1)?.download(&stream)?, [30, 35, 50, 55]);
        assert_eq!(volume.part(2.., 3.., ..)?.download(&stream)?, [55, 56, 57, 58]);
        assert_eq!(volume.plane(1)?.part(..2, 3..)?.download(&stream)?, [23, 28]);
        let (mut first, second) = buffer.volume_mut(shape)?.split_at_plane_mut(1)?;
        first.reborrow().copy_from(second.part_mut(1.., .., ..)?, &stream)?;
        first.plane_mut(0)?.row_mut(3)?.fill(7, &stream)?;
        let expected = [40, 41, 42, 43, 4, 45, 46, 47, 48, 9, 50, 51, 52, 53, 14, 7, 7, 7, 7, 19, 20];
        assert_eq!(buffer.slice(..21)?.download(&stream)?, expected);
    }

    fn invalid_volumes_are_refused_before_the_driver_is_called(driver) {
        let (pool, stream) = setup(driver)?;
        let (mut buffer, mut other) = (pool.zeroed::<u64>(60, &stream)?, pool.zeroed::<u64>(60, &stream)?);
        budget(driver, &[], || -> TestResult {
            let shape = VolumeShape::packed(4, 3, 5);
            let refused = buffer.volume(shape.with_pitch(3)).map(drop);
            assert_eq!(refused, Err(Error::Memory(MemoryError::RowTooWide { width: 4, pitch: 3 })));
            let refused = buffer.volume(shape.with_plane_height(2)).map(drop);
            assert_eq!(refused, Err(Error::Memory(MemoryError::PlaneTooHigh { height: 3, plane_height: 2 })));
            let most = usize::MAX;
            for shape in [
                VolumeShape::packed(4, 3, 6),
                VolumeShape::packed(4, 3, 5).with_pitch(5),
                VolumeShape::packed(4, 3, 5).with_plane_height(4),
                VolumeShape::packed(1, 1, most),
                VolumeShape::packed(1, 1, 2).with_plane_height(most),
                VolumeShape::packed(1, 2, 2).with_pitch(most),
            ] {
                let outside = Err(Error::Memory(MemoryError::VolumeOutOfRange { shape, len: 60 }));
                assert_eq!(buffer.volume(shape).map(drop), outside);
                assert_eq!(buffer.volume_mut(shape).map(drop), outside);
            }
            let volume = buffer.volume(shape)?;
            let outside = |start, end, len| Err(Error::Memory(MemoryError::OutOfRange { start, end, len }));
            assert_eq!(volume.part(..6, .., ..).map(drop), outside(0, 6, 5));
            assert_eq!(volume.part(.., ..4, ..).map(drop), outside(0, 4, 3));
            assert_eq!(volume.part(.., .., 5..).map(drop), outside(5, 4, 4));
            assert_eq!(volume.plane(5).map(drop), outside(5, 6, 5));
            assert!(volume.plane(most).is_err());
            let source_extent = (4, 3, 5);
            let extents = CopyError::ExtentMismatch { source_extent, destination_extent: (3, 4, 5) };
            let refused = volume.copy_to(other.volume_mut(VolumeShape::packed(3, 4, 5))?, &stream);
            assert_eq!(refused, Err(Error::Copy(extents)));
            let lengths = CopyError::LengthMismatch { source_len: 60, destination_len: 59 };
            assert_eq!(volume.copy_to_host(&mut [0; 59], &stream), Err(Error::Copy(lengths)));
            assert!(buffer.volume_mut(shape)?.copy_from_host(&[0; 61], &stream).is_err());
            Ok(())
        })?;
        let exactly = VolumeShape::packed(4, 2, 3).with_pitch(5).with_plane_height(5);
        assert_eq!(buffer.slice(..59)?.volume(exactly)?.shape(), exactly);
        assert!(buffer.slice(..58)?.volume(exactly).is_err());
    }

    fn nothing_is_asked_of_the_driver_for_no_values(driver) {
        let (pool, stream) = setup(driver)?;
        let (mut buffer, mut other) = (pool.zeroed::<u8>(8, &stream)?, pool.zeroed::<u8>(8, &stream)?);
        let most = usize::MAX;
        budget(driver, &[], || -> Result<()> {
            assert!(buffer.volume(VolumeShape::packed(most, most, 0))?.is_empty());
            let empty = VolumeShape::packed(0, 2, 3);
            buffer.volume(empty)?.copy_to(other.volume_mut(empty.with_pitch(4))?, &stream)?;
            assert!(buffer.volume(empty)?.plane(2)?.is_empty());
            buffer.volume_mut(VolumeShape::packed(2, 2, 2))?.part_mut(2.., .., ..)?.copy_from_host(&[], &stream)?;
            assert!(buffer.volume(VolumeShape::packed(2, 2, 2))?.part(.., 2.., ..)?.download(&stream)?.is_empty());
            Ok(())
        })?;
    }

    fn a_volume_dropped_while_another_stream_uses_it_is_freed_after_that_use(driver) {
        let (pool, stream) = setup(driver)?;
        let other = stream.context().stream()?;
        let mut results = Vec::new();
        for round in 0..6_u8 {
            let mut source = pool.allocate::<u8>(1 << 18, &stream)?;
            source.fill(round, &stream)?;
            let mut result = pool.zeroed::<u8>(1 << 16, &other)?;
            let shape = VolumeShape::packed(1 << 5, 1 << 5, 1 << 6);
            let wide = shape.with_pitch(1 << 6).with_plane_height(1 << 6);
            source.volume(wide)?.copy_to(result.volume_mut(shape)?, &other)?;
            drop(source);
            results.push(result);
        }
        for (round, result) in results.iter().enumerate() {
            assert!(result.download(&other)?.iter().all(|byte| usize::from(*byte) == round), "round {round}");
        }
    }
}

#[test]
fn a_volume_on_one_device_is_copied_to_another_in_one_call() -> TestResult {
    for preset in ["hgx-a100-4", "pcie-t4"] {
        let packed = in_every_mode(&Topology::preset(preset)?, 3, |_, driver| {
            let (here, there) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
            let (stream, other) = (here.stream()?, there.stream()?);
            let from = DevicePool::new(&here)?.upload(&counting(1000), &stream)?;
            let mut to = DevicePool::new(&there)?.zeroed::<u16>(2000, &other)?;
            stream.wait(&other.record()?)?;
            let shape = VolumeShape::packed(6, 4, 5);
            let (volume, wide) = (from.volume(shape.with_pitch(10))?, shape.with_pitch(9).with_plane_height(8));
            volume.copy_to(to.volume_mut(wide)?, &stream)?; // the first use by the other stream, which waits
            let target = to.volume_mut(wide)?;
            budget(driver, &[(Function::cuMemcpy3DPeerAsync, 1)], || volume.copy_to(target, &stream))?;
            other.wait(&stream.record()?)?;
            Ok(to.volume(wide)?.download(&other)?)
        })?;
        let expected: Vec<u16> =
            positions(VolumeShape::packed(6, 4, 5).with_pitch(10)).into_iter().map(|at| at as u16).collect();
        assert_eq!(packed, expected, "on {preset}");
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
    let (own, shape) = (contexts[0].stream()?, VolumeShape::packed(2, 2, 2));
    budget(&driver, &[], || -> TestResult {
        let refused = Err(Error::Context(ContextError::Mismatch { stream: 2, memory: 0 }));
        assert_eq!(near.volume_mut(shape)?.copy_from_host(&[0; 8], &foreign), refused);
        assert_eq!(near.volume(shape)?.download(&foreign).map(drop), refused);
        assert_eq!(near.volume(shape)?.copy_to(far.volume_mut(shape)?, &foreign), refused);
        let refused = elsewhere.volume(shape)?.copy_to(near.volume_mut(shape)?, &own);
        assert!(matches!(refused, Err(Error::Device(DeviceError::DriverMismatch { .. }))), "{refused:?}");
        Ok(())
    })
}

#[test]
fn volumes_leave_nothing_behind_whichever_call_fails() -> TestResult {
    for mode in [Mode::Deterministic(Order::Eager), Mode::Deterministic(Order::Lazy), Mode::Threads] {
        let sweep = Sweep::new(Topology::preset("h200")?).mode(mode).after_effect(true);
        sweep.tolerates(Calls::named("cuCtxSetCurrent")?).run(|_: &Machine, driver: &Driver| -> Result<()> {
            let context = driver.device(0)?.context()?;
            let stream = context.stream()?;
            let (mut field, pitch) = DeviceMemory::new(&context).pitched::<u32>(5, 6)?;
            let shape = VolumeShape::packed(5, 3, 2);
            field.volume_mut(shape.with_pitch(pitch))?.copy_from_host(&[1; 30], &stream)?;
            let mut copy = DevicePool::new(&context)?.zeroed::<u32>(30, &stream)?;
            field.volume(shape.with_pitch(pitch))?.copy_to(copy.volume_mut(shape)?, &stream)?;
            copy.volume(shape)?.download(&stream)?;
            Ok(())
        });
    }
    Ok(())
}

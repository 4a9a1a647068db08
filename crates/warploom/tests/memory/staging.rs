//! Large copies from and to the host: page-locked staging memory, bounded and reused.

use warploom::sys::types::CUresult;
use warploom::{Buffer, Context, DeviceMemory, DevicePool, Driver, Function, ManagedMemory, PinnedMemory};
use warploom::{Result, Stream, VolumeShape};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_sim::{Mode, Order, Resource};
use warploom_testkit::sweep::Sweep;
use warploom_testkit::{TestResult, budget, driver_tests, open};

use crate::gate::Gate;

const MIB: usize = 1 << 20;

/// The most page-locked memory that one copy takes.
const LIMIT: usize = 32 * MIB;

/// The staging memory of one copy.
const BLOCK: usize = 8 * MIB;

fn setup(driver: &Driver) -> TestResult<(Context, Stream, DevicePool)> {
    let context = driver.device(0)?.context()?;
    Ok((context.clone(), context.stream()?, DevicePool::new(&context)?))
}

/// Values that differ from piece to piece.
fn values(len: usize) -> Vec<u32> {
    (0..len as u32).map(|at| at.wrapping_mul(2_654_435_761)).collect()
}

/// The calls of one function on this thread.
fn calls(driver: &Driver, function: Function, work: impl FnOnce() -> Result<()>) -> Result<u64> {
    let counter = driver.count_calls();
    work()?;
    let made = counter.by_function();
    Ok(made.into_iter().find(|(made, _)| *made == function).map_or(0, |(_, count)| count))
}

driver_tests! {
    fn copies_of_any_size_arrive_whole(driver) {
        let (_, stream, pool) = setup(driver)?;
        for bytes in [16 << 10, 64 << 10, (64 << 10) + 4, 128 << 10, (128 << 10) + 4, MIB, 4 * MIB, 4 * MIB + 4, 9 * MIB + 12] {
            let host = values(bytes / 4);
            let buffer = pool.upload(&host, &stream)?;
            assert!(buffer.download(&stream)? == host, "{bytes} bytes");
            let mut back = vec![0; host.len()];
            buffer.copy_to_host(&mut back, &stream)?;
            assert!(back == host, "{bytes} bytes");
        }
    }

    fn parts_of_every_kind_of_memory_are_copied(driver) {
        let (context, stream, pool) = setup(driver)?;
        let (len, part) = (MIB, 1000..MIB - 1000);
        let plain = DeviceMemory::new(&context).zeroed::<u32>(len, &stream)?;
        let managed = ManagedMemory::new(&context)?.zeroed::<u32>(len, &stream)?.into_buffer();
        let pinned = PinnedMemory::new(&context).buffer::<u32>(len)?.into_buffer();
        for mut buffer in [plain, managed, pinned, pool.zeroed(len, &stream)?] {
            let host = values(part.len());
            buffer.slice_mut(part.clone())?.copy_from_host(&host, &stream)?;
            assert!(buffer.slice(part.clone())?.download(&stream)? == host);
            let mut around = vec![1; len];
            buffer.copy_to_host(&mut around, &stream)?;
            assert!(around[part.clone()] == host);
            assert!(around[..part.start].iter().chain(&around[part.end..]).all(|value| *value == 0));
        }
    }

    /// Rows smaller than a piece, and rows of which each is several.
    fn rows_are_copied_piece_by_piece(driver) {
        let (_, stream, pool) = setup(driver)?;
        for (pitch, width, height) in [(1100, 1000, 300), (700_000, 600_001, 3), (100_000, 99_999, 1)] {
            let mut buffer = pool.zeroed::<u32>(pitch * height, &stream)?;
            let host = values(width * height);
            buffer.rows_mut(pitch, width, height)?.copy_from_host(&host, &stream)?;
            assert!(buffer.rows(pitch, width, height)?.download(&stream)? == host);
            let mut back = vec![0; host.len()];
            buffer.rows(pitch, width, height)?.copy_to_host(&mut back, &stream)?;
            assert!(back == host);
            let all = buffer.download(&stream)?;
            assert!(all.chunks(pitch).all(|row| row[width..].iter().all(|gap| *gap == 0)), "gaps are left alone");
        }
    }

    /// Planes smaller than a piece, larger ones, and rows of which each is several pieces.
    fn volumes_are_copied_piece_by_piece(driver) {
        let (_, stream, pool) = setup(driver)?;
        for (width, height, depth) in [(50, 30, 200), (300, 900, 3), (600_001, 2, 2)] {
            let shape = VolumeShape::packed(width, height, depth).with_pitch(width + 3).with_plane_height(height + 1);
            let mut buffer = pool.zeroed::<u32>((width + 3) * (height + 1) * depth, &stream)?;
            let host = values(width * height * depth);
            buffer.volume_mut(shape)?.copy_from_host(&host, &stream)?;
            assert!(buffer.volume(shape)?.download(&stream)? == host);
            let mut back = vec![0; host.len()];
            buffer.volume(shape)?.copy_to_host(&mut back, &stream)?;
            assert!(back == host);
            let all = buffer.download(&stream)?;
            assert!(all.chunks(width + 3).all(|row| row[width..].iter().all(|gap| *gap == 0)), "gaps are left alone");
            let gap_rows = all.chunks((width + 3) * (height + 1)).flat_map(|plane| &plane[(width + 3) * height..]);
            assert!(gap_rows.into_iter().all(|gap| *gap == 0), "and so are rows between planes");
        }
    }

    /// Uploads and downloads come after the work before them.
    threads fn staged_copies_are_in_the_order_of_their_stream(driver) {
        let (_, stream, pool) = setup(driver)?;
        let mut buffer = pool.zeroed::<u32>(4 * MIB, &stream)?;
        let gate = Gate::close(&stream)?;
        buffer.fill(7, &stream)?;
        let host = values(2 * MIB);
        std::thread::scope(|scope| {
            let copy = scope.spawn(|| buffer.slice_mut(..2 * MIB)?.copy_from_host(&host, &stream));
            gate.open();
            copy.join().expect("does not panic")
        })?;
        let all = buffer.download(&stream)?;
        assert!(all[..2 * MIB] == host && all[2 * MIB..].iter().all(|value| *value == 7));
    }

    /// Two copies at a time use different chunks.
    fn copies_of_many_threads_do_not_mix(driver) {
        let (context, _, pool) = setup(driver)?;
        std::thread::scope(|scope| {
            let copies: Vec<_> = (0..6_u32)
                .map(|thread| {
                    let (context, pool) = (&context, &pool);
                    scope.spawn(move || -> Result<bool> {
                        let (stream, mut is_right) = (context.stream()?, true);
                        for round in 0..3 {
                            let host = vec![thread * 100 + round; MIB + 7];
                            is_right &= pool.upload(&host, &stream)?.download(&stream)? == host;
                        }
                        Ok(is_right)
                    })
                })
                .collect();
            copies.into_iter().try_for_each(|copy| {
                assert!(copy.join().expect("does not panic")?);
                Ok::<_, warploom::Error>(())
            })
        })?;
    }

    /// Copies take at most 32 MiB of page-locked memory together, and give none of it back.
    fn staging_memory_is_bounded_and_used_again(driver) {
        let (_, stream, pool) = setup(driver)?;
        let mut host = values(3 * MIB);
        let mut buffer = pool.allocate::<u32>(host.len(), &stream)?;
        let mut copies = || {
            for _ in 0..2 {
                // The second, perhaps while the device still reads the memory of the first.
                buffer.copy_from_host(&host, &stream)?;
                buffer.copy_from_host(&host, &stream)?;
                buffer.copy_to_host(&mut host, &stream)?;
            }
            Ok(())
        };
        let blocks = calls(driver, Function::cuMemHostAlloc, &mut copies)?;
        assert!(blocks > 0 && blocks as usize * BLOCK <= LIMIT, "{blocks} blocks");
        assert_eq!(calls(driver, Function::cuMemFreeHost, copies)?, 0);
    }

    /// An upload to device memory has read its values when it returns, and has not waited for its stream.
    threads fn an_upload_returns_when_its_values_are_read(driver) {
        let (_, stream, pool) = setup(driver)?;
        let mut buffers = [pool.zeroed::<u32>(MIB, &stream)?, pool.zeroed(MIB, &stream)?, pool.zeroed(MIB, &stream)?];
        let mut host = values(MIB);
        buffers[0].copy_from_host(&host, &stream)?;
        stream.synchronize()?;
        let gate = Gate::close(&stream)?;
        let [first, second, third] = &mut buffers;
        for (buffer, value) in [(first, 1), (second, 2)] {
            host.fill(value);
            buffer.copy_from_host(&host, &stream)?;
        }
        host.fill(3);
        // No staging memory is left: the third waits for the first.
        std::thread::scope(|scope| {
            let copy = scope.spawn(|| third.copy_from_host(&host, &stream));
            gate.open();
            copy.join().expect("does not panic")
        })?;
        for (buffer, value) in buffers.iter().zip(1..) {
            assert!(buffer.download(&stream)?.iter().all(|read| *read == value), "values of upload {value}");
        }
    }

    /// An upload is a copy for each piece and a record. A download is a copy for each piece, a record and a
    /// wait for each but the last, and a wait for the stream.
    fn staged_copies_make_few_driver_calls(driver) {
        let (_, stream, pool) = setup(driver)?;
        let mut host = values(MIB / 4);
        let mut buffer = pool.upload(&host, &stream)?;
        buffer.copy_to_host(&mut host, &stream)?;
        let download = [
            (Function::cuMemcpyDtoHAsync_v2, 3),
            (Function::cuEventRecord, 2),
            (Function::cuEventSynchronize, 2),
            (Function::cuStreamSynchronize, 1),
        ];
        budget(driver, &download, || buffer.copy_to_host(&mut host, &stream))?;
        budget(driver, &[(Function::cuMemcpyHtoDAsync_v2, 3), (Function::cuEventRecord, 1)], || {
            buffer.copy_from_host(&host, &stream)
        })?;
    }

    /// The host copies a piece while the device copies another: a piece is waited for only when its chunk is
    /// needed again.
    fn pieces_overlap(driver) {
        let (_, stream, pool) = setup(driver)?;
        let host = values(4 * MIB);
        let mut buffer = pool.upload(&host, &stream)?;
        let waits = calls(driver, Function::cuEventSynchronize, || buffer.copy_from_host(&host, &stream))?;
        let copies = calls(driver, Function::cuMemcpyHtoDAsync_v2, || buffer.copy_from_host(&host, &stream))?;
        assert_eq!((copies, waits), (10, 6), "ten pieces in four chunks");
    }
}

/// Chunks go when the context does.
#[test]
fn staging_memory_goes_with_its_context() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(Order::Lazy))?;
    let before = machine.census().live(Resource::HostMemory);
    let (context, stream, pool) = setup(&driver)?;
    drop(pool.upload(&values(4 * MIB), &stream)?);
    assert!(machine.census().live(Resource::HostMemory) > before);
    drop((pool, stream, context));
    assert_eq!(machine.census().live(Resource::HostMemory), before);
    assert_eq!(machine.census().abandoned(Resource::HostMemory), 0);
    Ok(())
}

/// A chunk that the device may still use is not used again: a wait that fails puts it aside.
#[test]
fn a_chunk_is_not_used_again_after_a_wait_that_failed() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(Order::Lazy))?;
    let (context, stream, _pool) = setup(&driver)?;
    let host = values(MIB);
    // Uploads to managed memory are waited for.
    let mut buffer: Buffer<u32> = ManagedMemory::new(&context)?.upload(&host, &stream)?.into_buffer();
    let waits = Rule::on(Calls::named("cuStreamSynchronize")?).fail(CUresult::CUDA_ERROR_UNKNOWN);
    let scope = machine.inject(Plan::new().rule(waits))?;
    let failed = buffer.copy_from_host(&vec![0; host.len()], &stream).expect_err("no wait succeeds");
    assert_eq!(failed.code(), Some(CUresult::CUDA_ERROR_UNKNOWN));
    drop(scope);
    // What was enqueued has not run yet; its chunks are not written by the next copy.
    let taken = calls(&driver, Function::cuMemHostAlloc, || buffer.copy_from_host(&host, &stream))?;
    assert_eq!(taken, 1, "chunks of its own");
    assert!(buffer.download(&stream)? == host);
    Ok(())
}

#[test]
fn staged_copies_leave_nothing_behind() -> TestResult {
    for mode in [Mode::Deterministic(Order::Eager), Mode::Deterministic(Order::Lazy), Mode::Threads] {
        let sweep = Sweep::new(Topology::preset("h200")?).mode(mode).after_effect(true);
        // An event that is not reached answers that, after its effect, too.
        let sweep = sweep.tolerates(Calls::named("cuEventQuery")?);
        sweep.tolerates(Calls::named("cuCtxSetCurrent")?).run(|_, driver: &Driver| -> Result<()> {
            let context = driver.device(0)?.context()?;
            let stream = context.stream()?;
            let mut buffer = DeviceMemory::new(&context).allocate::<u32>(160 << 10)?;
            let mut host = vec![7; buffer.len()];
            for _ in 0..3 {
                buffer.copy_from_host(&host, &stream)?;
                if matches!(mode, Mode::Threads) {
                    stream.synchronize()?; // the calls of the next copy do not depend on the time
                }
            }
            buffer.copy_to_host(&mut host, &stream)?;
            buffer.rows_mut(1024, 1000, 160)?.copy_from_host(&host[..160_000], &stream)?;
            drop(buffer.rows(1024, 1000, 160)?.download(&stream)?);
            buffer.close()?;
            stream.close()?;
            context.close()
        });
    }
    Ok(())
}

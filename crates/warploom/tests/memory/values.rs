//! Values in memory: wide fills, chunks, owned casts and empty memory.

use warploom::{
    Buffer, CastError, Context, DeviceCopy, DeviceMemory, DevicePool, Driver, Error, Function, ManagedMemory,
    MemoryError, PinnedMemory, Result, Stream, VirtualMemory,
};
use warploom_sim::fault::Calls;
use warploom_sim::topology::Topology;
use warploom_sim::{Mode, Order};
use warploom_testkit::sweep::Sweep;
use warploom_testkit::{TestResult, budget, driver_tests};

fn setup(driver: &Driver) -> TestResult<(Context, Stream, DevicePool)> {
    let context = driver.device(0)?.context()?;
    Ok((context.clone(), context.stream()?, DevicePool::new(&context)?))
}

#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
struct Padded {
    byte: u8,
    word: u32,
}

driver_tests! {
    fn values_of_8_12_and_16_bytes_are_filled_with(driver) {
        let (_, stream, pool) = setup(driver)?;
        for len in [1, 2, 3, 1000, 4096, 4097, 20_001] {
            let mut wide = pool.zeroed::<u64>(len, &stream)?;
            wide.fill(0x1122_3344_5566_7788, &stream)?;
            assert_eq!(wide.download(&stream)?, vec![0x1122_3344_5566_7788; len]);
            let mut triples = pool.zeroed::<[f32; 3]>(len, &stream)?;
            triples.fill([1.0, 2.0, 3.0], &stream)?;
            assert_eq!(triples.download(&stream)?, vec![[1.0, 2.0, 3.0]; len]);
            let mut widest = pool.zeroed::<u128>(len, &stream)?;
            widest.fill(u128::MAX / 3 + 5, &stream)?;
            assert_eq!(widest.download(&stream)?, vec![u128::MAX / 3 + 5; len]);
        }
    }

    /// A part is filled, and its neighbours are left alone, in every kind of memory.
    fn a_wide_fill_of_a_part_leaves_the_rest_alone(driver) {
        let (context, stream, pool) = setup(driver)?;
        let plain = DeviceMemory::new(&context).zeroed::<f64>(10, &stream)?;
        let managed = ManagedMemory::new(&context)?.zeroed::<f64>(10, &stream)?.into_buffer();
        let pinned = PinnedMemory::new(&context).buffer::<f64>(10)?.into_buffer();
        for mut buffer in [plain, managed, pinned, pool.zeroed(10, &stream)?] {
            buffer.slice_mut(3..7)?.fill(0.1, &stream)?;
            assert_eq!(buffer.download(&stream)?, [0.0, 0.0, 0.0, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0]);
        }
    }

    fn a_wide_fill_is_a_call_for_each_word_or_one_in_all(driver) {
        let (_, stream, pool) = setup(driver)?;
        let (mut wide, mut widest) = (pool.zeroed::<u64>(9, &stream)?, pool.zeroed::<u128>(9, &stream)?);
        budget(driver, &[(Function::cuMemsetD2D32Async, 2)], || wide.fill(1, &stream))?;
        budget(driver, &[(Function::cuMemsetD2D32Async, 4)], || widest.fill(1, &stream))?;
        budget(driver, &[(Function::cuMemsetD32Async, 1)], || wide.fill(0x0000_0007_0000_0007, &stream))?;
        budget(driver, &[(Function::cuMemsetD8Async, 1)], || wide.fill(u64::MAX, &stream))?;
        budget(driver, &[], || wide.slice_mut(4..4)?.fill(1, &stream))?;
        let mut long = pool.zeroed::<u64>(20_000, &stream)?;
        let doubled = [(Function::cuMemsetD2D32Async, 2), (Function::cuMemcpyDtoDAsync_v2, 3)];
        budget(driver, &doubled, || long.fill(1, &stream))?;
        assert_eq!(wide.download(&stream)?, [u64::MAX; 9]);
    }

    /// Values whose type needs no alignment may begin anywhere, where the driver cannot fill with them.
    fn fills_of_unaligned_memory_are_refused(driver) {
        let (_, stream, pool) = setup(driver)?;
        let mut bytes = pool.zeroed::<u8>(100, &stream)?;
        let start = bytes.as_raw();
        budget(driver, &[], || -> Result<()> {
            let refused = |address, align| Err(Error::Memory(MemoryError::FillAlignment { address, align }));
            let wide = bytes.slice_mut(2..18)?.cast::<[u8; 8]>()?.fill([1, 2, 3, 4, 5, 6, 7, 8], &stream);
            assert_eq!(wide, refused(start + 2, 4));
            let word = bytes.slice_mut(2..18)?.cast::<[u8; 4]>()?.fill([1, 2, 3, 4], &stream);
            assert_eq!(word, refused(start + 2, 4));
            let pair = bytes.slice_mut(1..17)?.cast::<[u8; 2]>()?.fill([1, 2], &stream);
            assert_eq!(pair, refused(start + 1, 2));
            Ok(())
        })?;
        bytes.slice_mut(4..20)?.cast::<[u8; 8]>()?.fill([1, 2, 3, 4, 5, 6, 7, 8], &stream)?;
        let expected = [vec![0; 4], (1..=8).collect(), (1..=8).collect(), vec![0; 80]].concat();
        assert_eq!(bytes.download(&stream)?, expected);
    }

    fn chunks_can_all_be_written(driver) {
        let (context, stream, pool) = setup(driver)?;
        let other = context.stream()?;
        let mut buffer = pool.zeroed::<u32>(7, &stream)?;
        let mut chunks = buffer.chunks_mut(3)?;
        let (first, second, rest) = (chunks.next(), chunks.next(), chunks.next());
        assert!(chunks.next().is_none());
        drop(chunks);
        second.ok_or("a second chunk")?.fill(2, &other)?; // two at a time, on two streams
        first.ok_or("a first chunk")?.fill(1, &stream)?;
        rest.ok_or("the rest")?.fill(3, &stream)?;
        stream.wait_for(&other)?;
        assert_eq!(buffer.download(&stream)?, [1, 1, 1, 2, 2, 2, 3]);
        let lens = |len| Ok::<_, Error>(buffer.chunks(len)?.map(|chunk| chunk.len()).collect::<Vec<_>>());
        assert_eq!((lens(7)?, lens(4)?, lens(usize::MAX)?), (vec![7], vec![4, 3], vec![7]));
        assert_eq!(lens(0), Err(Error::Memory(MemoryError::EmptyChunks)));
        assert_eq!(buffer.chunks_mut(0).map(drop), Err(Error::Memory(MemoryError::EmptyChunks)));
        assert_eq!(buffer.chunks_mut(usize::MAX)?.count(), 1);
    }

    fn a_buffer_is_cast_with_its_memory(driver) {
        let (context, stream, pool) = setup(driver)?;
        let buffer = pool.upload(&[1_u32, 2, 3, 4], &stream)?;
        let address = buffer.as_raw();
        let wide = budget(driver, &[], || buffer.cast::<u64>())?;
        assert_eq!((wide.as_raw(), wide.len(), wide.size_in_bytes()), (address, 2, 16));
        assert_eq!(wide.download(&stream)?, [0x2_0000_0001, 0x4_0000_0003]);
        let CastError { buffer: wide, error } = wide.cast::<[u8; 3]>().expect_err("16 bytes are no multiple of 3");
        assert_eq!(error, Error::Memory(MemoryError::Cast { bytes: 16, address, size: 3, align: 1 }));
        let CastError { buffer: wide, error } = wide.cast::<Padded>().expect_err("padding is uninitialised");
        assert!(matches!(error, Error::Memory(MemoryError::CastPadding { .. })));
        budget(driver, &[(Function::cuMemFreeAsync, 1)], || wide.close())?;

        let mut managed = ManagedMemory::new(&context)?.upload(&[1_u32, 0], &stream)?.cast::<u64>()?;
        assert_eq!(managed.host()?, [1]);
        managed.host_mut()?[0] = 5;
        assert!(managed.cast::<Padded>().is_err_and(|refused| refused.buffer.len() == 1));
        let pinned = PinnedMemory::new(&context).buffer_of(&[1_u32, 0, 2, 0])?.cast::<u64>()?;
        assert_eq!(pinned.as_slice(), [1, 2]);
        let pinned = pinned.cast::<[u64; 3]>().expect_err("two are no three").buffer;
        assert_eq!(pinned.into_buffer().into_pinned()?.as_slice(), [1, 2]);
    }

    fn empty_memory_of_every_kind_can_be_used(driver) {
        let (context, stream, _) = setup(driver)?;
        let memory = PinnedMemory::new(&context);
        let mut pinned = budget(driver, &[], || memory.buffer_of::<u64>(&[]))?;
        assert!(pinned.as_slice().is_empty() && pinned.as_mut_slice().is_empty());
        let device = DeviceMemory::new(&context);
        let mut empty = device.allocate::<u64>(0)?;
        let pinned = empty.as_slice_mut().copy_from_pinned(pinned, &stream)?.wait()?;
        let pinned = empty.as_slice().copy_to_pinned(pinned, &stream)?.wait()?;
        memory.free_after(pinned.into_buffer(), &stream)?;
        device.free_after(empty, &stream)?;
        let mut managed = ManagedMemory::new(&context)?.allocate::<u64>(0)?;
        assert_eq!(managed.host()?, [0_u64; 0]);
        managed.host_mut()?.fill(1);
        managed.prefetch(&driver.device(0)?, &stream)?;
        assert_eq!(managed.cast::<u8>()?.len(), 0);
    }

    /// Memory of other code, of which there is none.
    fn empty_memory_of_other_code_is_wrapped(driver) {
        let (context, stream, _) = setup(driver)?;
        let owner = std::sync::Arc::new(());
        #[expect(unsafe_code, reason = "wraps no memory")]
        // SAFETY: there are no values.
        let empty = unsafe { Buffer::<u32>::from_owner(0, 0, &context, std::sync::Arc::clone(&owner)) }?;
        assert!(empty.download(&stream)?.is_empty());
        drop(empty);
        assert_eq!(std::sync::Arc::strong_count(&owner), 1);
    }

    /// Virtual memory grows from nothing.
    fn an_empty_buffer_grows(driver) {
        let (context, stream, _) = setup(driver)?;
        let memory = VirtualMemory::new(&context)?;
        let empty = memory.grow(memory.allocate::<u32>(0)?, 0)?;
        let mut buffer = memory.grow(empty, 100)?;
        buffer.fill(7, &stream)?;
        assert_eq!(memory.grow(buffer, 200)?.slice(..100)?.download(&stream)?, [7; 100]);
    }
}

#[test]
fn wide_fills_leave_nothing_behind() -> TestResult {
    for mode in [Mode::Deterministic(Order::Eager), Mode::Deterministic(Order::Lazy), Mode::Threads] {
        let sweep = Sweep::new(Topology::preset("h200")?).mode(mode).after_effect(true);
        sweep.tolerates(Calls::named("cuCtxSetCurrent")?).run(|_, driver: &Driver| -> Result<()> {
            let context = driver.device(0)?.context()?;
            let stream = context.stream()?;
            let mut buffer = DeviceMemory::new(&context).allocate::<u128>(100)?;
            buffer.fill(1, &stream)?;
            let empty = DeviceMemory::new(&context).allocate::<u128>(0)?;
            empty.duplicate(&stream)?.close()?;
            empty.close()?;
            buffer.cast::<u64>()?.close()?;
            stream.close()?;
            context.close()
        });
    }
    Ok(())
}

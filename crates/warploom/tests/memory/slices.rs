//! Typed buffers and their slices.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use warploom::sys::types::CUdeviceptr;
use warploom::{
    Context, ContextError, DeviceCopy, DeviceMemory, DevicePool, Driver, Error, Function, MemoryError, OrderedResource,
    Result, Stream, StreamOrdered,
};
use warploom_sim::{Mode, topology::Topology};
use warploom_testkit::{TestResult, budget, driver_tests, open};

#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
struct Particle {
    position: [f32; 3],
    charge: i16,
    kind: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C, align(16))]
struct Pair<T: DeviceCopy>(T, T);

fn setup(driver: &Driver) -> TestResult<(DevicePool, Stream)> {
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    Ok((DevicePool::new(&context)?, stream))
}

driver_tests! {
    fn values_of_any_plain_type_survive_the_trip(driver) {
        let (pool, stream) = setup(driver)?;
        let particles: Vec<_> = (0..100).map(|at| Particle { position: [at as f32; 3], charge: -at, kind: 7 }).collect();
        assert_eq!(pool.upload(&particles, &stream)?.download(&stream)?, particles);
        let pairs = [Pair(1_u64, 2), Pair(3, 4)];
        assert_eq!(pool.upload(&pairs, &stream)?.download(&stream)?, pairs);
        assert_eq!(pool.zeroed::<f64>(5, &stream)?.download(&stream)?, [0.0; 5]);
    }

    fn a_part_is_written_and_read_by_itself(driver) {
        let (pool, stream) = setup(driver)?;
        let mut buffer = pool.upload(&[1_u32, 2, 3, 4, 5, 6], &stream)?;
        buffer.slice_mut(1..3)?.fill(9, &stream)?;
        buffer.slice_mut(4..)?.copy_from_host(&[50, 60], &stream)?;
        assert_eq!(buffer.download(&stream)?, [1, 9, 9, 4, 50, 60]);
        assert_eq!(buffer.slice(..=1)?.download(&stream)?, [1, 9]);
        let mut host = [0; 2];
        buffer.slice(4..6)?.copy_to_host(&mut host, &stream)?;
        assert_eq!(host, [50, 60]);
    }

    fn two_halves_of_a_buffer_can_be_copied_into_each_other(driver) {
        let (pool, stream) = setup(driver)?;
        let mut buffer = pool.upload(&[1_u16, 2, 3, 0, 0, 0], &stream)?;
        let (first, second) = buffer.as_slice_mut().split_at_mut(3)?;
        second.copy_from(first, &stream)?;
        assert_eq!(buffer.download(&stream)?, [1, 2, 3, 1, 2, 3]);
    }

    fn pieces_cover_a_slice(driver) {
        let (pool, stream) = setup(driver)?;
        let buffer = pool.upload(&[1_u8, 2, 3, 4, 5], &stream)?;
        let pieces: Result<Vec<_>> = buffer.as_slice().chunks(2)?.map(|piece| piece.download(&stream)).collect();
        assert_eq!(pieces?, [vec![1, 2], vec![3, 4], vec![5]]);
        assert_eq!(buffer.as_slice().chunks(0).map(drop), Err(Error::Memory(MemoryError::EmptyChunks)));
    }

    fn bytes_can_be_taken_for_other_values(driver) {
        let (pool, stream) = setup(driver)?;
        let buffer = pool.upload(&[0x0403_0201_u32, 0x0807_0605], &stream)?;
        assert_eq!(buffer.as_slice().cast::<u8>()?.download(&stream)?, [1, 2, 3, 4, 5, 6, 7, 8]);
        let odd = buffer.as_slice().cast::<u8>()?.slice(1..5)?;
        assert!(matches!(odd.cast::<u32>(), Err(Error::Memory(MemoryError::Cast { bytes: 4, size: 4, align: 4, .. }))));
        assert!(matches!(buffer.as_slice().cast::<[u8; 3]>(), Err(Error::Memory(MemoryError::Cast { bytes: 8, size: 3, .. }))));
    }

    fn padding_is_not_cast_to_bytes(driver) {
        #[derive(Clone, Copy, DeviceCopy)]
        #[repr(C)]
        struct Padded(u32, u8);
        #[derive(Clone, Copy, DeviceCopy)]
        #[repr(C)]
        struct OtherPadding(u8, u32);
        let (pool, stream) = setup(driver)?;
        let refused = |padded| Some(Error::Memory(MemoryError::CastPadding { padded }));
        let name = std::any::type_name::<Padded>();
        let mut padded = pool.upload(&[Padded(1, 2), Padded(3, 4)], &stream)?;
        assert_eq!(padded.as_slice().cast::<u8>().err(), refused(name));
        assert_eq!(padded.as_slice().cast::<OtherPadding>().err(), refused(name));
        assert_eq!(padded.as_slice_mut().cast::<u8>().err(), refused(name));
        assert_eq!(padded.as_slice().cast::<Padded>()?.len(), 2);

        // Values may be read from bytes, but not be written over them.
        let mut bytes = pool.zeroed::<u8>(16, &stream)?;
        let read = bytes.as_slice().cast::<Padded>()?.download(&stream)?;
        assert!(read.iter().all(|padded| (padded.0, padded.1) == (0, 0)));
        assert_eq!(bytes.as_slice_mut().cast::<Padded>().err(), refused(name));
    }

    fn invalid_slices_are_refused_before_the_driver_is_called(driver) {
        let (pool, stream) = setup(driver)?;
        let mut buffer = pool.zeroed::<u64>(4, &stream)?;
        budget(driver, &[], || {
            let out_of_range = |start, end| Err(Error::Memory(MemoryError::OutOfRange { start, end, len: 4 }));
            assert_eq!(buffer.slice(3..5).map(drop), out_of_range(3, 5));
            #[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
            let reversed = buffer.slice(3..2).map(drop);
            assert_eq!(reversed, out_of_range(3, 2));
            assert_eq!(buffer.slice_mut(..=usize::MAX).map(drop), out_of_range(0, usize::MAX));
            let mut large = buffer.as_slice_mut().cast::<[u64; 4]>().expect("four values");
            let refused = large.reborrow().fill([1, 2, 3, 4], &stream);
            assert_eq!(refused, Err(Error::Memory(MemoryError::Fill { size: 32 })));
            let too_large = Error::Memory(MemoryError::TooLarge { len: usize::MAX / 8, element: 8 });
            assert_eq!(pool.allocate::<u64>(usize::MAX / 8, &stream).map(drop), Err(too_large));
        });
        buffer.fill(0x0101_0101_0101_0101, &stream)?;
        assert_eq!(buffer.download(&stream)?, [0x0101_0101_0101_0101; 4]);
    }

    fn a_value_with_padding_is_not_repeated(driver) {
        #[derive(Clone, Copy, DeviceCopy)]
        #[repr(C)]
        struct Padded(u16, u8);
        #[derive(Clone, Copy, DeviceCopy)]
        #[repr(C)]
        struct Full(u16, [u8; 2]);
        #[derive(Clone, Copy, DeviceCopy)]
        #[repr(C)]
        struct Wraps<T: DeviceCopy>([T; 1]);
        let (pool, stream) = setup(driver)?;
        let mut padded = pool.zeroed::<Wraps<Padded>>(2, &stream)?;
        let refused = budget(driver, &[], || padded.fill(Wraps([Padded(1, 2)]), &stream));
        assert_eq!(refused, Err(Error::Memory(MemoryError::Fill { size: 4 })));
        padded.zero(&stream)?;
        let mut full = pool.zeroed::<Wraps<Full>>(2, &stream)?;
        full.fill(Wraps([Full(0x0101, [2, 3])]), &stream)?;
        assert_eq!(full.as_slice().cast::<u8>()?.download(&stream)?, [1, 1, 2, 3, 1, 1, 2, 3]);
    }

    fn nothing_is_asked_of_the_driver_for_no_values(driver) {
        let (pool, stream) = setup(driver)?;
        let (mut buffer, other) = (pool.zeroed::<u8>(4, &stream)?, pool.zeroed::<u8>(4, &stream)?);
        budget(driver, &[], || -> Result<()> {
            buffer.slice_mut(2..2)?.fill(1, &stream)?;
            buffer.slice_mut(4..)?.copy_from(other.slice(..0)?, &stream)?;
            buffer.slice_mut(..0)?.copy_from_host(&[], &stream)?;
            assert!(buffer.slice(1..1)?.download(&stream)?.is_empty());
            Ok(())
        })?;
    }

    fn hot_paths_make_one_driver_call(driver) {
        let (pool, stream) = setup(driver)?;
        let mut buffer = budget(driver, &[(Function::cuMemAllocFromPoolAsync, 1)], || pool.allocate::<f32>(64, &stream))?;
        budget(driver, &[(Function::cuMemsetD32Async, 1)], || buffer.fill(1.5, &stream))?;
        let mut copy = pool.allocate(64, &stream)?;
        budget(driver, &[(Function::cuMemcpyDtoDAsync_v2, 1)], || buffer.copy_to(&mut copy, &stream))?;
        budget(driver, &[(Function::cuMemFreeAsync, 1)], || drop(buffer));
        assert_eq!(copy.download(&stream)?, [1.5; 64]);
    }

    /// S4.9, S4.10, S4.11.
    fn a_buffer_is_freed_on_the_stream_that_was_named_last(driver) {
        let (pool, stream) = setup(driver)?;
        let other = stream.context().stream()?;
        let mut buffer = pool.zeroed::<u8>(64, &stream)?;
        let before = (buffer.as_raw(), buffer.size_in_bytes());
        budget(driver, &[], || buffer.set_free_stream(&other))?;
        assert_eq!((buffer.as_raw(), buffer.size_in_bytes()), before);
        let calls = driver.record_calls();
        drop(buffer);
        let made: Vec<Function> = calls.take().iter().map(|(function, _)| *function).collect();
        assert!(made.contains(&Function::cuStreamWaitEvent) && made.ends_with(&[Function::cuMemFreeAsync]), "{made:?}");
        pool.zeroed::<u8>(64, &stream)?.close_on(&other)?;
        pool.zeroed::<u8>(64, &stream)?.close()?;
        let plain = DeviceMemory::new(stream.context()).allocate::<u8>(64)?;
        assert_eq!(plain.close_on(&other), Err(Error::Memory(MemoryError::NotStreamOrdered)));
    }

    fn plain_memory_needs_no_stream_and_leaves_the_current_context_alone(driver) {
        let (_pool, stream) = setup(driver)?;
        let memory = DeviceMemory::new(stream.context());
        let mut buffer = memory.upload(&[1_u8, 2, 3], &stream)?;
        buffer.fill(4, &stream)?;
        let other = stream.context().stream()?;
        other.wait(&stream.record()?)?;
        assert_eq!(buffer.download(&other)?, [4, 4, 4]);
        budget(driver, &[(Function::cuMemFree_v2, 1)], || drop(buffer));
    }

    /// S4.21.
    fn a_resource_of_ones_own_gets_the_recorded_stream_once(driver) {
        let (pool, stream) = setup(driver)?;
        let counting = Arc::new(Counting { inner: pool.resource(), live: AtomicUsize::new(0), freed_on: stream.clone() });
        let buffer = counting.upload(&[1_u32, 2], &stream)?;
        assert_eq!(counting.live.load(Ordering::Relaxed), 1);
        assert_eq!(buffer.download(&stream)?, [1, 2]);
        drop(buffer);
        assert_eq!(counting.live.load(Ordering::Relaxed), 0);
    }
}

/// S3.28 for memory.
#[test]
fn memory_of_a_context_that_was_reset_is_refused_and_let_go_without_a_driver_call() -> TestResult {
    let (_machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Threads)?;
    let contexts = [driver.device(0)?.context()?, driver.device(1)?.context()?];
    let (stream, memory) = (contexts[1].stream()?, contexts.each_ref().map(DeviceMemory::new));
    let (old, mut copy) = (memory[0].allocate::<u8>(64)?, memory[1].allocate::<u8>(64)?);
    #[expect(unsafe_code, reason = "ends everything on a device")]
    // SAFETY: nothing of the device is used afterwards but to see that it is refused.
    unsafe { driver.device(0)?.reset_context() }?;
    budget(&driver, &[], || {
        assert!(matches!(old.copy_to(&mut copy, &stream), Err(Error::Context(ContextError::Stale { device: 0, .. }))));
        drop(old);
    });
    copy.fill(1, &stream)?;
    Ok(stream.synchronize()?)
}

/// A resource that counts what it has handed out.
struct Counting {
    inner: Arc<dyn StreamOrdered>,
    live: AtomicUsize,
    freed_on: Stream,
}

#[expect(unsafe_code, reason = "a resource answers for its memory")]
// SAFETY: hands out what another resource does.
unsafe impl StreamOrdered for Counting {
    fn context(&self) -> &Context {
        self.inner.context()
    }

    fn allocate_raw(&self, bytes: usize, stream: &Stream) -> Result<CUdeviceptr> {
        let address = self.inner.allocate_raw(bytes, stream)?;
        self.live.fetch_add(1, Ordering::Relaxed);
        Ok(address)
    }

    unsafe fn deallocate_raw(&self, address: CUdeviceptr, bytes: usize, stream: &Stream) -> Result<()> {
        assert_eq!(*stream, self.freed_on);
        self.live.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: handed on as it came.
        unsafe { self.inner.deallocate_raw(address, bytes, stream) }
    }
}

//! Traits of the safe core, implemented by code that lies.
//!
//! No implementation in safe code may lead to undefined behaviour, a leak or a panic, whatever it answers:
//!
//! | trait | who implements it | a lie |
//! |---|---|---|
//! | `Queue`, `Fits`, `Argument`, `Arguments`, `ArgumentsFor`, `ListArgument`, `Parameter`, `Parameters`, `Shape`, `LiveSet`, `Point`, `Timing`, `WordValue`, `TypedNode`, `capture::{Mode, State, Settled}` | this crate: sealed | does not compile (`compile_fail/sealed_traits.rs`) |
//! | `StreamOrdered`, `Synchronous`, `DeviceCopy`, `nccl::Element` (sealed, too) | `unsafe impl` | breaks the promise of that `unsafe` |
//! | `OrderedResource`, `SynchronousResource` | anyone | asked once a call for the resource, which is one in any case; buffers have the length that they say |
//! | `program::ProgramCache` | anyone | an entry has the key that it was made for, and no other uses it (`nvrtc/caches.rs`) |
//! | `Into` of slices, ranges, locations, nodes, devices, dimensions | anyone | asked once, before the value is checked |
//! | `AsRef<Node>` | anyone | `ExecNode` has methods for nodes of this crate only |
//! | `RangeBounds` | anyone | each bound is asked for once, then checked |
//! | `IntoIterator`, `Iterator::size_hint` | anyone | items are counted; a lower bound that no memory holds panics, as in `Vec` |
//! | `Clone` of a `DeviceCopy` type | anyone | not called: bytes are copied |
//! | closures that answer: `LiveSet::retain`, `Occupancy::suggest_block_with` | anyone | asked once an element; any number is taken |
#![expect(unsafe_code, reason = "wraps memory of a resource that changes")]

use std::cell::Cell;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use warploom::graph::Node;
use warploom::leaks::Leaks;
use warploom::{
    Buffer, Cached, Context, CopyError, Counted, DeviceCopy, DeviceMemory, DevicePool, Driver, Error, GraphDef,
    GraphError, Host, Limited, LiveSet, Location, ManagedMemory, MemoryError, MemoryKind, OrderedResource,
    PinnedBuffer, PinnedMemory, PinnedPool, Queue, Result, Slice, Stream, StreamOrdered, Synchronous,
    SynchronousResource, VolumeShape, copy_batch, prefetch_batch,
};
use warploom_testkit::{TestResult, driver_tests};

/// The first value when it is asked the first time, then the second, and so on by turns.
struct Alternating<T> {
    values: [T; 2],
    asked: Cell<usize>,
}

impl<T> Alternating<T> {
    fn new(first: T, second: T) -> Alternating<T> {
        Alternating { values: [first, second], asked: Cell::new(0) }
    }

    fn answer(&self) -> &T {
        let asked = self.asked.get();
        self.asked.set(asked + 1);
        &self.values[asked % 2]
    }

    /// How often it was asked since the last time; the next answer is the first again.
    fn asked(&self) -> usize {
        self.asked.take()
    }
}

impl OrderedResource for Alternating<Arc<dyn StreamOrdered>> {
    fn resource(&self) -> Arc<dyn StreamOrdered> {
        Arc::clone(self.answer())
    }
}

impl SynchronousResource for Alternating<Arc<dyn Synchronous>> {
    fn resource(&self) -> Arc<dyn Synchronous> {
        Arc::clone(self.answer())
    }
}

/// Its buffers have half the values that were asked for.
struct Short(DevicePool);

impl OrderedResource for Short {
    fn resource(&self) -> Arc<dyn StreamOrdered> {
        self.0.resource()
    }

    fn allocate<T: DeviceCopy>(&self, len: usize, queue: &impl Queue) -> Result<Buffer<T>> {
        self.0.allocate(len / 2, queue)
    }
}

/// A range that is another one each time.
struct Bounds {
    starts: Alternating<Bound<usize>>,
    ends: Alternating<Bound<usize>>,
}

impl RangeBounds<usize> for &Bounds {
    fn start_bound(&self) -> Bound<&usize> {
        self.starts.answer().as_ref()
    }

    fn end_bound(&self) -> Bound<&usize> {
        self.ends.answer().as_ref()
    }
}

/// Becomes the slice that is due.
struct SliceOf<'a, 'b>(&'b Alternating<Slice<'a, u32>>);

impl<'a> From<SliceOf<'a, '_>> for Slice<'a, u32> {
    fn from(of: SliceOf<'a, '_>) -> Self {
        *of.0.answer()
    }
}

/// Becomes the location that is due.
struct PlaceOf<'b>(&'b Alternating<Location>);

impl From<PlaceOf<'_>> for Location {
    fn from(of: PlaceOf<'_>) -> Self {
        of.0.answer().clone()
    }
}

/// Becomes the node that is due.
struct NodeOf<'b>(&'b Alternating<Node>);

impl From<NodeOf<'_>> for Node {
    fn from(of: NodeOf<'_>) -> Self {
        of.0.answer().clone()
    }
}

impl AsRef<Node> for NodeOf<'_> {
    fn as_ref(&self) -> &Node {
        self.0.answer()
    }
}

/// An iterator that says that it has another number of items.
struct Miscounted<I>(I, (usize, Option<usize>));

impl<I: Iterator> Iterator for Miscounted<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.1
    }
}

impl<I: Iterator> ExactSizeIterator for Miscounted<I> {
    fn len(&self) -> usize {
        self.1.0
    }
}

/// Numbers of items that no iterator of two has.
const HINTS: [(usize, Option<usize>); 4] = [(0, Some(0)), (1000, None), (1000, Some(1)), (3, Some(3))];

#[derive(Debug, DeviceCopy, PartialEq)]
#[repr(C)]
struct Uncloneable(u32);

impl Copy for Uncloneable {}

#[expect(clippy::non_canonical_clone_impl, reason = "it lies")]
impl Clone for Uncloneable {
    fn clone(&self) -> Self {
        panic!("nothing needs a clone")
    }
}

fn setup(driver: &Driver) -> TestResult<(Context, Stream, DevicePool)> {
    let context = driver.device(0)?.context()?;
    let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    Ok((context, stream, pool))
}

driver_tests! {
    /// Page-locked memory of a pool that would be given back to the pool of device memory.
    fn an_ordered_resource_that_changes_is_asked_once(driver) {
        let leaks = Leaks::track(driver);
        {
            let (context, stream, pool) = setup(driver)?;
            let pinned = PinnedPool::new(&context)?.resource();
            let liar = Alternating::new(Arc::clone(&pinned), pool.resource());

            let address = pinned.allocate_raw(256, &stream)?;
            // SAFETY: the pool has just allocated it, and gets it back: that is the resource the first time.
            let buffer = unsafe { PinnedBuffer::<u8>::from_ordered(address, 256, &liar, &stream) }?;
            assert_eq!(liar.asked(), 1);
            let buffer = buffer.into_buffer();
            assert_eq!(buffer.kind()?, MemoryKind::Pinned);
            buffer.close()?;

            for kind in [MemoryKind::Pinned, MemoryKind::Device] {
                assert_eq!(liar.upload(&[1_u32, 2], &stream)?.kind()?, kind);
            }
            let layers = [Cached::new(&liar).resource(), Limited::ordered(&liar, 1 << 20), Counted::ordered(&liar)];
            assert_eq!(liar.asked(), 2 + layers.len());
            for layer in layers {
                assert_eq!(layer.upload(&[1_u32, 2], &stream)?.download(&stream)?, [1, 2]);
            }
        }
        leaks.assert_none();
    }

    fn a_synchronous_resource_that_changes_is_asked_once(driver) {
        let leaks = Leaks::track(driver);
        {
            let (context, stream, _) = setup(driver)?;
            let (pinned, device) = (PinnedMemory::new(&context).resource(), DeviceMemory::new(&context).resource());
            let liar = Alternating::new(Arc::clone(&pinned), Arc::clone(&device));
            assert_eq!(PinnedBuffer::copied(&[1_u32, 2], &liar)?.as_slice(), [1, 2]);
            assert_eq!(liar.asked(), 1);

            let address = pinned.allocate_raw(256)?;
            // SAFETY: as above.
            let buffer = unsafe { PinnedBuffer::<u8>::from_synchronous(address, 256, &liar) }?;
            assert_eq!(liar.asked(), 1);
            assert_eq!(buffer.into_buffer().kind()?, MemoryKind::Pinned);

            let other = Alternating::new(device, pinned);
            let refused = PinnedBuffer::<u32>::zeroed(4, &other).map(drop);
            assert_eq!(refused, Err(Error::Memory(MemoryError::NotPinned)));
            assert_eq!(other.upload(&[1_u32, 2], &stream)?.download(&stream)?, [1, 2]);
        }
        leaks.assert_none();
    }

    fn a_resource_with_shorter_buffers_is_no_harm(driver) {
        let leaks = Leaks::track(driver);
        {
            let (_, stream, pool) = setup(driver)?;
            let short = Short(pool);
            let refused = short.upload(&[1_u32; 8], &stream).map(drop);
            assert_eq!(refused, Err(CopyError::LengthMismatch { source_len: 8, destination_len: 4 }.into()));
            assert_eq!(short.zeroed::<u32>(8, &stream)?.download(&stream)?, [0; 4]);
            assert_eq!(Cached::new(&short).zeroed::<u32>(8, &stream)?.len(), 8);
        }
        leaks.assert_none();
    }

    fn a_range_that_changes_is_asked_for_each_bound_once(driver) {
        let (_, stream, pool) = setup(driver)?;
        let mut buffer = pool.zeroed::<u32>(16, &stream)?;
        let first = buffer.as_raw();
        let bounds = [0, 1, 15, 16, 17, usize::MAX].into_iter();
        let bounds = bounds.flat_map(|at| [Bound::Included(at), Bound::Excluded(at), Bound::Unbounded]);
        for pair in bounds.clone().flat_map(|one| bounds.clone().map(move |other| (one, other))) {
            let range = Bounds {
                starts: Alternating::new(pair.0, pair.1),
                ends: Alternating::new(pair.1, pair.0),
            };
            let asked = || (range.starts.asked(), range.ends.asked());
            if let Ok(part) = buffer.slice(&range) {
                assert!(part.as_raw() >= first && part.as_raw() + part.size_in_bytes() as u64 <= first + 64, "{pair:?}");
            }
            assert_eq!(asked(), (1, 1), "{pair:?}");
            if let Ok(part) = buffer.slice_mut(&range) {
                part.fill(7, &stream)?;
            }
            assert_eq!(asked(), (1, 1), "{pair:?}");
            if let Ok(rows) = buffer.as_slice().rows(4, 4, 4)?.part(&range, &range) {
                rows.download(&stream)?;
            }
            if let Ok(part) = buffer.as_slice().volume(VolumeShape::packed(4, 2, 2))?.part(&range, &range, &range) {
                part.download(&stream)?;
            }
        }
        assert!(buffer.download(&stream)?.into_iter().all(|value| value == 0 || value == 7));
    }

    fn a_conversion_that_changes_is_asked_once(driver) {
        let leaks = Leaks::track(driver);
        {
            let (context, stream, pool) = setup(driver)?;
            let (long, short) = (pool.upload(&[1_u32; 64], &stream)?, pool.upload(&[2_u32; 4], &stream)?);
            let mut to = pool.zeroed::<u32>(64, &stream)?;
            let slices = Alternating::new(long.as_slice(), short.as_slice());
            to.as_slice_mut().copy_from(SliceOf(&slices), &stream)?;
            assert_eq!(to.download(&stream)?, [1; 64]);
            let refused = to.as_slice_mut().copy_from(SliceOf(&slices), &stream);
            assert_eq!(refused, Err(CopyError::LengthMismatch { source_len: 4, destination_len: 64 }.into()));
            let mut parts = to.chunks_mut(32)?;
            let copies = parts.by_ref().map(|part| (SliceOf(&slices), part));
            let refused = copy_batch(copies, &stream);
            assert!(matches!(refused, Err(Error::Memory(MemoryError::InBatch { index: 0, .. }))), "{refused:?}");
            drop(parts);
            assert_eq!((slices.asked(), to.download(&stream)?), (3, vec![1; 64]));

            let managed = ManagedMemory::new(&context)?.zeroed::<u32>(64, &stream)?;
            let places = Alternating::new(Location::from(driver.device(0)?), Location::from(Host::Any));
            managed.prefetch(PlaceOf(&places), &stream)?;
            managed.prefetch(PlaceOf(&places), &stream)?;
            assert_eq!(places.asked(), 2);
        }
        leaks.assert_none();
    }

    fn a_node_that_changes_is_asked_once(driver) {
        let leaks = Leaks::track(driver);
        {
            let (context, stream, _) = setup(driver)?;
            let (graph, other) = (GraphDef::new(&context)?, GraphDef::new(&context)?);
            let nodes = Alternating::new(Node::from(graph.empty()?), Node::from(other.empty()?));
            graph.join([NodeOf(&nodes)])?;
            let refused = graph.join([NodeOf(&nodes)]).map(drop);
            assert_eq!(refused, Err(Error::Graph(GraphError::OtherGraph { what: "node" })));
            assert_eq!((nodes.asked(), graph.node_count()?), (2, 2));
            assert_eq!(graph.join([NodeOf(&nodes), NodeOf(&nodes)]).map(drop), refused);
            let exec = graph.instantiate()?;
            _ = exec.node(&NodeOf(&nodes)); // which can do nothing
            exec.launch(&stream)?;
            stream.synchronize()?;
        }
        leaks.assert_none();
    }

    fn a_wrong_number_of_items_is_no_harm(driver) {
        let leaks = Leaks::track(driver);
        {
            let (context, stream, pool) = setup(driver)?;
            let from = pool.upload(&[1_u32, 2, 3, 4], &stream)?;
            let managed = [(); 2].map(|()| ManagedMemory::new(&context).and_then(|memory| memory.zeroed::<u32>(4, &stream)));
            let [one, two] = managed;
            let (one, two) = (one?, two?);
            for hint in HINTS {
                let mut to = pool.zeroed::<u32>(4, &stream)?;
                let copies = from.chunks(2)?.zip(to.chunks_mut(2)?);
                copy_batch(Miscounted(copies, hint), &stream)?;
                assert_eq!(to.download(&stream)?, [1, 2, 3, 4], "{hint:?}");
                prefetch_batch(Miscounted([&one, &two].into_iter(), hint), driver.device(0)?, &stream)?;
                let graph = GraphDef::new(&context)?;
                let nodes = [graph.empty()?, graph.empty()?];
                let joined = graph.join(Miscounted(nodes.iter().map(|node| node.node()), hint))?;
                assert_eq!(joined.node().predecessors().len()?, 2, "{hint:?}");
                pool.peers().extend(Miscounted([0_u32, 0].into_iter(), hint))?;
                assert!(pool.peers().is_empty()?, "{hint:?}");
            }
        }
        leaks.assert_none();
    }

    fn values_are_copied_without_their_clone(driver) {
        let (_, stream, pool) = setup(driver)?;
        let values: Vec<_> = (0..100_000).map(Uncloneable).collect();
        let mut buffer = pool.upload(&values[..100], &stream)?;
        buffer.fill(Uncloneable(7), &stream)?;
        assert_eq!(buffer.download(&stream)?, [7; 100].map(Uncloneable));
        for len in [100, values.len()] {
            let buffer = pool.upload(&values[..len], &stream)?;
            assert!(buffer.download(&stream)? == values[..len]);
            let rows = buffer.as_slice().rows(10, 10, len / 10)?;
            assert!(rows.download(&stream)? == values[..len]);
        }
    }

    fn a_closure_that_changes_its_mind_is_no_harm(driver) {
        let (context, _, pool) = setup(driver)?;
        let mut asked = 0;
        pool.peers().retain(|_| {
            asked += 1;
            asked % 2 == 0
        })?;
        assert!(pool.peers().is_empty()?);

        let kernel = context.load(include_str!("../examples/scale.ptx"))?.kernel("scale")?;
        let occupancy = kernel.occupancy(&context)?;
        let sizes = Alternating::new(usize::MAX, 0);
        for _ in 0..2 {
            let suggested = occupancy.suggest_block_with(|_| *sizes.answer(), 0)?;
            assert!(suggested.block <= 1024, "{suggested:?}");
            sizes.answer();
        }
    }
}

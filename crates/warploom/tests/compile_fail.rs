//! Programs that must not compile, and the compiler's messages for them.
//!
//! Each file in `compile_fail/` has the messages beside it, for the toolchain of `rust-toolchain.toml`. After
//! a change that moves a function or rewords a bound, write them anew with
//! `TRYBUILD=overwrite cargo test -p warploom --test compile_fail` and read the difference.
#![expect(unsafe_code, reason = "compiles unsafe calls, and runs none")]

use std::sync::Arc;

use warploom::capture::{Body, Capture, Captured, Capturing, Done, Fork, Relaxed, ThreadLocal};
use warploom::graph::{Adjacency, Condition, Node};
#[cfg(unix)]
use warploom::ipc::{BufferDescriptor, EventDescriptor, ImportedPool, IpcEvent};
use warploom::{
    AccessedBy, Buffer, CallCounter, CallRecorder, Context, CopyOptions, Device, DeviceMemory, DevicePool, FreeError,
    GraphDef, GraphExec, GraphPool, Host, Kernel, LaunchConfig, LiveSet, Location, ManagedBuffer, ManagedPool, Mesh,
    Occupancy, OrderedResource, PeerSet, Pending, PinnedBuffer, PinnedMemory, Queue, Result, Stream, StreamOrdered,
    StreamWord, TypedKernel, VolumeShape, copy_batch, copy_batch_with, discard_batch, discard_prefetch_batch,
    prefetch_batch,
};
use warploom_testkit::implements;

/// S4.22 and the lifetimes of the safe core.
#[test]
fn programs_that_misuse_the_core_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}

/// The same for what is there only with a feature.
#[cfg(feature = "nccl")]
#[test]
fn programs_that_misuse_a_group_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/nccl/*.rs");
}

/// Code whose origin is unknown.
#[cfg(feature = "nvrtc")]
#[test]
fn programs_that_forge_compiled_code_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/nvrtc/*.rs");
}

/// Deserialising would let any message become code that is loaded without checks.
#[cfg(all(feature = "nvrtc", feature = "serde"))]
#[test]
fn code_is_deserialised_as_untrusted_code_only() {
    use warploom::program::{ObjectCode, UntrustedCode};
    let read = [
        implements!(ObjectCode: serde::Serialize),
        implements!(ObjectCode: serde::de::DeserializeOwned),
        implements!(UntrustedCode: serde::Serialize),
        implements!(UntrustedCode: serde::de::DeserializeOwned),
    ];
    assert_eq!(read, [true, false, true, true]);
}

/// C.5: reading a live set can fail, so that none of them has a trait of the standard library that cannot.
#[test]
fn live_sets_have_no_trait_that_cannot_fail() {
    macro_rules! traits_of {
        ($set:ty, $item:ty) => {
            [
                ("PartialEq", implements!($set: PartialEq)),
                ("PartialOrd", implements!($set: PartialOrd)),
                ("Hash", implements!($set: std::hash::Hash)),
                ("IntoIterator", implements!($set: IntoIterator)),
                ("IntoIterator of a reference", implements!(&'static $set: IntoIterator)),
                ("Extend", implements!($set: Extend<$item>)),
                ("FromIterator", implements!($set: FromIterator<$item>)),
                ("BitAnd", implements!($set: std::ops::BitAnd)),
                ("BitOr", implements!($set: std::ops::BitOr)),
                ("BitXor", implements!($set: std::ops::BitXor)),
                ("Sub", implements!($set: std::ops::Sub)),
            ]
        };
    }
    let found = [
        ("PeerSet", traits_of!(PeerSet<'static>, Device)),
        ("AccessedBy", traits_of!(AccessedBy<'static>, Location)),
        ("Adjacency", traits_of!(Adjacency<'static>, Node)),
    ];
    for (set, found) in found {
        assert!(found.iter().all(|(_, holds)| !holds), "{set}: {found:?}");
    }
}

/// C.5: each live set has a snapshot, which is a set of the standard library with all of these.
#[expect(dead_code, reason = "compiled and not run")]
mod with_snapshot {
    use std::collections::BTreeSet;

    use super::*;

    fn peers(one: PeerSet<'_>, other: PeerSet<'_>) -> Result<BTreeSet<Device>> {
        Ok(&one.snapshot()? - &other.snapshot()?)
    }

    fn advice(one: AccessedBy<'_>, other: AccessedBy<'_>) -> Result<BTreeSet<Location>> {
        Ok(&one.snapshot()? | &other.snapshot()?)
    }

    fn edges(one: &Adjacency<'_>, other: &Adjacency<'_>) -> Result<BTreeSet<Node>> {
        Ok(&one.snapshot()? & &other.snapshot()?)
    }
}

/// Not by the compiler's message, which quotes the standard library's source where that is installed.
#[test]
fn captures_and_counters_of_a_thread_stay_on_it() {
    let sent = [
        implements!(Capture<ThreadLocal>: Send),
        implements!(CallCounter: Send),
        implements!(CallRecorder: Send),
        implements!(Capture<Relaxed>: Send),
    ];
    assert_eq!(sent, [false, false, false, true]);
}

/// The operations that must not compile without a stream, with theirs: a renamed function would otherwise
/// fail to compile for another reason than the missing stream.
#[expect(dead_code, reason = "compiled and not run")]
mod with_stream {
    use super::*;

    fn allocation(pool: &DevicePool, queue: &impl Queue) -> Result<Buffer<u8>> {
        pool.allocate(4, queue)
    }

    fn allocation_of_any_resource(resource: &impl OrderedResource, queue: &impl Queue) -> Result<Buffer<u8>> {
        resource.zeroed(4, queue)
    }

    fn allocation_for_a_graph(pool: &GraphPool, queue: &impl Queue) -> Result<Buffer<u8>> {
        pool.allocate(4, queue)
    }

    fn synchronous_allocation(memory: &DeviceMemory) -> Result<Buffer<u8>> {
        memory.allocate(4)
    }

    /// S4.6: synchronous memory may be told a stream to wait for.
    fn free_after(memory: &DeviceMemory, buffer: Buffer<u8>, queue: &impl Queue) -> Result<(), FreeError<u8>> {
        memory.free_after(buffer, queue)
    }

    fn free_of_pinned(memory: &PinnedMemory, buffer: Buffer<u8>, queue: &impl Queue) -> Result<(), FreeError<u8>> {
        memory.free_after(buffer, queue)
    }

    fn copies(from: &Buffer<u8>, to: &mut Buffer<u8>, queue: &impl Queue) -> Result<Buffer<u8>> {
        from.copy_to(&mut *to, queue)?;
        to.fill(7, queue)?;
        to.copy_from_host(&from.download(queue)?, queue)?;
        copy_batch([(from, &mut *to)], queue)?;
        to.duplicate(queue)
    }

    fn copies_with(from: &Buffer<u8>, to: &mut Buffer<u8>, options: CopyOptions, queue: &impl Queue) -> Result<()> {
        from.as_slice().copy_to_with(&mut *to, options, queue)?;
        copy_batch_with([(from, to, options)], queue)
    }

    fn pinned(from: &Buffer<u8>, to: &PinnedMemory, queue: &impl Queue) -> Result<Pending<PinnedBuffer<u8>>> {
        from.as_slice().copy_to_pinned(to.buffer(from.len())?, queue)
    }

    fn rows(from: &Buffer<u8>, to: &mut Buffer<u8>, queue: &impl Queue) -> Result<()> {
        from.rows(4, 4, 4)?.copy_to(to.rows_mut(4, 4, 4)?, queue)?;
        to.rows_mut(4, 4, 4)?.fill(7, queue)
    }

    fn managed(buffer: &mut ManagedBuffer, queue: &impl Queue) -> Result<()> {
        buffer.prefetch(Host::Any, queue)?;
        buffer.discard(queue)?;
        buffer.discard_prefetch(Host::Any, queue)?;
        prefetch_batch([&*buffer], Host::Any, queue)?;
        discard_batch([&mut *buffer], queue)?;
        discard_prefetch_batch([buffer], Host::Any, queue)
    }

    fn between_devices(mesh: &Mesh, from: &Buffer<u8>, to: &mut Buffer<u8>, queue: &impl Queue) -> Result<()> {
        mesh.copy(from, to, queue)?.synchronize()
    }

    fn volumes(from: &Buffer<u8>, to: &mut Buffer<u8>, queue: &impl Queue) -> Result<()> {
        let shape = VolumeShape::packed(2, 2, 2);
        from.volume(shape)?.copy_to(to.volume_mut(shape)?, queue)
    }

    unsafe fn launches(
        kernel: &Kernel,
        typed: &TypedKernel<(&mut [u8],)>,
        (config, occupancy): (&LaunchConfig, &Occupancy<'_>),
        to: &mut Buffer<u8>,
        queue: &impl Queue,
    ) -> Result<u32> {
        // SAFETY: it is not run.
        unsafe {
            kernel.launch(queue, config, (&mut *to,))?;
            typed.launch(queue, config, (to,))?;
        }
        Ok(occupancy.max_cluster_size(config, queue)? + occupancy.max_active_clusters(config, queue)?)
    }

    #[cfg(unix)]
    unsafe fn imports(
        (pool, of): (&ImportedPool, &BufferDescriptor),
        (context, event): (&Context, &EventDescriptor),
        stream: &Stream,
    ) -> Result<Buffer<u8>> {
        // SAFETY: it is not run.
        unsafe {
            stream.wait_ipc(&IpcEvent::import(context, event)?)?;
            Buffer::import(pool, of, stream)
        }
    }

    fn graphs(exec: &GraphExec, stream: &Stream) -> Result<()> {
        exec.upload(stream)?;
        exec.launch(stream)
    }

    unsafe fn free_order(resource: &Arc<dyn StreamOrdered>, pool: &ManagedPool, stream: &Stream) -> Result<()> {
        let allocated: ManagedBuffer = pool.allocate(4, stream)?;
        drop(allocated);
        let address = resource.allocate_raw(4, stream)?;
        // SAFETY: it is not run.
        unsafe {
            resource.deallocate_raw(address, 4, stream)?;
            ManagedBuffer::<u8>::from_ordered(address, 4, resource, stream).map(drop)
        }
    }

    fn default_resource(context: &Context, word: &StreamWord, queue: &impl Queue) -> Result<()> {
        context.default_resource()?.allocate::<u8>(4, queue)?;
        word.write(1, queue)
    }

    /// S1.4: a device, or a host.
    fn locations(buffer: &ManagedBuffer, device: Device, queue: &impl Queue) -> Result<bool> {
        buffer.set_preferred_location(&device)?;
        buffer.prefetch(Host::Any, queue)?;
        LiveSet::insert(&buffer.accessed_by(), device)
    }
}

/// The same for the states of a capture.
#[expect(dead_code, reason = "compiled and not run")]
mod with_state {
    use super::*;

    fn definitions<'a>(captured: &'a Captured, idle: &'a Body<'_>, done: &'a Body<'_, Done>) -> [&'a GraphDef; 3] {
        [captured.definition(), idle.definition(), done.definition()]
    }

    fn queues(capture: &Capture, fork: &Fork<'_>, body: &Body<'_, Capturing>, to: &mut Buffer<u8>) -> Result<()> {
        to.fill(1, capture)?;
        to.fill(2, fork)?;
        to.fill(3, body)
    }

    fn ends(capture: Capture, more: &Condition) -> Result<Captured> {
        let forks = capture.fork(2)?;
        capture.join(forks)?;
        capture.while_loop(more)?.capture(Relaxed)?.end()?;
        capture.end()
    }
}

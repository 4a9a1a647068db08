//! Values that no call takes: each is refused with an error that names the value and the limit, and nothing
//! changes.

use warploom::graph::{DotFlags, Position, SwitchNode};
use warploom::{
    AccessLevel, Context, ContextError, DeviceError, DevicePool, Driver, Error, GraphDef, GraphError, Host, JitOptions,
    Kernel, KernelAttribute, LaunchConfig, LaunchError, Library, LibraryError, Limit, Location, LocationError,
    ManagedMemory, ManagedPool, MemoryError, Mesh, NumaId, PeerError, PinnedPool, PoolOptions, Result, Stream,
    StreamWord, Topology, VirtualMemory, VirtualMemoryError, VirtualOptions, discard_prefetch_batch, prefetch_batch,
};
use warploom_sim::{Machine, Mode};
use warploom_testkit::{TestResult, assert_sound, open};

const PTX: &str = "\
.version 8.3
.target sm_75
.address_size 64
.visible .entry k() { ret; }";

/// A machine with clusters, and two of its contexts' things.
struct World {
    machine: Machine,
    context: Context,
    stream: Stream,
    pool: DevicePool,
    kernel: Kernel,
}

impl World {
    fn new() -> TestResult<World> {
        let topology = warploom_sim::topology::Topology::preset("dgx-h100")?;
        let (machine, driver) = open(topology, Mode::Threads)?;
        let context = driver.device(0)?.context()?;
        let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
        let kernel = context.load(PTX)?.kernel("k")?;
        // The context keeps staging memory and a stream's event from now on.
        pool.upload(&vec![0_u8; 1 << 20], &stream)?.copy_to_host(&mut vec![0; 1 << 20], &stream)?;
        Ok(World { machine, context, stream, pool, kernel })
    }

    fn driver(&self) -> &Driver {
        self.context.driver()
    }

    fn topology(&self) -> Result<Topology> {
        Topology::probe(&self.driver().devices()?)
    }

    fn check(&self, config: LaunchConfig) -> Result<()> {
        self.kernel.check(&config, &self.context).map(drop)
    }

    /// Virtual memory that its own device has this access to.
    fn virtual_memory(&self, level: AccessLevel) -> Result<VirtualMemory> {
        VirtualMemory::with(&self.context, VirtualOptions::new().own_access(level))
    }
}

/// A use of a value that is refused, the variant of the error, and the parts of its text.
type Case = (&'static str, fn(&World) -> Result<()>, fn(&Error) -> bool, &'static [&'static str]);

fn each(cases: &[Case]) -> TestResult {
    let world = World::new()?;
    let wrong: Vec<String> = cases.iter().filter_map(|case| wrong(&world, case)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_sound(&world.machine);
    Ok(())
}

/// The way in which a refusal differs from what is expected.
fn wrong(world: &World, (what, call, is_expected, parts): &Case) -> Option<String> {
    let before = world.machine.census();
    let Err(error) = call(world) else { return Some(format!("{what}: accepted")) };
    let change = world.machine.census().since(&before);
    let text = error.to_string();
    let is_wrong = !is_expected(&error) || !parts.iter().all(|part| text.contains(part)) || !change.is_empty();
    is_wrong.then(|| format!("{what}: {error:?}: {text:?}, changed {change:?}"))
}

fn node(id: u32) -> Result<Host> {
    NumaId::try_from(id).map(Host::Numa)
}

#[test]
fn launches_and_code() -> TestResult {
    each(&[
        (
            "a cluster of 9999 blocks",
            |world| world.check(LaunchConfig::new(9999, 32).cluster(9999)),
            |error| matches!(error, Error::Launch(LaunchError::ClusterTooLarge { limit: 8, .. })),
            &["9999 blocks", "at most 8", "NonPortableClusterSize"],
        ),
        (
            "a cluster of 16 blocks in two dimensions",
            |world| world.check(LaunchConfig::new((4, 4), 32).cluster((4, 4))),
            |error| matches!(error, Error::Launch(LaunchError::ClusterTooLarge { limit: 8, .. })),
            &["4×4×1", "16 blocks"],
        ),
        (
            "the occupancy of blocks that the driver cannot be asked about",
            |world| world.kernel.occupancy(&world.context)?.max_active_blocks(u32::MAX, 0).map(drop),
            |error| matches!(error, Error::Launch(LaunchError::BlockTooLarge { .. })),
            &["4294967295×1×1", "1024×1024×64"],
        ),
        (
            "the shared memory of such blocks",
            |world| world.kernel.occupancy(&world.context)?.available_dynamic_shared(1, (1 << 20, 1 << 20)).map(drop),
            |error| matches!(error, Error::Launch(LaunchError::BlockTooLarge { .. })),
            &["1048576×1048576×1", "1024×1024×64"],
        ),
        (
            "the shared memory of no blocks",
            |world| world.kernel.occupancy(&world.context)?.available_dynamic_shared(0, 32).map(drop),
            |error| matches!(error, Error::Launch(LaunchError::Empty { what: "grid", .. })),
            &["0×1×1", "at least 1"],
        ),
        (
            "shared memory that no block has",
            |world| {
                let device = world.context.device();
                world.kernel.set_attribute(KernelAttribute::MaxDynamicShared, i32::MAX, device)
            },
            |error| matches!(error, Error::Launch(LaunchError::AttributeRefused { value: i32::MAX, .. })),
            &["2147483647", "MaxDynamicShared", "stays 49152"],
        ),
        (
            "0 registers",
            |world| Library::from_ptx_with(world.driver(), PTX, JitOptions::new().max_registers(0)).map(drop),
            |error| matches!(error, Error::Library(LibraryError::MaxRegisters { count: 0 })),
            &["0 registers", "from 1 to 255"],
        ),
        (
            "4294967295 registers",
            |world| Library::from_ptx_with(world.driver(), PTX, JitOptions::new().max_registers(u32::MAX)).map(drop),
            |error| matches!(error, Error::Library(LibraryError::MaxRegisters { count: u32::MAX })),
            &["4294967295 registers", "from 1 to 255"],
        ),
    ])
}

/// Of blocks that are only too large to be launched, the driver says that there are none.
#[test]
fn occupancy_of_blocks_that_are_too_large_is_zero() -> TestResult {
    let world = World::new()?;
    assert_eq!(world.kernel.occupancy(&world.context)?.max_active_blocks(2048, 0)?, 0);
    world.check(LaunchConfig::new(8, 32).cluster(8))?;
    Ok(())
}

#[test]
fn contexts_and_meshes() -> TestResult {
    each(&[
        (
            "a stack of all bytes",
            |world| world.context.set_limit(Limit::StackSize, usize::MAX),
            |error| matches!(error, Error::Context(ContextError::LimitRefused { limit: Limit::StackSize, .. })),
            &["18446744073709551615", "the stack size of device 0", "stays 1024"],
        ),
        (
            "a limit that cannot be set",
            |world| world.context.set_limit(Limit::SharedMemory, 1),
            |error| matches!(error, Error::Context(ContextError::FixedLimit { limit: Limit::SharedMemory, .. })),
            &["to 1 or otherwise", "read only"],
        ),
        (
            "a limit that the driver does not know",
            |world| world.context.set_limit(Limit::BlockMemory, 1),
            |error| {
                let limit = Limit::BlockMemory;
                *error == Error::Context(ContextError::UnsupportedLimit { limit, device: 0 })
            },
            &["device 0", "the memory of a block"],
        ),
        (
            "a mesh of nothing",
            |world| Mesh::enable(&world.topology()?, &[]).map(drop),
            |error| *error == Error::Peer(PeerError::NoContexts),
            &["0 contexts", "at least 1"],
        ),
        (
            "a mesh of one context twice",
            |world| Mesh::enable(&world.topology()?, &[world.context.clone(), world.context.clone()]).map(drop),
            |error| *error == Error::Peer(PeerError::TwoContexts { device: 0 }),
            &["device 0", "one context of each device"],
        ),
    ])
}

/// A machine may have no devices, and a program asks about all that there are.
#[test]
fn a_topology_of_no_devices_is_empty() -> TestResult {
    assert!(Topology::probe(&[])?.devices().is_empty());
    Ok(())
}

fn is_refused_node(error: &Error) -> bool {
    let host = node(12_345).expect("it is a number");
    *error == Error::Location(LocationError::NumaRefused { host })
}

#[test]
fn nodes_that_the_host_does_not_have() -> TestResult {
    each(&[
        (
            "the preferred location of memory",
            |world| {
                let buffer = ManagedMemory::new(&world.context)?.allocate::<u8>(8)?;
                buffer.set_preferred_location(Location::from(node(12_345)?))
            },
            is_refused_node,
            &["host NUMA node 12345", "name a node that the host has"],
        ),
        (
            "a prefetch",
            |world| {
                let buffer = ManagedMemory::new(&world.context)?.allocate::<u8>(8)?;
                buffer.prefetch(node(12_345)?, &world.stream)
            },
            is_refused_node,
            &[],
        ),
        (
            "a batch of prefetches",
            |world| {
                let memory = ManagedMemory::new(&world.context)?;
                let (one, other) = (memory.allocate::<u8>(8)?, memory.allocate::<u8>(8)?);
                prefetch_batch([&one, &other], [node(12_345)?, Host::Any], &world.stream)
            },
            is_refused_node,
            &[],
        ),
        (
            "a batch of discards",
            |world| {
                let mut buffer = ManagedMemory::new(&world.context)?.allocate::<u8>(1 << 21)?;
                discard_prefetch_batch([&mut buffer], node(12_345)?, &world.stream)
            },
            is_refused_node,
            &[],
        ),
        (
            "a pool of page-locked memory",
            |world| PinnedPool::on_numa_node(&world.context, NumaId::try_from(12_345)?, PoolOptions::new()).map(drop),
            is_refused_node,
            &[],
        ),
        (
            "a default pool",
            |world| PinnedPool::default_of(&world.context, node(12_345)?).map(drop),
            is_refused_node,
            &[],
        ),
        (
            "a pool of managed memory",
            |world| ManagedPool::preferring(&world.context, node(12_345)?).map(drop),
            is_refused_node,
            &[],
        ),
    ])
}

#[test]
fn memory() -> TestResult {
    each(&[
        (
            "an alignment of half of all addresses",
            |world| {
                let options = VirtualOptions::new().alignment(1 << 63);
                VirtualMemory::with(&world.context, options)?.allocate::<u8>(5).map(drop)
            },
            |error| matches!(error, Error::VirtualMemory(VirtualMemoryError::AlignmentRefused { .. })),
            &["0x8000000000000000", "2097152 bytes", "0x200000"],
        ),
        (
            "more than the maximum of a pool",
            |world| {
                let pool = DevicePool::with(&world.context, PoolOptions::new().max_size(64 << 20))?;
                let _kept = pool.allocate::<u8>(1 << 20, &world.stream)?;
                pool.allocate::<u8>(64 << 20, &world.stream).map(drop)
            },
            |error| {
                let full = MemoryError::OverLimit { asked: 64 << 20, used: 1 << 20, limit: 64 << 20 };
                *error == Error::Memory(full) && error.is_out_of_memory()
            },
            &["67108864 bytes exceed the limit", "1048576 of 67108864 are used"],
        ),
        (
            "more than the device has",
            |world| world.pool.allocate::<u8>(1 << 60, &world.stream).map(drop),
            |error| matches!(error, Error::Driver(_)) && error.is_out_of_memory(),
            &["cuMemAllocFromPoolAsync"],
        ),
    ])
}

fn is_no_access(error: &Error, needed: &str, had: AccessLevel) -> bool {
    matches!(error, Error::Memory(MemoryError::NoAccess { device: 0, needs, level, .. }) if *needs == needed && *level == had)
}

fn cannot_write(error: &Error) -> bool {
    is_no_access(error, "write", AccessLevel::None)
}

fn cannot_read(error: &Error) -> bool {
    is_no_access(error, "read", AccessLevel::None)
}

fn reads_only(error: &Error) -> bool {
    is_no_access(error, "write", AccessLevel::Read)
}

#[test]
fn memory_without_access() -> TestResult {
    const NONE: &[&str] = &["device 0 cannot write memory at 0x", "no access", "own_access"];
    const READ: &[&str] = &["device 0 cannot write memory at 0x", "access to read", "own_access"];
    each(&[
        (
            "a fill",
            |world| world.virtual_memory(AccessLevel::None)?.allocate::<u8>(64)?.fill(1, &world.stream),
            cannot_write,
            NONE,
        ),
        (
            "a fill of memory to read",
            |world| world.virtual_memory(AccessLevel::Read)?.allocate::<u8>(64)?.fill(1, &world.stream),
            reads_only,
            READ,
        ),
        (
            "a fill with words",
            |world| world.virtual_memory(AccessLevel::Read)?.allocate::<[u32; 2]>(8)?.fill([1, 2], &world.stream),
            reads_only,
            READ,
        ),
        (
            "a fill of rows",
            |world| {
                let mut buffer = world.virtual_memory(AccessLevel::Read)?.allocate::<u8>(64)?;
                buffer.rows_mut(8, 8, 8)?.fill(1, &world.stream)
            },
            reads_only,
            READ,
        ),
        (
            "an upload",
            |world| {
                let mut buffer = world.virtual_memory(AccessLevel::Read)?.allocate::<u8>(64)?;
                buffer.copy_from_host(&[1; 64], &world.stream)
            },
            reads_only,
            READ,
        ),
        (
            "an upload in pieces",
            |world| {
                let mut buffer = world.virtual_memory(AccessLevel::None)?.allocate::<u8>(1 << 20)?;
                buffer.copy_from_host(&vec![1; 1 << 20], &world.stream)
            },
            cannot_write,
            NONE,
        ),
        (
            "a download",
            |world| world.virtual_memory(AccessLevel::None)?.allocate::<u8>(64)?.download(&world.stream).map(drop),
            cannot_read,
            &["cannot read"],
        ),
        (
            "a download into a slice",
            |world| {
                let buffer = world.virtual_memory(AccessLevel::None)?.allocate::<u8>(1 << 16)?;
                buffer.copy_to_host(&mut vec![0; 1 << 16], &world.stream)
            },
            cannot_read,
            &["cannot read"],
        ),
        (
            "a copy from it",
            |world| {
                let buffer = world.virtual_memory(AccessLevel::None)?.allocate::<u8>(64)?;
                buffer.copy_to(&mut world.pool.zeroed::<u8>(64, &world.stream)?, &world.stream)
            },
            cannot_read,
            &["cannot read"],
        ),
        (
            "a copy to it",
            |world| {
                let mut buffer = world.virtual_memory(AccessLevel::Read)?.allocate::<u8>(64)?;
                world.pool.zeroed::<u8>(64, &world.stream)?.copy_to(&mut buffer, &world.stream)
            },
            reads_only,
            READ,
        ),
    ])
}

#[test]
fn graphs() -> TestResult {
    each(&[
        (
            "a switch of 2^30 branches",
            |world| {
                let graph = GraphDef::new(&world.context)?;
                graph.entry().switch(&graph.condition(0)?, 1 << 30).map(drop)
            },
            |error| {
                let (branches, limit) = (1 << 30, SwitchNode::MAX_BRANCHES);
                *error == Error::Graph(GraphError::TooManyBranches { branches, limit })
            },
            &["1073741824 branches", "limit of 65536"],
        ),
        (
            "a switch of no branches",
            |world| {
                let graph = GraphDef::new(&world.context)?;
                graph.entry().switch(&graph.condition(0)?, 0).map(drop)
            },
            |error| *error == Error::Graph(GraphError::NoBranches),
            &["at least 1"],
        ),
        (
            "a file in a folder that does not exist",
            |world| GraphDef::new(&world.context)?.write_dot("/nowhere/x.dot", DotFlags::new()),
            |error| matches!(error, Error::Graph(GraphError::NotWritten { .. })) && error.code().is_some(),
            &["/nowhere/x.dot", "a folder that exists", "CUDA_ERROR_OPERATING_SYSTEM"],
        ),
        (
            "a path with a zero byte",
            |world| GraphDef::new(&world.context)?.write_dot("a\0b", DotFlags::new()),
            |error| matches!(error, Error::Graph(GraphError::Path { .. })),
            &["\"a\\0b\"", "zero byte"],
        ),
    ])
}

/// Every kind of node, at a position in a context of another driver. The graph has no new node.
#[test]
fn nodes_in_a_context_of_another_driver() -> TestResult {
    let (world, other) = (World::new()?, World::new()?);
    let (graph, source) = (GraphDef::new(&world.context)?, GraphDef::new(&world.context)?);
    let (condition, word) = (graph.condition(0)?, StreamWord::<u32>::new(&world.context, 0)?);
    let (from, mut to) = (world.pool.zeroed::<u8>(8, &world.stream)?, world.pool.zeroed::<u8>(8, &world.stream)?);
    let (stranger, mut event) = (&other.context, world.stream.record()?);
    let before = graph.nodes()?.len();
    let refused = |kind: &str, add: &mut dyn FnMut(Position<'_>) -> Result<()>| {
        let added = add(graph.entry().on(stranger));
        assert!(matches!(added, Err(Error::Device(DeviceError::DriverMismatch { .. }))), "{kind}: {added:?}");
    };
    refused("empty", &mut |at| at.empty().map(drop));
    refused("host", &mut |at| at.host(|| ()).map(drop));
    refused("record", &mut |at| at.record(&mut event).map(drop));
    refused("wait", &mut |at| at.wait(&event).map(drop));
    refused("embed", &mut |at| at.embed(&source).map(drop));
    refused("words", &mut |at| at.words(&[word.writing(1)]).map(drop));
    refused("fill", &mut |at| at.fill(&mut to, 1).map(drop));
    refused("copy", &mut |at| at.copy(&from, &mut to).map(drop));
    refused("if", &mut |at| at.if_then(&condition).map(drop));
    refused("while", &mut |at| at.while_loop(&condition).map(drop));
    refused("switch", &mut |at| at.switch(&condition, 2).map(drop));
    refused("allocate", &mut |at| at.allocate::<u8>(8).map(drop));
    assert_eq!(graph.nodes()?.len(), before);
    assert_sound(&world.machine);
    Ok(())
}

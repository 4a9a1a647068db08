//! Access that copies need: for each pair of kinds of memory, and in each form of a copy (S0.28).

use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::Machine;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sys::types::{
    CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUcontext, CUmemAccess_flags, CUmemAccessDesc,
    CUmemAllocationType, CUmemLocation, CUmemLocationType, CUmemPoolProps, CUresult, CUstream, CUstreamCaptureMode,
};
use warploom_testkit::{
    ASYNCHRONOUS, Primary, Stream, TestResult, call, code_of, open, physical_memory, pool_properties,
};

use crate::block_batch::layers;
use crate::support::{STREAM_ORDER, UNIFIED, attributes, between, rows, slices};

const BYTES: usize = 1024;
/// The granularity of mappings.
const PAGE: usize = 2 << 20;
const DEVICES: usize = 3;
const NONE: u32 = 0;
const READ: u32 = 1;
const READ_WRITE: u32 = 3;

fn on(device: usize) -> CUmemLocation {
    CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, device as i32)
}

fn access(device: usize, flags: u32) -> CUmemAccessDesc {
    CUmemAccessDesc { location: on(device), flags: CUmemAccess_flags(flags) }
}

/// The pointers that an address is valid as.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pointer {
    /// All of them.
    Any,
    /// A host pointer and a unified one, and no device pointer.
    NotDevice,
}

/// Memory, and the devices that may read and write it in a copy.
#[derive(Clone, Debug)]
struct Holding {
    kind: String,
    address: u64,
    pointer: Pointer,
    owner: Option<usize>,
    readers: [bool; DEVICES],
    writers: [bool; DEVICES],
}

impl Holding {
    fn open(kind: impl Into<String>, address: u64, pointer: Pointer, owner: Option<usize>) -> Holding {
        Holding { kind: kind.into(), address, pointer, owner, readers: [true; DEVICES], writers: [true; DEVICES] }
    }
}

/// A machine with memory of every kind.
struct Scene<'a> {
    driver: &'a Driver,
    devices: &'a [Primary],
    streams: Vec<Stream>,
    holdings: Vec<Holding>,
    host: Vec<Vec<u8>>,
}

impl<'a> Scene<'a> {
    fn new(driver: &'a Driver, devices: &'a [Primary]) -> TestResult<Scene<'a>> {
        let mut scene = Scene { driver, devices, streams: Vec::new(), holdings: Vec::new(), host: Vec::new() };
        for device in devices {
            device.make_current()?;
            scene.streams.push(Stream::new(driver)?);
        }
        scene.add_host_memory()?;
        for owner in [0, 1] {
            devices[owner].make_current()?;
            let other = 1 - owner;
            scene.add_ordinary(owner)?;
            for granted in [&[][..], &[other], &[2], &[other, 2]] {
                scene.add_pool(owner, granted)?;
            }
            for rights in [&[(owner, READ_WRITE)][..], &[(other, READ_WRITE)], &[(owner, READ), (2, READ_WRITE)]] {
                scene.add_mapping(owner, rights)?;
            }
            for peers in [&[][..], &[other]] {
                scene.add_graph_memory(owner, peers)?;
            }
        }
        Ok(scene)
    }

    fn add_host_memory(&mut self) -> TestResult {
        let driver = self.driver;
        let mut page = null_mut();
        call!(driver.cuMemHostAlloc(&mut page, BYTES, 0))?;
        let pinned = page.expose_provenance() as u64;
        self.holdings.push(Holding::open("page-locked", pinned, Pointer::Any, None));
        self.host = vec![vec![0; BYTES], vec![0; BYTES]];
        let [registered, pageable] = [0, 1].map(|index| self.host[index].as_mut_ptr());
        call!(driver.cuMemHostRegister_v2(registered.cast(), BYTES, 0))?;
        let registered = registered.expose_provenance() as u64;
        self.holdings.push(Holding::open("registered", registered, Pointer::Any, None));
        let pageable = pageable.expose_provenance() as u64;
        self.holdings.push(Holding::open("pageable", pageable, Pointer::NotDevice, None));
        let host = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST, 0);
        let address = self.allocate(&pool_properties(host))?;
        self.holdings.push(Holding::open("pool of the host", address, Pointer::NotDevice, None));
        let nowhere = CUmemLocation::new(CUmemLocationType(0), 0);
        let managed = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED;
        let address = self.allocate(&CUmemPoolProps { allocType: managed, ..pool_properties(nowhere) })?;
        self.holdings.push(Holding::open("managed pool", address, Pointer::Any, None));
        Ok(())
    }

    /// Memory of a new pool; its address, and the pool.
    fn allocate(&self, properties: &CUmemPoolProps) -> TestResult<u64> {
        let (driver, mut pool, mut address) = (self.driver, null_mut(), 0);
        call!(driver.cuMemPoolCreate(&mut pool, properties))?;
        call!(driver.cuMemAllocFromPoolAsync(&mut address, BYTES, pool, null_mut()))?;
        Ok(address)
    }

    fn add_ordinary(&mut self, owner: usize) -> TestResult {
        let (driver, mut device, mut managed) = (self.driver, 0, 0);
        call!(driver.cuMemAlloc_v2(&mut device, BYTES))?;
        call!(driver.cuMemAllocManaged(&mut managed, BYTES, 1))?;
        self.holdings.push(Holding::open(format!("cuMemAlloc, device {owner}"), device, Pointer::Any, Some(owner)));
        self.holdings.push(Holding::open(format!("managed, device {owner}"), managed, Pointer::Any, Some(owner)));
        Ok(())
    }

    fn add_pool(&mut self, owner: usize, granted: &[usize]) -> TestResult {
        let (driver, mut pool, mut address) = (self.driver, null_mut(), 0);
        call!(driver.cuMemPoolCreate(&mut pool, &pool_properties(on(owner))))?;
        call!(driver.cuMemAllocFromPoolAsync(&mut address, BYTES, pool, null_mut()))?;
        for &device in granted {
            call!(driver.cuMemPoolSetAccess(pool, &access(device, READ_WRITE), 1))?;
        }
        self.add(format!("pool of {owner} for {granted:?}"), address, owner, |device| {
            [device == owner || granted.contains(&device); 2]
        });
        Ok(())
    }

    fn add_mapping(&mut self, owner: usize, rights: &[(usize, u32)]) -> TestResult {
        let (driver, mut handle, mut address) = (self.driver, 0, 0);
        call!(driver.cuMemCreate(&mut handle, PAGE, &physical_memory(on(owner)), 0))?;
        call!(driver.cuMemAddressReserve(&mut address, PAGE, 0, 0, 0))?;
        call!(driver.cuMemMap(address, PAGE, 0, handle, 0))?;
        for &(device, flags) in rights {
            call!(driver.cuMemSetAccess(address, PAGE, &access(device, flags), 1))?;
        }
        let rights_of =
            |device: usize| rights.iter().find(|(granted, _)| *granted == device).map_or(NONE, |(_, flags)| *flags);
        self.add(format!("mapping of {owner} for {rights:?}"), address, owner, |device| {
            [rights_of(device) != NONE, rights_of(device) == READ_WRITE]
        });
        Ok(())
    }

    fn add_graph_memory(&mut self, owner: usize, peers: &[usize]) -> TestResult {
        let (driver, mut graph, mut node, mut exec) = (self.driver, null_mut(), null_mut(), null_mut());
        let descriptions: Vec<_> = peers.iter().map(|&device| access(device, READ_WRITE)).collect();
        let mut params = CUDA_MEM_ALLOC_NODE_PARAMS {
            poolProps: pool_properties(on(owner)),
            accessDescs: descriptions.as_ptr(),
            accessDescCount: descriptions.len(),
            bytesize: BYTES,
            dptr: 0,
        };
        call!(driver.cuGraphCreate(&mut graph, 0))?;
        call!(driver.cuGraphAddMemAllocNode(&mut node, graph, null_mut(), 0, &mut params))?;
        call!(driver.cuGraphInstantiateWithFlags(&mut exec, graph, 0))?;
        call!(driver.cuGraphLaunch(exec, self.streams[owner].raw))?;
        self.streams[owner].synchronize()?;
        self.add(format!("graph memory of {owner} for {peers:?}"), params.dptr, owner, |device| {
            [device == owner || peers.contains(&device); 2]
        });
        Ok(())
    }

    /// Memory of a device; `rights` are those to read and to write.
    fn add(&mut self, kind: String, address: u64, owner: usize, rights: impl Fn(usize) -> [bool; 2]) {
        let mut holding = Holding::open(kind, address, Pointer::Any, Some(owner));
        for device in 0..DEVICES {
            [holding.readers[device], holding.writers[device]] = rights(device);
        }
        self.holdings.push(holding);
    }
}

/// A pair of ends, the stream of a copy, and its context.
struct Copy<'a> {
    driver: &'a Driver,
    to: u64,
    from: u64,
    stream: CUstream,
    context: CUcontext,
    /// The contexts of the owners or, of memory without one, of the stream.
    owners: [CUcontext; 2],
}

/// The device that takes part in a copy besides the owners and the current one, or two for their own ends.
#[derive(Clone, Copy, PartialEq)]
enum Devices {
    Stream,
    Current,
    Owners,
}

struct Form {
    name: &'static str,
    /// Both ends are named as device pointers.
    is_device: bool,
    devices: Devices,
    run: fn(&Copy<'_>) -> TestResult<CUresult>,
}

fn unified_rows(copy: &Copy<'_>) -> CUDA_MEMCPY2D {
    CUDA_MEMCPY2D { srcMemoryType: UNIFIED, dstMemoryType: UNIFIED, ..rows(copy.to, copy.from) }
}

fn unified_slices(copy: &Copy<'_>) -> CUDA_MEMCPY3D {
    CUDA_MEMCPY3D { srcMemoryType: UNIFIED, dstMemoryType: UNIFIED, ..slices(copy.to, copy.from) }
}

fn batch(copy: &Copy<'_>) -> CUresult {
    let (driver, mut to, mut from, mut bytes) = (copy.driver, copy.to, copy.from, BYTES);
    let (mut start, mut culprit, mut order) = (0, 0, attributes(STREAM_ORDER));
    code_of(call!(driver.cuMemcpyBatchAsync(
        &mut to,
        &mut from,
        &mut bytes,
        1,
        &mut order,
        &mut start,
        1,
        &mut culprit,
        copy.stream
    )))
}

fn blocks(copy: &Copy<'_>) -> CUresult {
    let (driver, mut culprit, mut list) = (copy.driver, 0, [layers(copy.to, copy.from)]);
    code_of(call!(driver.cuMemcpy3DBatchAsync(1, list.as_mut_ptr(), &mut culprit, 0, copy.stream)))
}

fn node(copy: &Copy<'_>) -> TestResult<CUresult> {
    let (driver, mut graph, mut node) = (copy.driver, null_mut(), null_mut());
    call!(driver.cuGraphCreate(&mut graph, 0))?;
    let block = unified_slices(copy);
    let code = code_of(call!(driver.cuGraphAddMemcpyNode(&mut node, graph, null_mut(), 0, &block, copy.context)));
    call!(driver.cuGraphDestroy(graph))?;
    Ok(code)
}

fn captured(copy: &Copy<'_>) -> TestResult<CUresult> {
    let (driver, mut graph) = (copy.driver, null_mut());
    call!(driver.cuStreamBeginCapture_v2(copy.stream, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED))?;
    let code = code_of(call!(driver.cuMemcpyAsync(copy.to, copy.from, BYTES, copy.stream)));
    call!(driver.cuStreamEndCapture(copy.stream, &mut graph))?;
    call!(driver.cuGraphDestroy(graph))?;
    Ok(code)
}

fn peer_blocks(copy: &Copy<'_>) -> CUresult {
    let (driver, [to, from]) = (copy.driver, copy.owners);
    let mut block = between(unified_slices(copy));
    (block.dstContext, block.srcContext) = (to, from);
    code_of(call!(driver.cuMemcpy3DPeerAsync(&block, copy.stream)))
}

macro_rules! forms {
    ($($name:literal $is_device:literal $devices:ident |$driver:ident, $copy:ident| $run:expr;)*) => {
        &[$(Form {
            name: $name,
            is_device: $is_device,
            devices: Devices::$devices,
            run: |$copy| {
                let $driver = $copy.driver;
                Ok($run)
            },
        }),*]
    };
}

const FORMS: &[Form] = forms! {
    "linear" false Stream |d, c| code_of(call!(d.cuMemcpyAsync(c.to, c.from, BYTES, c.stream)));
    "linear, now" false Current |d, c| code_of(call!(d.cuMemcpy(c.to, c.from, BYTES)));
    "device pointers" true Stream |d, c| code_of(call!(d.cuMemcpyDtoDAsync_v2(c.to, c.from, BYTES, c.stream)));
    "device pointers, now" true Current |d, c| code_of(call!(d.cuMemcpyDtoD_v2(c.to, c.from, BYTES)));
    "rows" false Stream |d, c| code_of(call!(d.cuMemcpy2DAsync_v2(&unified_rows(c), c.stream)));
    "slices" false Stream |d, c| code_of(call!(d.cuMemcpy3DAsync_v2(&unified_slices(c), c.stream)));
    "batch" false Stream |_d, c| batch(c);
    "batch of blocks" false Stream |_d, c| blocks(c);
    "node" false Stream |_d, c| node(c)?;
    "captured" false Stream |_d, c| captured(c)?;
    "between contexts" true Owners |d, c| {
        code_of(call!(d.cuMemcpyPeerAsync(c.to, c.owners[0], c.from, c.owners[1], BYTES, c.stream)))
    };
    "blocks between contexts" false Owners |_d, c| peer_blocks(c);
};

/// The rule: `true` if a device that takes part has access to both ends.
fn is_allowed(form: &Form, to: &Holding, from: &Holding, acting: usize, current: usize) -> bool {
    if form.is_device && [to, from].iter().any(|end| end.pointer == Pointer::NotDevice) {
        return false;
    }
    let acting = if form.devices == Devices::Current { current } else { acting };
    let [of_to, of_from] = [to, from].map(|end| end.owner.unwrap_or(acting));
    if form.devices == Devices::Owners && of_to != of_from {
        return to.writers[of_to] && from.readers[of_from];
    }
    let named = if form.devices == Devices::Owners { of_to } else { acting };
    let taking_part = [Some(named), to.owner, from.owner, Some(current)];
    taking_part.into_iter().flatten().any(|device| to.writers[device] && from.readers[device])
}

#[test]
fn a_copy_needs_one_device_that_takes_part_and_has_access_to_both_ends() -> TestResult {
    // Checks of races between the thousands of copies would take most of the time.
    let driver = Driver::open(&Machine::builder().topology(Topology::preset("dgx-h100")?).start()?)?;
    driver.initialize()?;
    let driver = &driver;
    let devices = [Primary::of(driver, 0)?, Primary::of(driver, 1)?, Primary::of(driver, 2)?];
    let scene = Scene::new(driver, &devices)?;
    let mut refused = vec![0; FORMS.len()];
    for (index, to) in scene.holdings.iter().enumerate() {
        for (_, from) in scene.holdings.iter().enumerate().filter(|(other, _)| *other != index) {
            for (acting, stream) in scene.streams.iter().enumerate() {
                for (current, device) in scene.devices.iter().enumerate() {
                    device.make_current()?;
                    let context = scene.devices[acting].context;
                    let owners = [to, from].map(|end| end.owner.map_or(context, |owner| scene.devices[owner].context));
                    let (to_address, from_address, stream) = (to.address, from.address, stream.raw);
                    let copy = Copy { driver, to: to_address, from: from_address, stream, context, owners };
                    for (form, refused) in FORMS.iter().zip(&mut refused) {
                        let expected = match is_allowed(form, to, from, acting, current) {
                            true => CUresult::CUDA_SUCCESS,
                            false => CUresult::CUDA_ERROR_INVALID_VALUE,
                        };
                        let what = format!("{}: {} <- {}", form.name, to.kind, from.kind);
                        let answer = (form.run)(&copy)?;
                        assert_eq!(answer, expected, "{what}; stream of {acting}, current {current}");
                        *refused += usize::from(answer != CUresult::CUDA_SUCCESS);
                    }
                    call!(driver.cuStreamSynchronize(stream))?;
                }
            }
        }
    }
    assert!(refused.iter().all(|refused| *refused > 0), "{refused:?}");
    for device in &devices {
        device.make_current()?;
        call!(driver.cuCtxSynchronize())?;
    }
    drop(scene.streams);
    Ok(())
}

/// Two published tests of NVIDIA's, which run on machines with several GPUs: on a stream of device 0, with
/// device 1 current, memory of device 0's pool is copied to device 1's if that was granted, and memory of
/// device 1's pool is copied to managed memory without a grant.
#[test]
fn copies_of_published_tests_work() -> TestResult {
    for mode in ASYNCHRONOUS {
        let (_machine, driver) = open(Topology::preset("dgx-h100")?, *mode)?;
        let driver = &driver;
        let devices = [Primary::of(driver, 0)?, Primary::of(driver, 1)?];
        let (mut pools, mut memory) = ([null_mut(); 2], [0; 2]);
        for (index, device) in devices.iter().enumerate() {
            device.make_current()?;
            call!(driver.cuMemPoolCreate(&mut pools[index], &pool_properties(on(index))))?;
            call!(driver.cuMemAllocFromPoolAsync(&mut memory[index], BYTES, pools[index], null_mut()))?;
            call!(driver.cuMemsetD8_v2(memory[index], 7 + index as u8, BYTES))?;
            call!(driver.cuCtxSynchronize())?;
        }
        let ([near, far], mut managed) = (memory, 0);
        devices[0].make_current()?;
        let stream = Stream::new(driver)?;
        call!(driver.cuMemAllocManaged(&mut managed, BYTES, 1))?;
        devices[1].make_current()?;
        call!(driver.cuMemcpyAsync(managed, far, BYTES, stream.raw))?;
        stream.synchronize()?;
        let bytes_of = |address| -> TestResult<[u8; BYTES]> {
            let mut bytes = [0_u8; BYTES];
            call!(driver.cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), address, BYTES))?;
            Ok(bytes)
        };
        assert_eq!(bytes_of(managed)?, [8; BYTES]);

        let copy = || code_of(call!(driver.cuMemcpyAsync(far, near, BYTES, stream.raw)));
        assert_eq!(copy(), CUresult::CUDA_ERROR_INVALID_VALUE, "{mode:?}");
        call!(driver.cuMemPoolSetAccess(pools[0], &access(1, READ_WRITE), 1))?;
        assert_eq!(copy(), CUresult::CUDA_SUCCESS, "{mode:?}");
        stream.synchronize()?;
        assert_eq!(bytes_of(far)?, [7; BYTES]);
        call!(driver.cuMemPoolSetAccess(pools[0], &access(1, NONE), 1))?;
        assert_eq!(copy(), CUresult::CUDA_ERROR_INVALID_VALUE, "{mode:?}");
        // The fallback of frameworks: a peer copy names both contexts, and needs no grant.
        call!(driver.cuMemcpyPeerAsync(far, devices[1].context, near, devices[0].context, BYTES, stream.raw))?;
        stream.synchronize()?;
        for address in [near, far, managed] {
            call!(driver.cuMemFree_v2(address))?;
        }
        for pool in pools {
            call!(driver.cuMemPoolDestroy(pool))?;
        }
        devices[0].make_current()?;
        drop(stream);
    }
    Ok(())
}

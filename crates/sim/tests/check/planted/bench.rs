//! The driver and the resources of a planted program.

use std::ffi::CStr;
use std::ptr::{null_mut, with_exposed_provenance_mut, without_provenance_mut};
use std::sync::Mutex;

use warploom_testkit::driver::{Driver, Error};
use warploom_testkit::sim::{AllocationInfo, Machine, StreamInfo, StreamKind};
use warploom_testkit::sys::types::{CUcontext, CUevent, CUfunction, CUgraph, CUgraphExec, CUmemAttach_flags, CUstream};
use warploom_testkit::{TestResult, call};

/// A stream's handle, as a number that threads can share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stream(pub(crate) usize);

/// The legacy default stream.
pub(crate) const DEFAULT: Stream = Stream(1);
/// The default stream of the calling thread.
pub(crate) const PER_THREAD: Stream = Stream(2);

impl Stream {
    pub(crate) fn raw(self) -> CUstream {
        without_provenance_mut(self.0)
    }
}

/// An event's handle, as a number that threads can share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event(pub(crate) usize);

impl Event {
    pub(crate) fn raw(self) -> CUevent {
        without_provenance_mut(self.0)
    }
}

/// A resource to destroy when a program is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owned {
    Stream(Stream),
    Event(Event),
    Memory(u64),
    Pinned(u64),
    Graph(usize),
    Executable(usize),
    Module(usize),
}

/// A machine with a current context, for one program. Streams are A, B, C and memory is m0, m1, m2 in the
/// order in which they were made.
pub(crate) struct Bench {
    pub(crate) machine: Machine,
    pub(crate) driver: Driver,
    /// `true` for the twin without the bug.
    pub(crate) fixed: bool,
    /// The primary context of device 0, as a number that threads can share.
    context: usize,
    owned: Mutex<Vec<Owned>>,
    streams: Mutex<Vec<u64>>,
    memory: Mutex<Vec<u64>>,
}

impl Bench {
    pub(crate) fn new(machine: &Machine, fixed: bool) -> TestResult<Bench> {
        let driver = Driver::open(machine)?;
        driver.initialize()?;
        let mut context = null_mut();
        call!(driver.cuDevicePrimaryCtxRetain(&mut context, 0))?;
        let (context, (owned, streams, memory)) = (context.addr(), Default::default());
        let bench = Bench { machine: machine.clone(), driver, fixed, context, owned, streams, memory };
        bench.enter()?;
        Ok(bench)
    }

    /// Gives back what the program has, as a careful one would.
    pub(crate) fn clean_up(self) -> TestResult {
        let driver = &self.driver;
        self.enter()?;
        call!(driver.cuCtxSynchronize())?;
        let mut owned = std::mem::take(&mut *self.owned());
        while let Some(thing) = owned.pop() {
            match thing {
                Owned::Stream(stream) => call!(driver.cuStreamDestroy_v2(stream.raw()))?,
                Owned::Event(event) => call!(driver.cuEventDestroy_v2(event.raw()))?,
                Owned::Memory(address) => call!(driver.cuMemFree_v2(address))?,
                Owned::Pinned(address) => call!(driver.cuMemFreeHost(pointer(address)))?,
                Owned::Graph(graph) => call!(driver.cuGraphDestroy(without_provenance_mut(graph)))?,
                Owned::Module(module) => call!(driver.cuModuleUnload(without_provenance_mut(module)))?,
                Owned::Executable(graph) => call!(driver.cuGraphExecDestroy(without_provenance_mut(graph)))?,
            }
        }
        Ok(())
    }

    fn owned(&self) -> std::sync::MutexGuard<'_, Vec<Owned>> {
        self.owned.lock().expect("nobody panics with it")
    }

    fn disown(&self, thing: Owned) {
        self.owned().retain(|owned| *owned != thing);
    }

    /// Gives up ownership of memory that the program frees itself.
    pub(crate) fn forget(&self, address: u64) {
        self.disown(Owned::Memory(address));
    }

    /// Gives memory a name.
    pub(crate) fn name(&self, address: u64) -> u64 {
        self.memory.lock().expect("nobody panics with it").push(address);
        address
    }

    pub(crate) fn name_of(&self, allocation: &AllocationInfo) -> String {
        let memory = self.memory.lock().expect("nobody panics with it");
        let place = memory.iter().rposition(|address| *address == allocation.address);
        place.map_or_else(|| "?".to_owned(), |place| format!("m{place}"))
    }

    pub(crate) fn stream_name(&self, stream: &StreamInfo) -> String {
        let streams = self.streams.lock().expect("nobody panics with it");
        match stream.kind {
            StreamKind::LegacyDefault => format!("default {}", stream.device),
            StreamKind::PerThreadDefault => "per-thread".to_owned(),
            _ => match streams.iter().position(|id| *id == stream.id) {
                Some(place) => char::from(b'A' + place as u8).to_string(),
                None => "?".to_owned(),
            },
        }
    }

    /// Destroys a graph when the program is over.
    pub(crate) fn own_graph(&self, graph: CUgraph) {
        self.owned().push(Owned::Graph(graph.addr()));
    }

    /// Destroys an executable graph when the program is over.
    pub(crate) fn own_executable(&self, executable: CUgraphExec) {
        self.owned().push(Owned::Executable(executable.addr()));
    }

    /// A kernel of a PTX text, whose module is unloaded when the program is over.
    pub(crate) fn kernel(&self, text: &CStr, name: &CStr) -> TestResult<CUfunction> {
        let (driver, mut module, mut kernel) = (&self.driver, null_mut(), null_mut());
        call!(driver.cuModuleLoadData(&mut module, text.as_ptr().cast()))?;
        self.owned().push(Owned::Module(module.addr()));
        call!(driver.cuModuleGetFunction(&mut kernel, module, name.as_ptr()))?;
        Ok(kernel)
    }

    /// The context of device 0.
    pub(crate) fn context(&self) -> CUcontext {
        without_provenance_mut(self.context)
    }

    /// Makes the context of device 0 current on this thread.
    pub(crate) fn enter(&self) -> Result<(), Error> {
        let driver = &self.driver;
        call!(driver.cuCtxSetCurrent(self.context()))
    }

    fn new_stream(&self, flags: u32) -> TestResult<Stream> {
        let driver = &self.driver;
        let mut raw = null_mut();
        call!(driver.cuStreamCreate(&mut raw, flags))?;
        self.name_stream(raw)?;
        let stream = Stream(raw.addr());
        self.owned().push(Owned::Stream(stream));
        Ok(stream)
    }

    /// A stream that the default stream waits for, and that waits for it.
    pub(crate) fn stream(&self) -> TestResult<Stream> {
        self.new_stream(0)
    }

    /// A stream that has nothing to do with the default stream.
    pub(crate) fn non_blocking(&self) -> TestResult<Stream> {
        self.new_stream(1)
    }

    pub(crate) fn two_streams(&self) -> TestResult<(Stream, Stream)> {
        Ok((self.non_blocking()?, self.non_blocking()?))
    }

    pub(crate) fn destroy_stream(&self, stream: Stream) -> Result<(), Error> {
        self.disown(Owned::Stream(stream));
        let driver = &self.driver;
        call!(driver.cuStreamDestroy_v2(stream.raw()))
    }

    pub(crate) fn event(&self) -> TestResult<Event> {
        let driver = &self.driver;
        let mut raw = null_mut();
        call!(driver.cuEventCreate(&mut raw, 0))?;
        let event = Event(raw.addr());
        self.owned().push(Owned::Event(event));
        Ok(event)
    }

    pub(crate) fn destroy_event(&self, event: Event) -> Result<(), Error> {
        self.disown(Owned::Event(event));
        let driver = &self.driver;
        call!(driver.cuEventDestroy_v2(event.raw()))
    }

    /// Reserves the next name for a stream that the bench has not made.
    pub(crate) fn name_stream(&self, stream: CUstream) -> TestResult {
        let (driver, mut id) = (&self.driver, 0);
        call!(driver.cuStreamGetId(stream, &mut id))?;
        self.streams.lock().expect("nobody panics with it").push(id);
        Ok(())
    }

    pub(crate) fn record(&self, event: Event, stream: Stream) -> Result<(), Error> {
        let driver = &self.driver;
        call!(driver.cuEventRecord(event.raw(), stream.raw()))
    }

    pub(crate) fn wait(&self, stream: Stream, event: Event) -> Result<(), Error> {
        let driver = &self.driver;
        call!(driver.cuStreamWaitEvent(stream.raw(), event.raw(), 0))
    }

    /// Makes `second` wait for everything in `first`.
    pub(crate) fn order(&self, first: Stream, second: Stream) -> TestResult {
        let event = self.event()?;
        self.record(event, first)?;
        Ok(self.wait(second, event)?)
    }

    pub(crate) fn sync(&self, stream: Stream) -> Result<(), Error> {
        let driver = &self.driver;
        call!(driver.cuStreamSynchronize(stream.raw()))
    }

    pub(crate) fn alloc(&self, bytes: usize) -> TestResult<u64> {
        let driver = &self.driver;
        let mut address = 0;
        call!(driver.cuMemAlloc_v2(&mut address, bytes))?;
        self.owned().push(Owned::Memory(address));
        Ok(self.name(address))
    }

    /// Memory with something in it, which everyone knows to be there.
    pub(crate) fn filled(&self, bytes: usize) -> TestResult<u64> {
        let memory = self.alloc(bytes)?;
        self.upload(memory, bytes)?;
        Ok(memory)
    }

    /// Page-locked memory.
    pub(crate) fn pinned(&self, bytes: usize) -> TestResult<u64> {
        let driver = &self.driver;
        let mut memory = null_mut();
        call!(driver.cuMemAllocHost_v2(&mut memory, bytes))?;
        let address = memory.expose_provenance() as u64;
        self.owned().push(Owned::Pinned(address));
        Ok(self.name(address))
    }

    /// Managed memory.
    pub(crate) fn managed(&self, bytes: usize) -> TestResult<u64> {
        let driver = &self.driver;
        let mut address = 0;
        let flags = CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL.0;
        call!(driver.cuMemAllocManaged(&mut address, bytes, flags))?;
        self.owned().push(Owned::Memory(address));
        Ok(self.name(address))
    }

    /// Memory of the device's pool, in the order of a stream.
    pub(crate) fn alloc_async(&self, bytes: usize, stream: Stream) -> TestResult<u64> {
        let driver = &self.driver;
        let mut address = 0;
        call!(driver.cuMemAllocAsync(&mut address, bytes, stream.raw()))?;
        self.owned().push(Owned::Memory(address));
        Ok(self.name(address))
    }

    pub(crate) fn free(&self, address: u64) -> Result<(), Error> {
        self.disown(Owned::Memory(address));
        let driver = &self.driver;
        call!(driver.cuMemFree_v2(address))
    }

    pub(crate) fn free_async(&self, address: u64, stream: Stream) -> Result<(), Error> {
        self.disown(Owned::Memory(address));
        let driver = &self.driver;
        call!(driver.cuMemFreeAsync(address, stream.raw()))
    }

    pub(crate) fn free_host(&self, address: u64) -> Result<(), Error> {
        self.disown(Owned::Pinned(address));
        let driver = &self.driver;
        call!(driver.cuMemFreeHost(pointer(address)))
    }

    pub(crate) fn fill(&self, to: u64, bytes: usize, stream: Stream) -> Result<(), Error> {
        let driver = &self.driver;
        call!(driver.cuMemsetD8Async(to, 7, bytes, stream.raw()))
    }

    pub(crate) fn copy(&self, to: u64, from: u64, bytes: usize, stream: Stream) -> Result<(), Error> {
        let driver = &self.driver;
        call!(driver.cuMemcpyDtoDAsync_v2(to, from, bytes, stream.raw()))
    }

    /// A copy to page-locked memory.
    pub(crate) fn copy_out(&self, to: u64, from: u64, bytes: usize, stream: Stream) -> Result<(), Error> {
        let driver = &self.driver;
        call!(driver.cuMemcpyDtoHAsync_v2(pointer(to), from, bytes, stream.raw()))
    }

    /// A copy from the program's own memory that the call waits for.
    pub(crate) fn upload(&self, to: u64, bytes: usize) -> Result<(), Error> {
        let driver = &self.driver;
        let source = vec![5_u8; bytes];
        call!(driver.cuMemcpyHtoD_v2(to, source.as_ptr().cast(), bytes))
    }

    /// A copy to the program's own memory, which the call waits for.
    pub(crate) fn download(&self, from: u64, bytes: usize) -> Result<Vec<u8>, Error> {
        let driver = &self.driver;
        let mut target = vec![0_u8; bytes];
        call!(driver.cuMemcpyDtoH_v2(target.as_mut_ptr().cast(), from, bytes))?;
        Ok(target)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let driver = &self.driver;
        let results = [call!(driver.cuCtxSetCurrent(null_mut())), call!(driver.cuDevicePrimaryCtxRelease_v2(0))];
        assert!(results.iter().all(Result::is_ok) || std::thread::panicking(), "{results:?}");
    }
}

/// An address as the C functions take host memory.
pub(crate) fn pointer(address: u64) -> *mut std::ffi::c_void {
    with_exposed_provenance_mut(address as usize)
}

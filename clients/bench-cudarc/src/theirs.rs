//! The operations with cudarc, as it comes: it tracks uses with events.

use std::cell::RefCell;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUgraphInstantiate_flags, CUmemPool_attribute, CUstreamCaptureMode};
use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaGraph, CudaSlice, CudaStream, DevicePtr, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;

use crate::graphs::NODES;
use crate::launches::{SHAPE, TEXT};
use crate::measure::{Outcome, Work, repeat};
use crate::operations::{BYTES, LARGE, SMALL};

const CONFIG: LaunchConfig =
    LaunchConfig { grid_dim: (SHAPE.0, 1, 1), block_dim: (SHAPE.1, 1, 1), shared_mem_bytes: 0 };

pub struct Theirs {
    stream: Arc<CudaStream>,
    other: Arc<CudaStream>,
    from: CudaSlice<u8>,
    to: RefCell<CudaSlice<u8>>,
    small: RefCell<CudaSlice<u8>>,
    event: CudaEvent,
    kernels: [CudaFunction; 3],
    /// A chain of kernels with four arguments. It can be captured and launched; nodes cannot be added or
    /// changed one by one.
    graph: CudaGraph,
}

impl Theirs {
    pub fn new() -> Outcome<Theirs> {
        let context = CudaContext::new(0)?;
        keep_memory(&context)?;
        let (stream, other) = (context.new_stream()?, context.new_stream()?);
        let (from, to) = (stream.alloc_zeros(BYTES)?, RefCell::new(stream.alloc_zeros(BYTES)?));
        let small = RefCell::new(stream.alloc_zeros(SMALL)?);
        let event = stream.record_event(None)?;
        let module = context.load_module(Ptx::from_src(TEXT))?;
        let kernels = [module.load_function("none")?, module.load_function("four")?, module.load_function("sixteen")?];
        let graph = chain(&stream, &kernels[1], &from, &to.borrow())?;
        Ok(Theirs { stream, other, from, to, small, event, kernels, graph })
    }

    /// What it has to set against an operation, if anything.
    pub fn work(&self, name: &str) -> Option<Work<'_>> {
        let stream = &self.stream;
        Some(match name {
            // SAFETY: nobody reads the memory.
            "allocate 4 KiB and drop" | "allocate 4 KiB of a cache and drop" => {
                repeat(|| unsafe { stream.alloc::<u8>(BYTES) }.map(drop))
            }
            // SAFETY: as above.
            "allocate 4 MiB and drop" | "allocate 4 MiB of a cache and drop" => {
                repeat(|| unsafe { stream.alloc::<u8>(LARGE) }.map(drop))
            }
            "copy 4 KiB on the device" => repeat(|| stream.memcpy_dtod(&self.from, &mut *self.to.borrow_mut())),
            "fill 4 KiB" => repeat(|| stream.memset_zeros(&mut *self.to.borrow_mut())),
            "record an event again" => repeat(|| self.event.record(stream)),
            "record a new event and drop" => repeat(|| stream.record_event(None).map(drop)),
            "make a stream wait" => repeat(|| self.other.wait(&self.event)),
            "upload 256 B and wait" => repeat(|| {
                stream.memcpy_htod(&[7_u8; SMALL], &mut *self.small.borrow_mut())?;
                stream.synchronize()
            }),
            // It does not wait, whether or not the driver has read the values.
            "upload 256 B, read during the call" => {
                repeat(|| stream.memcpy_htod(&[7_u8; SMALL], &mut *self.small.borrow_mut()))
            }
            // SAFETY: here and below, the kernel takes these, and does nothing with them.
            "launch with no arguments" => {
                repeat(|| unsafe { stream.launch_builder(&self.kernels[0]).launch(CONFIG) }.map(drop))
            }
            "launch with 4 arguments" => repeat(|| {
                let to = &mut *self.to.borrow_mut();
                let mut launch = stream.launch_builder(&self.kernels[1]);
                launch.arg(&1.0_f32).arg(&self.from).arg(to).arg(&7_u32);
                unsafe { launch.launch(CONFIG) }.map(drop)
            }),
            "launch with 16 arguments" => repeat(|| {
                let (from, to) = (&self.from, &mut *self.to.borrow_mut());
                let mut launch = stream.launch_builder(&self.kernels[2]);
                launch.arg(from).arg(from).arg(from).arg(from).arg(from).arg(from).arg(from).arg(to);
                launch.arg(&1_u32).arg(&2_u32).arg(&3_u32).arg(&4_u32).arg(&5_u32).arg(&6_u32).arg(&7_u32).arg(&8_u32);
                unsafe { launch.launch(CONFIG) }.map(drop)
            }),
            "launch 1,000 nodes" => repeat(|| self.graph.launch()),
            _ => return None,
        })
    }
}

/// Captures a chain of kernels. The memory is passed as addresses: its events come from outside of the
/// capture, which cannot wait for them.
fn chain(
    stream: &Arc<CudaStream>,
    kernel: &CudaFunction,
    from: &CudaSlice<u8>,
    to: &CudaSlice<u8>,
) -> Outcome<CudaGraph> {
    let ((from, _from), (to, _to)) = (from.device_ptr(stream), to.device_ptr(stream));
    stream.synchronize()?;
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)?;
    for _ in 0..NODES {
        let mut launch = stream.launch_builder(kernel);
        launch.arg(&1.0_f32).arg(&from).arg(&to).arg(&7_u32);
        // SAFETY: the kernel takes these, and does nothing with them.
        unsafe { launch.launch(CONFIG) }?;
    }
    let graph = stream.end_capture(CUgraphInstantiate_flags(0))?;
    Ok(graph.ok_or("a captured graph")?)
}

/// The device's default pool gives memory back whenever a stream is done, unless told to keep it. Every
/// program in which allocation matters tells it.
fn keep_memory(context: &CudaContext) -> Outcome {
    let (mut pool, mut keep) = (std::ptr::null_mut(), u64::MAX);
    let threshold = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: `pool` is writable, and the device exists.
    unsafe { sys::cuDeviceGetDefaultMemPool(&raw mut pool, context.cu_device()) }.result()?;
    // SAFETY: the value of this attribute is 64 bits wide.
    unsafe { sys::cuMemPoolSetAttribute(pool, threshold, (&raw mut keep).cast()) }.result()?;
    Ok(())
}

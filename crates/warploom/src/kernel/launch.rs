//! Kernel launches.
#![expect(unsafe_code, reason = "launches kernels, whose accesses cannot be checked")]

use std::mem::MaybeUninit;
use std::sync::Arc;

use warploom_driver::sys::types::{
    CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchAttributeValue_union__bindgen_ty_1,
    CUlaunchConfig, CUstream,
};

use super::{Arguments, Kernel, LaunchConfig, Shape};
use crate::capture;
use crate::device::same_driver;
use crate::{Queue, Result, Stream};

impl Kernel {
    /// Launches it, in the order of `queue`: enqueues one run of it, with a tuple of arguments or an
    /// [`ArgumentList`](super::ArgumentList).
    ///
    /// Exactly one driver call, and nothing from the heap, once the kernel has been launched on the device
    /// and the stream has met the memory. The first launch also asks for the kernel's parameters and limits;
    /// one that is [cooperative](LaunchConfig::cooperative), and one with memory of another device, ask each
    /// time.
    ///
    /// Memory that is passed stays until the kernel is done; so does memory that the kernel finds elsewhere,
    /// if it is named ([`Arguments::using`]). As everywhere, the order of its *contents*
    /// between streams is the caller's.
    ///
    /// ```
    /// use warploom::{DevicePool, Driver, LaunchConfig};
    ///
    /// # const SCALE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scale.ptx"));
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let scale = context.load(SCALE)?.kernel("scale")?;
    ///
    /// let stream = context.stream()?;
    /// let mut values = DevicePool::new(&context)?.upload(&[1.0_f32, 2.0, 3.0], &stream)?;
    /// let (shape, count) = (LaunchConfig::cover(values.len(), 128), values.len() as u32);
    /// // SAFETY: it reads and writes as many values as it is told.
    /// unsafe { scale.launch(&stream, &shape, (2.0_f32, &mut values, count)) }?;
    /// assert_eq!(values.download(&stream)?, [2.0, 4.0, 6.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Before the driver is asked to launch: [`Error::Launch`](crate::Error::Launch) if it cannot be launched
    /// like that or takes other arguments, [`PeerError::NotEnabled`](crate::PeerError::NotEnabled) for memory
    /// that was not opened to the device, [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch)
    /// for arguments of another driver, and [`ContextError::Stale`](crate::ContextError::Stale). Drivers
    /// before 12.4 do not report parameters, so that arguments are not checked there. And the driver's error;
    /// errors of the kernel itself are reported by later calls.
    ///
    /// # Safety
    ///
    /// The kernel has parameters of these types. With these arguments and this configuration, it accesses
    /// only memory that exists, that the device can access, and that no other work writes at that time. It
    /// only reads arguments passed as `&`.
    ///
    /// On a captured stream the launch becomes a node of the graph, which keeps the kernel and the memory of
    /// the arguments ([`Captured`](crate::capture::Captured)). The promise is made for every launch of the
    /// graph.
    #[doc(alias = "cuLaunchKernel")]
    #[doc(alias = "cuLaunchKernelEx")]
    #[inline]
    pub unsafe fn launch(&self, queue: &impl Queue, shape: &impl Shape, arguments: impl Arguments) -> Result<()> {
        self.verify(arguments.sizes())?;
        // SAFETY: the caller vouches for it.
        unsafe { self.enqueue(queue.stream(), shape, &arguments) }
    }

    /// # Safety
    ///
    /// As [`Kernel::launch`], and the kernel takes arguments of these sizes.
    #[inline]
    pub(super) unsafe fn enqueue<A: Arguments>(
        &self,
        stream: &Stream,
        shape: &impl Shape,
        arguments: &A,
    ) -> Result<()> {
        same_driver(self.driver(), stream.driver())?;
        stream.context().check_generation()?;
        let config = shape.checked(self, stream.context())?;
        if A::IS_SCOPED {
            arguments.each_scope(|hierarchy| capture::check_scope(stream, hierarchy))?;
        }
        let _turn = stream.turn();
        // A captured graph keeps the memory, also that of the stream itself.
        let is_captured = capture::any();
        let mut are_at_home = !is_captured;
        arguments.each_operand(|operand| {
            are_at_home &= operand.is_at_home(stream);
            Ok(())
        })?;
        if !are_at_home {
            meet(arguments, stream)?;
        }
        self.note(stream.context());
        if is_captured {
            capture::keep_owner(stream, || Arc::new(self.clone()));
        }
        let mut room = [const { MaybeUninit::uninit() }; MOST];
        let count = attributes(config, &mut room);
        arguments.pass(|values| {
            stream.enqueue(|raw| {
                let config = to_raw(config, raw, (room.as_mut_ptr().cast(), count));
                let function = self.as_function();
                // SAFETY: the kernel and the stream are held, and of one driver. There are as many attributes
                // as is said, and arguments as the kernel takes them, all of which stay for the call; the
                // driver copies them. The caller vouches for the kernel's accesses.
                unsafe { self.driver().cuLaunchKernelEx(&raw const config, function, values, std::ptr::null_mut()) }
            })
        })?;
        // Asked after the call: another thread's stream may have met the memory meanwhile.
        let mut is_counted = is_captured;
        arguments.each_operand(|operand| {
            is_counted |= operand.is_counted();
            Ok(())
        })?;
        if is_counted { did(arguments, stream) } else { Ok(()) }
    }
}

/// Lets a stream use memory of any stream: first all of it is checked, so that nothing is changed if some of
/// it is refused.
#[inline(never)]
fn meet(arguments: &impl Arguments, stream: &Stream) -> Result<()> {
    arguments.each_operand(|operand| {
        if operand.context() == stream.context() { Ok(()) } else { operand.reach(stream.context()) }
    })?;
    arguments.each_operand(|operand| operand.meet(stream))
}

/// Records the access that was enqueued.
#[inline(never)]
fn did(arguments: &impl Arguments, stream: &Stream) -> Result<()> {
    arguments.each_operand(|operand| {
        operand.did(stream);
        Ok(())
    })
}

/// As many attributes as a launch can have.
pub(super) const MOST: usize = 4;

/// Writes the attributes that a configuration has; how many these are. Mostly there are none.
#[inline]
pub(super) fn attributes(config: &LaunchConfig, room: &mut [MaybeUninit<CUlaunchAttribute>; MOST]) -> u32 {
    if config.has_attributes() { write_attributes(config, room) } else { 0 }
}

fn write_attributes(config: &LaunchConfig, room: &mut [MaybeUninit<CUlaunchAttribute>; MOST]) -> u32 {
    let cluster = config.cluster.map(|cluster| CUlaunchAttributeValue_union__bindgen_ty_1 {
        x: cluster.x,
        y: cluster.y,
        z: cluster.z,
    });
    let given = [
        cluster.map(|dimensions| {
            (
                CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                CUlaunchAttributeValue { clusterDim: dimensions },
            )
        }),
        config.is_cooperative.then_some((
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
            CUlaunchAttributeValue { cooperative: 1 },
        )),
        config.overlaps.then_some((
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        )),
        config
            .priority
            .map(|priority| (CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY, CUlaunchAttributeValue { priority })),
    ];
    let mut count = 0;
    for ((id, value), place) in given.into_iter().flatten().zip(room) {
        place.write(CUlaunchAttribute { id, pad: [0; 4], value });
        count += 1;
    }
    count
}

/// A configuration as the driver takes it, on a stream and with so many attributes.
#[inline]
pub(super) fn to_raw(
    config: &LaunchConfig,
    stream: CUstream,
    (attributes, count): (*mut CUlaunchAttribute, u32),
) -> CUlaunchConfig {
    CUlaunchConfig {
        gridDimX: config.grid.x,
        gridDimY: config.grid.y,
        gridDimZ: config.grid.z,
        blockDimX: config.block.x,
        blockDimY: config.block.y,
        blockDimZ: config.block.z,
        sharedMemBytes: config.shared,
        hStream: stream,
        attrs: attributes,
        numAttrs: count,
    }
}

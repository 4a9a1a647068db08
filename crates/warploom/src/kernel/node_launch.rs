//! Launches as parameters of a graph's kernel node.
#![expect(unsafe_code, reason = "copies arguments that the driver has of a kernel")]

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use warploom_driver::sys::types::{
    CUDA_KERNEL_NODE_PARAMS_v2, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue,
};

use super::launch::{MOST, attributes};
use super::{Arguments, Dimensions, Kernel, LaunchConfig, Shape};
use crate::device::same_driver;
use crate::{Context, GraphError, Result};

/// An attribute of a kernel node, and its value.
pub(crate) type NodeAttribute = (CUlaunchAttributeID, CUlaunchAttributeValue);

/// A launch of a kernel that was checked for a context, for a node.
pub(crate) struct NodeLaunch<'a> {
    kernel: &'a Kernel,
    context: &'a Context,
    config: &'a LaunchConfig,
}

impl<'a> NodeLaunch<'a> {
    /// Checks a launch as [`Kernel::launch`] does, for nodes of a graph's hierarchy.
    #[inline]
    pub(crate) fn new<A: Arguments>(
        kernel: &'a Kernel,
        context: &'a Context,
        shape: &'a impl Shape,
        arguments: &A,
        hierarchy: u64,
    ) -> Result<NodeLaunch<'a>> {
        let launch = NodeLaunch::with_shape(kernel, context, shape)?;
        kernel.verify(arguments.sizes())?;
        if A::IS_SCOPED {
            arguments.each_scope(
                |scope| {
                    if scope == hierarchy { Ok(()) } else { Err(GraphError::OutsideGraph.into()) }
                },
            )?;
        }
        Ok(launch)
    }

    /// Checks a launch configuration alone.
    #[inline]
    pub(crate) fn with_shape(
        kernel: &'a Kernel,
        context: &'a Context,
        shape: &'a impl Shape,
    ) -> Result<NodeLaunch<'a>> {
        same_driver(kernel.driver(), context.driver())?;
        context.check_generation()?;
        let config = shape.checked(kernel, context)?;
        if config.overlaps {
            return Err(GraphError::Overlap.into());
        }
        Ok(NodeLaunch { kernel, context, config })
    }

    /// Calls with the parameters of the node.
    #[inline]
    pub(crate) fn pass<R>(&self, arguments: &impl Arguments, call: impl FnOnce(&CUDA_KERNEL_NODE_PARAMS_v2) -> R) -> R {
        self.kernel.note(self.context);
        arguments.pass(|values| call(&self.params(values)))
    }

    /// Calls with the parameters of the node, whose arguments stay as the driver has them.
    ///
    /// # Safety
    ///
    /// `values` are the arguments of a node with this kernel, as the driver has returned them.
    pub(crate) unsafe fn pass_again<R>(
        &self,
        values: *mut *mut c_void,
        call: impl FnOnce(&CUDA_KERNEL_NODE_PARAMS_v2) -> R,
    ) -> R {
        self.kernel.note(self.context);
        let Ok(parameters) = self.kernel.parameters() else { return call(&self.params(values)) };
        // The driver may free its own copies before it reads the new ones.
        let copy = |(index, parameter): (usize, &super::ParameterInfo)| {
            let mut bytes = vec![0_u128; parameter.size.div_ceil(size_of::<u128>())];
            // SAFETY: the driver has as many arguments, each of the size of its parameter, and there is room.
            unsafe {
                let value = (*values.add(index)).cast::<u8>();
                bytes.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(value, parameter.size);
            }
            bytes
        };
        let mut copies: Vec<Vec<u128>> = parameters.iter().enumerate().map(copy).collect();
        let mut addresses: Vec<*mut c_void> = copies.iter_mut().map(|copy| copy.as_mut_ptr().cast()).collect();
        call(&self.params(addresses.as_mut_ptr()))
    }

    #[inline]
    fn params(&self, values: *mut *mut c_void) -> CUDA_KERNEL_NODE_PARAMS_v2 {
        let LaunchConfig { grid, block, shared, .. } = *self.config;
        CUDA_KERNEL_NODE_PARAMS_v2 {
            func: null_mut(),
            gridDimX: grid.x,
            gridDimY: grid.y,
            gridDimZ: grid.z,
            blockDimX: block.x,
            blockDimY: block.y,
            blockDimZ: block.z,
            sharedMemBytes: shared,
            kernelParams: values,
            extra: null_mut(),
            kern: self.kernel.as_raw(),
            // Without it, the driver takes the current one, and crashes if there is none.
            ctx: self.context.as_raw(),
        }
    }

    /// The attributes of the node; mostly there are none.
    pub(crate) fn attributes(&self) -> Vec<NodeAttribute> {
        if !self.config.has_attributes() {
            return Vec::new();
        }
        let mut room: [MaybeUninit<CUlaunchAttribute>; MOST] = [const { MaybeUninit::uninit() }; MOST];
        let count = attributes(self.config, &mut room) as usize;
        // SAFETY: as many have been written.
        room[..count].iter().map(|attribute| unsafe { attribute.assume_init_ref() }).map(|a| (a.id, a.value)).collect()
    }

    /// `true` if the configuration says more than sizes.
    #[inline]
    pub(crate) fn has_attributes(&self) -> bool {
        self.config.has_attributes()
    }
}

impl LaunchConfig {
    /// The configuration of a node, without its attributes.
    pub(crate) fn of_node(params: &CUDA_KERNEL_NODE_PARAMS_v2) -> LaunchConfig {
        let grid = Dimensions { x: params.gridDimX, y: params.gridDimY, z: params.gridDimZ };
        let block = Dimensions { x: params.blockDimX, y: params.blockDimY, z: params.blockDimZ };
        LaunchConfig::new(grid, block).shared_memory(params.sharedMemBytes)
    }
}

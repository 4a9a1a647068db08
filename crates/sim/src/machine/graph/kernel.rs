//! Kernel nodes: a checked launch with its attributes.

use std::ffi::c_void;

use warploom_ptx::Parameter;

use crate::machine::launch::KernelCall;
use crate::machine::stream::{AccessWindow, Attributes};

/// A kernel.
#[derive(Clone)]
pub(crate) struct KernelNode {
    pub(crate) call: KernelCall,
    /// The bits of the function or kernel handle that the program gave.
    pub(crate) named: u64,
    /// Pointers to the arguments in the copy that [`KernelCall`] holds, in an array that C may read.
    pub(crate) pointers: Box<[*mut c_void]>,
    pub(crate) attributes: KernelAttributes,
}

/// The attributes of a kernel, as far as they were set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct KernelAttributes {
    pub(crate) window: Option<AccessWindow>,
    pub(crate) cooperative: Option<bool>,
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) cluster_policy: Option<u32>,
    pub(crate) priority: Option<i32>,
    pub(crate) domains: Option<[u8; 2]>,
    pub(crate) domain: Option<u32>,
    pub(crate) carveout: Option<u32>,
}

impl KernelAttributes {
    /// These attributes, with unset ones taken from the stream of a launch.
    pub(crate) fn or_of_stream(self, stream: &Attributes) -> Self {
        Self {
            window: self.window.or(Some(stream.window)),
            priority: self.priority.or(Some(stream.priority)),
            domains: self.domains.or(Some(stream.domains)),
            domain: self.domain.or(Some(stream.domain)),
            ..self
        }
    }
}

impl KernelNode {
    /// The node of a checked launch.
    pub(crate) fn new(call: KernelCall, named: u64, attributes: KernelAttributes) -> Self {
        let parameters = call.program.kernels().nth(call.index).map(|kernel| kernel.parameters()).unwrap_or_default();
        let first = call.arguments.as_ptr();
        let pointer = |parameter: Parameter| first.wrapping_add(parameter.offset as usize).cast_mut().cast();
        let pointers = parameters.into_iter().map(pointer).collect();
        Self { call, named, pointers, attributes }
    }
}

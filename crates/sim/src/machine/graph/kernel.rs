//! Kernel nodes: a checked launch with its attributes.

use std::ffi::c_void;

use warploom_ptx::Parameter;

use crate::machine::launch::KernelCall;
use crate::machine::stream::{AccessWindow, Attributes};

/// A kernel.
pub(crate) struct KernelNode {
    pub(crate) call: KernelCall,
    /// The bits of the function or kernel handle that the program gave.
    pub(crate) named: u64,
    /// The arguments as C sees them.
    pub(crate) shown: ShownArguments,
    pub(crate) attributes: KernelAttributes,
}

/// The arguments of a node as C sees them: arrays that point into the copy that [`KernelCall`] holds.
pub(crate) enum ShownArguments {
    /// A pointer to each argument.
    Each(Box<[*mut c_void]>),
    /// `CU_LAUNCH_PARAM_BUFFER_POINTER`, the buffer, `CU_LAUNCH_PARAM_BUFFER_SIZE`, a pointer to its size,
    /// and the end.
    Extra { list: Box<[*mut c_void; 5]>, _size: Box<usize> },
}

// SAFETY: the raw pointers lead into memory that the same node holds. They are only given to C, and nothing
// changes through a shared reference.
#[expect(unsafe_code, reason = "pointers that only the program's own code looks at")]
unsafe impl Send for ShownArguments {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "pointers that only the program's own code looks at")]
unsafe impl Sync for ShownArguments {}

impl ShownArguments {
    fn new(call: &KernelCall, is_extra: bool) -> Self {
        let first: *mut c_void = call.arguments.as_ptr().cast_mut().cast();
        if is_extra {
            let size = Box::new(call.arguments.len());
            let number = std::ptr::without_provenance_mut;
            let at: *const usize = &*size;
            let list = Box::new([number(1), first, number(2), at.cast_mut().cast(), std::ptr::null_mut()]);
            return Self::Extra { list, _size: size };
        }
        let parameters = call.program.kernels().nth(call.index).map(|kernel| kernel.parameters()).unwrap_or_default();
        let pointer = |parameter: Parameter| first.wrapping_byte_add(parameter.offset as usize);
        Self::Each(parameters.into_iter().map(pointer).collect())
    }
}

/// The attributes of a kernel, as far as they were set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct KernelAttributes {
    pub(crate) window: Option<AccessWindow>,
    pub(crate) cooperative: Option<bool>,
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) cluster_policy: Option<u32>,
    /// As it was requested, possibly outside of the device's range.
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
    /// The node of a checked launch. Its arguments were passed as `extra`, or one by one.
    pub(crate) fn new(call: KernelCall, named: u64, attributes: KernelAttributes, is_extra: bool) -> Self {
        let shown = ShownArguments::new(&call, is_extra);
        Self { call, named, shown, attributes }
    }

    /// `true` if the arguments were passed as `extra`.
    pub(crate) fn is_extra(&self) -> bool {
        matches!(self.shown, ShownArguments::Extra { .. })
    }
}

//! Objects that the arguments of a call name, by the C types of the arguments.

use warploom_sys::Function;

/// The kind of object that an argument names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Device,
    Context,
    Stream,
    Event,
    Pool,
    /// The allocation around an address.
    Memory,
    /// A physical allocation.
    Physical,
}

/// The kind of object that an argument of a C type names. Some of these types are mere names for integers, so
/// that the name is all that tells a device from another number.
macro_rules! subject {
    (CUdevice) => {
        Some(Subject::Device)
    };
    (CUdevice_v1) => {
        Some(Subject::Device)
    };
    (CUcontext) => {
        Some(Subject::Context)
    };
    (CUstream) => {
        Some(Subject::Stream)
    };
    (CUevent) => {
        Some(Subject::Event)
    };
    (CUmemoryPool) => {
        Some(Subject::Pool)
    };
    (CUdeviceptr) => {
        Some(Subject::Memory)
    };
    (CUdeviceptr_v2) => {
        Some(Subject::Memory)
    };
    (CUmemGenericAllocationHandle) => {
        Some(Subject::Physical)
    };
    (CUmemGenericAllocationHandle_v1) => {
        Some(Subject::Physical)
    };
    ($other:ident) => {
        None
    };
}

/// An entry for each argument of a list. A pointer to a handle is room for one, and names nothing.
macro_rules! subjects_of {
    ([$($found:expr,)*] ()) => {
        &[$($found),*]
    };
    ([$($found:expr,)*] ($argument:ident: $sys:tt::types::$c_type:ident $(, $($rest:tt)*)?)) => {
        subjects_of!([$($found,)* subject!($c_type),] ($($($rest)*)?))
    };
    ([$($found:expr,)*] ($argument:ident: $other:ty $(, $($rest:tt)*)?)) => {
        subjects_of!([$($found,)* None,] ($($($rest)*)?))
    };
}

macro_rules! rows {
    ($($family:ident $slot:ident $name:literal $version:literal $per_thread:literal $suffix:literal $arguments:tt;)*) => {
        /// The kinds of objects that the arguments of a function name, in their order.
        pub(super) const fn subjects(function: Function) -> &'static [Option<Subject>] {
            match function {
                $(Function::$slot => subjects_of!([] $arguments),)*
            }
        }
    };
}
warploom_sys::for_each_function!(rows);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_argument_of_the_list_is_overlooked_for_its_types_suffix() {
        for (function, expected) in [
            (Function::cuDeviceGetName, 1),
            (Function::cuDeviceCanAccessPeer, 2),
            (Function::cuMemcpyPeerAsync, 5),
            (Function::cuEventRecord, 2),
            (Function::cuMemAllocFromPoolAsync, 2),
            (Function::cuMemMap, 2),
            (Function::cuCtxCreate_v2, 1),
            (Function::cuStreamCreate, 0),
        ] {
            assert_eq!(subjects(function).iter().flatten().count(), expected, "{function}");
        }
    }

    #[test]
    fn arguments_name_what_their_c_types_say() {
        for (function, expected) in [
            (Function::cuDeviceGetName, [None, None, Some(Subject::Device)].as_slice()),
            (Function::cuMemFreeAsync, &[Some(Subject::Memory), Some(Subject::Stream)]),
            (Function::cuStreamCreate, &[None, None]),
            (Function::cuCtxPopCurrent_v2, &[None]),
            (Function::cuMemRelease, &[Some(Subject::Physical)]),
            (Function::cuEventSynchronize, &[Some(Subject::Event)]),
            (Function::cuMemPoolDestroy, &[Some(Subject::Pool)]),
            (Function::cuCtxSetCurrent, &[Some(Subject::Context)]),
            (Function::cuCtxSynchronize, &[]),
        ] {
            assert_eq!(subjects(function), expected, "{function}");
        }
    }
}

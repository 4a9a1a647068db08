//! Names and descriptions of status codes.

use std::ffi::CStr;

use warploom_sys::for_each_code;
use warploom_sys::types::CUresult;

/// A C string literal.
const fn terminated(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a text with one nul, at its end"),
    }
}

macro_rules! names {
    ($($name:ident;)*) => {
        /// The name of a status code in `cuda.h`.
        #[must_use]
        pub const fn status_name(code: CUresult) -> Option<&'static CStr> {
            match code {
                $(CUresult::$name => Some(const { terminated(concat!(stringify!($name), "\0")) }),)*
                _ => None,
            }
        }
    };
}
for_each_code!(names);

macro_rules! texts {
    ($($name:ident $text:literal;)*) => {
        /// The description of a status code.
        #[must_use]
        pub const fn status_text(code: CUresult) -> Option<&'static CStr> {
            match code {
                $(CUresult::$name => Some($text),)*
                _ => None,
            }
        }
    };
}

texts! {
    CUDA_SUCCESS c"success";
    CUDA_ERROR_INVALID_VALUE c"an argument is out of range";
    CUDA_ERROR_OUT_OF_MEMORY c"no memory is left";
    CUDA_ERROR_NOT_INITIALIZED c"cuInit has not been called";
    CUDA_ERROR_DEINITIALIZED c"the driver is gone or going";
    CUDA_ERROR_PROFILER_DISABLED c"the profiler is off";
    CUDA_ERROR_PROFILER_NOT_INITIALIZED c"the profiler was not set up";
    CUDA_ERROR_PROFILER_ALREADY_STARTED c"the profiler runs already";
    CUDA_ERROR_PROFILER_ALREADY_STOPPED c"the profiler stands still already";
    CUDA_ERROR_STUB_LIBRARY c"a stub was loaded in place of the driver";
    CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER c"the driver is too old for this call";
    CUDA_ERROR_DEVICE_UNAVAILABLE c"the device is taken or closed to programs";
    CUDA_ERROR_MULTICAST_RESOURCE_FULL c"the multicast object is full";
    CUDA_ERROR_NO_DEVICE c"there is no device";
    CUDA_ERROR_INVALID_DEVICE c"no device has this number";
    CUDA_ERROR_DEVICE_NOT_LICENSED c"the device has no licence";
    CUDA_ERROR_INVALID_IMAGE c"the module is malformed";
    CUDA_ERROR_INVALID_CONTEXT c"no usable context";
    CUDA_ERROR_CONTEXT_ALREADY_CURRENT c"the context was current before";
    CUDA_ERROR_MAP_FAILED c"mapping did not work";
    CUDA_ERROR_UNMAP_FAILED c"unmapping did not work";
    CUDA_ERROR_ARRAY_IS_MAPPED c"a mapped array cannot be destroyed";
    CUDA_ERROR_ALREADY_MAPPED c"mapped before";
    CUDA_ERROR_NO_BINARY_FOR_GPU c"the module has no code for this device";
    CUDA_ERROR_ALREADY_ACQUIRED c"acquired before";
    CUDA_ERROR_NOT_MAPPED c"nothing is mapped";
    CUDA_ERROR_NOT_MAPPED_AS_ARRAY c"mapped, and not for use as an array";
    CUDA_ERROR_NOT_MAPPED_AS_POINTER c"mapped, and not for use by pointer";
    CUDA_ERROR_ECC_UNCORRECTABLE c"memory lost bits beyond repair";
    CUDA_ERROR_UNSUPPORTED_LIMIT c"the device does not have this limit";
    CUDA_ERROR_CONTEXT_ALREADY_IN_USE c"the context is tied to another thread";
    CUDA_ERROR_PEER_ACCESS_UNSUPPORTED c"the devices do not reach each other";
    CUDA_ERROR_INVALID_PTX c"the PTX does not compile";
    CUDA_ERROR_INVALID_GRAPHICS_CONTEXT c"the graphics context is of no use";
    CUDA_ERROR_NVLINK_UNCORRECTABLE c"a link between devices failed";
    CUDA_ERROR_JIT_COMPILER_NOT_FOUND c"the PTX compiler's library is missing";
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION c"the PTX is newer than the driver";
    CUDA_ERROR_JIT_COMPILATION_DISABLED c"compiling PTX is switched off";
    CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY c"the device cannot bind work to that";
    CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC c"the code synchronises on the device, which is no longer possible";
    CUDA_ERROR_CONTAINED c"a memory error was contained";
    CUDA_ERROR_INSUFFICIENT_LOADER_VERSION c"the module is newer than its loader";
    CUDA_ERROR_INVALID_SOURCE c"the kernel's source is malformed";
    CUDA_ERROR_FILE_NOT_FOUND c"there is no such file";
    CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND c"a library lacks a symbol";
    CUDA_ERROR_SHARED_OBJECT_INIT_FAILED c"a library did not start";
    CUDA_ERROR_OPERATING_SYSTEM c"the operating system refused";
    CUDA_ERROR_INVALID_HANDLE c"the handle names nothing";
    CUDA_ERROR_ILLEGAL_STATE c"not in this state";
    CUDA_ERROR_LOSSY_QUERY c"the answer would leave something out";
    CUDA_ERROR_NOT_FOUND c"nothing has this name";
    CUDA_ERROR_NOT_READY c"work is not done yet";
    CUDA_ERROR_ILLEGAL_ADDRESS c"a kernel touched memory that is not there";
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES c"the launch needs more than a multiprocessor has";
    CUDA_ERROR_LAUNCH_TIMEOUT c"a kernel ran too long";
    CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING c"the kernel wants its textures in another mode";
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED c"peer access is on already";
    CUDA_ERROR_PEER_ACCESS_NOT_ENABLED c"peer access is off";
    CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE c"the primary context is in use";
    CUDA_ERROR_CONTEXT_IS_DESTROYED c"the context has been destroyed";
    CUDA_ERROR_ASSERT c"an assertion failed in a kernel";
    CUDA_ERROR_TOO_MANY_PEERS c"the device has all the peers it can";
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED c"the host memory is registered already";
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED c"the host memory is not registered";
    CUDA_ERROR_HARDWARE_STACK_ERROR c"a kernel broke its stack";
    CUDA_ERROR_ILLEGAL_INSTRUCTION c"a kernel ran an instruction that does not exist";
    CUDA_ERROR_MISALIGNED_ADDRESS c"a kernel used a crooked address";
    CUDA_ERROR_INVALID_ADDRESS_SPACE c"a kernel used an address of another space";
    CUDA_ERROR_INVALID_PC c"a kernel jumped out of its code";
    CUDA_ERROR_LAUNCH_FAILED c"a kernel died";
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE c"the cooperative grid does not fit at once";
    CUDA_ERROR_TENSOR_MEMORY_LEAK c"a kernel kept tensor memory";
    CUDA_ERROR_NOT_PERMITTED c"not allowed here";
    CUDA_ERROR_NOT_SUPPORTED c"this machine cannot do that";
    CUDA_ERROR_SYSTEM_NOT_READY c"the system is not ready for devices";
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH c"parts of the driver are of different versions";
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE c"the compatibility driver does not serve this device";
    CUDA_ERROR_MPS_CONNECTION_FAILED c"the MPS control daemon did not answer";
    CUDA_ERROR_MPS_RPC_FAILURE c"the MPS server did not answer";
    CUDA_ERROR_MPS_SERVER_NOT_READY c"the MPS server accepts no client at the moment";
    CUDA_ERROR_MPS_MAX_CLIENTS_REACHED c"the MPS server is full";
    CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED c"the device takes no more MPS connections";
    CUDA_ERROR_MPS_CLIENT_TERMINATED c"the MPS server ended this client";
    CUDA_ERROR_CDP_NOT_SUPPORTED c"kernels cannot launch kernels here";
    CUDA_ERROR_CDP_VERSION_MISMATCH c"the module mixes versions of device-side launches";
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED c"cannot be captured";
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED c"the capture was spoilt earlier";
    CUDA_ERROR_STREAM_CAPTURE_MERGE c"two captures would become one";
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED c"the capture began on another stream";
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED c"a forked stream was not joined to the capture";
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION c"work inside and outside a capture cannot depend on each other";
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT c"the default stream would wait for a capture";
    CUDA_ERROR_CAPTURED_EVENT c"the event belongs to a capture";
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD c"another thread began the capture";
    CUDA_ERROR_TIMEOUT c"the wait ran out";
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE c"the graph changed too much to be updated";
    CUDA_ERROR_EXTERNAL_DEVICE c"a device outside the driver failed";
    CUDA_ERROR_INVALID_CLUSTER_SIZE c"no cluster of this size can run";
    CUDA_ERROR_FUNCTION_NOT_LOADED c"the function is not loaded yet";
    CUDA_ERROR_INVALID_RESOURCE_TYPE c"resources of the wrong kind";
    CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION c"resources that do not go together";
    CUDA_ERROR_KEY_ROTATION c"new keys could not be agreed on";
    CUDA_ERROR_STREAM_DETACHED c"the stream lost its context";
    CUDA_ERROR_GRAPH_RECAPTURE_FAILURE c"the graph could not be captured again";
    CUDA_ERROR_FABRIC_NOT_READY c"the fabric is not up";
    CUDA_ERROR_UNKNOWN c"unknown internal failure of the driver";
}

// A code without a text does not compile.
const _: () = {
    let mut position = 0;
    while position < CUresult::ALL.len() {
        assert!(status_text(CUresult::ALL[position]).is_some());
        position += 1;
    }
};

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_code_has_a_name_and_a_text_of_its_own() {
        let texts: HashSet<_> = CUresult::ALL.iter().filter_map(|code| status_text(*code)).collect();
        assert_eq!(texts.len(), CUresult::ALL.len());
        for code in CUresult::ALL {
            assert_eq!(status_name(*code).and_then(|name| name.to_str().ok()), code.name());
        }
        assert_eq!((status_name(CUresult(4711)), status_text(CUresult(4711))), (None, None));
    }
}

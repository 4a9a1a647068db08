//! Explanations of the status codes, in our own words.

use warploom_sys::types::CUresult;

macro_rules! explanations {
    ($($code:ident: $text:literal;)*) => {
        /// The meaning of a code and, where there is one, the remedy; `None` for a code unknown to `cuda.h`.
        #[must_use]
        pub const fn explanation(code: CUresult) -> Option<&'static str> {
            match code {
                $(CUresult::$code => Some($text),)*
                _ => None,
            }
        }
    };
}

explanations! {
    CUDA_SUCCESS: "done as asked";
    CUDA_ERROR_INVALID_VALUE: "the function refuses an argument; check sizes, ranges, flags and null pointers";
    CUDA_ERROR_OUT_OF_MEMORY: "too little memory is left on the device or the host; free some or ask for less";
    CUDA_ERROR_NOT_INITIALIZED: "no cuInit has succeeded here yet; a child forked after one cannot use the driver";
    CUDA_ERROR_DEINITIALIZED: "the process is exiting and the driver is being torn down; stop calling it before that";
    CUDA_ERROR_PROFILER_DISABLED: "profiling cannot be controlled from here, most likely an outside profiler does";
    CUDA_ERROR_PROFILER_NOT_INITIALIZED: "profiling was switched before it was set up; drivers since 5.0 allow that";
    CUDA_ERROR_PROFILER_ALREADY_STARTED: "profiling was on already; drivers since 5.0 ignore that";
    CUDA_ERROR_PROFILER_ALREADY_STOPPED: "profiling was off already; drivers since 5.0 ignore that";
    CUDA_ERROR_STUB_LIBRARY: "this is the toolkit's stub for linking, not a driver; take it off the library path";
    CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER: "the installed driver is too old for this; update it";
    CUDA_ERROR_DEVICE_UNAVAILABLE: "the device is closed to this process, by its compute mode or an exclusive user";
    CUDA_ERROR_MULTICAST_RESOURCE_FULL: "the hardware has no room for another multicast binding; release one";
    CUDA_ERROR_NO_DEVICE: "the driver sees no device; check CUDA_VISIBLE_DEVICES and what the container may use";
    CUDA_ERROR_INVALID_DEVICE: "there is no such device, or it is the wrong one for this request";
    CUDA_ERROR_DEVICE_NOT_LICENSED: "the virtual GPU holds no licence; ask the operator of the licence server";
    CUDA_ERROR_INVALID_IMAGE: "the module is neither sound PTX nor a sound cubin or fatbin";
    CUDA_ERROR_INVALID_CONTEXT: "no context is current on this thread, or the one meant is gone; make one current";
    CUDA_ERROR_CONTEXT_ALREADY_CURRENT: "the context was current already; drivers since 3.2 ignore that";
    CUDA_ERROR_MAP_FAILED: "the driver could not map or register the resource";
    CUDA_ERROR_UNMAP_FAILED: "the driver could not unmap or unregister the resource";
    CUDA_ERROR_ARRAY_IS_MAPPED: "a mapped array cannot be destroyed; unmap it first";
    CUDA_ERROR_ALREADY_MAPPED: "the resource is mapped; unmap it before mapping it anew";
    CUDA_ERROR_NO_BINARY_FOR_GPU: "the module has no code for this device; build for its architecture or add PTX";
    CUDA_ERROR_ALREADY_ACQUIRED: "the resource is in use; wait until it is released";
    CUDA_ERROR_NOT_MAPPED: "the resource is not mapped; map it first";
    CUDA_ERROR_NOT_MAPPED_AS_ARRAY: "the resource is mapped, but cannot be seen as an array";
    CUDA_ERROR_NOT_MAPPED_AS_POINTER: "the resource is mapped, but has no address";
    CUDA_ERROR_ECC_UNCORRECTABLE:
        "device memory lost data beyond what ECC repairs; the process cannot recover, end it and check the device";
    CUDA_ERROR_UNSUPPORTED_LIMIT: "the device does not have this limit";
    CUDA_ERROR_CONTEXT_ALREADY_IN_USE: "the context serves one thread at a time, and another thread has it";
    CUDA_ERROR_PEER_ACCESS_UNSUPPORTED: "these devices cannot reach each other's memory; copy through the host";
    CUDA_ERROR_INVALID_PTX: "the PTX does not compile; the log of the JIT compiler says where";
    CUDA_ERROR_INVALID_GRAPHICS_CONTEXT: "the OpenGL or Direct3D context cannot be shared with CUDA";
    CUDA_ERROR_NVLINK_UNCORRECTABLE:
        "an NVLink transfer went wrong beyond repair; the process cannot recover, end it and check the links";
    CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
        "the driver's PTX compiler is not installed; add libnvidia-ptxjitcompiler or load a cubin";
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION: "the PTX is newer than the driver; update the driver or emit older PTX";
    CUDA_ERROR_JIT_COMPILATION_DISABLED: "compiling PTX is switched off in this environment; load a cubin";
    CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY: "the device cannot limit a context in this way";
    CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC: "the PTX synchronizes from inside a kernel, which is no longer compiled";
    CUDA_ERROR_CONTAINED:
        "the GPU stopped a fault before it spread, such as a bad peer access; the process cannot recover, end it";
    CUDA_ERROR_INSUFFICIENT_LOADER_VERSION: "the fatbin is newer than the driver's loader; update the driver";
    CUDA_ERROR_INVALID_SOURCE: "the device code does not compile or link";
    CUDA_ERROR_FILE_NOT_FOUND: "there is no such file, or it cannot be read";
    CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND: "a shared library lacks a symbol; the driver's files may not match";
    CUDA_ERROR_SHARED_OBJECT_INIT_FAILED: "a shared library would not start; the driver's files may be damaged";
    CUDA_ERROR_OPERATING_SYSTEM: "the operating system refused something; check permissions, limits and its log";
    CUDA_ERROR_INVALID_HANDLE: "a handle names nothing alive: never made, already destroyed, or of another kind";
    CUDA_ERROR_ILLEGAL_STATE: "an object is not in the state the call needs";
    CUDA_ERROR_LOSSY_QUERY: "the answer would leave out part of the object; use a newer form, or take every output";
    CUDA_ERROR_NOT_FOUND: "nothing has that name; check its spelling and C++ mangling";
    CUDA_ERROR_NOT_READY: "the work asked about is still running; not a failure";
    CUDA_ERROR_ILLEGAL_ADDRESS:
        "a kernel read or wrote memory that is not there; the process cannot recover, end it and find the access";
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
        "a block needs more registers or shared memory than there are, or the arguments do not fit; shrink the launch";
    CUDA_ERROR_LAUNCH_TIMEOUT:
        "a kernel outran the time limit of a device that also drives a display; the process cannot recover, end it";
    CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING: "the kernel uses textures in another mode than they are bound in";
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED: "peer access in this direction is on already";
    CUDA_ERROR_PEER_ACCESS_NOT_ENABLED: "peer access in this direction is not on";
    CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE: "the primary context is running, so it is too late for this setting";
    CUDA_ERROR_CONTEXT_IS_DESTROYED: "the current context has been destroyed, or never started; make another current";
    CUDA_ERROR_ASSERT: "an assertion in a kernel failed; the process cannot recover, end it and read its output";
    CUDA_ERROR_TOO_MANY_PEERS: "the hardware allows no more peers; switch off access to one";
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED: "some of this host memory is pinned by an earlier call";
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED: "no earlier call pinned host memory at this address";
    CUDA_ERROR_HARDWARE_STACK_ERROR:
        "a kernel overran or corrupted its stack; the process cannot recover, end it and check recursion and limits";
    CUDA_ERROR_ILLEGAL_INSTRUCTION:
        "a kernel came upon an instruction the device does not have; the process cannot recover, end it";
    CUDA_ERROR_MISALIGNED_ADDRESS:
        "a kernel used an address that is not a multiple of the access size; the process cannot recover, end it";
    CUDA_ERROR_INVALID_ADDRESS_SPACE:
        "a kernel used an address of one memory space as one of another; the process cannot recover, end it";
    CUDA_ERROR_INVALID_PC: "a kernel ran off the end of its code; the process cannot recover, end it";
    CUDA_ERROR_LAUNCH_FAILED:
        "a kernel died, often of a wild pointer or shared memory overrun; the process cannot recover, end it";
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
        "a cooperative grid must fit on the device at once; ask the occupancy functions how many blocks that is";
    CUDA_ERROR_TENSOR_MEMORY_LEAK:
        "a kernel ended without giving back its tensor memory; the process cannot recover, end it and fix the kernel";
    CUDA_ERROR_NOT_PERMITTED: "not allowed here; inside driver callbacks, for one, no CUDA call is";
    CUDA_ERROR_NOT_SUPPORTED: "this device, driver or system cannot do that; query the attribute before asking";
    CUDA_ERROR_SYSTEM_NOT_READY: "the system is not set up for CUDA work; check services such as the fabric manager";
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
        "kernel module and user library are of different versions; reboot, or load the matching module";
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
        "the forward-compatibility driver does not serve this device; hide it or use the regular driver";
    CUDA_ERROR_MPS_CONNECTION_FAILED: "the MPS daemon cannot be reached; check that it runs and its pipe directory";
    CUDA_ERROR_MPS_RPC_FAILURE: "a request to the MPS server got lost; see the server's log";
    CUDA_ERROR_MPS_SERVER_NOT_READY: "the MPS server takes no clients at the moment; try later";
    CUDA_ERROR_MPS_MAX_CLIENTS_REACHED: "the MPS server has as many clients as it can; end one";
    CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED: "the device has as many MPS connections as it can; close one";
    CUDA_ERROR_MPS_CLIENT_TERMINATED: "the MPS server threw this client out; the process cannot recover, end it";
    CUDA_ERROR_CDP_NOT_SUPPORTED: "the module launches kernels from kernels, which does not work here (under MPS, say)";
    CUDA_ERROR_CDP_VERSION_MISMATCH: "the module mixes versions of dynamic parallelism; rebuild all of it alike";
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED: "this cannot be done while a stream is captured; do it before or after";
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED: "an earlier mistake spoiled this capture; end it and capture again";
    CUDA_ERROR_STREAM_CAPTURE_MERGE: "two captures that have nothing to do with each other would become one";
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED: "the capture was begun on another stream; end it there";
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED: "a stream forked into the capture was not joined; have its origin wait for it";
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION: "captured work would depend on work outside the capture, or the reverse";
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT: "the legacy default stream would wait for captured work; use another stream";
    CUDA_ERROR_CAPTURED_EVENT: "the event was last recorded in a capture, so it never happens; record it outside";
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD: "only the thread that began this capture may end it, unless it is relaxed";
    CUDA_ERROR_TIMEOUT: "the wait took longer than it was given";
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE: "the graph differs too much from the running one; instantiate it anew";
    CUDA_ERROR_EXTERNAL_DEVICE:
        "a device other than the GPU failed; if that was reported after the fact, only a new process can go on";
    CUDA_ERROR_INVALID_CLUSTER_SIZE: "the cluster is too large for the kernel, or does not divide the grid";
    CUDA_ERROR_FUNCTION_NOT_LOADED: "the function is still to be loaded; load it before this call";
    CUDA_ERROR_INVALID_RESOURCE_TYPE: "a device resource is of the wrong kind for this operation";
    CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION: "device resources are too few, or do not go together";
    CUDA_ERROR_KEY_ROTATION: "changing the keys of confidential computing failed";
    CUDA_ERROR_STREAM_DETACHED: "the stream outlived its green context and takes no more work";
    CUDA_ERROR_GRAPH_RECAPTURE_FAILURE: "capturing into the graph anew did not work out and was given up";
    CUDA_ERROR_FABRIC_NOT_READY: "the fabric between GPUs is still coming up; wait, or see the fabric manager's log";
    CUDA_ERROR_UNKNOWN: "the driver failed without saying why; the system log may know more";
}

// A code without an explanation does not compile.
const _: () = {
    let mut position = 0;
    while position < CUresult::ALL.len() {
        assert!(explanation(CUresult::ALL[position]).is_some());
        position += 1;
    }
};

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use warploom_sys::Function;

    use super::*;
    use crate::DriverError;

    #[test]
    fn every_code_has_an_explanation_of_its_own_that_fits_a_message() {
        let mut seen = HashSet::new();
        for &code in CUresult::ALL {
            let text = explanation(code).expect("every code is explained");
            assert!(seen.insert(text), "{code} shares its explanation");
            assert!(text.len() <= 200 && !text.ends_with('.') && !text.contains('\n'), "{code}: {text}");
            assert!(text.starts_with(|first: char| first.is_lowercase()), "{code}: {text}");
        }
        assert_eq!(explanation(CUresult(4711)), None);
    }

    #[test]
    fn the_error_of_a_forked_child_names_the_fork() {
        assert!(explanation(CUresult::CUDA_ERROR_NOT_INITIALIZED).is_some_and(|text| text.contains("forked")));
    }

    #[test]
    fn exactly_the_context_fatal_codes_say_that_the_process_cannot_recover() {
        for &code in CUresult::ALL {
            let fatal = DriverError { function: Function::cuInit, code }.is_context_fatal();
            let text = explanation(code).expect("every code is explained");
            assert_eq!(text.contains("the process cannot recover, end it"), fatal, "{code}: {text}");
            assert!(!fatal || !text.contains("again") && !text.contains("try"), "{code}: {text}");
        }
    }

    #[test]
    fn the_context_fatal_codes_are_faults_of_kernels_and_hardware() {
        let fatal = |code: &&CUresult| DriverError { function: Function::cuInit, code: **code }.is_context_fatal();
        let numbers: Vec<u32> = CUresult::ALL.iter().filter(fatal).map(|code| code.0).collect();
        assert_eq!(numbers, [214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810]);
    }
}

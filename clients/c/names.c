/* Finding functions: by the loader under every exported name, and by the driver under name and version. */
#include "check.h"

#include <dlfcn.h>
#include <stdio.h>

/* One of each kind: plain, renewed, and those in which stream 0 is the thread's own. */
static const char *const exported[] = {
    "cuInit", "cuDeviceGetAttribute", "cuDeviceTotalMem_v2", "cuDeviceGetUuid", "cuDeviceGetUuid_v2", "cuCtxCreate_v2",
    "cuCtxDestroy_v2", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuDevicePrimaryCtxReset_v2",
    "cuDevicePrimaryCtxSetFlags_v2", "cuEventElapsedTime", "cuEventElapsedTime_v2", "cuEventDestroy_v2", "cuEventRecord",
    "cuEventRecord_ptsz", "cuEventRecordWithFlags_ptsz", "cuStreamDestroy_v2", "cuStreamQuery_ptsz",
    "cuStreamSynchronize_ptsz", "cuStreamWaitEvent_ptsz", "cuStreamGetCtx_ptsz", "cuStreamGetFlags_ptsz",
    "cuStreamGetPriority_ptsz", "cuStreamWaitValue32_ptsz", "cuStreamWaitValue32_v2_ptsz", "cuStreamWriteValue64_v2_ptsz",
    "cuStreamBatchMemOp_v2_ptsz", "cuStreamAddCallback_ptsz", "cuStreamAttachMemAsync_ptsz", "cuLaunchHostFunc_ptsz",
    "cuLaunchKernel", "cuLaunchKernel_ptsz", "cuLaunchKernelEx_ptsz", "cuMemAlloc_v2", "cuMemAllocPitch_v2",
    "cuMemAllocHost_v2", "cuMemHostRegister_v2", "cuMemHostGetDevicePointer_v2", "cuMemGetAddressRange_v2",
    "cuMemGetInfo_v2", "cuMemAllocAsync_ptsz", "cuMemAllocFromPoolAsync_ptsz", "cuMemFreeAsync_ptsz", "cuMemcpy_ptds",
    "cuMemcpyAsync_ptsz", "cuMemcpyPeer_ptds", "cuMemcpyPeerAsync_ptsz", "cuMemcpyHtoD_v2_ptds",
    "cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyDtoH_v2_ptds", "cuMemcpyDtoHAsync_v2_ptsz", "cuMemcpyDtoD_v2_ptds",
    "cuMemcpyDtoDAsync_v2_ptsz", "cuMemcpy2D_v2_ptds", "cuMemcpy2DAsync_v2_ptsz", "cuMemcpy3D_v2_ptds",
    "cuMemcpy3DPeerAsync_ptsz", "cuMemsetD8_v2_ptds", "cuMemsetD32Async_ptsz", "cuMemsetD2D16_v2_ptds",
    "cuGraphLaunch_ptsz", "cuGetProcAddress", "cuGetProcAddress_v2", "cuModuleLoadData", "cuLibraryLoadData",
};

static void the_library_exports_every_kind_of_name(void) {
    for (size_t at = 0; at < sizeof exported / sizeof *exported; at++) {
        if (dlsym(driver_library, exported[at]) == NULL) {
            check_failed(__FILE__, __LINE__, exported[at]);
        }
    }
}

static void a_name_that_is_no_function_is_not_exported(void) {
    HOLDS(dlsym(driver_library, "cuNoSuchFunction") == NULL);
    HOLDS(dlsym(driver_library, "cuDeviceGetCount_ptsz") == NULL);
    HOLDS(dlsym(driver_library, "rust_eh_personality") == NULL);
}

static void a_name_and_a_version_find_a_function_that_works(void) {
    CUresult (*version_of)(int *) = NULL;
    int found = -1, version = 0, expected = 1;
    WORKS(cuGetProcAddress_v2("cuDriverGetVersion", (void **)&version_of, 12000, PROC_LEGACY_STREAM, &found));
    HOLDS(found == PROC_FOUND && version_of != NULL);
    WORKS(version_of(&version));
    WORKS(cuDriverGetVersion(&expected));
    HOLDS(version == expected);
    version_of = NULL;
    WORKS(cuGetProcAddress("cuDriverGetVersion", (void **)&version_of, 12000, 0));
    HOLDS(version_of != NULL);
    version_of = NULL;
    WORKS(cuGetProcAddress_v2("cuDriverGetVersion", (void **)&version_of, 12000, 0, NULL));
    HOLDS(version_of != NULL);
}

static void the_version_chooses_the_abi(void) {
    void *plain = NULL, *renewed = NULL;
    int found = -1;
    WORKS(cuGetProcAddress_v2("cuGetProcAddress", &plain, 11030, 0, &found));
    WORKS(cuGetProcAddress_v2("cuGetProcAddress", &renewed, 12000, 0, &found));
    HOLDS(plain != NULL && renewed != NULL && plain != renewed);
}

static void the_flags_choose_the_meaning_of_stream_0(void) {
    void *legacy = NULL, *same = NULL, *per_thread = NULL;
    int found = -1;
    WORKS(cuGetProcAddress_v2("cuStreamSynchronize", &legacy, 12000, PROC_LEGACY_STREAM, &found));
    WORKS(cuGetProcAddress_v2("cuStreamSynchronize", &same, 12000, 0, &found));
    WORKS(cuGetProcAddress_v2("cuStreamSynchronize", &per_thread, 12000, PROC_PER_THREAD_STREAM, &found));
    HOLDS(legacy != NULL && legacy == same);
    HOLDS(per_thread != NULL && per_thread != legacy);
    /* Where stream 0 plays no part, there is one function. */
    WORKS(cuGetProcAddress_v2("cuDeviceGetCount", &legacy, 12000, PROC_LEGACY_STREAM, &found));
    WORKS(cuGetProcAddress_v2("cuDeviceGetCount", &per_thread, 12000, PROC_PER_THREAD_STREAM, &found));
    HOLDS(legacy != NULL && legacy == per_thread);
}

static void what_is_not_found_says_why(void) {
    void *function = &function;
    int found = -1;
    WORKS(cuGetProcAddress_v2("cuNoSuchFunction", &function, 12000, 0, &found));
    HOLDS(function == NULL && found == PROC_NOT_FOUND);
    function = &function;
    WORKS(cuGetProcAddress_v2("cuMemAlloc_v2", &function, 12000, 0, &found));
    HOLDS(function == NULL && found == PROC_NOT_FOUND);
    function = &function;
    WORKS(cuGetProcAddress_v2("cuMemAllocAsync", &function, 11010, 0, &found));
    HOLDS(function == NULL && found == PROC_VERSION_NOT_SUFFICIENT);
    ANSWERS(cuGetProcAddress("cuNoSuchFunction", &function, 12000, 0), CUDA_ERROR_NOT_FOUND);
}

static void a_malformed_question_is_refused(void) {
    void *function = NULL;
    int found = -1, version = 0;
    WORKS(cuDriverGetVersion(&version));
    ANSWERS(cuGetProcAddress_v2(NULL, &function, 12000, 0, &found), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuGetProcAddress_v2("cuInit", NULL, 12000, 0, &found), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuGetProcAddress_v2("cuInit", &function, 12000, 64, &found), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuGetProcAddress_v2("cuInit", &function, version + 1000, 0, &found), CUDA_ERROR_INVALID_VALUE);
    HOLDS(function == NULL);
}

const Check names[] = {
    {"the library exports every kind of name", the_library_exports_every_kind_of_name},
    {"a name that is no function is not exported", a_name_that_is_no_function_is_not_exported},
    {"a name and a version find a function that works", a_name_and_a_version_find_a_function_that_works},
    {"the version chooses the ABI", the_version_chooses_the_abi},
    {"the flags choose the meaning of stream 0", the_flags_choose_the_meaning_of_stream_0},
    {"what is not found says why", what_is_not_found_says_why},
    {"a malformed question is refused", a_malformed_question_is_refused},
    {NULL, NULL},
};

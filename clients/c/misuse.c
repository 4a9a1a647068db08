/* What a program can get wrong, and the code it gets for it. */
#include "check.h"

static void nowhere_to_put_the_answer_is_refused(void) {
    int value;
    CUstream stream;
    CUevent event;
    WORKS(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
    WORKS(cuEventCreate(&event, 0));
    ANSWERS(cuDeviceGetCount(NULL), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuDeviceGet(NULL, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuDeviceGetName(NULL, 8, device[0]), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuDeviceGetUuid_v2(NULL, device[0]), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuDeviceTotalMem_v2(NULL, device[0]), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuDeviceGetAttribute(NULL, WARP_SIZE, device[0]), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuDeviceCanAccessPeer(NULL, device[0], device[1]), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuDevicePrimaryCtxRetain(NULL, device[0]), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuCtxGetCurrent(NULL), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuStreamCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuStreamGetFlags(stream, NULL), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuStreamGetCtx(stream, NULL), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuEventCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemAlloc_v2(NULL, 256), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemHostAlloc(NULL, 256, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemAllocAsync(NULL, 256, stream), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuDeviceGetDefaultMemPool(NULL, device[0]), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuPointerGetAttribute(NULL, 2, 4096), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuGetErrorName(0, NULL), CUDA_ERROR_INVALID_VALUE);
    /* Both may be wanted, or either. */
    WORKS(cuCtxGetStreamPriorityRange(NULL, &value));
    WORKS(cuEventDestroy_v2(event));
    WORKS(cuStreamDestroy_v2(stream));
}

static void too_much_and_nothing_are_refused(void) {
    CUdeviceptr there = 0;
    ANSWERS(cuMemAlloc_v2(&there, (size_t)1 << 50), CUDA_ERROR_OUT_OF_MEMORY);
    ANSWERS(cuMemAlloc_v2(&there, 0), CUDA_ERROR_INVALID_VALUE);
    HOLDS(there == 0);
}

static void addresses_that_are_none_are_refused(void) {
    char byte = 1;
    CUdeviceptr there;
    WORKS(cuMemAlloc_v2(&there, 4096));
    ANSWERS(cuMemFree_v2(there + 16), CUDA_ERROR_INVALID_VALUE);
    WORKS(cuMemFree_v2(there));
    ANSWERS(cuMemFree_v2(there), CUDA_ERROR_INVALID_VALUE);
    WORKS(cuMemFree_v2(0));
    ANSWERS(cuMemFreeHost(&byte), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemcpyHtoD_v2(0, &byte, 1), CUDA_ERROR_INVALID_VALUE);
}

static void an_unknown_flag_is_refused(void) {
    CUstream stream;
    CUevent event;
    ANSWERS(cuStreamCreate(&stream, 1024), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuEventCreate(&event, 1024), CUDA_ERROR_INVALID_VALUE);
}

static void without_a_context_little_works(void) {
    CUdeviceptr there;
    CUcontext current = context[1];
    WORKS(cuCtxSetCurrent(NULL));
    CUresult allocated = cuMemAlloc_v2(&there, 256);
    CUresult synchronized = cuCtxSynchronize();
    CUresult got = cuCtxGetCurrent(&current);
    WORKS(cuCtxSetCurrent(context[0]));
    HOLDS(allocated == CUDA_ERROR_INVALID_CONTEXT);
    HOLDS(synchronized == CUDA_ERROR_INVALID_CONTEXT);
    HOLDS(got == CUDA_SUCCESS && current == NULL);
}

const Check misuse[] = {
    {"nowhere to put the answer is refused", nowhere_to_put_the_answer_is_refused},
    {"too much and nothing are refused", too_much_and_nothing_are_refused},
    {"addresses that are none are refused", addresses_that_are_none_are_refused},
    {"an unknown flag is refused", an_unknown_flag_is_refused},
    {"without a context little works", without_a_context_little_works},
    {NULL, NULL},
};

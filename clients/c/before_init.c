/* What the driver says before it is initialised. */
#include "check.h"

#include <string.h>

static void the_version_is_known(void) {
    int version = 0;
    WORKS(cuDriverGetVersion(&version));
    HOLDS(version >= 12000);
    ANSWERS(cuDriverGetVersion(NULL), CUDA_ERROR_INVALID_VALUE);
}

static void errors_have_names(void) {
    const char *name = NULL, *text = NULL;
    WORKS(cuGetErrorName(CUDA_ERROR_NOT_INITIALIZED, &name));
    HOLDS(strcmp(name, "CUDA_ERROR_NOT_INITIALIZED") == 0);
    WORKS(cuGetErrorString(CUDA_ERROR_NOT_INITIALIZED, &text));
    HOLDS(strlen(text) > 0);
    ANSWERS(cuGetErrorName(123456, &name), CUDA_ERROR_INVALID_VALUE);
    HOLDS(name == NULL);
}

static void everything_else_is_refused(void) {
    int count = -1;
    CUdevice first = -1;
    CUcontext current;
    CUstream stream = NULL;
    CUdeviceptr address = 0;
    ANSWERS(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    ANSWERS(cuDeviceGetCount(NULL), CUDA_ERROR_NOT_INITIALIZED);
    ANSWERS(cuDeviceGet(&first, 0), CUDA_ERROR_NOT_INITIALIZED);
    ANSWERS(cuCtxGetCurrent(&current), CUDA_ERROR_NOT_INITIALIZED);
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
    ANSWERS(cuStreamCreate(&stream, 0), CUDA_ERROR_NOT_INITIALIZED);
    ANSWERS(cuStreamSynchronize(NULL), CUDA_ERROR_NOT_INITIALIZED);
    ANSWERS(cuStreamSynchronize_ptsz(NULL), CUDA_ERROR_NOT_INITIALIZED);
    ANSWERS(cuMemAlloc_v2(&address, 256), CUDA_ERROR_NOT_INITIALIZED);
    HOLDS(count == -1 && first == -1 && stream == NULL && address == 0);
}

static void flags_are_refused(void) {
    int count;
    ANSWERS(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
}

const Check before_init[] = {
    {"before cuInit the version is known", the_version_is_known},
    {"before cuInit errors have names", errors_have_names},
    {"before cuInit everything else is refused and writes nothing", everything_else_is_refused},
    {"cuInit with flags is refused and initialises nothing", flags_are_refused},
    {NULL, NULL},
};

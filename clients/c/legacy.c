/* Functions of old: launches whose arguments are set one by one, and functions that only tools use. */
#include "check.h"

/* out[i] = a + i + (unsigned)b for the blocks of a grid, in its order. */
static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry count(.param .u64 out, .param .u32 a, .param .f32 b)\n"
    "{\n"
    "    .reg .f32 %f<2>;\n    .reg .b32 %r<11>;\n    .reg .b64 %rd<5>;\n"
    "    ld.param.u64 %rd1, [out];\n    ld.param.u32 %r1, [a];\n    ld.param.f32 %f1, [b];\n"
    "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ctaid.y;\n    mov.u32 %r4, %nctaid.x;\n"
    "    mad.lo.u32 %r5, %r3, %r4, %r2;\n"
    "    mov.u32 %r6, %ntid.x;\n    mov.u32 %r7, %tid.x;\n"
    "    mad.lo.u32 %r8, %r5, %r6, %r7;\n"
    "    cvt.rzi.u32.f32 %r9, %f1;\n    add.u32 %r10, %r1, %r9;\n    add.u32 %r10, %r10, %r8;\n"
    "    cvta.to.global.u64 %rd2, %rd1;\n    mul.wide.u32 %rd3, %r8, 4;\n    add.u64 %rd4, %rd2, %rd3;\n"
    "    st.global.u32 [%rd4], %r10;\n"
    "    ret;\n"
    "}\n";

enum { BLOCK = 32, N = 4 * BLOCK };

static CUdeviceptr there;
static uint32_t received[N];

/* Whether the first words are those of the kernel and the rest is untouched; clears them. */
static int computed(uint32_t first, int count) {
    if (cuCtxSynchronize() != CUDA_SUCCESS || cuMemcpyDtoH_v2(received, there, sizeof received) != CUDA_SUCCESS) {
        return 0;
    }
    for (int at = 0; at < N; at++) {
        if (received[at] != (at < count ? first + (uint32_t)at : 0)) {
            return 0;
        }
    }
    return cuMemsetD8_v2(there, 0, sizeof received) == CUDA_SUCCESS && cuCtxSynchronize() == CUDA_SUCCESS;
}

static void arguments_are_set_one_by_one(void) {
    CUmodule module;
    CUfunction function;
    CUstream stream;
    WORKS(cuModuleLoadData(&module, text));
    WORKS(cuModuleGetFunction(&function, module, "count"));
    WORKS(cuMemAlloc_v2(&there, sizeof received));
    WORKS(cuMemsetD8_v2(there, 0, sizeof received));
    WORKS(cuFuncSetBlockShape(function, BLOCK, 1, 1));
    WORKS(cuFuncSetSharedSize(function, 64));
    WORKS(cuParamSetv(function, 0, &there, sizeof there));
    WORKS(cuParamSeti(function, 8, 100));
    WORKS(cuParamSetf(function, 12, 7.5f));
    WORKS(cuParamSetSize(function, 16));
    WORKS(cuLaunch(function));
    HOLDS(computed(107, BLOCK));
    WORKS(cuLaunchGrid(function, 2, 2));
    HOLDS(computed(107, 4 * BLOCK));
    WORKS(cuParamSeti(function, 8, 5));
    WORKS(cuStreamCreate(&stream, 0));
    WORKS(cuLaunchGridAsync(function, 3, 1, stream));
    HOLDS(computed(12, 3 * BLOCK));
    WORKS(cuStreamDestroy_v2(stream));
    ANSWERS(cuLaunchGrid(function, 0, 1), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuFuncSetBlockShape(function, 1025, 1, 1), CUDA_ERROR_INVALID_VALUE);
    WORKS(cuMemFree_v2(there));
    WORKS(cuModuleUnload(module));
}

static void the_profiler_is_switched_on_and_off(void) {
    WORKS(cuProfilerStart());
    WORKS(cuProfilerStop());
    WORKS(cuProfilerStop());
}

static void settings_of_core_dumps_are_kept(void) {
    enum { LIGHTWEIGHT = 3, GENERATION_FLAGS = 7 };
    unsigned char one = 1;
    unsigned flags = 0;
    size_t size = 0;
    CUcontext own;
    WORKS(cuCtxCreate_v2(&own, 0, device[0]));
    WORKS(cuCoredumpGetAttribute(GENERATION_FLAGS, NULL, &size));
    HOLDS(size == sizeof flags);
    size = sizeof one;
    WORKS(cuCoredumpSetAttribute(LIGHTWEIGHT, &one, &size));
    size = sizeof flags;
    WORKS(cuCoredumpGetAttribute(GENERATION_FLAGS, &flags, &size));
    HOLDS(flags == 0x2f);
    WORKS(cuCtxDestroy_v2(own));
    WORKS(cuCtxSetCurrent(context[0]));
}

static void a_function_that_is_not_simulated_says_so(void) {
    void *reference = NULL;
    ANSWERS(cuTexRefCreate(&reference), CUDA_ERROR_NOT_SUPPORTED);
}

const Check legacy[] = {
    {"arguments are set one by one", arguments_are_set_one_by_one},
    {"the profiler is switched on and off", the_profiler_is_switched_on_and_off},
    {"settings of core dumps are kept", settings_of_core_dumps_are_kept},
    {"a function that is not simulated says so", a_function_that_is_not_simulated_says_so},
    {NULL, NULL},
};

/* Kernels from PTX: modules and libraries, launches of each kind, and what is refused. */
#include "check.h"

#include <string.h>

/* y[i] = a * x[i] + y[i] for i < n, and how many threads have done that so far. */
static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .u32 done = 0;\n"
    ".visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n)\n"
    "{\n"
    "    .reg .pred %p<2>;\n    .reg .f32 %f<5>;\n    .reg .b32 %r<7>;\n    .reg .b64 %rd<8>;\n"
    "    ld.param.u32 %r1, [n];\n"
    "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n    mov.u32 %r4, %tid.x;\n"
    "    mad.lo.u32 %r5, %r2, %r3, %r4;\n"
    "    setp.ge.u32 %p1, %r5, %r1;\n"
    "    @%p1 ret;\n"
    "    ld.param.f32 %f1, [a];\n    ld.param.u64 %rd1, [x];\n    ld.param.u64 %rd2, [y];\n"
    "    cvta.to.global.u64 %rd3, %rd1;\n    cvta.to.global.u64 %rd4, %rd2;\n"
    "    mul.wide.u32 %rd5, %r5, 4;\n"
    "    add.u64 %rd6, %rd3, %rd5;\n    add.u64 %rd7, %rd4, %rd5;\n"
    "    ld.global.f32 %f2, [%rd6];\n    ld.global.f32 %f3, [%rd7];\n"
    "    fma.rn.f32 %f4, %f1, %f2, %f3;\n"
    "    st.global.f32 [%rd7], %f4;\n"
    "    atom.global.add.u32 %r6, [done], 1;\n"
    "    ret;\n"
    "}\n";

enum { N = 1000, BLOCK = 128, GRID = (N + BLOCK - 1) / BLOCK };

/* What it takes, as it lies in memory. */
typedef struct {
    float a;
    CUdeviceptr x, y;
    uint32_t n;
} Values;

static float x[N], y[N], received[N];

static CUdeviceptr there_x, there_y;

/* Numbers of which every product and sum is exact. */
static CUresult upload(void) {
    for (int at = 0; at < N; at++) {
        x[at] = (float)at * 0.5f - 7.0f;
        y[at] = (float)at * 0.25f;
    }
    CUresult result = cuMemAlloc_v2(&there_x, sizeof x);
    result = result == CUDA_SUCCESS ? cuMemAlloc_v2(&there_y, sizeof y) : result;
    result = result == CUDA_SUCCESS ? cuMemcpyHtoD_v2(there_x, x, sizeof x) : result;
    return result == CUDA_SUCCESS ? cuMemcpyHtoD_v2(there_y, y, sizeof y) : result;
}

/* Whether all that was launched did what it should, as often as that; frees the memory. */
static int computed(float a, int times) {
    if (cuCtxSynchronize() != CUDA_SUCCESS || cuMemcpyDtoH_v2(received, there_y, sizeof received) != CUDA_SUCCESS) {
        return 0;
    }
    for (int at = 0; at < N; at++) {
        if (received[at] != (float)times * a * x[at] + y[at]) {
            return 0;
        }
    }
    return cuMemFree_v2(there_x) == CUDA_SUCCESS && cuMemFree_v2(there_y) == CUDA_SUCCESS;
}

static void a_module_computes(void) {
    float a = 1.5f;
    uint32_t n = N, done = 0;
    CUmodule module;
    CUfunction function;
    CUdeviceptr counter;
    size_t size = 0;
    void *arguments[] = {&a, &there_x, &there_y, &n};
    WORKS(upload());
    WORKS(cuModuleLoadData(&module, text));
    WORKS(cuModuleGetFunction(&function, module, "saxpy"));
    WORKS(cuLaunchKernel(function, GRID, 1, 1, BLOCK, 1, 1, 0, NULL, arguments, NULL));
    HOLDS(computed(a, 1));
    WORKS(cuModuleGetGlobal_v2(&counter, &size, module, "done"));
    HOLDS(size == sizeof done);
    WORKS(cuMemcpyDtoH_v2(&done, counter, sizeof done));
    HOLDS(done == N);
    WORKS(cuModuleUnload(module));
}

static void arguments_are_passed_as_bytes_too(void) {
    Values values = {2.0f, 0, 0, N};
    /* The last member ends them; the struct itself is larger. */
    size_t size = offsetof(Values, n) + sizeof values.n;
    void *extra[] = {LAUNCH_BUFFER_POINTER, &values, LAUNCH_BUFFER_SIZE, &size, LAUNCH_END};
    CUmodule module;
    CUfunction function;
    WORKS(upload());
    values.x = there_x;
    values.y = there_y;
    WORKS(cuModuleLoadData(&module, text));
    WORKS(cuModuleGetFunction(&function, module, "saxpy"));
    WORKS(cuLaunchKernel(function, GRID, 1, 1, BLOCK, 1, 1, 0, NULL, NULL, extra));
    HOLDS(computed(2.0f, 1));
    WORKS(cuModuleUnload(module));
}

static void a_library_computes_on_every_device_and_in_order(void) {
    float a = 3.0f;
    uint32_t n = N;
    CUlibrary library;
    CUkernel kernel;
    void *arguments[] = {&a, &there_x, &there_y, &n};
    WORKS(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    WORKS(cuLibraryGetKernel(&kernel, library, "saxpy"));
    for (int at = 0; at < 2; at++) {
        CUstream stream;
        WORKS(cuCtxSetCurrent(context[at]));
        WORKS(upload());
        WORKS(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
        /* A kernel stands where a function can, as the header has it. */
        for (int times = 0; times < 3; times++) {
            WORKS(cuLaunchKernel((CUfunction)kernel, GRID, 1, 1, BLOCK, 1, 1, 0, stream, arguments, NULL));
        }
        HOLDS(computed(a, 3));
        WORKS(cuStreamDestroy_v2(stream));
    }
    WORKS(cuCtxSetCurrent(context[0]));
    WORKS(cuLibraryUnload(library));
}

static void a_mistake_is_shown_in_its_line(void) {
    char log[1024] = "";
    int names[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_SIZE};
    void *values[] = {log, (void *)sizeof log};
    CUmodule module;
    ANSWERS(cuModuleLoadDataEx(&module, ".version 7.0\n.target sm_70\n.address_size 64\nnonsense\n", 2, names, values),
            CUDA_ERROR_INVALID_PTX);
    HOLDS(strstr(log, "line 4") != NULL);
}

static void what_cannot_be_launched_is_refused(void) {
    float a = 1.0f;
    uint32_t n = 0;
    CUmodule module;
    CUfunction function;
    void *arguments[] = {&a, &there_x, &there_y, &n};
    WORKS(cuModuleLoadData(&module, text));
    ANSWERS(cuModuleGetFunction(&function, module, "saxpys"), CUDA_ERROR_NOT_FOUND);
    WORKS(cuModuleGetFunction(&function, module, "saxpy"));
    ANSWERS(cuLaunchKernel(function, 1, 1, 1, 1025, 1, 1, 0, NULL, arguments, NULL), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuLaunchKernel(function, 0, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL), CUDA_ERROR_INVALID_VALUE);
    WORKS(cuModuleUnload(module));
}

const Check kernels[] = {
    {"a module computes", a_module_computes},
    {"arguments are passed as bytes, too", arguments_are_passed_as_bytes_too},
    {"a library computes on every device and in order", a_library_computes_on_every_device_and_in_order},
    {"a mistake is shown in its line", a_mistake_is_shown_in_its_line},
    {"what cannot be launched is refused", what_cannot_be_launched_is_refused},
    {NULL, NULL},
};

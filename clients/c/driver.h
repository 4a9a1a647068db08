/* The driver as this client knows it: its own declarations of the few types and functions it uses, and no CUDA header. */
#ifndef DRIVER_H
#define DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;

typedef struct {
    char bytes[16];
} CUuuid;

typedef struct {
    int type;
    int id;
} CUmemLocation;

typedef struct {
    CUmemLocation location;
    int flags;
} CUmemAccessDesc;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_DEINITIALIZED = 4,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_INVALID_PTX = 218,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
    CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705,
    CUDA_ERROR_NOT_SUPPORTED = 801,
};

enum {
    MAX_THREADS_PER_BLOCK = 1,
    WARP_SIZE = 10,
    MULTIPROCESSOR_COUNT = 16,
    UNIFIED_ADDRESSING = 41,
    COMPUTE_CAPABILITY_MAJOR = 75,
    COMPUTE_CAPABILITY_MINOR = 76,
    MEMORY_POOLS_SUPPORTED = 115,
};

enum { STREAM_NON_BLOCKING = 1, EVENT_DISABLE_TIMING = 2, WAIT_VALUE_GEQ = 0 };
enum { LOCATION_DEVICE = 1, ACCESS_READ_WRITE = 3, POOL_RELEASE_THRESHOLD = 4, POOL_USED_MEM_CURRENT = 7 };
enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_SIZE = 6 };
enum { PROC_LEGACY_STREAM = 1, PROC_PER_THREAD_STREAM = 2 };
enum { PROC_FOUND = 0, PROC_NOT_FOUND = 1, PROC_VERSION_NOT_SUFFICIENT = 2 };

/* What a program compiled with --default-stream per-thread names by a null stream. */
#define PER_THREAD_STREAM ((CUstream)2)

/* Words of a list of extras. */
#define LAUNCH_END ((void *)0)
#define LAUNCH_BUFFER_POINTER ((void *)1)
#define LAUNCH_BUFFER_SIZE ((void *)2)

/* Every function, under the name it is exported by. */
#define FUNCTIONS(X)                                                                                                   \
    X(cuInit, (unsigned flags))                                                                                        \
    X(cuDriverGetVersion, (int *version))                                                                              \
    X(cuGetErrorName, (CUresult code, const char **name))                                                              \
    X(cuGetErrorString, (CUresult code, const char **text))                                                            \
    X(cuGetProcAddress, (const char *name, void **function, int version, uint64_t flags))                              \
    X(cuGetProcAddress_v2, (const char *name, void **function, int version, uint64_t flags, int *found))               \
    X(cuDeviceGetCount, (int *count))                                                                                  \
    X(cuDeviceGet, (CUdevice *device, int ordinal))                                                                    \
    X(cuDeviceGetName, (char *name, int size, CUdevice device))                                                        \
    X(cuDeviceGetUuid_v2, (CUuuid *uuid, CUdevice device))                                                             \
    X(cuDeviceGetPCIBusId, (char *text, int size, CUdevice device))                                                    \
    X(cuDeviceGetByPCIBusId, (CUdevice *device, const char *text))                                                     \
    X(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device))                                                           \
    X(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))                                              \
    X(cuDeviceCanAccessPeer, (int *can, CUdevice device, CUdevice peer))                                               \
    X(cuDeviceGetDefaultMemPool, (CUmemoryPool *pool, CUdevice device))                                                \
    X(cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice device))                                                 \
    X(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                                                 \
    X(cuCtxSetCurrent, (CUcontext context))                                                                            \
    X(cuCtxGetCurrent, (CUcontext *context))                                                                           \
    X(cuCtxSynchronize, (void))                                                                                        \
    X(cuCtxEnablePeerAccess, (CUcontext peer, unsigned flags))                                                         \
    X(cuCtxDisablePeerAccess, (CUcontext peer))                                                                        \
    X(cuCtxGetStreamPriorityRange, (int *least, int *greatest))                                                        \
    X(cuStreamCreate, (CUstream *stream, unsigned flags))                                                              \
    X(cuStreamCreateWithPriority, (CUstream *stream, unsigned flags, int priority))                                    \
    X(cuStreamGetPriority, (CUstream stream, int *priority))                                                           \
    X(cuStreamGetFlags, (CUstream stream, unsigned *flags))                                                            \
    X(cuStreamGetCtx, (CUstream stream, CUcontext *context))                                                           \
    X(cuStreamQuery, (CUstream stream))                                                                                \
    X(cuStreamSynchronize, (CUstream stream))                                                                          \
    X(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))                                             \
    X(cuStreamWaitValue32_v2, (CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags))                  \
    X(cuStreamDestroy_v2, (CUstream stream))                                                                           \
    X(cuStreamQuery_ptsz, (CUstream stream))                                                                           \
    X(cuStreamSynchronize_ptsz, (CUstream stream))                                                                     \
    X(cuLaunchHostFunc, (CUstream stream, void (*function)(void *), void *data))                                       \
    X(cuEventCreate, (CUevent *event, unsigned flags))                                                                 \
    X(cuEventRecord, (CUevent event, CUstream stream))                                                                 \
    X(cuEventQuery, (CUevent event))                                                                                   \
    X(cuEventSynchronize, (CUevent event))                                                                             \
    X(cuEventElapsedTime_v2, (float *milliseconds, CUevent start, CUevent end))                                        \
    X(cuEventDestroy_v2, (CUevent event))                                                                              \
    X(cuMemAlloc_v2, (CUdeviceptr *address, size_t size))                                                              \
    X(cuMemFree_v2, (CUdeviceptr address))                                                                             \
    X(cuMemGetInfo_v2, (size_t *available, size_t *total))                                                             \
    X(cuMemHostAlloc, (void **address, size_t size, unsigned flags))                                                   \
    X(cuMemHostGetDevicePointer_v2, (CUdeviceptr *address, void *host, unsigned flags))                                \
    X(cuMemFreeHost, (void *address))                                                                                  \
    X(cuMemAllocAsync, (CUdeviceptr *address, size_t size, CUstream stream))                                           \
    X(cuMemAllocFromPoolAsync, (CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream))                \
    X(cuMemFreeAsync, (CUdeviceptr address, CUstream stream))                                                          \
    X(cuMemPoolGetAttribute, (CUmemoryPool pool, int attribute, void *value))                                          \
    X(cuMemPoolSetAttribute, (CUmemoryPool pool, int attribute, void *value))                                          \
    X(cuMemPoolSetAccess, (CUmemoryPool pool, const CUmemAccessDesc *access, size_t count))                            \
    X(cuMemPoolTrimTo, (CUmemoryPool pool, size_t keep))                                                               \
    X(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t size))                                                \
    X(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t size))                                                      \
    X(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t size))                                                \
    X(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t size, CUstream stream))                          \
    X(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t size, CUstream stream))                                \
    X(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream))                          \
    X(cuMemcpyHtoDAsync_v2_ptsz, (CUdeviceptr to, const void *from, size_t size, CUstream stream))                     \
    X(cuMemcpyDtoHAsync_v2_ptsz, (void *to, CUdeviceptr from, size_t size, CUstream stream))                           \
    X(cuMemcpyPeer, (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t size))     \
    X(cuMemcpyPeerAsync, (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t size, \
                          CUstream stream))                                                                            \
    X(cuMemsetD8Async, (CUdeviceptr address, unsigned char value, size_t count, CUstream stream))                      \
    X(cuPointerGetAttribute, (void *value, int attribute, CUdeviceptr address))                                        \
    X(cuModuleLoadData, (CUmodule *module, const void *image))                                                         \
    X(cuModuleLoadDataEx, (CUmodule *module, const void *image, unsigned count, int *names, void **values))            \
    X(cuModuleUnload, (CUmodule module))                                                                               \
    X(cuModuleGetFunction, (CUfunction *function, CUmodule module, const char *name))                                  \
    X(cuModuleGetGlobal_v2, (CUdeviceptr *address, size_t *size, CUmodule module, const char *name))                   \
    X(cuLibraryLoadData, (CUlibrary *library, const void *image, int *jit_names, void **jit_values, unsigned jit_count,\
                          int *names, void **values, unsigned count))                                                  \
    X(cuLibraryUnload, (CUlibrary library))                                                                            \
    X(cuLibraryGetKernel, (CUkernel *kernel, CUlibrary library, const char *name))                                     \
    X(cuCtxCreate_v2, (CUcontext *context, unsigned flags, CUdevice device))                                           \
    X(cuCtxDestroy_v2, (CUcontext context))                                                                            \
    X(cuMemsetD8_v2, (CUdeviceptr address, unsigned char value, size_t bytes))                                         \
    X(cuFuncSetBlockShape, (CUfunction function, int x, int y, int z))                                                 \
    X(cuFuncSetSharedSize, (CUfunction function, unsigned bytes))                                                      \
    X(cuParamSetSize, (CUfunction function, unsigned bytes))                                                           \
    X(cuParamSeti, (CUfunction function, int offset, unsigned value))                                                  \
    X(cuParamSetf, (CUfunction function, int offset, float value))                                                     \
    X(cuParamSetv, (CUfunction function, int offset, void *value, unsigned bytes))                                     \
    X(cuLaunch, (CUfunction function))                                                                                 \
    X(cuLaunchGrid, (CUfunction function, int width, int height))                                                      \
    X(cuLaunchGridAsync, (CUfunction function, int width, int height, CUstream stream))                                \
    X(cuProfilerStart, (void))                                                                                         \
    X(cuProfilerStop, (void))                                                                                          \
    X(cuCoredumpGetAttribute, (int attribute, void *value, size_t *size))                                              \
    X(cuCoredumpSetAttribute, (int attribute, void *value, size_t *size))                                              \
    X(cuTexRefCreate, (void **reference))                                                                              \
    X(cuLaunchKernel, (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,       \
                       unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **arguments,         \
                       void **extra))

#define DECLARE(name, parameters) extern CUresult(*name) parameters;
FUNCTIONS(DECLARE)
#undef DECLARE

/* The library as the loader found it. */
extern void *driver_library;

/* Opens libcuda.so.1 and finds every function above; says what is missing, and returns 0, if something is. */
int driver_open(void);

#endif

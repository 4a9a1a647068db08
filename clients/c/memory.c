/* Memory: plain, pinned and from a pool; copies both ways and on the device. */
#include "check.h"

#include <string.h>

enum { SIZE = 100003 };

static unsigned char sent[SIZE], received[SIZE];

static void bytes_come_back_as_they_went(void) {
    CUdeviceptr first, second;
    WORKS(cuMemAlloc_v2(&first, SIZE));
    WORKS(cuMemAlloc_v2(&second, SIZE));
    pattern(sent, SIZE, 2);
    memset(received, 0, SIZE);
    WORKS(cuMemcpyHtoD_v2(first, sent, SIZE));
    WORKS(cuMemcpyDtoD_v2(second, first, SIZE));
    WORKS(cuMemcpyDtoH_v2(received, second, SIZE));
    HOLDS(has_pattern(received, SIZE, 2));
    WORKS(cuMemFree_v2(first));
    WORKS(cuMemFree_v2(second));
}

static void a_part_can_be_copied(void) {
    CUdeviceptr there;
    WORKS(cuMemAlloc_v2(&there, SIZE));
    pattern(sent, SIZE, 3);
    WORKS(cuMemcpyHtoD_v2(there, sent, SIZE));
    memset(received, 0xee, SIZE);
    WORKS(cuMemcpyDtoH_v2(received + 1, there + 4001, 77));
    HOLDS(received[0] == 0xee && received[78] == 0xee);
    HOLDS(memcmp(received + 1, sent + 4001, 77) == 0);
    WORKS(cuMemFree_v2(there));
}

static void plain_memory_is_accounted_for(void) {
    size_t before, during, after, total;
    CUdeviceptr there;
    WORKS(cuMemGetInfo_v2(&before, &total));
    WORKS(cuMemAlloc_v2(&there, (size_t)64 << 20));
    WORKS(cuMemGetInfo_v2(&during, &total));
    WORKS(cuMemFree_v2(there));
    WORKS(cuMemGetInfo_v2(&after, &total));
    HOLDS(before <= total && during + ((size_t)64 << 20) <= before && after == before);
}

static void a_pool_serves_a_stream_in_order(void) {
    CUmemoryPool pool;
    CUstream stream;
    CUdeviceptr first, second;
    void *up, *down;
    uint64_t used = 0, threshold = UINT64_MAX, read_back = 0;
    WORKS(cuDeviceGetDefaultMemPool(&pool, device[0]));
    WORKS(cuMemPoolSetAttribute(pool, POOL_RELEASE_THRESHOLD, &threshold));
    WORKS(cuMemPoolGetAttribute(pool, POOL_RELEASE_THRESHOLD, &read_back));
    HOLDS(read_back == threshold);
    WORKS(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
    WORKS(cuMemHostAlloc(&up, SIZE, 0));
    WORKS(cuMemHostAlloc(&down, SIZE, 0));
    pattern(up, SIZE, 4);
    memset(down, 0, SIZE);
    WORKS(cuMemAllocAsync(&first, SIZE, stream));
    WORKS(cuMemAllocFromPoolAsync(&second, SIZE, pool, stream));
    HOLDS(first != second);
    WORKS(cuMemcpyHtoDAsync_v2(first, up, SIZE, stream));
    WORKS(cuMemcpyDtoDAsync_v2(second, first, SIZE, stream));
    WORKS(cuMemFreeAsync(first, stream));
    WORKS(cuMemcpyDtoHAsync_v2(down, second, SIZE, stream));
    WORKS(cuMemPoolGetAttribute(pool, POOL_USED_MEM_CURRENT, &used));
    HOLDS(used >= SIZE);
    WORKS(cuMemFreeAsync(second, stream));
    WORKS(cuStreamSynchronize(stream));
    HOLDS(has_pattern(down, SIZE, 4));
    WORKS(cuMemPoolGetAttribute(pool, POOL_USED_MEM_CURRENT, &used));
    HOLDS(used == 0);
    threshold = 0;
    WORKS(cuMemPoolSetAttribute(pool, POOL_RELEASE_THRESHOLD, &threshold));
    WORKS(cuMemPoolTrimTo(pool, 0));
    WORKS(cuMemFreeHost(up));
    WORKS(cuMemFreeHost(down));
    WORKS(cuStreamDestroy_v2(stream));
}

static void pinned_memory_is_known_to_the_driver(void) {
    enum { MEMORY_TYPE = 2, HOST = 1, DEVICE = 2 };
    void *pinned;
    CUdeviceptr alias, there;
    unsigned type = 0;
    WORKS(cuMemHostAlloc(&pinned, SIZE, 0));
    WORKS(cuMemHostGetDevicePointer_v2(&alias, pinned, 0));
    HOLDS(alias == (CUdeviceptr)(uintptr_t)pinned);
    WORKS(cuPointerGetAttribute(&type, MEMORY_TYPE, alias));
    HOLDS(type == HOST);
    WORKS(cuMemAlloc_v2(&there, SIZE));
    WORKS(cuPointerGetAttribute(&type, MEMORY_TYPE, there));
    HOLDS(type == DEVICE);
    WORKS(cuMemFree_v2(there));
    WORKS(cuMemFreeHost(pinned));
    ANSWERS(cuPointerGetAttribute(&type, MEMORY_TYPE, there), CUDA_ERROR_INVALID_VALUE);
}

const Check memory[] = {
    {"bytes come back as they went", bytes_come_back_as_they_went},
    {"a part can be copied", a_part_can_be_copied},
    {"plain memory is accounted for", plain_memory_is_accounted_for},
    {"a pool serves a stream in order", a_pool_serves_a_stream_in_order},
    {"pinned memory is known to the driver", pinned_memory_is_known_to_the_driver},
    {NULL, NULL},
};

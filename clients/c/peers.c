/* Two devices: copies between them, and access to each other's memory. */
#include "check.h"

#include <string.h>

enum { SIZE = 300007 };

static unsigned char sent[SIZE], received[SIZE];

static void every_device_can_reach_every_other(void) {
    for (int from = 0; from < 8; from++) {
        for (int to = 0; to < 8; to++) {
            int can = -1;
            WORKS(cuDeviceCanAccessPeer(&can, from, to));
            HOLDS(can == (from != to));
        }
    }
}

static void a_copy_between_devices_needs_no_access(void) {
    CUdeviceptr here, there;
    WORKS(cuMemAlloc_v2(&here, SIZE));
    WORKS(cuCtxSetCurrent(context[1]));
    WORKS(cuMemAlloc_v2(&there, SIZE));
    WORKS(cuCtxSetCurrent(context[0]));
    pattern(sent, SIZE, 5);
    memset(received, 0, SIZE);
    WORKS(cuMemcpyHtoD_v2(here, sent, SIZE));
    WORKS(cuMemcpyPeer(there, context[1], here, context[0], SIZE));
    WORKS(cuMemcpyDtoH_v2(received, there, SIZE));
    HOLDS(has_pattern(received, SIZE, 5));
    WORKS(cuMemFree_v2(here));
    WORKS(cuMemFree_v2(there));
}

static void a_copy_between_devices_waits_its_turn(void) {
    CUdeviceptr here, there;
    CUstream stream;
    Latch latch;
    WORKS(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
    WORKS(latch_make(&latch));
    WORKS(cuMemAlloc_v2(&here, SIZE));
    WORKS(cuCtxSetCurrent(context[1]));
    WORKS(cuMemAlloc_v2(&there, SIZE));
    WORKS(cuCtxSetCurrent(context[0]));
    WORKS(latch_hold(&latch, stream));
    WORKS(cuMemsetD8Async(here, 0x5a, SIZE, stream));
    WORKS(cuMemcpyPeerAsync(there, context[1], here, context[0], SIZE, stream));
    ANSWERS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    latch_open(&latch);
    WORKS(cuStreamSynchronize(stream));
    WORKS(cuMemcpyDtoH_v2(received, there, SIZE));
    for (size_t at = 0; at < SIZE; at++) {
        HOLDS(received[at] == 0x5a);
    }
    WORKS(cuMemFree_v2(here));
    WORKS(cuMemFree_v2(there));
    WORKS(cuMemFreeHost(latch.word));
    WORKS(cuStreamDestroy_v2(stream));
}

static void access_is_enabled_and_disabled_once(void) {
    ANSWERS(cuCtxDisablePeerAccess(context[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    WORKS(cuCtxEnablePeerAccess(context[1], 0));
    ANSWERS(cuCtxEnablePeerAccess(context[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    WORKS(cuCtxDisablePeerAccess(context[1]));
    ANSWERS(cuCtxDisablePeerAccess(context[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    ANSWERS(cuCtxEnablePeerAccess(context[1], 1), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuCtxEnablePeerAccess(NULL, 0), CUDA_ERROR_INVALID_CONTEXT);
}

static void a_pool_opens_its_memory_to_a_peer(void) {
    CUmemoryPool pool;
    CUstream here, there;
    CUdeviceptr shared, own;
    CUmemAccessDesc access = {{LOCATION_DEVICE, device[1]}, ACCESS_READ_WRITE};
    WORKS(cuDeviceGetDefaultMemPool(&pool, device[0]));
    WORKS(cuMemPoolSetAccess(pool, &access, 1));
    WORKS(cuStreamCreate(&here, STREAM_NON_BLOCKING));
    WORKS(cuMemAllocAsync(&shared, SIZE, here));
    pattern(sent, SIZE, 6);
    memset(received, 0, SIZE);
    WORKS(cuMemcpyHtoDAsync_v2(shared, sent, SIZE, here));
    WORKS(cuStreamSynchronize(here));
    WORKS(cuCtxSetCurrent(context[1]));
    WORKS(cuStreamCreate(&there, STREAM_NON_BLOCKING));
    WORKS(cuMemAllocAsync(&own, SIZE, there));
    WORKS(cuMemcpyDtoDAsync_v2(own, shared, SIZE, there));
    WORKS(cuMemcpyDtoHAsync_v2(received, own, SIZE, there));
    WORKS(cuMemFreeAsync(own, there));
    WORKS(cuStreamSynchronize(there));
    HOLDS(has_pattern(received, SIZE, 6));
    WORKS(cuStreamDestroy_v2(there));
    WORKS(cuCtxSetCurrent(context[0]));
    WORKS(cuMemFreeAsync(shared, here));
    WORKS(cuStreamSynchronize(here));
    WORKS(cuStreamDestroy_v2(here));
}

const Check peers[] = {
    {"every device can reach every other", every_device_can_reach_every_other},
    {"a copy between devices needs no access", a_copy_between_devices_needs_no_access},
    {"a copy between devices waits its turn", a_copy_between_devices_waits_its_turn},
    {"access is enabled and disabled once", access_is_enabled_and_disabled_once},
    {"a pool opens its memory to a peer", a_pool_opens_its_memory_to_a_peer},
    {NULL, NULL},
};

/* Calls made while the process ends: interpreters and libraries free what they hold as late as this. The driver may still do
   as it is told, or say that it has gone; it must not crash or hang. */
#include "check.h"
#include "late.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const int late_checks = 2;

/* Left for later: a stream with work, and memory of three kinds. */
static CUstream stream, held;
static CUdeviceptr plain, pooled;
static void *pinned;
static Latch latch;

static void late(CUresult answer, const char *file, int line, const char *call) {
    if (answer != CUDA_SUCCESS && answer != CUDA_ERROR_DEINITIALIZED) {
        check_answered(file, line, call, answer, "CUDA_SUCCESS or CUDA_ERROR_DEINITIALIZED");
    }
}
#define LATE(call) late(call, __FILE__, __LINE__, #call)

static void after_main(void) {
    int count = 0;
    CUcontext current = NULL;
    CUdeviceptr there = 0;
    LATE(cuDeviceGetCount(&count));
    LATE(cuCtxGetCurrent(&current));
    LATE(cuCtxSetCurrent(context[0]));
    LATE(cuMemcpyHtoDAsync_v2(plain, pinned, 64, stream));
    LATE(cuMemAllocAsync(&there, 4096, stream));
    LATE(cuMemFreeAsync(pooled, stream));
    LATE(cuStreamSynchronize(stream));
}

static void after_the_driver_library(void) {
    int version = 0;
    const char *name = NULL;
    LATE(cuDriverGetVersion(&version));
    LATE(cuGetErrorName(0, &name));
    LATE(cuStreamDestroy_v2(stream));
    LATE(cuMemFreeHost(pinned));
    LATE(cuDevicePrimaryCtxRelease_v2(device[0]));
}

/* The exit code is settled by now, except for `_exit`. */
static void run(const char *sentence, void (*function)(void)) {
    if (check_run((Check){sentence, function})) {
        _exit(EXIT_FAILURE);
    }
}

static void at_exit(void) {
    run("an exit handler gets answers", after_main);
}

static void at_finish(void) {
    run("a library that is finished after the driver's gets answers", after_the_driver_library);
}

static void *wait_for_ever(void *argument) {
    cuStreamSynchronize(held);
    return argument;
}

/* A thread that is inside the driver must not keep the process from ending. It waits for the second device, because freeing
   waits for all work of the first. */
static CUresult leave_a_thread_waiting(void) {
    pthread_t thread;
    CUresult result = cuCtxSetCurrent(context[1]);
    if (result == CUDA_SUCCESS) {
        result = cuStreamCreate(&held, STREAM_NON_BLOCKING);
    }
    if (result == CUDA_SUCCESS) {
        result = latch_make(&latch);
    }
    if (result == CUDA_SUCCESS) {
        result = latch_hold(&latch, held);
    }
    if (result == CUDA_SUCCESS && pthread_create(&thread, NULL, wait_for_ever, NULL) == 0) {
        pthread_detach(thread);
    }
    return result == CUDA_SUCCESS ? cuCtxSetCurrent(context[0]) : result;
}

void late_prepare(void) {
    CUresult results[] = {
        cuStreamCreate(&stream, STREAM_NON_BLOCKING),
        cuMemAlloc_v2(&plain, 4096),
        cuMemAllocAsync(&pooled, 4096, stream),
        cuMemHostAlloc(&pinned, 4096, 0),
        leave_a_thread_waiting(),
    };
    for (size_t at = 0; at < sizeof results / sizeof *results; at++) {
        if (results[at] != CUDA_SUCCESS) {
            printf("# what is to be used late cannot be made: code %d\n", results[at]);
            exit(EXIT_FAILURE);
        }
    }
    late_function = at_finish;
    atexit(at_exit);
}

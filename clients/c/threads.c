/* Several host threads in the driver at once. */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 6, ROUNDS = 40, SIZE = 20011 };

static void work(unsigned seed) {
    unsigned char *up = malloc(SIZE), *down = malloc(SIZE);
    CUstream stream;
    HOLDS(up != NULL && down != NULL);
    WORKS(cuCtxSetCurrent(context[seed % 2]));
    WORKS(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
    for (unsigned round = 0; round < ROUNDS; round++) {
        CUdeviceptr first, second;
        pattern(up, SIZE, seed * ROUNDS + round);
        WORKS(cuMemAllocAsync(&first, SIZE, stream));
        WORKS(cuMemAllocAsync(&second, SIZE, stream));
        WORKS(cuMemcpyHtoDAsync_v2(first, up, SIZE, stream));
        WORKS(cuMemcpyDtoDAsync_v2(second, first, SIZE, stream));
        WORKS(cuMemcpyDtoHAsync_v2(down, second, SIZE, stream));
        WORKS(cuMemFreeAsync(first, stream));
        WORKS(cuMemFreeAsync(second, stream));
        WORKS(cuStreamSynchronize(stream));
        HOLDS(has_pattern(down, SIZE, seed * ROUNDS + round));
    }
    WORKS(cuStreamDestroy_v2(stream));
    free(up);
    free(down);
}

static void *worker(void *seed) {
    work((unsigned)(uintptr_t)seed);
    return NULL;
}

static void threads_do_not_disturb_each_other(void) {
    pthread_t workers[THREADS];
    for (uintptr_t at = 0; at < THREADS; at++) {
        HOLDS(pthread_create(&workers[at], NULL, worker, (void *)at) == 0);
    }
    for (int at = 0; at < THREADS; at++) {
        HOLDS(pthread_join(workers[at], NULL) == 0);
    }
}

static void *look_at_current(void *current) {
    return cuCtxGetCurrent(current) == CUDA_SUCCESS ? current : NULL;
}

static void a_new_thread_has_no_current_context(void) {
    pthread_t thread;
    CUcontext current = context[0];
    void *answered = NULL;
    HOLDS(pthread_create(&thread, NULL, look_at_current, &current) == 0);
    HOLDS(pthread_join(thread, &answered) == 0);
    HOLDS(answered != NULL && current == NULL);
}

static CUdeviceptr there;

static void own_stream(unsigned char *bytes) {
    WORKS(cuCtxSetCurrent(context[0]));
    pattern(bytes, SIZE, 9);
    WORKS(cuMemcpyHtoDAsync_v2_ptsz(there, bytes, SIZE, NULL));
    WORKS(cuStreamSynchronize_ptsz(NULL));
    for (size_t at = 0; at < SIZE; at++) {
        bytes[at] = 0;
    }
    WORKS(cuMemcpyDtoHAsync_v2_ptsz(bytes, there, SIZE, NULL));
    WORKS(cuStreamSynchronize(PER_THREAD_STREAM));
    HOLDS(has_pattern(bytes, SIZE, 9));
}

static void *with_own_stream(void *bytes) {
    own_stream(bytes);
    return NULL;
}

static void every_thread_has_its_own_default_stream(void) {
    pthread_t thread;
    Latch latch;
    void *bytes;
    WORKS(latch_make(&latch));
    WORKS(cuMemHostAlloc(&bytes, SIZE, 0));
    WORKS(cuMemAlloc_v2(&there, SIZE));
    WORKS(latch_hold(&latch, PER_THREAD_STREAM));
    ANSWERS(cuStreamQuery_ptsz(NULL), CUDA_ERROR_NOT_READY);
    HOLDS(pthread_create(&thread, NULL, with_own_stream, bytes) == 0);
    HOLDS(pthread_join(thread, NULL) == 0);
    ANSWERS(cuStreamQuery_ptsz(NULL), CUDA_ERROR_NOT_READY);
    latch_open(&latch);
    WORKS(cuStreamSynchronize_ptsz(NULL));
    WORKS(cuMemFree_v2(there));
    WORKS(cuMemFreeHost(bytes));
    WORKS(cuMemFreeHost(latch.word));
}

static CUresult answered_while_ending = -1;

static void destroy_late(void *stream) {
    answered_while_ending = cuStreamDestroy_v2(stream);
}

static void *end_with_a_stream(void *argument) {
    pthread_key_t key;
    CUstream stream;
    (void)argument;
    if (cuCtxSetCurrent(context[0]) == CUDA_SUCCESS && cuStreamCreate(&stream, 0) == CUDA_SUCCESS &&
        pthread_key_create(&key, destroy_late) == 0) {
        pthread_setspecific(key, stream);
    }
    return NULL;
}

static void a_thread_that_is_ending_can_still_call(void) {
    pthread_t thread;
    HOLDS(pthread_create(&thread, NULL, end_with_a_stream, NULL) == 0);
    HOLDS(pthread_join(thread, NULL) == 0);
    WORKS(answered_while_ending);
}

const Check threads[] = {
    {"threads do not disturb each other", threads_do_not_disturb_each_other},
    {"a new thread has no current context", a_new_thread_has_no_current_context},
    {"every thread has its own default stream", every_thread_has_its_own_default_stream},
    {"a thread that is ending can still call", a_thread_that_is_ending_can_still_call},
    {NULL, NULL},
};

/* Streams and events. A latch holds a stream still wherever a check needs to see work that is not done. */
#include "check.h"

enum { SIZE = 1 << 20 };

static void a_stream_knows_how_it_was_made(void) {
    int least = 0, greatest = 0, priority = 1;
    unsigned flags = 0;
    CUstream stream;
    CUcontext home = NULL;
    WORKS(cuCtxGetStreamPriorityRange(&least, &greatest));
    HOLDS(greatest < least);
    WORKS(cuStreamCreateWithPriority(&stream, STREAM_NON_BLOCKING, greatest));
    WORKS(cuStreamGetPriority(stream, &priority));
    WORKS(cuStreamGetFlags(stream, &flags));
    WORKS(cuStreamGetCtx(stream, &home));
    HOLDS(priority == greatest && flags == STREAM_NON_BLOCKING && home == context[0]);
    WORKS(cuStreamQuery(stream));
    WORKS(cuStreamDestroy_v2(stream));
}

static void a_stream_is_busy_until_its_work_is_done(void) {
    CUstream stream;
    Latch latch;
    WORKS(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
    WORKS(latch_make(&latch));
    WORKS(latch_hold(&latch, stream));
    ANSWERS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    latch_open(&latch);
    WORKS(cuStreamSynchronize(stream));
    WORKS(cuStreamQuery(stream));
    WORKS(cuStreamDestroy_v2(stream));
    WORKS(cuMemFreeHost(latch.word));
}

static void set(void *flag) {
    __atomic_store_n((int *)flag, 1, __ATOMIC_SEQ_CST);
}

static void a_host_function_runs_in_its_turn(void) {
    CUstream stream;
    Latch latch;
    int done = 0;
    WORKS(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
    WORKS(latch_make(&latch));
    WORKS(latch_hold(&latch, stream));
    WORKS(cuLaunchHostFunc(stream, set, &done));
    HOLDS(__atomic_load_n(&done, __ATOMIC_SEQ_CST) == 0);
    latch_open(&latch);
    WORKS(cuStreamSynchronize(stream));
    HOLDS(__atomic_load_n(&done, __ATOMIC_SEQ_CST) == 1);
    WORKS(cuStreamDestroy_v2(stream));
    WORKS(cuMemFreeHost(latch.word));
}

static void an_event_orders_two_streams(void) {
    CUstream first, second;
    CUevent event;
    Latch latch;
    void *up, *down;
    CUdeviceptr there;
    WORKS(cuStreamCreate(&first, STREAM_NON_BLOCKING));
    WORKS(cuStreamCreate(&second, STREAM_NON_BLOCKING));
    WORKS(cuEventCreate(&event, EVENT_DISABLE_TIMING));
    WORKS(latch_make(&latch));
    WORKS(cuMemHostAlloc(&up, SIZE, 0));
    WORKS(cuMemHostAlloc(&down, SIZE, 0));
    WORKS(cuMemAlloc_v2(&there, SIZE));
    pattern(up, SIZE, 1);
    WORKS(latch_hold(&latch, first));
    WORKS(cuMemcpyHtoDAsync_v2(there, up, SIZE, first));
    WORKS(cuEventRecord(event, first));
    WORKS(cuStreamWaitEvent(second, event, 0));
    WORKS(cuMemcpyDtoHAsync_v2(down, there, SIZE, second));
    ANSWERS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    ANSWERS(cuStreamQuery(second), CUDA_ERROR_NOT_READY);
    latch_open(&latch);
    WORKS(cuStreamSynchronize(second));
    WORKS(cuEventQuery(event));
    HOLDS(has_pattern(down, SIZE, 1));
    WORKS(cuMemFree_v2(there));
    WORKS(cuMemFreeHost(up));
    WORKS(cuMemFreeHost(down));
    WORKS(cuMemFreeHost(latch.word));
    WORKS(cuEventDestroy_v2(event));
    WORKS(cuStreamDestroy_v2(first));
    WORKS(cuStreamDestroy_v2(second));
}

static void two_events_time_what_lies_between_them(void) {
    CUstream stream;
    CUevent start, end, untimed;
    CUdeviceptr from, to;
    Latch latch;
    float milliseconds = -1;
    WORKS(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
    WORKS(cuEventCreate(&start, 0));
    WORKS(cuEventCreate(&end, 0));
    WORKS(cuEventCreate(&untimed, EVENT_DISABLE_TIMING));
    WORKS(latch_make(&latch));
    WORKS(cuMemAlloc_v2(&from, 16 * SIZE));
    WORKS(cuMemAlloc_v2(&to, 16 * SIZE));
    WORKS(latch_hold(&latch, stream));
    WORKS(cuEventRecord(start, stream));
    WORKS(cuMemsetD8Async(from, 7, 16 * SIZE, stream));
    WORKS(cuMemcpyDtoDAsync_v2(to, from, 16 * SIZE, stream));
    WORKS(cuEventRecord(end, stream));
    WORKS(cuEventRecord(untimed, stream));
    ANSWERS(cuEventElapsedTime_v2(&milliseconds, start, end), CUDA_ERROR_NOT_READY);
    latch_open(&latch);
    WORKS(cuEventSynchronize(end));
    WORKS(cuEventElapsedTime_v2(&milliseconds, start, end));
    HOLDS(milliseconds > 0 && milliseconds < 1000);
    ANSWERS(cuEventElapsedTime_v2(&milliseconds, start, untimed), CUDA_ERROR_INVALID_HANDLE);
    WORKS(cuStreamSynchronize(stream));
    WORKS(cuMemFree_v2(from));
    WORKS(cuMemFree_v2(to));
    WORKS(cuMemFreeHost(latch.word));
    WORKS(cuEventDestroy_v2(start));
    WORKS(cuEventDestroy_v2(end));
    WORKS(cuEventDestroy_v2(untimed));
    WORKS(cuStreamDestroy_v2(stream));
}

const Check streams[] = {
    {"a stream knows how it was made", a_stream_knows_how_it_was_made},
    {"a stream is busy until its work is done", a_stream_is_busy_until_its_work_is_done},
    {"a host function runs in its turn", a_host_function_runs_in_its_turn},
    {"an event orders two streams", an_event_orders_two_streams},
    {"two events time what lies between them", two_events_time_what_lies_between_them},
    {NULL, NULL},
};

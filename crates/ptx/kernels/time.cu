// Clocks, and waiting.

// What a loop of rounds takes: y[0] = cycles, y[1] = nanoseconds, y[2] = cycles by the clock with 32 bits.
extern "C" __global__ void clocks(unsigned rounds, long long* y)
{
    unsigned long long before, after;
    long long start = clock64();
    unsigned low = (unsigned)clock();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(before));
    for (unsigned i = 0; i < rounds; ++i) asm volatile("");
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(after));
    y[0] = clock64() - start;
    y[1] = (long long)(after - before);
    y[2] = (unsigned)clock() - low;
}

// Sleeps about as long as it is told, and says for how many nanoseconds it did.
extern "C" __global__ void nap(unsigned nanoseconds, unsigned long long* slept)
{
    unsigned long long before, after;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(before));
    __nanosleep(nanoseconds);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(after));
    *slept = after - before;
}

// Waits until *latch is no longer zero, then copies it: what holds a stream up until the host says so.
extern "C" __global__ void latch(volatile int* latch, int* seen)
{
    while (*latch == 0) __nanosleep(1000);
    __threadfence_system();
    *seen = *latch;
}

// Where it runs: multiprocessor, warp, lane, and the sizes of its block and grid, for each thread.
extern "C" __global__ void whereabouts(unsigned* y)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, sm, warp, lane, warps;
    asm("mov.u32 %0, %%smid;" : "=r"(sm));
    asm("mov.u32 %0, %%warpid;" : "=r"(warp));
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("mov.u32 %0, %%nwarpid;" : "=r"(warps));
    y[6 * i] = sm;
    y[6 * i + 1] = warp < warps;
    y[6 * i + 2] = lane;
    y[6 * i + 3] = blockDim.x;
    y[6 * i + 4] = gridDim.x;
    y[6 * i + 5] = warpSize;
}

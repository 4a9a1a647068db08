// Votes, matches and shuffles between the lanes of a warp. One warp per 32 elements; n is the number of threads.

// answers[0][i] ballot, [1] all, [2] any of x[i] > 0 in the warp, [3] the active lanes of those with odd
// numbers, [4] lanes below, [5] up to, [6] above, [7] from this one on.
extern "C" __global__ void votes(const int* x, unsigned* answers, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    bool positive = x[i] > 0;
    answers[i] = __ballot_sync(0xffffffffu, positive);
    answers[n + i] = __all_sync(0xffffffffu, positive);
    answers[2 * n + i] = __any_sync(0xffffffffu, positive);
    answers[3 * n + i] = 0;
    if (threadIdx.x & 1) answers[3 * n + i] = __activemask();
    __syncwarp();
    unsigned below, upto, above, from;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    asm("mov.u32 %0, %%lanemask_le;" : "=r"(upto));
    asm("mov.u32 %0, %%lanemask_gt;" : "=r"(above));
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(from));
    answers[4 * n + i] = below;
    answers[5 * n + i] = upto;
    answers[6 * n + i] = above;
    answers[7 * n + i] = from;
}

// y[k][i]: x shuffled from lane 5, from one lane below, from two above, from the lane whose number differs in bit 2; then
// from lane 1 of each group of eight, and the group's lane three above.
extern "C" __global__ void shuffles(const int* x, int* y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = x[i];
    y[i] = __shfl_sync(0xffffffffu, value, 5);
    y[n + i] = __shfl_up_sync(0xffffffffu, value, 1);
    y[2 * n + i] = __shfl_down_sync(0xffffffffu, value, 2);
    y[3 * n + i] = __shfl_xor_sync(0xffffffffu, value, 4);
    y[4 * n + i] = __shfl_sync(0xffffffffu, value, 1, 8);
    y[5 * n + i] = __shfl_down_sync(0xffffffffu, value, 3, 8);
}

// The lanes with the same value, those with the same 64-bit value x * x, and whether all have the same (and its mask).
extern "C" __global__ void matches(const int* x, unsigned* answers, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int all;
    answers[i] = __match_any_sync(0xffffffffu, x[i]);
    answers[n + i] = __match_any_sync(0xffffffffu, (long long)x[i] * x[i]);
    answers[2 * n + i] = __match_all_sync(0xffffffffu, x[i], &all);
    answers[3 * n + i] = all;
}

// Lanes that take different ways meet again: collatz steps of x[i], then the warp's sum of them.
extern "C" __global__ void divergent_collatz(const unsigned* x, unsigned* steps, unsigned* sums)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, value = x[i], count = 0;
    while (value > 1) {
        value = value & 1 ? 3 * value + 1 : value / 2;
        ++count;
    }
    steps[i] = count;
    for (int distance = 16; distance > 0; distance /= 2) count += __shfl_xor_sync(0xffffffffu, count, distance);
    sums[i] = count;
}

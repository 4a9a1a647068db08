// Running sums, and what is kept of a vector.

// y[i] = x[0] + … + x[i] within each block of up to 1024 threads, by doubling distances in two rows of dynamic shared
// memory: 2 * blockDim ints.
extern "C" __global__ void scan_block(const int* x, int* y)
{
    extern __shared__ int rows[];
    unsigned i = threadIdx.x, here = 0, n = blockDim.x;
    rows[i] = x[blockIdx.x * n + i];
    __syncthreads();
    for (unsigned distance = 1; distance < n; distance *= 2) {
        unsigned there = n - here;
        rows[there + i] = rows[here + i] + (i >= distance ? rows[here + i - distance] : 0);
        here = there;
        __syncthreads();
    }
    y[blockIdx.x * n + i] = rows[here + i];
}

// The same within each warp, by shuffles.
extern "C" __global__ void scan_warp(const int* x, int* y)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int sum = x[i];
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        int other = __shfl_up_sync(0xffffffffu, sum, distance);
        if (lane >= distance) sum += other;
    }
    y[i] = sum;
}

// The elements above the limit, in any order of warps but in order within each; *kept counts them.
extern "C" __global__ void compact(const int* x, int* y, unsigned* kept, int limit, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    bool keep = i < n && x[i] > limit;
    unsigned votes = __ballot_sync(0xffffffffu, keep);
    unsigned start = 0;
    if (lane == 0) start = atomicAdd(kept, (unsigned)__popc(votes));
    start = __shfl_sync(0xffffffffu, start, 0);
    if (keep) y[start + __popc(votes & ((1u << lane) - 1))] = x[i];
}

// Sums of vectors.

__device__ unsigned int finished_blocks = 0;

// Each block's sum into sums[block], by halving in shared memory: 256 threads, two elements each.
extern "C" __global__ void reduce_shared(const int* x, int* sums, unsigned n)
{
    __shared__ int part[256];
    unsigned i = blockIdx.x * 512 + threadIdx.x;
    part[threadIdx.x] = (i < n ? x[i] : 0) + (i + 256 < n ? x[i + 256] : 0);
    __syncthreads();
    for (unsigned half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

// Added to *sum with shuffles inside warps, shared memory between them, and one atomic addition per block; any number of
// whole warps up to 1024 threads.
extern "C" __global__ void reduce_shuffle(const int* x, int* sum, unsigned n)
{
    __shared__ int part[32];
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int value = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) value += x[i];
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffffu, value, distance);
    if (lane == 0) part[warp] = value;
    __syncthreads();
    if (warp != 0) return;
    value = lane < blockDim.x / 32 ? part[lane] : 0;
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffffu, value, distance);
    if (lane == 0) atomicAdd(sum, value);
}

// The largest value by butterfly shuffles, which every lane gets: one warp per 32 elements, n a multiple of 32.
extern "C" __global__ void max_butterfly(const float* x, float* largest, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = x[i];
    for (int distance = 16; distance > 0; distance /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
    largest[i] = value;
}

// The whole sum in *total: every block leaves its own in part[block], and the last to finish adds these up in order.
// 128 threads a block. The counter of finished blocks goes back to zero, so that it can run again.
extern "C" __global__ void reduce_last_block(const double* x, volatile double* part, double* total, unsigned n)
{
    __shared__ double sums[128];
    __shared__ bool last;
    double sum = 0.0;
    for (unsigned i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) sum += x[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned i = 1; i < 128; ++i) sum += sums[i];
        part[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&finished_blocks, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        sum = 0.0;
        for (unsigned i = 0; i < gridDim.x; ++i) sum += part[i];
        *total = sum;
    }
}

// *dot += x · y in double precision; the order in which blocks add is open.
extern "C" __global__ void dot_f64(const double* x, const double* y, double* dot, unsigned n)
{
    double sum = 0.0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i] * y[i];
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);
    if (threadIdx.x % 32 == 0) atomicAdd(dot, sum);
}

// How many elements are positive, whether all are, whether any is: barriers that count. One block.
extern "C" __global__ void barrier_votes(const int* x, int* answers)
{
    int positive = x[threadIdx.x] > 0;
    int count = __syncthreads_count(positive), all = __syncthreads_and(positive), any = __syncthreads_or(positive);
    if (threadIdx.x == 0) {
        answers[0] = count;
        answers[1] = all != 0;
        answers[2] = any != 0;
    }
}

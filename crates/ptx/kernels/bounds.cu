// Launch bounds and register limits.

// y[i] = i, for blocks of at most 128 threads of which two shall fit a multiprocessor.
extern "C" __global__ void __launch_bounds__(128, 2) bounded(unsigned* y)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = i;
}

// y[64 * t + k] = the sum over rows of x[64 * row + k] * (t + 1) for thread t, a chain of fused multiply-adds: 64 sums at once,
// more than there are registers.
extern "C" __global__ void __maxnreg__(32) spilling(const float* x, float* y, unsigned rows)
{
    float sums[64];
#pragma unroll
    for (int k = 0; k < 64; ++k) sums[k] = 0.0f;
    for (unsigned row = 0; row < rows; ++row)
#pragma unroll
        for (int k = 0; k < 64; ++k) sums[k] += x[row * 64 + k] * (threadIdx.x + 1);
#pragma unroll
    for (int k = 0; k < 64; ++k) y[threadIdx.x * 64 + k] = sums[k];
}

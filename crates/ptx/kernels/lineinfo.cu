// options: -lineinfo
// A fault whose source line is known, in a function that was inlined.

__device__ __forceinline__ int pick(const int* x, int at)
{
    return x[at];
}

__device__ __noinline__ int twice(const int* x, int at)
{
    return 2 * pick(x, at);
}

// y[i] = x[at[i]] + 2 * x[at[i]].
extern "C" __global__ void gather_lines(const int* x, const int* at, int* y)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = pick(x, at[i]) + twice(x, at[i]);
}

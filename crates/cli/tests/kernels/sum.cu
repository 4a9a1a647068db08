// The sum of all values: a template, whose kernels are named by --kernel. Blocks of 256 threads.
template <typename T> __global__ void sum(const T* x, T* total, unsigned n)
{
    __shared__ T part[256];
    T mine = 0;
    for (unsigned i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) mine += x[i];
    part[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(total, part[0]);
}

namespace space {
__global__ void negate(float* x) { x[threadIdx.x] = -x[threadIdx.x]; }
}

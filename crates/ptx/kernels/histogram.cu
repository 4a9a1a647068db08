// Histogram: the number of occurrences of each byte.

// Counted in shared memory by each block, then added up.
extern "C" __global__ void histogram_shared(const unsigned char* x, unsigned* counts, unsigned n)
{
    __shared__ unsigned mine[256];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) mine[i] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[x[i]], 1u);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&counts[i], mine[i]);
}

// Counted in global memory at once.
extern "C" __global__ void histogram_global(const unsigned char* x, unsigned* counts, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counts[x[i]], 1u);
}

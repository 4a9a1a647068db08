// architectures: 90
// Block sizes and cluster limits, from compute capability 9.0 on.

// y[i] = i, for blocks of exactly 64 by 2 threads.
extern "C" __global__ void __block_size__((64, 2, 1)) exact_block(unsigned* y)
{
    unsigned i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    y[i] = i;
}

// y[i] = the rank of the block in its cluster, whose size is the launch's; at most eight blocks.
extern "C" __global__ void __launch_bounds__(64, 1, 8) cluster_ranks(unsigned* y)
{
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    y[blockIdx.x * blockDim.x + threadIdx.x] = rank;
}

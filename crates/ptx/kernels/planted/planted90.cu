// architectures: 90
// options: -lineinfo
// Kernels with a mistake in each, and with `fixed` set, without it: copies beside the threads, clusters of two blocks.

#define THREADS 64

__device__ unsigned shared_address(const void* pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

__device__ void copy_word(int* into, const int* from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(into)), "l"(from) : "memory");
}

__device__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

__device__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

// The same place in the shared memory of the other block of the cluster.
__device__ volatile int* of_other_block(volatile int* pointer)
{
    unsigned rank;
    volatile int* there;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(pointer), "r"(rank ^ 1));
    return there;
}

// y[i] = x of the neighbour, fetched by a copy beside the threads: without the wait it may not have come. 64 threads.
extern "C" __global__ void planted_copy_wait(const int* x, int* y, int fixed)
{
    __shared__ int tile[THREADS];
    copy_word(&tile[threadIdx.x], &x[threadIdx.x]);
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (fixed) asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x ^ 1];
}

// The same: a thread that waits knows of its own copy only, not of its neighbour's. 64 threads.
extern "C" __global__ void planted_copy_barrier(const int* x, int* y, int fixed)
{
    __shared__ int tile[THREADS];
    copy_word(&tile[threadIdx.x], &x[threadIdx.x]);
    wait_for_copies();
    if (fixed) __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x ^ 1];
}

// y[i] = x[i], and x[i] = 0: without the wait what is copied may be the zero. 64 threads.
extern "C" __global__ void planted_copy_source(int* x, int* y, int fixed)
{
    __shared__ int tile[THREADS];
    copy_word(&tile[threadIdx.x], &x[threadIdx.x]);
    if (fixed) wait_for_copies();
    x[threadIdx.x] = 0;
    wait_for_copies();
    y[threadIdx.x] = tile[threadIdx.x];
}

// y[i] = x of the same thread of the other block: a barrier of the block does not order the two. 64 threads.
extern "C" __global__ void __cluster_dims__(2, 1, 1) planted_cluster_race(const int* x, int* y, int fixed)
{
    __shared__ int tile[THREADS];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    cluster_sync();
    tile[threadIdx.x] = x[i];
    if (fixed) cluster_sync(); else __syncthreads();
    y[i] = *const_cast<int*>(of_other_block(&tile[threadIdx.x]));
    cluster_sync();
}

// The same, handed over by writing: the other block may not have started yet. 64 threads.
extern "C" __global__ void __cluster_dims__(2, 1, 1) planted_cluster_start(const int* x, int* y, int fixed)
{
    __shared__ int tile[THREADS];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (fixed) cluster_sync();
    *const_cast<int*>(of_other_block(&tile[threadIdx.x])) = x[i];
    cluster_sync();
    y[i] = tile[threadIdx.x];
}

// The same, fetched by reading: the other block may have ended by then, and its memory be somebody else's. 64 threads.
extern "C" __global__ void __cluster_dims__(2, 1, 1) planted_cluster_end(const int* x, int* y, int fixed)
{
    __shared__ int tile[THREADS];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = x[i];
    cluster_sync();
    y[i] = *const_cast<int*>(of_other_block(&tile[threadIdx.x]));
    if (fixed) cluster_sync();
}
